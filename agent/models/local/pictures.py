"""Pictures of prompts within the limits of pixels, whatever the family's own processor does."""

from __future__ import annotations

import io
import math
from typing import Any

from PIL import Image

from agent.models.settings import LocalSettings
from agent.models.types import ModelFailed, Picture


def decode(picture: Picture) -> Image.Image:
    """The picture in RGB; ModelFailed when its bytes are no picture."""
    try:
        return Image.open(io.BytesIO(picture.data)).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelFailed(f"a picture of the prompt can't be decoded ({len(picture.data)} bytes): {error}") from error


def fitted(image: Image.Image, smallest: int, largest: int) -> Image.Image:
    """The image with `smallest` to `largest` pixels, its proportions kept; itself when it has as many.

    Sides are rounded so that the limit holds, and are 1 at least.
    """
    pixels = image.width * image.height
    if smallest <= pixels <= largest:
        return image
    if pixels > largest:
        factor = math.sqrt(largest / pixels)
        width, height = math.floor(image.width * factor), math.floor(image.height * factor)
    else:
        factor = math.sqrt(min(smallest, largest) / pixels)
        width, height = math.ceil(image.width * factor), math.ceil(image.height * factor)
    return image.resize((max(width, 1), max(height, 1)), Image.Resampling.BICUBIC)


def limit_pixels(processor: Any, config: Any, settings: LocalSettings) -> bool:
    """Set the limits in a loaded processor; True when it scales pictures to them by itself, so that none need `fitted`.

    Families differ. Qwen's take areas, and round to their patches within them. InternVL's cut a picture into tiles by
    its proportions alone, however small it is, so the number of tiles has to be bounded. LLaVA-OneVision's scale it up
    to one of some grids of tiles, so those beyond the limit are taken away, from the model's config too: both must
    choose alike.
    """
    images = processor.image_processor
    largest = settings.max_pixels
    if hasattr(images, "merge_size"):
        images.size = {"shortest_edge": min(settings.min_pixels, largest), "longest_edge": largest}
        return True
    if hasattr(images, "max_patches"):
        tile = images.size["height"] * images.size["width"]
        images.max_patches = max(1, min(images.max_patches, largest // tile))
        images.min_patches = min(images.min_patches, images.max_patches)
    if getattr(images, "image_grid_pinpoints", None):
        grids = sorted(images.image_grid_pinpoints, key=lambda grid: grid[0] * grid[1])
        kept = [grid for grid in grids if grid[0] * grid[1] <= largest] or grids[:1]
        images.image_grid_pinpoints = config.image_grid_pinpoints = kept
    return False
