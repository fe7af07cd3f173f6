"""From a run's files to the numbers of CHaystack: `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from evaluation.chaystack.records import (
    AnsweredSample,
    FilteredSample,
    Phase,
    RetrievedSample,
    Setting,
    Timing,
)
from evaluation.chaystack.samples import CATEGORIES, Category, ChaystackSample
from evaluation.metrics.chaystack import score_answer
from evaluation.metrics.latency import latency_scores
from evaluation.metrics.retrieval import CUTOFFS
from evaluation.types import Score
from retrieval.types import Frozen

_NOT_RUN: dict[Phase, str] = {
    "retrieve": "nothing has been retrieved (--phase retrieve)",
    "filter": "nothing has been filtered (--phase filter)",
    "generate": "nothing has been answered (--phase generate)",
}
_GOLD = "the gold image is given, nothing is searched"
_NO_FILTER = "the run has no filter"


class GroupSummary(Frozen):
    """The scores of some questions. Those of which a phase has nothing count 0 in its scores, and are `missing` there.

    `recall` is that of the candidates, `filtered_recall` that of the list that is kept for the generator, both
    "recall@k"; `answers` are "em" and "f1" in [0, 1]. `unreachable` gold images aren't in the haystack: their questions
    count, and no retriever finds them.
    """

    questions: int
    unreachable: int
    recall: dict[str, Score]
    filtered_recall: dict[str, Score]
    answers: dict[str, Score]
    uncertain: Score


class FilterEffect(Frozen):
    """What the filter did to gold images, over the questions that it was done with.

    `moved_up`: at a better rank than before; `into_top` and `out_of_top`, by k: among the first k only after, or only
    before; `false_rejections`: retrieved and judged NO, also where all were and the list was kept. `fallbacks`: all
    candidates were judged NO. `kept` is the mean share of candidates that passed. `errors` are pages without a
    judgment, `failed` the questions that have one.
    """

    questions: int
    gold_retrieved: int
    moved_up: int
    into_top: dict[str, int]
    out_of_top: dict[str, int]
    false_rejections: int
    false_rejection_rate: Score
    fallbacks: int
    kept: Score
    errors: int
    failed: int


class SettingSummary(Frozen):
    """What one index, or the gold images, came to. `failed`: the questions that a phase could not finish."""

    setting: Setting
    meaning: str
    overall: GroupSummary
    by_category: dict[Category, GroupSummary]
    filter: FilterEffect | None
    filter_reason: str = ""
    failed: dict[Phase, int]
    latency: dict[Phase, dict[str, Score]]


class ChaystackSummary(Frozen):
    """What a run came to, by setting. `refused` are lines of the files that could not be used; they count nowhere."""

    schema_version: Literal["docsage.chaystack-summary/1"] = Field(
        default="docsage.chaystack-summary/1", alias="schema"
    )
    benchmark: Literal["chaystack"] = "chaystack"
    questions: int
    images: dict[Category, int]
    unreachable: int
    refused: tuple[str, ...]
    planned: dict[str, int]
    failures_by_kind: dict[str, int]
    settings: dict[Setting, SettingSummary]


MEANINGS: dict[Setting, str] = {
    "category": "each question in the images of its gold image's category, which a user would not know",
    "all": "each question in all images",
    "gold": "the gold image is the only candidate",
}


@dataclass(frozen=True)
class SettingRecords:
    """What the files of one setting hold, by sample, and which phases were begun with what."""

    setting: Setting
    retrieved: Mapping[str, RetrievedSample]
    filtered: Mapping[str, FilteredSample]
    answered: Mapping[str, AnsweredSample]
    timings: Sequence[Timing]
    begun: frozenset[Phase]
    filters: bool
    keep: int


def summarise_setting(
    samples: Sequence[ChaystackSample], records: SettingRecords, unreachable: frozenset[str]
) -> SettingSummary:
    """The numbers of one setting over `samples`."""
    chosen = {sample.sample_id for sample in samples}
    reason = "" if "filter" in records.begun and records.filters else _reason(records, "filter")
    timings = [timing for timing in records.timings if timing.sample_id in chosen]
    return SettingSummary(
        setting=records.setting,
        meaning=MEANINGS[records.setting],
        overall=_group(samples, records, unreachable),
        by_category={
            category: _group(members, records, unreachable)
            for category in CATEGORIES
            if (members := [sample for sample in samples if sample.category == category])
        },
        filter=None if reason else _effect(samples, records),
        filter_reason=reason,
        failed=_failed(samples, records),
        latency={phase: _latency(timings, phase) for phase in _NOT_RUN if phase in records.begun},
    )


def _group(samples: Sequence[ChaystackSample], records: SettingRecords, unreachable: frozenset[str]) -> GroupSummary:
    before = [_place(sample, records.retrieved.get(sample.sample_id)) for sample in samples]
    after = [_place(sample, records.filtered.get(sample.sample_id), records.keep) for sample in samples]
    answered = [records.answered.get(sample.sample_id) for sample in samples]
    return GroupSummary(
        questions=len(samples),
        unreachable=sum(sample.sample_id in unreachable for sample in samples),
        recall=_recall(before, _reason(records, "retrieve")),
        filtered_recall=_recall(after, _reason(records, "filter")),
        answers=_answers(samples, answered, _reason(records, "generate")),
        uncertain=_uncertain(answered, _reason(records, "generate")),
    )


def _reason(records: SettingRecords, phase: Phase) -> str:
    """Why there is no score of a phase; "" when there is one."""
    if records.setting == "gold" and phase != "generate":
        return _GOLD
    if phase == "filter" and "filter" in records.begun and not records.filters:
        return _NO_FILTER
    return "" if phase in records.begun else _NOT_RUN[phase]


class _Place(Frozen):
    """Where the gold image stands in a list, from 1; `rank` is None when it doesn't, `known` False without a list."""

    rank: int | None = None
    known: bool = True

    def within(self, k: int) -> bool:
        """Whether it is among the first k."""
        return self.rank is not None and self.rank <= k


