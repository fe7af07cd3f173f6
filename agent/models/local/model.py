"""The `local` kind of model: a transformers checkpoint in this process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from agent.models.local.batches import Batches, Ticket
from agent.models.local.checkpoint import Checkpoint, load_weights, read_checkpoint
from agent.models.local.generation import Generator
from agent.models.settings import ModelSettings
from agent.models.types import Capabilities, ModelFailed, Prompt, Reply, StructureMode
from retrieval.errors import InputError


class LocalModel:
    """A vision-language or text model by folder or hub name, loaded on first use and then kept.

    Requests that arrive together are answered in batches of `local.batch`. With temperature 0 replies are
    deterministic; with a seed and a temperature each request is decoded alone, so that its reply doesn't depend on what
    else was asked. `timeout` doesn't apply: a caller that gives up cancels, and its place in the batch is freed.
    InputError when the model can't be loaded; it is remembered, so that a run doesn't try for every question.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.name
        self.identity = _identity(settings)
        self._settings = settings
        self._capabilities: Capabilities | None = None
        self._checkpoint: Checkpoint | None = None
        self._generator: Generator | None = None
        self._refused: InputError | None = None
        alone = settings.decoding.temperature > 0 and settings.decoding.seed is not None
        self._batches = Batches(self._answer, size=1 if alone else settings.local.batch)

    async def capabilities(self) -> Capabilities:
        """What the checkpoint's config says, where the settings don't; the weights are not needed for it."""
        if self._capabilities is None:
            self._capabilities = await self._batches.call(self._found)
        return self._capabilities

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        """One reply; `finish` is "length" when `max_tokens` or the context ended it."""
        if mode != "text":
            raise ModelFailed(
                f"{self.name} runs in this process, which can't enforce the mode {mode!r}", unsupported=True
            )
        if prompt.pictures and not (await self.capabilities()).vision:
            raise ModelFailed(f"{self.name} sees no pictures", remedy="set model.evidence to text", unsupported=True)
        return await self._batches.reply(prompt)

    def _found(self) -> Capabilities:
        checkpoint, settings = self._opened(), self._settings
        return Capabilities(
            vision=checkpoint.vision if settings.vision is None else settings.vision,
            structured=settings.structured or "text",
            context=settings.context or checkpoint.context or Capabilities().context,
        )

    def _answer(self, tickets: Sequence[Ticket]) -> None:
        """Runs in the thread of the batches, as everything below does: nothing here is locked."""
        if self._generator is None:
            checkpoint = self._opened()
            try:
                weights = load_weights(checkpoint, self._settings)
            except InputError as error:
                self._refused = error
                raise
            self._generator = Generator(weights, self._settings, self._found().context)
        self._generator.answer(tickets)

    def _opened(self) -> Checkpoint:
        if self._refused is not None:
            raise InputError(self._refused.problem, remedy=self._refused.remedy)
        if self._checkpoint is None:
            try:
                self._checkpoint = read_checkpoint(self._settings)
            except InputError as error:
                self._refused = error
                raise
        return self._checkpoint


def _identity(settings: ModelSettings) -> str:
    """What replies depend on; for a folder, that its files are the same ones."""
    local, decoding = settings.local, settings.decoding
    parts = ["local", settings.name, decoding.model_dump_json()]
    parts.append(local.model_dump_json(include={"dtype", "max_pixels", "min_pixels", "thinking"}))
    folder = Path(settings.name).expanduser()
    if settings.name and folder.is_dir():
        states = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if path.is_file()]
        files = repr([(name, state.st_size, state.st_mtime_ns) for name, state in states])
        parts.append(hashlib.sha256(files.encode()).hexdigest()[:16])
    return "|".join(parts)
