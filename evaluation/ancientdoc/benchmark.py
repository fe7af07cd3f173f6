"""Runs AncientDoc: reads the page images, asks each question over its own, scores answers and reports behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agent.planner import Hints
from agent.trace import trace_path
from agent.types import Trajectory
from evaluation.ancientdoc.samples import AncientSample, AncientSet, fingerprint
from evaluation.ancientdoc.scoring import AncientSummary, Comparison, score_samples, summarise
from evaluation.behaviour.measures import Behaviour, behaviour_of
from evaluation.behaviour.plots import plot_behaviour
from evaluation.behaviour.traces import runs_at
from evaluation.folder import RunConfig
from evaluation.records import write_bytes, write_json
from evaluation.run import Run, failure_of
from evaluation.types import Question
from retrieval.collection import Collection
from retrieval.errors import UnreadableDocument
from retrieval.progress import Progress, Silent
from retrieval.types import Scope


class HintedAsker(Protocol):
    """What answers a question over a scope, knowing or not what kind of question it is."""

    def ask(self, question: str, scope: Scope, *, hints: Hints | None = None) -> Trajectory:
        """The trajectory of one question."""


class Measured(NamedTuple):
    """What a run came to: the scores, and how the agent went about it."""

    summary: AncientSummary
    behaviour: Behaviour


def settings_of(
    profile: Mapping[str, Any], *, without: Sequence[str] = (), predict_task: bool = False
) -> dict[str, Any]:
    """What answers depend on, as JSON: the profile, the parts that are left out, and whether the task is told."""
    return {**profile, "without": sorted(set(without)), "predict_task": predict_task}


def run_config(samples: Sequence[AncientSample], settings: dict[str, Any], *, limit: int | None = None) -> RunConfig:
    """What a run over all of `samples` is recorded as; `settings` are those of `settings_of`."""
    return RunConfig(benchmark="ancientdoc", questions=fingerprint(samples), settings=settings, limit=limit)


def measure(
    run: Run,
    data: AncientSet,
    *,
    collection: Collection,
    agent: HintedAsker,
    settings: Mapping[str, Any],
    comparison: Comparison,
    progress: Progress | None = None,
    together: int = 1,
) -> Measured:
    """Read, ask and score the samples within an opened run, and say how the agent behaved by its traces.

    What the run's files hold already isn't done again, so a complete run is only scored. Each question is asked with
    its task as a hint, unless the settings say that the task is to be told from the question. Writes `summary.json`,
    `scores.jsonl`, `behaviour.json` and its plots.
    """
    shown = progress or Silent()
    for line in data.refused:
        shown.note(line)
    scopes = _scopes(run, data.samples, collection, shown)
    questions = [Question(id=s.id, text=s.question, scope=scopes[s.id]) for s in data.samples if s.id in scopes]
    tasks = {sample.id: sample.task for sample in data.samples}
    told = not settings.get("predict_task")

    def ask(question: Question) -> Trajectory:
        return agent.ask(question.text, question.scope, hints=Hints(task=tasks[question.id]) if told else None)

    run.ask(questions, ask, progress=shown, together=together)
    trajectories = {t.question_id: t for t in run.trajectories.read() if t.question_id in tasks}
    answered = {name: trajectory for name, trajectory in trajectories.items() if name is not None}
    scored, compared = score_samples(data.samples, answered, comparison=comparison, progress=shown)
    summary = summarise(
        scored, answered, run.open_failures(), compared=compared, settings=settings, refused=data.refused
    )
    write_json(run.out / "summary.json", summary)
    write_bytes(run.out / "scores.jsonl", b"".join(s.model_dump_json(by_alias=True).encode() + b"\n" for s in scored))
    behaviour = behaviour_of(
        runs_at((trace_path(collection.root, t.trace_id), tasks[name]) for name, t in answered.items())
    )
    write_json(run.out / "behaviour.json", behaviour)
    plot_behaviour(run.out, behaviour)
    return Measured(summary, behaviour)


def _scopes(run: Run, samples: Sequence[AncientSample], collection: Collection, progress: Progress) -> dict[str, Scope]:
    """Read the page images; the scope of each sample by id. A question over an image that can't be read has failed."""
    paths = list(dict.fromkeys(path for sample in samples for path in sample.paths))
    present = [path for path in paths if path.is_file()]
    report = collection.read(present, progress=progress)
    reasons = {refusal.path.resolve(): refusal.reason for refusal in report.refused}
    documents: dict[Path, str] = {}
    for path in present:
        known = collection.store.known_file(path)
        if known is not None and path.resolve() not in reasons:
            documents[path] = known.doc_id
    if documents:
        collection.enrich(Scope(doc_ids=tuple(dict.fromkeys(documents.values()))), progress=progress)
    scopes = {}
    for sample in samples:
        lost = [path for path in sample.paths if path not in documents]
        if not lost:
            scopes[sample.id] = Scope(doc_ids=tuple(dict.fromkeys(documents[path] for path in sample.paths)))
            continue
        reason = reasons.get(
            lost[0].resolve(), f"{lost[0]} does not exist: name the folder of the images with --images"
        )
        progress.note(reason)
        question = Question(id=sample.id, text=sample.question, scope=Scope(doc_ids=()))
        run.failures.append(failure_of(question, UnreadableDocument(reason)))
    return scopes
