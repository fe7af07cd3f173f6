"""From trajectories to the numbers of AncientDoc: `summary.json`, and what each answer scored: `scores.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from agent.types import Trajectory
from evaluation.ancientdoc.samples import AncientSample
from evaluation.ancientdoc.tasks import TASKS, UNDERSTANDING, AncientTask
from evaluation.metrics.latency import latency_scores
from evaluation.metrics.transcription import Transcript, transcription_scores
from evaluation.metrics.translation import Similarity, chrf_corpus, chrf_sentence, chrf_signature
from evaluation.types import Failure, Score
from retrieval.progress import Progress
from retrieval.types import Frozen

_SCORED_TOGETHER = 64
"""So many answers go to the encoder at once, so that progress is seen."""
Outcome = Literal["answered", "abstained", "failed"]


class ScoredSample(Frozen):
    """One question with its answer and what it scores; `prediction` is "" for an abstention and for a failure.

    `bertscore_f1` is None when it wasn't measured.
    """

    schema_version: Literal["docsage.ancientdoc-score/1"] = Field(default="docsage.ancientdoc-score/1", alias="schema")
    id: str
    task: AncientTask
    outcome: Outcome
    prediction: str
    reference: str
    chrf_plus_plus: float
    bertscore_f1: float | None
    trace_id: str | None


class TaskSummary(Frozen):
    """What one task came to. Abstentions and failures score as empty texts; `missing` in the scores counts failures.

    `chrf++` pools the n-grams of all texts, `chrf++_sentence` is the mean over the texts. For OCR there are character
    error rates besides, of which lower is better.
    """

    questions: int
    answered: int
    abstained: int
    failed: int
    scores: dict[str, Score]


class AncientSummary(Frozen):
    """What a run came to.

    `understanding` is each score's mean over the four tasks other than OCR, every task with the same weight; `missing`
    are then the tasks without a value. `task_accuracy` is there when the agent had to tell the task itself. `refused`
    are the entries of the file that could not be used; they count nowhere.
    """

    schema_version: Literal["docsage.ancientdoc-summary/1"] = Field(
        default="docsage.ancientdoc-summary/1", alias="schema"
    )
    benchmark: Literal["ancientdoc"] = "ancientdoc"
    questions: int
    answered: int
    abstained: int
    failed: int
    failures_by_kind: dict[str, int]
    refused: tuple[str, ...]
    without: tuple[str, ...]
    tasks: dict[AncientTask, TaskSummary]
    understanding: dict[str, Score]
    task_accuracy: Score | None
    latency: dict[str, Score]
    chrf_signature: str
    bertscore_model: str | None


class Comparison(NamedTuple):
    """What BERTScore is computed with; None with the reason why it isn't."""

    similarity: Similarity | None
    reason: str = ""


class Compared(Frozen):
    """The similarity of each prediction to its reference, in order of the samples; `values` is None when there is none.

    `model` names what compared them, `reason` says why nothing did.
    """

    values: tuple[float, ...] | None = None
    model: str | None = None
    reason: str = ""


def score_samples(
    samples: Sequence[AncientSample],
    trajectories: Mapping[str, Trajectory],
    *,
    comparison: Comparison,
    progress: Progress,
) -> tuple[list[ScoredSample], Compared]:
    """Each sample with its scores, and what its similarity was computed with."""
    found = [trajectories.get(sample.id) for sample in samples]
    predictions = [prediction_of(trajectory) for trajectory in found]
    compared = _compared(predictions, [sample.reference for sample in samples], comparison, progress)
    scored = [
        ScoredSample(
            id=sample.id,
            task=sample.task,
            outcome="failed" if trajectory is None else "abstained" if trajectory.abstained else "answered",
            prediction=prediction,
            reference=sample.reference,
            chrf_plus_plus=chrf_sentence(prediction, sample.reference),
            bertscore_f1=None if compared.values is None else compared.values[place],
            trace_id=None if trajectory is None else trajectory.trace_id,
        )
        for place, (sample, trajectory, prediction) in enumerate(zip(samples, found, predictions, strict=True))
    ]
    return scored, compared