def _place(sample: ChaystackSample, found: RetrievedSample | FilteredSample | None, keep: int | None = None) -> _Place:
    if found is None:
        return _Place(known=False)
    keys = [candidate.key for candidate in found.candidates[:keep]]
    return _Place(rank=keys.index(sample.gold_key) + 1 if sample.gold_key in keys else None)


def _recall(places: Sequence[_Place], reason: str) -> dict[str, Score]:
    missing = sum(not place.known for place in places)
    return {
        f"recall@{k}": Score.nothing(reason)
        if reason
        else Score.mean((float(place.within(k)) for place in places), of="questions", missing=missing)
        for k in CUTOFFS
    }


def _answers(
    samples: Sequence[ChaystackSample], answered: Sequence[AnsweredSample | None], reason: str
) -> dict[str, Score]:
    if reason:
        return {"em": Score.nothing(reason), "f1": Score.nothing(reason)}
    missing = sum(answer is None for answer in answered)
    # The gold answers of now: they may have been corrected since.
    scored = [
        score_answer(answer.answer, sample.gold_answer)
        for sample, answer in zip(samples, answered, strict=True)
        if answer is not None
    ]
    nothing = [0.0] * missing
    return {
        "em": Score.mean([*(score.exact for score in scored), *nothing], of="questions", missing=missing),
        "f1": Score.mean([*(score.f1 for score in scored), *nothing], of="questions", missing=missing),
    }


def _uncertain(answered: Sequence[AnsweredSample | None], reason: str) -> Score:
    """The share of the answers that say they know none."""
    given = [answer for answer in answered if answer is not None]
    if reason:
        return Score.nothing(reason)
    missing = len(answered) - len(given)
    return Score.ratio(sum(answer.is_uncertain for answer in given), len(given), of="answers", missing=missing)


def _effect(samples: Sequence[ChaystackSample], records: SettingRecords) -> FilterEffect:
    pairs = [
        (sample, records.retrieved[sample.sample_id], records.filtered[sample.sample_id])
        for sample in samples
        if sample.sample_id in records.retrieved and sample.sample_id in records.filtered
    ]
    places = [(_place(s, before), _place(s, after, records.keep)) for s, before, after in pairs]
    rejected = sum(_rejects_gold(s, before, after) for s, before, after in pairs)
    retrieved = sum(before.rank is not None for before, _ in places)
    shares = [len(after.candidates) / len(before.candidates) for _, before, after in pairs if before.candidates]
    return FilterEffect(
        questions=len(pairs),
        gold_retrieved=retrieved,
        moved_up=sum(
            before.rank is not None and after.rank is not None and after.rank < before.rank for before, after in places
        ),
        into_top={f"{k}": sum(after.within(k) and not before.within(k) for before, after in places) for k in CUTOFFS},
        out_of_top={f"{k}": sum(before.within(k) and not after.within(k) for before, after in places) for k in CUTOFFS},
        false_rejections=rejected,
        false_rejection_rate=Score.ratio(rejected, retrieved, of="retrieved gold images"),
        fallbacks=sum(after.fallback for _, _, after in pairs),
        kept=Score.mean(shares, of="filtered questions"),
        errors=sum(after.errors for _, _, after in pairs),
        failed=sum(after.errors > 0 for _, _, after in pairs),
    )


def _rejects_gold(sample: ChaystackSample, before: RetrievedSample, after: FilteredSample) -> bool:
    """Whether the filter judged the gold image NO though it was retrieved."""
    if all(candidate.key != sample.gold_key for candidate in before.candidates):
        return False
    verdicts = [candidate.filter_relevant for candidate in after.candidates if candidate.key == sample.gold_key]
    return not verdicts or verdicts[0] is False


def _failed(samples: Sequence[ChaystackSample], records: SettingRecords) -> dict[Phase, int]:
    """The questions that a phase has begun without, or with pages that nobody judged."""
    names = [sample.sample_id for sample in samples]
    failed: dict[Phase, int] = {}
    if "retrieve" in records.begun:
        failed["retrieve"] = sum(name not in records.retrieved for name in names)
    if "filter" in records.begun:
        done = {name for name, one in records.filtered.items() if not one.errors}
        failed["filter"] = sum(name in records.retrieved and name not in done for name in names)
    if "generate" in records.begun:
        ready = [name for name in names if records.setting == "gold" or name in records.filtered]
        failed["generate"] = sum(name not in records.answered for name in ready)
    return failed


def _latency(timings: Sequence[Timing], phase: Phase) -> dict[str, Score]:
    """Seconds a question, of the last time that it was done."""
    seconds = {timing.sample_id: timing.seconds for timing in timings if timing.phase == phase}
    return latency_scores(list(seconds.values()))
