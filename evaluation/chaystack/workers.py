"""What the phases of a CHaystack run work with, opened from a profile: planner, retrievers, filter, generator."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from agent.loop import run
from agent.models.choice import open_client
from agent.models.client import ModelClient
from agent.models.types import ModelFailed
from agent.roles.relevance import open_judge
from agent.settings import Profile
from evaluation.chaystack.benchmark import Workers
from evaluation.chaystack.filtering import Filter
from evaluation.chaystack.generation import AgentGenerator, AnswerGenerator, DirectGenerator
from evaluation.chaystack.images import Haystack
from evaluation.chaystack.pages import CollectionTexts
from evaluation.chaystack.plans import ModelQueryPlanner, QueryPlanner, RuleQueryPlanner
from evaluation.chaystack.records import Phase
from evaluation.chaystack.retrievers import ImageRetriever, Retriever, TextRetriever
from evaluation.chaystack.samples import Category
from retrieval.collection import Collection
from retrieval.embedders.base import EmbedderCard
from retrieval.embedders.choice import open_page_embedder
from retrieval.errors import InputError
from retrieval.index.image_vectors import ImageVectors
from retrieval.progress import Progress
from retrieval.settings import ImageEmbedderSettings
from retrieval.types import Frozen
from tools.judgment_cache import CACHE_NAME, JudgmentCache
from tools.judgments import JudgeFailed

GeneratorName = Literal["direct", "agent"]
VECTORS_FOLDER = "page-vectors"


class WorkerChoice(Frozen):
    """Who does the work: an embedder of page images ("" for none), with text search beside it or not; who answers.

    `tokens` is what a direct answer may take.
    """

    embedder: ImageEmbedderSettings = ImageEmbedderSettings()
    fuse: bool = False
    generator: GeneratorName = "agent"
    tokens: int = 128

    @property
    def by_text(self) -> bool:
        """Whether the text of the images is searched."""
        return self.fuse or not self.embedder.model


def worker_choice(
    profile: Profile, *, embedder: str | None, fuse: bool, generator: GeneratorName | None, tokens: int
) -> WorkerChoice:
    """The choice that options make over a profile; InputError for what doesn't go together."""
    settings = profile.retrieval.images.embedder
    if embedder is not None:
        if not embedder.strip():
            raise InputError("--embedder is empty", remedy="name a folder or hub name, or leave it out to search text")
        settings = settings.model_copy(update={"model": embedder})
    if fuse and not settings.model:
        raise InputError("--fuse wants an embedder of page images besides text", remedy="add --embedder MODEL")
    has_model = profile.model.kind != "none"
    if generator == "direct" and not has_model:
        raise InputError(
            f"--generator direct needs a model, and profile {profile.name} has none",
            remedy="add --profile endpoint or --profile local, or take --generator agent",
        )
    return WorkerChoice(
        embedder=settings, fuse=fuse, generator=generator or ("direct" if has_model else "agent"), tokens=tokens
    )


def phase_settings(profile: Profile, choice: WorkerChoice, *, planned: bool) -> dict[Phase, dict[str, Any]]:
    """What the results of each phase depend on, as JSON: a phase may be run with another model than the one before."""
    recorded = profile.recorded()
    model = recorded["model"] if profile.model.kind != "none" else None
    reading = {name: value for name, value in recorded["retrieval"].items() if name != "images"}
    retrieve: dict[str, Any] = {
        "text": reading if choice.by_text else None,
        "embedder": choice.embedder.model_dump(mode="json") if choice.embedder.model else None,
        "image_index": recorded["retrieval"]["images"]["index"] if choice.embedder.model else None,
        "planner": model if planned else None,
    }
    generate: dict[str, Any] = {"generator": choice.generator, "model": model}
    if choice.generator == "direct":
        generate["tokens"] = choice.tokens
    else:
        generate |= {"agent": recorded["agent"], "text": reading}
    return {"retrieve": retrieve, "filter": {"model": model}, "generate": generate}


