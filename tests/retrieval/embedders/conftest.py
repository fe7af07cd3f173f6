"""Tiny checkpoints, each written once a session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_embedders import WRITERS

Written = Callable[[str], Path]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The folder of a family's tiny checkpoint: not to be changed."""
    root = tmp_path_factory.mktemp("checkpoints")

    def written(family: str) -> Path:
        folder = root / f"tiny-{family}-embedding"
        return folder if folder.exists() else WRITERS[family](folder)

    return written


@pytest.fixture
def own_checkpoint(checkpoint: Written, tmp_path: Path) -> Written:
    """A copy of a family's tiny checkpoint that the test may change."""

    def copied(family: str) -> Path:
        return Path(shutil.copytree(checkpoint(family), tmp_path / f"own-{family}-embedding"))

    return copied
