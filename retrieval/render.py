"""placeholder: the ingest developer writes this."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL.Image import Image

from retrieval.types import PageRef


def render_page(paths: Sequence[Path], ref: PageRef, *, dpi: int, passwords: Sequence[str] = ()) -> Image: ...
