"""What the phases of a CHaystack run write: the fields of the reference code (hanxi19/CHaystack), then ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from evaluation.chaystack.images import HaystackImage
from evaluation.chaystack.samples import CATEGORIES, Category, ChaystackSample, image_key
from evaluation.records import JsonLines, write_bytes
from retrieval.types import Frozen

Index = Literal["category", "all"]
"""Which images a question is searched in: those of its gold image's category, or all."""
Setting = Literal["category", "all", "gold"]
"""How candidates come about: by one of the indexes, or the gold image is the only one."""
Phase = Literal["retrieve", "filter", "generate"]


class _Sparse(Frozen):
    """A record of which fields that are None, and of no use to the reference code, aren't written."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None or name not in _OPTIONAL}


_OPTIONAL = frozenset({"filter_error", "probability", "plan", "trace_id"})


class Candidate(_Sparse):
    """A retrieved page image. `score` is the retriever's own, or the fused one; `ranks` are those of each ranking."""

    rank: int
    score: float
    image_id: str
    image_path: str
    metadata: dict[str, str]
    ranks: dict[str, int] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of the image."""
        return image_key(self.metadata.get("category", ""), self.image_id)


class FilteredCandidate(Candidate):
    """A candidate that passed. `filter_relevant` is None when nobody judged it; `probability` is that of YES."""

    filter_relevant: bool | None = None
    filter_raw: str = ""
    filter_error: str | None = None
    probability: float | None = None


class AnchorPlan(Frozen):
    """What a question is searched by: its anchors, what its answer is, and sub-queries besides the question itself.

    `origin` is "model" or "rules"; `reason` says why the rules planned though there is a model.
    """

    anchors: tuple[str, ...]
    answer_slot: str
    queries: tuple[str, ...]
    origin: Literal["model", "rules"] = "rules"
    reason: str = ""


class PlannedSample(Frozen):
    """A line of `plans.jsonl`."""

    sample_id: str
    plan: AnchorPlan


class RetrievedSample(_Sparse):
    """A line of `phase1_retrieval.jsonl`: a question and its candidates, best first."""

    sample_id: str
    qid: str
    question: str
    gold_answer: str
    gold_image_id: str
    category: Category
    answer_type: str | None
    candidates: tuple[Candidate, ...]
    plan: AnchorPlan | None = None


class FilteredSample(_Sparse):
    """A line of `phase2_filtered.jsonl`: the candidates that passed, in their order.

    `filter_stats` has the numbers before and after, and is empty when there was no filter; `fallback`: all were judged
    NO, so all are kept.
    """

    sample_id: str
    qid: str
    question: str
    gold_answer: str
    gold_image_id: str
    category: Category
    answer_type: str | None
    candidates: tuple[FilteredCandidate, ...]
    filter_stats: dict[str, int] = Field(default_factory=dict)
    fallback: bool = False
    plan: AnchorPlan | None = None

    @property
    def errors(self) -> int:
        """How many candidates couldn't be judged."""
        return sum(candidate.filter_error is not None for candidate in self.candidates)


class AnsweredSample(_Sparse):
    """A line of `filter_rag.jsonl`: the answer and the candidates that it was given from."""

    sample_id: str
    qid: str
    question: str
    category: Category
    answer_type: str | None
    gold_image_id: str
    gold_answer: str
    filter_enabled: bool
    filter_stats: dict[str, int]
    retrieved_image_ids: tuple[str, ...]
    retrieved_categories: tuple[str, ...]
    retrieval_results: tuple[FilteredCandidate, ...]
    answer: str
    raw_answer: str
    is_uncertain: bool
    shown: int


class Timing(_Sparse):
    """A line of `timings.jsonl`: how long a phase took for a question, and the trace it left. Not the same in two runs.

    It is apart from the phases' files, so that those are the same however often a run was interrupted.
    """

    sample_id: str
    setting: Setting
    phase: Phase
    seconds: float
    trace_id: str | None = None


class _HasId(Protocol):
    """A record of a sample."""

    @property
    def sample_id(self) -> str:
        """The sample's id."""


R = TypeVar("R", PlannedSample, RetrievedSample, FilteredSample, AnsweredSample)
H = TypeVar("H", bound=_HasId)


def base_fields(sample: ChaystackSample) -> dict[str, Any]:
    """The fields of a sample that stand in every file."""
    return {
        "sample_id": sample.sample_id,
        "qid": sample.sample_id,
        "question": sample.question,
        "gold_answer": sample.gold_answer,
        "gold_image_id": sample.gold_image_id,
        "category": sample.category,
        "answer_type": sample.answer_type,
    }


def candidate_of(image: HaystackImage, rank: int, score: float, ranks: Mapping[str, int]) -> Candidate:
    """The candidate that an image is; scores have six digits, which don't depend on the machine."""
    return Candidate(
        rank=rank,
        score=float(f"{score:.6g}"),
        image_id=image.image_id,
        image_path=str(image.path),
        metadata={"category": image.category, "filename": image.path.name},
        ranks=dict(ranks),
    )


def latest(records: Sequence[H]) -> dict[str, H]:
    """The last record of each sample: a sample that was done again is there twice until the file is put in order."""
    return {record.sample_id: record for record in records}


def put_in_order(log: JsonLines[R], samples: Sequence[ChaystackSample]) -> None:
    """Replace a file by its latest records in the order of the samples, so that it doesn't show who was done when."""
    records = log.read()
    order = {sample.sample_id: place for place, sample in enumerate(samples)}
    ordered = sorted(latest(records).values(), key=lambda record: order.get(record.sample_id, len(order)))
    if ordered != records:
        write_bytes(log.path, b"".join(r.model_dump_json(by_alias=True).encode() + b"\n" for r in ordered))


def category_order(names: Sequence[Category]) -> tuple[Category, ...]:
    """Categories in the benchmark's order, each once."""
    return tuple(category for category in CATEGORIES if category in names)
