"""The embedder of page images that the settings ask for."""

from __future__ import annotations

from typing import get_args

from retrieval.embedders.base import EmbedderCard, PageEmbedder
from retrieval.embedders.checkpoint import Checkpoint, fetch_weights, find_checkpoint
from retrieval.embedders.clip import open_clip
from retrieval.embedders.colqwen import open_colqwen
from retrieval.embedders.loading import Placement, libraries, placement
from retrieval.embedders.local import Encoder, LocalPageEmbedder
from retrieval.embedders.qwen3_vl import open_qwen3_vl
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings, ImageFamily

_ARCHITECTURES: dict[str, ImageFamily] = {
    "ColQwen2": "colqwen2",
    "ColQwen2_5": "colqwen2_5",
    "ColQwen3": "colqwen3",
    "ColQwen3_5": "colqwen3_5",
    "Qwen3VLForEmbedding": "qwen3_vl",
    "CLIPModel": "clip",
    "SiglipModel": "siglip",
    "Siglip2Model": "siglip",
    "ChineseCLIPModel": "chinese_clip",
    "AltCLIPModel": "altclip",
}
"""Classes that only embedders are of."""

_MODEL_TYPES: dict[ImageFamily, tuple[str, ...]] = {
    "colqwen2": ("qwen2_vl",),
    "colqwen2_5": ("qwen2_5_vl",),
    "colqwen3": ("qwen3_vl",),
    "colqwen3_5": ("qwen3_5",),
    "qwen3_vl": ("qwen3_vl",),
    "clip": ("clip",),
    "siglip": ("siglip", "siglip2"),
    "chinese_clip": ("chinese_clip",),
    "altclip": ("altclip",),
}
"""The backbones of each family."""


def open_page_embedder(settings: ImageEmbedderSettings) -> PageEmbedder:
    """The embedder with its weights in memory; close it to get the memory back.

    InputError, in one line with the remedy: missing packages, no such checkpoint, one of another family or that lacks
    weights, settings that the family doesn't have.
    """
    libraries()
    checkpoint = find_checkpoint(settings.model)
    family = tell_family(checkpoint, settings.family)
    _check_instructions(family, settings)
    place = placement(settings)
    fetch_weights(checkpoint)
    encoder = _encoder(checkpoint, family, settings, place)
    if settings.dimension and settings.dimension > encoder.dimension:
        raise InputError(
            f"{settings.model} has {encoder.dimension} dimensions, which can't be cut to {settings.dimension}",
            remedy=f"set dimension to {encoder.dimension} at most, or leave it out",
        )
    card = EmbedderCard(
        model=checkpoint.name if checkpoint.from_hub else checkpoint.folder.name,
        revision=checkpoint.revision,
        family=family,
        dimension=settings.dimension or encoder.dimension,
        multi=encoder.multi,
        preprocessing=encoder.preprocessing,
    )
    return LocalPageEmbedder(encoder, card, batch_tokens=settings.batch_tokens)


def tell_family(checkpoint: Checkpoint, wanted: ImageFamily | None = None) -> ImageFamily:
    """The family of a checkpoint by its config; InputError for none, for one that isn't sure, or isn't the `wanted`."""
    named = next((_ARCHITECTURES[name] for name in checkpoint.architectures if name in _ARCHITECTURES), None)
    possible = (named,) if named else _possible(checkpoint.model_type)
    shown = ", ".join(checkpoint.architectures) or checkpoint.model_type or "nothing"
    if not possible:
        raise InputError(
            f"{checkpoint.name} is no embedder of page images that docsage knows: its config names {shown}",
            remedy=f"take a checkpoint of one of the families {', '.join(get_args(ImageFamily))}",
        )
    if wanted and wanted not in possible:
        raise InputError(
            f"{checkpoint.name} isn't of the family {wanted}: its config names {shown}",
            remedy=f"set family to {' or '.join(possible)}, or leave it out",
        )
    told = wanted or named or _told(checkpoint, possible)
    if told is None:
        raise InputError(
            f"{checkpoint.name} may be an embedder or a chat model: its config names {shown}",
            remedy=f"set family to {' or '.join(possible)} if it is one that was trained to embed",
        )
    return told


def _possible(model_type: str) -> tuple[ImageFamily, ...]:
    return tuple(family for family, types in _MODEL_TYPES.items() if model_type in types)


def _told(checkpoint: Checkpoint, possible: tuple[ImageFamily, ...]) -> ImageFamily | None:
    """The family by what else there is: adapters are ColQwen's, and Qwen3-VL-Embedding says so in its name only."""
    if checkpoint.base is not None:
        return next((family for family in possible if family.startswith("colqwen")), None)
    if "qwen3_vl" in possible:
        marked = "embedding" in checkpoint.name.lower() or (checkpoint.folder / "modules.json").is_file()
        return "qwen3_vl" if marked else None
    return None if possible[0].startswith("colqwen") else possible[0]


def _check_instructions(family: ImageFamily, settings: ImageEmbedderSettings) -> None:
    """Refuse instructions where they would change nothing."""
    given = settings.instruction or settings.page_instruction
    if given and family != "qwen3_vl":
        raise InputError(f"models of the family {family} take no instruction ({given!r})", remedy="leave it out")


def _encoder(checkpoint: Checkpoint, family: ImageFamily, settings: ImageEmbedderSettings, place: Placement) -> Encoder:
    if family.startswith("colqwen"):
        return open_colqwen(checkpoint, family, settings, place)
    if family == "qwen3_vl":
        return open_qwen3_vl(checkpoint, settings, place)
    return open_clip(checkpoint, settings, place)
