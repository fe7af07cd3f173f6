"""An ingestor over an empty collection, and PDFs that the tests draw themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pymupdf
import pytest
from desk import Desk

Drawing = Callable[[pymupdf.Page], object]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def draw(tmp_path: Path) -> Callable[..., Path]:
    """Write a PDF whose pages the given functions draw."""

    def make(name: str, *drawings: Drawing, width: float = 595, height: float = 842, **options: object) -> Path:
        document = pymupdf.open()
        for drawing in drawings:
            drawing(document.new_page(width=width, height=height))
        path = tmp_path / name
        document.save(path, **options)
        document.close()
        return path

    return make
