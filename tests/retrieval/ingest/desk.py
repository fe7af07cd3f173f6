"""An ingestor over an empty collection, and ways to draw small documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image

from retrieval.ingest.pipeline import Ingestor, IngestReport
from retrieval.progress import Silent
from retrieval.settings import IngestSettings
from retrieval.store import Store
from retrieval.types import Page, PageRef


@dataclass
class Desk:
    """An ingestor with its store, and short ways to read a file and look at its pages."""

    root: Path
    settings: IngestSettings = field(default_factory=lambda: IngestSettings(workers=2))
    passwords: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.store = Store(self.root / "collection" / "collection.sqlite")
        self.ingestor = Ingestor(self.store, self.settings, passwords=self.passwords)

    def read(self, *paths: Path) -> IngestReport:
        return self.ingestor.read(list(paths), progress=Silent())

    def page(self, path: Path, number: int = 1) -> Page:
        report = self.read(path)
        assert not report.refused
        page = self.store.page(PageRef(doc_id=report.documents[0].doc_id, page=number))
        assert page is not None
        return page


def column(
    page: pymupdf.Page, words: str, x: float, y: float, *, lines: int = 8, size: float = 10, leading: float = 1.25
) -> None:
    """Lines of running text, numbered, one under another from a top-left corner; `leading` in font sizes."""
    for n in range(lines):
        page.insert_text(
            (x, y + size + n * leading * size), f"{words} {n} runs on to the right edge here", fontsize=size
        )


def picture(page: pymupdf.Page, dpi: int = 150) -> Image.Image:
    """A page as an image."""
    pixmap = page.get_pixmap(dpi=dpi)
    return Image.fromarray(np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3).copy())


def scan(lines: list[str], *, size: float = 16, width: float = 420, height: float = 300) -> Image.Image:
    """An image of a page with these lines of text."""
    document = pymupdf.open()
    page = document.new_page(width=width, height=height)
    for n, line in enumerate(lines):
        page.insert_text((40, 60 + n * 2 * size), line, fontsize=size)
    return picture(page)
