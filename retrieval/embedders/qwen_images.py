"""Images of the Qwen-VL families: limits of pixels, and tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PixelLimits:
    """Areas that images are scaled into."""

    smallest: int
    largest: int

    def __str__(self) -> str:
        return f"{self.smallest} to {self.largest} pixels"


def set_limits(processor: Any, limits: PixelLimits | None, max_pixels: int | None) -> PixelLimits:
    """Set the limits of a loaded processor, and return them.

    `limits` replaces the processor's own, and `max_pixels` the largest area of either.
    """
    images = processor.image_processor
    size = images.size
    own = limits or PixelLimits(int(size["shortest_edge"]), int(size["longest_edge"]))
    largest = max_pixels or own.largest
    chosen = PixelLimits(min(own.smallest, largest), largest)
    images.size = {"shortest_edge": chosen.smallest, "longest_edge": chosen.largest}
    return chosen


def image_tokens(processor: Any, width: int, height: int) -> int:
    """Tokens that an image of this size takes; ValueError for one that is 200 times as long as wide."""
    images = processor.image_processor
    patches = images.get_number_of_image_patches(height, width)
    return int(patches) // int(images.merge_size) ** 2