def _compared(
    predictions: Sequence[str], references: Sequence[str], comparison: Comparison, progress: Progress
) -> Compared:
    similarity = comparison.similarity
    if similarity is None:
        return Compared(reason=comparison.reason)
    progress.start("scoring", len(predictions))
    values: list[float] = []
    for start in range(0, len(predictions), _SCORED_TOGETHER):
        part = slice(start, start + _SCORED_TOGETHER)
        values += similarity.f1(predictions[part], references[part])
        progress.advance(len(predictions[part]))
    return Compared(values=tuple(values), model=similarity.name)


def prediction_of(trajectory: Trajectory | None) -> str:
    """The answer as it is scored: nothing for an abstention, whatever candidate it withholds, and for a failure."""
    return "" if trajectory is None or trajectory.abstained else trajectory.answer or ""


def summarise(
    scored: Sequence[ScoredSample],
    trajectories: Mapping[str, Trajectory],
    failures: Mapping[str, Failure],
    *,
    compared: Compared,
    settings: Mapping[str, object],
    refused: Sequence[str] = (),
) -> AncientSummary:
    """All numbers of a run; `settings` are those of `benchmark.settings_of`."""
    asked = [trajectories[one.id] for one in scored if one.id in trajectories]
    tasks = {
        task: _task_summary(task, members, compared)
        for task in TASKS
        if (members := [one for one in scored if one.task == task])
    }
    kinds = [failures[one.id].kind for one in scored if one.id in failures]
    without = settings.get("without")
    return AncientSummary(
        questions=len(scored),
        **_outcomes(scored),
        failures_by_kind={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        refused=tuple(refused),
        without=tuple(without) if isinstance(without, list) else (),
        tasks=tasks,
        understanding=_understanding(tasks, compared),
        task_accuracy=_task_accuracy(scored, trajectories) if settings.get("predict_task") else None,
        latency=latency_scores([trajectory.usage.seconds for trajectory in asked]),
        chrf_signature=chrf_signature(),
        bertscore_model=compared.model,
    )


def _outcomes(scored: Sequence[ScoredSample]) -> dict[str, int]:
    outcomes = [one.outcome for one in scored]
    return {outcome: outcomes.count(outcome) for outcome in ("answered", "abstained", "failed")}


def _task_summary(task: AncientTask, members: Sequence[ScoredSample], compared: Compared) -> TaskSummary:
    """The scores of a task that has at least one question."""
    missing = _outcomes(members)["failed"]
    corpus = chrf_corpus([one.prediction for one in members], [one.reference for one in members])
    scores = {
        "chrf++": Score(value=corpus, n=len(members), missing=missing),
        "chrf++_sentence": Score.mean((one.chrf_plus_plus for one in members), of="questions", missing=missing),
        "bertscore_f1": Score.nothing(compared.reason, missing=missing)
        if compared.values is None
        else Score.mean((one.bertscore_f1 or 0.0 for one in members), of="questions", missing=missing),
    }
    if task == "ocr":
        pages = [Transcript(read=one.prediction, reference=one.reference) for one in members]
        scores |= transcription_scores(pages, missing=missing)
    return TaskSummary(questions=len(members), **_outcomes(members), scores=scores)


def _understanding(tasks: Mapping[AncientTask, TaskSummary], compared: Compared) -> dict[str, Score]:
    """The mean over the understanding tasks of each score."""
    means = {}
    for name in ("chrf++", "chrf++_sentence", "bertscore_f1"):
        values = [v for task in UNDERSTANDING if task in tasks and (v := tasks[task].scores[name].value) is not None]
        mean = Score.mean(values, of="understanding tasks", missing=len(UNDERSTANDING) - len(values))
        unmeasured = name == "bertscore_f1" and compared.values is None
        means[name] = mean.model_copy(update={"reason": compared.reason}) if unmeasured else mean
    return means


def _task_accuracy(scored: Sequence[ScoredSample], trajectories: Mapping[str, Trajectory]) -> Score:
    """The share of questions whose task the agent told right; failures count as wrong."""
    told = [trajectories[one.id].task if one.id in trajectories else None for one in scored]
    right = sum(task == one.task for task, one in zip(told, scored, strict=True))
    return Score.ratio(right, len(scored), of="questions", missing=told.count(None))
