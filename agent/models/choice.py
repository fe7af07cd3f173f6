"""From settings to a model: what each kind needs is imported when it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent.models.cache import ReplyCache
from agent.models.client import ModelClient
from agent.models.settings import ModelKind, ModelSettings
from agent.models.types import Model
from retrieval.errors import InputError

CACHE_NAME = "replies.sqlite"


def _endpoint(settings: ModelSettings, cache: ReplyCache | None) -> Model:
    from agent.models.endpoint import EndpointModel

    return EndpointModel(settings, cache)


def _local(settings: ModelSettings, _: ReplyCache | None) -> Model:
    from agent.models.local import LocalModel

    return LocalModel(settings)


def _scripted(settings: ModelSettings, _: ReplyCache | None) -> Model:
    from agent.models.scripted import ScriptedModel

    return ScriptedModel(settings)


MODELS: dict[ModelKind, Callable[[ModelSettings, ReplyCache | None], Model]] = {
    "endpoint": _endpoint,
    "local": _local,
    "scripted": _scripted,
}
_NEEDS: dict[ModelKind, tuple[str, str]] = {
    "endpoint": (
        "base_url",
        "set DOCSAGE_BASE_URL (such as http://localhost:8000/v1), or model.base_url in the profile",
    ),
    "local": ("name", "set DOCSAGE_MODEL to the model's folder or hub name, or model.name in the profile"),
    "scripted": ("script", "set model.script in the profile to a file of replies"),
}


def open_client(settings: ModelSettings, root: Path) -> ModelClient | None:
    """The model of the settings with its cache of replies under `root`; None when the settings name none.

    InputError when the settings lack what their kind of model needs.
    """
    if settings.kind == "none":
        return None
    field, remedy = _NEEDS[settings.kind]
    if not getattr(settings, field):
        raise InputError(f"the profile wants a model ({settings.kind}), but its {field} is empty", remedy=remedy)
    cache = ReplyCache(root / CACHE_NAME) if settings.cache and settings.kind != "scripted" else None
    return ModelClient(MODELS[settings.kind](settings, cache), settings, cache)
