"""Settings and documents to a runnable agent. Importing this module loads langgraph, so command lines do it late."""

from __future__ import annotations

import asyncio
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.baselines import Baseline, BaselineAgent
from agent.budget import Budget
from agent.checkpoints import checkpoint_path, clear, remove_stale
from agent.draft import Synthesizer
from agent.graph import interrupted_question, run_graph
from agent.loop import run
from agent.memory import PagesOnce
from agent.models.choice import open_client
from agent.models.client import ModelClient
from agent.nodes import Runtime
from agent.planner import Hints, Planner, RulePlanner, task_of
from agent.prose import ProseReader
from agent.question import analyse, check_question
from agent.reader.ranker import Reader
from agent.roles.planner import ModelPlanner
from agent.roles.verifier import ModelVerifier
from agent.roles.writer import ModelSynthesizer
from agent.settings import AgentSettings, Profile
from agent.state import AgentState
from agent.synthesizer import ExtractiveSynthesizer
from agent.trace import TraceWriter, load, new_run_id, trace_path, trajectory_of
from agent.trajectory import trajectory_from
from agent.types import Trajectory, Usage
from agent.verifier import RuleVerifier, Unchecked, Verifier
from retrieval.collection import Collection
from retrieval.embedders.e5 import E5
from retrieval.errors import InputError
from retrieval.types import Scope
from tools.base import Pages
from tools.judgment_cache import CACHE_NAME, JudgmentCache
from tools.registry import Registry

if TYPE_CHECKING:
    from retrieval.knowledge.pool import Pool


