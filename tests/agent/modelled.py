"""An agent whose model replies from a script, for scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book import Book

from agent.build import Agent, assemble
from agent.models.client import ModelClient
from agent.models.scripted import ScriptedModel
from agent.models.types import Prompt, Role
from agent.settings import Profile, load_profile
from agent.trace import find, load


def scripted_agent(
    book: Book, root: Path, script: Mapping[str, Any], *, model: Mapping[str, Any] | None = None, **parts: Any
) -> tuple[Agent, ScriptedModel]:
    """The agent of the endpoint profile over a book, and the model that it asks; `model` changes its settings."""
    replies = ScriptedModel.from_script({"classify": [{"task": "document_qa"}], **script})
    profile = quick_profile(model)
    client = ModelClient(replies, profile.model)
    return assemble(book, root, profile, client=client, **parts), replies


def quick_profile(model: Mapping[str, Any] | None = None) -> Profile:
    """The endpoint profile with short waits between retries."""
    profile = load_profile("endpoint", {})
    settings = {"backoff": 0.0, "retries": 2, **(model or {})}
    return profile.model_copy(update={"model": profile.model.model_validate({**dict(profile.model), **settings})})


def events(root: Path, run: str, kind: str) -> list[dict[str, Any]]:
    """The data of the events of one kind, in order."""
    return [event.data for event in load(find(root, run)) if event.kind == kind]


def asked(model: ScriptedModel, role: Role) -> list[Prompt]:
    """The prompts of a role."""
    return [prompt for prompt in model.asked if prompt.role == role]
