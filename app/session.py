"""What a command works with: a collection, the profile, and an agent when one is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent.loop import run
from agent.models.types import ModelFailed
from agent.settings import Profile, load_profile
from agent.types import TrajectoryPage
from app.progress import TerminalProgress
from retrieval.collection import STORE_NAME, Collection
from retrieval.errors import InputError
from retrieval.ingest.files import Refusal, shown
from retrieval.types import Document, PageRef, Scope

if TYPE_CHECKING:
    from agent.baselines import Baseline, BaselineAgent
    from agent.build import Agent, Part
    from agent.models.client import ModelClient

    A = TypeVar("A", Agent, BaselineAgent)


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """Which agent: the whole one, one without some parts, or a baseline; and the evidence pool that it may ask.

    InputError for parts of the agent with a baseline, which has none.
    """

    pool: Path | None = None
    baseline: Baseline | None = None
    without: frozenset[Part] = frozenset()

    def __post_init__(self) -> None:
        if self.baseline and (self.pool or self.without):
            option = "--pool" if self.pool else "--without"
            raise InputError(
                f"--baseline {self.baseline} and {option} don't go together",
                remedy="the baseline is the model alone: leave one of them out",
            )

    def recorded(self) -> dict[str, Any]:
        """What answers depend on, as JSON; nothing for the whole agent."""
        parts: dict[str, Any] = {"pool": pool_id(self.pool) if self.pool else None, "baseline": self.baseline}
        parts["without"] = sorted(self.without)
        return {name: value for name, value in parts.items() if value}


@dataclass(frozen=True, slots=True)
class Session:
    """One command's resources. Progress and notes go to stderr."""

    collection: Collection
    profile: Profile
    progress: TerminalProgress
    clients: list[ModelClient] = field(default_factory=list)
    """The models that were opened; they are closed with the session."""

    def agent(self, choice: AgentChoice | None = None) -> Agent | BaselineAgent:
        """An agent over the collection, or a baseline. InputError when its model or its pool can't be used."""
        from agent.build import build_agent, build_baseline  # loads LangGraph, which searching and indexing don't need

        chosen = choice or AgentChoice()
        if chosen.baseline is not None:
            return self._reached(build_baseline(self.collection, self.profile, chosen.baseline))
        pool = None
        if chosen.pool is not None:
            from retrieval.knowledge.pool import Pool

            pool = Pool.open(chosen.pool)
        return self._reached(build_agent(self.collection, self.profile, pool=pool, without=chosen.without))

    def _reached(self, agent: A) -> A:
        """The agent, once its model has answered: better a word now than rules in the place of the model, later.

        A server that isn't there is said at once; one that is there, and is busy or still loading, is waited for.
        """
        if agent.client is None:
            return agent
        self.clients.append(agent.client)
        try:
            run(agent.client.model.capabilities())
        except ModelFailed as error:
            from agent.models.failures import Refused

            if not (isinstance(error, Refused) and error.retry):
                raise
            run(agent.client.capabilities())
        return agent

    def close(self) -> None:
        """Close the connections to models, the replies kept of them, and the collection."""
        for client in self.clients:
            if problem := run(client.aclose()):
                self.progress.note(problem)
        self.collection.close()

    @property
    def together(self) -> int:
        """How many questions are asked at the same time."""
        return self.profile.model.together

    def page_of(self, ref: PageRef) -> TrajectoryPage:
        """A page with its document's name and its printed label."""
        name = self.collection.document(ref.doc_id).name
        return TrajectoryPage(ref=ref, document=name, doc_page=self.collection.page(ref).label)

    def enrich(self, scope: Scope, query: str, *, shown: bool = True) -> None:
        """Do as much of the costly work as the profile allows before a question is answered."""
        self.collection.enrich(
            scope,
            query=query,
            seconds=self.profile.retrieval.enrich_seconds,
            progress=self.progress if shown else None,
        )

    def documents(self, paths: Sequence[Path]) -> list[Document]:
        """The documents at `paths`, read first where they aren't yet.

        A file that is refused is noted; InputError when nothing readable is left.
        """
        report = self.collection.read(paths, progress=self.progress)
        if not report.documents:
            raise self._nothing(paths, report.refused)
        for refusal in report.refused:
            self.progress.note(refusal.reason)
        return list(dict.fromkeys(report.documents))

    def _nothing(self, paths: Sequence[Path], refused: Sequence[Refusal]) -> InputError:
        """What to say when there is nothing to work with; the reasons stand before it when there are several."""
        names = ", ".join(map(shown, paths))
        if not refused:
            return InputError(f"there is no PDF and no image in {names}", remedy="name files, or another folder")
        if len(refused) == 1:
            return InputError(refused[0].reason)
        for refusal in refused:
            self.progress.note(refusal.reason)
        return InputError(f"none of these {len(refused)} can be read", remedy="name PDFs, images or folders")

    def whole_collection(self) -> Scope:
        """All documents; InputError when there are none."""
        documents = self.collection.documents()
        if not documents:
            raise empty(self.collection.root)
        return Scope(doc_ids=tuple(document.doc_id for document in documents))


def pool_id(root: Path) -> str:
    """What tells an evidence pool from others, without reading its snippets; InputError when the folder holds none."""
    from retrieval.knowledge.building import MANIFEST
    from retrieval.knowledge.types import Manifest

    try:
        return Manifest.model_validate_json((root / MANIFEST).read_bytes()).sha256[:12]
    except (OSError, ValueError):
        from retrieval.knowledge.pool import Pool

        return Pool.open(root).id  # it says what is wrong


def empty(collection: Path) -> InputError:
    """What is said of a collection without documents."""
    return InputError(
        f"the collection {shown(collection)} is empty",
        remedy="name files to read, or add them with `docsage index PATH...`",
    )


@contextmanager
def opened(
    collection: Path, *, profile: str | Profile | None = None, passwords: Sequence[str] = (), create: bool = True
) -> Iterator[Session]:
    """A session over the collection in a folder, which is made when it isn't there; InputError if not `create`."""
    settings = profile if isinstance(profile, Profile) else load_profile(profile)
    try:
        if not create and not (collection / STORE_NAME).exists():
            raise InputError(
                f"there is no collection in {shown(collection)}",
                remedy="check --collection, or make one with `docsage index PATH...`",
            )
        held = Collection(collection, settings.retrieval, passwords=passwords)
    except OSError as error:
        raise InputError(
            f"the collection {shown(collection)} can't be opened ({error.strerror})",
            remedy="choose another --collection",
        ) from error
    progress = TerminalProgress()
    with closing(Session(held, settings, progress)) as session, progress:
        yield session
