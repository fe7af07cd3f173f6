"""The page images of a haystack, as they lie on disk: `data/image/{category}/{image_id}.jpg`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from PIL import Image

from evaluation.chaystack.samples import CATEGORIES, Category, image_key
from retrieval.ingest.image import read_frame

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff")
"""In the order of preference, where one id has several files."""
SHOWN_PIXELS = 2_000_000
"""Images are shown to models with at most so many pixels: a page at about 150 dpi."""


@dataclass(frozen=True)
class HaystackImage:
    """One page image: a candidate for every question."""

    image_id: str
    category: Category
    path: Path

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return image_key(self.category, self.image_id)

    @cached_property
    def content(self) -> str:
        """A hash of the file; OSError when it can't be read."""
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def image(self) -> Image.Image:
        """The image in RGB, upright; UnreadableDocument when it is damaged."""
        return read_frame(self.path, 1)

    def shown(self) -> Image.Image:
        """The image as models are shown it."""
        return reduced(self.image(), SHOWN_PIXELS)


@dataclass(frozen=True)
class Haystack:
    """All images by key, in the order of categories and ids."""

    images: Mapping[str, HaystackImage] = field(default_factory=dict)

    def of(self, category: Category | None) -> list[HaystackImage]:
        """The images of one category, or all."""
        return [image for image in self.images.values() if category in (None, image.category)]

    def counts(self) -> dict[Category, int]:
        """How many images each category has."""
        return {category: len(self.of(category)) for category in CATEGORIES}

    def fingerprint(self, categories: Sequence[Category] = CATEGORIES) -> str:
        """A hash of the keys of some categories: rankings over other images are other rankings."""
        keys = "\n".join(image.key for image in self.images.values() if image.category in categories)
        return hashlib.sha256(keys.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def find_images(root: Path) -> Haystack:
    """The images under `root/image`, none where there is no such folder; files of other kinds are passed over."""
    found: dict[str, HaystackImage] = {}
    for category in CATEGORIES:
        folder = root / "image" / category
        if not folder.is_dir():
            continue
        names = sorted(entry.name for entry in os.scandir(folder) if _is_image(entry))
        for name in sorted(names, key=lambda name: (Path(name).stem, SUFFIXES.index(Path(name).suffix.lower()))):
            image = HaystackImage(Path(name).stem, category, (folder / name).resolve())
            found.setdefault(image.key, image)
    return Haystack(found)


def reduced(image: Image.Image, pixels: int) -> Image.Image:
    """An image scaled down to about so many pixels; a smaller one as it is."""
    scale = (pixels / (image.width * image.height)) ** 0.5
    if scale >= 1:
        return image
    return image.resize((max(round(image.width * scale), 1), max(round(image.height * scale), 1)))


def _is_image(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and Path(entry.name).suffix.lower() in SUFFIXES and entry.is_file()