class ModelRoom:
    """The place of the one model that is in memory: opened when it is first asked for, and given back by `close`."""

    def __init__(self, profile: Profile, root: Path, progress: Progress) -> None:
        self._profile = profile
        self._root = root
        self._progress = progress
        self._client: ModelClient | None = None

    def client(self) -> ModelClient | None:
        """The profile's model; None when it has none."""
        if self._client is None:
            self._client = open_client(self._profile.model, self._root)
        return self._client

    def close(self) -> None:
        """Close its connections and its cache, and free its memory."""
        client, self._client = self._client, None
        if client is None:
            return
        if problem := run(client.aclose()):
            self._progress.note(problem)
        if self._profile.model.kind == "local":
            from retrieval.embedders.loading import free_memory

            del client
            free_memory()


class ProfileWorkers:
    """Opens the workers of a profile over a collection and a haystack; `close` gives the model back."""

    def __init__(
        self, collection: Collection, profile: Profile, haystack: Haystack, choice: WorkerChoice, progress: Progress
    ) -> None:
        self._collection = collection
        self._profile = profile
        self._haystack = haystack
        self._choice = choice
        self._progress = progress
        self._room = ModelRoom(profile, collection.root, progress)

    @property
    def workers(self) -> Workers:
        """The factories for the benchmark. One question at a time without a model, and with a script."""
        return Workers(
            planner=self._planner,
            retrievers=self._retrievers,
            filter=self._filter,
            generator=self._generator,
            texts=CollectionTexts(self._collection),
            together=self._profile.model.together,
        )

    def close(self) -> None:
        """Give the model back."""
        self._room.close()

    @contextmanager
    def _planner(self) -> Iterator[QueryPlanner]:
        client = self._reached()
        yield RuleQueryPlanner() if client is None else ModelQueryPlanner(client)

    @contextmanager
    def _retrievers(self, categories: Sequence[Category]) -> Iterator[Sequence[Retriever]]:
        self._room.close()
        found: list[Retriever] = []
        if self._choice.by_text:
            text = TextRetriever(self._collection, self._haystack)
            text.prepare(categories, self._progress)
            found.append(text)
        if not self._choice.embedder.model:
            yield found
            return
        embedder = open_page_embedder(self._choice.embedder)
        try:
            folder = self._collection.root / VECTORS_FOLDER / _folder_name(embedder.card)
            with closing(ImageVectors(folder, embedder.card, self._profile.retrieval.images.index)) as vectors:
                images = ImageRetriever(embedder, vectors, self._haystack)
                images.prepare(categories, self._progress)
                yield [*found, images]
        finally:
            embedder.close()

    @contextmanager
    def _filter(self) -> Iterator[Filter]:
        client = self._room.client()
        judge = open_judge(client)
        broken = None
        try:
            run(judge.ready())
        except JudgeFailed as error:
            broken = error
        cache = JudgmentCache(self._collection.root / CACHE_NAME)
        try:
            yield Filter(
                judge=judge,
                cache=cache,
                reads_text=broken is None and (client is None or not self._sees(client)),
                together=self.workers.together,
                broken=broken,
            )
        finally:
            cache.close()

    @contextmanager
    def _generator(self) -> Iterator[AnswerGenerator]:
        client = self._reached()
        if self._choice.generator == "direct" and client is not None:
            direct = DirectGenerator(client, tokens=self._choice.tokens)
            direct.ready()
            yield direct
            return
        from agent.build import assemble  # loads LangGraph

        yield AgentGenerator(assemble(self._collection, self._collection.root, self._profile, client=client))

    def _reached(self) -> ModelClient | None:
        """The model, once it has said what it can do: better a word now than a failure for each question."""
        client = self._room.client()
        if client is None:
            return None
        try:
            run(client.model.capabilities())
        except ModelFailed as error:
            if not error.retry:
                raise
            run(client.capabilities())  # it is busy, or still loading
        return client

    def _sees(self, client: ModelClient) -> bool:
        return run(client.capabilities()).vision and client.settings.evidence != "text"


def _folder_name(card: EmbedderCard) -> str:
    """A folder for the vectors of one embedder: a readable name, and a hash of all that they depend on."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", card.model.rstrip("/").rpartition("/")[2]).strip("-.")[:60]
    return f"{name or card.family}-{hashlib.sha256(card.model_dump_json().encode()).hexdigest()[:8]}"