class Agent:
    """Answers questions over documents. Traces and checkpoints stand under `root`."""

    def __init__(
        self,
        pages: Pages,
        root: Path,
        settings: AgentSettings | None = None,
        *,
        planner: Planner | None = None,
        synthesizer: Synthesizer | None = None,
        verifier: Verifier | None = None,
        registry: Registry | None = None,
        client: ModelClient | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.pages = pages
        self.root = root
        self.settings = settings or AgentSettings()
        self.planner = planner or RulePlanner(self.settings)
        self.synthesizer = synthesizer or ExtractiveSynthesizer(ProseReader(Reader(E5())))
        self.verifier = verifier or RuleVerifier()
        self.registry = registry or Registry()
        self.client = client
        self.pool = pool

    @cached_property
    def _judgments(self) -> JudgmentCache | None:
        """What keeps judgments of pages where a model makes them and its replies are kept as well."""
        kept = self.client is not None and self.client.cache is not None
        return JudgmentCache(self.root / CACHE_NAME) if kept else None

    @property
    def models(self) -> dict[str, str]:
        """Which parts answer, by role, and the model behind them where there is one."""
        parts = {"planner": self.planner.name, "synthesizer": self.synthesizer.name, "verifier": self.verifier.name}
        return parts if self.client is None else {**parts, "model": self.client.name}

    async def aask(
        self,
        question: str,
        scope: Scope,
        *,
        budget: Budget | None = None,
        hints: Hints | None = None,
        run_id: str | None = None,
    ) -> Trajectory:
        """The trajectory of a question over the documents of `scope`.

        A `run_id` that was interrupted goes on where it stopped; one that has ended returns its trajectory again.
        InputError for a question that can't be asked, an empty scope, and a run id that belongs to another question.
        """
        check_question(question)
        if not scope.doc_ids:
            raise InputError("there are no documents to ask", remedy="give paths, or index documents first")
        run_name = run_id or new_run_id()
        initial = self._initial(run_name, question, scope, budget, hints or Hints())
        path = trace_path(self.root, run_name)
        checkpoint = checkpoint_path(self.root, run_name)
        trajectory = await self._known(path, checkpoint, initial)
        if trajectory is None:
            if checkpoint.exists():
                await asyncio.to_thread(remove_stale, self.root)
            trajectory = await self._run(TraceWriter(path, run_name), checkpoint, initial)
        await asyncio.to_thread(clear, self.root, checkpoint, question, scope)
        return trajectory

    def ask(
        self,
        question: str,
        scope: Scope,
        *,
        budget: Budget | None = None,
        hints: Hints | None = None,
        run_id: str | None = None,
    ) -> Trajectory:
        """`aask` for callers that don't await; it may be called inside an event loop, which it then blocks."""
        return run(self.aask(question, scope, budget=budget, hints=hints, run_id=run_id))

    def _initial(self, run: str, text: str, scope: Scope, budget: Budget | None, hints: Hints) -> AgentState:
        question = analyse(text)
        if hints.answer_type is not None:
            question = question.model_copy(update={"answer_type": hints.answer_type})
        task = hints.task or task_of(question)
        return {
            "run_id": run,
            "scope": scope,
            "hints": hints,
            "budget": Budget.of(self.settings, task, budget),
            "caps": budget,
            "question": question,
            "spent": Usage(),
        }

    async def _known(self, path: Path, checkpoints: Path, initial: AgentState) -> Trajectory | None:
        """The trajectory of a run that has ended; InputError when its id belongs to another question or scope."""
        if not path.exists():
            return None
        done = trajectory_of(load(path))
        state = None if done else await interrupted_question(checkpoints, initial["run_id"])
        asked = (done.question, done.scope) if done else (state["question"].text, state["scope"]) if state else None
        if asked is not None and asked != (initial["question"].text, initial["scope"]):
            raise InputError(
                f"run {initial['run_id']} belongs to the question {asked[0]!r}", remedy="leave the run id out"
            )
        return done

    async def _run(self, trace: TraceWriter, checkpoints: Path, initial: AgentState) -> Trajectory:
        data = {
            "question": initial["question"].text,
            "scope": list(initial["scope"].doc_ids),
            "budget": initial["budget"].model_dump(),
            "models": self.models,
        }
        trace.append("resumed" if trace.resumed else "started", "agent", data)
        trace.append("question", "agent", initial["question"].model_dump(mode="json"))
        pages = PagesOnce(self.pages)
        runtime = Runtime(
            pages=pages,
            registry=self.registry,
            settings=self.settings,
            planner=self.planner,
            synthesizer=self.synthesizer,
            verifier=self.verifier,
            trace=trace,
            client=self.client,
            pool=self.pool,
            judgments=lambda: self._judgments,
        )
        try:
            final = await run_graph(checkpoints, initial, runtime)
        except BaseException as error:
            trace.append("interrupted", "agent", {"error": f"{type(error).__name__}: {error}"})
            raise
        trajectory = trajectory_from(final, pages, self.models, retrieved=self.settings.retrieved_pages)
        trace.append("final", "agent", {"trajectory": trajectory.model_dump(mode="json", by_alias=True)})
        return trajectory


Part = Literal["planner", "verifier", "retrieval"]
"""What an ablation leaves out."""


def build_agent(
    collection: Collection,
    profile: Profile | None = None,
    *,
    pool: Pool | None = None,
    without: frozenset[Part] = frozenset(),
) -> Agent:
    """The agent of a profile over a collection; traces and cached replies stand in the collection's folder."""
    chosen = profile or Profile()
    client = open_client(chosen.model, collection.root)
    return assemble(collection, collection.root, chosen, client=client, pool=pool, without=without)


def assemble(
    pages: Pages,
    root: Path,
    profile: Profile,
    *,
    client: ModelClient | None,
    pool: Pool | None = None,
    without: frozenset[Part] = frozenset(),
) -> Agent:
    """The agent of a profile over any pages: with a model, each role asks it and has its rules to fall back on.

    `without` leaves parts out, for ablations: the rules plan the fixed steps, nothing is verified, or the evidence pool
    is not asked.
    """
    settings = profile.agent
    rules = ExtractiveSynthesizer(ProseReader(Reader(E5())))
    planner: Planner = ModelPlanner(settings) if client and "planner" not in without else RulePlanner(settings)
    verifier: Verifier = ModelVerifier() if client else RuleVerifier()
    return Agent(
        pages,
        root,
        settings,
        planner=planner,
        synthesizer=ModelSynthesizer(profile.model, rules) if client else rules,
        verifier=Unchecked() if "verifier" in without else verifier,
        client=client,
        pool=None if "retrieval" in without else pool,
    )


def build_baseline(collection: Collection, profile: Profile, baseline: Baseline) -> BaselineAgent:
    """The model of a profile alone, as a baseline; InputError when the profile names no model."""
    client = open_client(profile.model, collection.root)
    if client is None:
        raise InputError(
            f"the baseline {baseline!r} needs a model, and profile {profile.name} has none",
            remedy="add --profile endpoint or --profile local",
        )
    return BaselineAgent(collection, collection.root, profile.agent, client=client, baseline=baseline)
