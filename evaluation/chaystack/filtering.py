"""The second phase: which candidates hold evidence for their question (CDocRAG's relevance filter, section 4)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent.loop import run as run_async
from evaluation.chaystack.folder import ChaystackRun
from evaluation.chaystack.images import Haystack
from evaluation.chaystack.pages import HaystackPage, PageTexts, image_of
from evaluation.chaystack.records import (
    Candidate,
    FilteredCandidate,
    FilteredSample,
    Index,
    RetrievedSample,
    Timing,
    latest,
)
from evaluation.chaystack.samples import ChaystackSample
from evaluation.run import do_each, failure_of
from retrieval.progress import Progress
from tools.judgment_cache import JudgmentCache
from tools.judgments import FilterResult, JudgeFailed, PageJudge, PageRecord
from tools.relevance_filter import judge_pages

FALLBACK = "[fallback: all rejected]"
"""What the reference code writes as the reply about pages that were all rejected, and are all kept."""


@dataclass(frozen=True)
class Filter:
    """Who judges pages, where judgments are kept, whether it reads text, and how many questions it takes at a time.

    `broken` is why nothing can be judged at all, such as a server that isn't there.
    """

    judge: PageJudge
    cache: JudgmentCache | None = None
    reads_text: bool = False
    together: int = 1
    broken: JudgeFailed | None = None


def unfiltered(
    run: ChaystackRun, index: Index, samples: Sequence[ChaystackSample]
) -> list[tuple[ChaystackSample, RetrievedSample]]:
    """The samples with candidates that weren't filtered yet, or of which some couldn't be judged."""
    files = run.files(index)
    retrieved, done = latest(files.retrieved.read()), latest(files.filtered.read())
    found = ((sample, retrieved[sample.sample_id]) for sample in samples if sample.sample_id in retrieved)
    return [(sample, before) for sample, before in found if not _is_done(done.get(sample.sample_id), before)]


class Unjudged(NamedTuple):
    """The questions that have pages which couldn't be judged, those of which no page could be, and a reason."""

    some: int = 0
    wholly: int = 0
    reason: str = ""


def filter_samples(
    run: ChaystackRun,
    index: Index,
    todo: Sequence[tuple[ChaystackSample, RetrievedSample]],
    filtering: Filter | None,
    *,
    haystack: Haystack,
    texts: PageTexts,
    progress: Progress,
) -> Unjudged:
    """Write the candidates that pass to `phase2_filtered.jsonl`; all pass without a filter.

    A page that can't be judged is kept, so that the order of retrieval stands; its question is a failure, and is
    filtered again next time.
    """
    files = run.files(index)
    before = {sample.sample_id: retrieved for sample, retrieved in todo}
    failed: list[FilterResult] = []
    if filtering is not None and filtering.reads_text and filtering.broken is None:
        images = {c.key: image_of(c, haystack) for _, retrieved in todo for c in retrieved.candidates}
        texts.read(list(images.values()), progress)

    def filter_sample(sample: ChaystackSample) -> None:
        begin = time.perf_counter()
        retrieved = before[sample.sample_id]
        result = None
        if filtering is not None:
            pages = [HaystackPage(image_of(c, haystack), texts) for c in retrieved.candidates]
            result = _judged(filtering, sample.question, pages)
            if result.problem:
                progress.note(result.problem)
        files.filtered.append(_filtered(retrieved, result))
        seconds = time.perf_counter() - begin
        run.timings.append(Timing(sample_id=sample.sample_id, setting=index, phase="filter", seconds=seconds))
        if result is not None and result.errors:
            failed.append(result)
            run.failures.append(failure_of(sample, JudgeFailed(f"filter: {result.first_error}")))

    together = filtering.together if filtering is not None else 1
    do_each(
        [sample for sample, _ in todo],
        "filtering",
        filter_sample,
        failures=run.failures,
        progress=progress,
        together=together,
    )
    wholly = sum(result.errors == len(result.judged) for result in failed)
    return Unjudged(len(failed), wholly, failed[0].first_error if failed else "")


def _judged(filtering: Filter, question: str, pages: Sequence[HaystackPage]) -> FilterResult:
    if filtering.broken is not None:
        error = str(filtering.broken)
        records = tuple(PageRecord(key=page.key, verdict=None, kept=True, error=error) for page in pages)
        return FilterResult(kept=tuple(page.key for page in pages), judged=records)
    return run_async(judge_pages(filtering.judge, question, pages, filtering.cache))


def _filtered(retrieved: RetrievedSample, result: FilterResult | None) -> FilteredSample:
    fields = {name: getattr(retrieved, name) for name in RetrievedSample.model_fields if name != "candidates"}
    if result is None:
        return FilteredSample(**fields, candidates=tuple(_passed(c, None) for c in retrieved.candidates))
    pairs = zip(retrieved.candidates, result.judged, strict=True)
    kept = tuple(_passed(c, record, fallback=result.fallback) for c, record in pairs if record.kept)
    stats = {"pre": len(retrieved.candidates), "post": len(kept)}
    return FilteredSample(**fields, candidates=kept, filter_stats=stats, fallback=result.fallback)


def _passed(candidate: Candidate, record: PageRecord | None, *, fallback: bool = False) -> FilteredCandidate:
    fields = {name: getattr(candidate, name) for name in Candidate.model_fields}
    if record is None:
        return FilteredCandidate(**fields)
    return FilteredCandidate(
        **fields,
        filter_relevant=None if record.verdict is None else record.verdict == "yes",
        filter_raw=FALLBACK if fallback else record.reply,
        filter_error=record.error or None,
        probability=None if record.probability is None else round(record.probability, 6),
    )


def _is_done(filtered: FilteredSample | None, retrieved: RetrievedSample) -> bool:
    """Whether what was filtered is what was retrieved, and every page of it was judged."""
    if filtered is None or filtered.errors:
        return False
    there = {(c.rank, c.key) for c in retrieved.candidates}
    pre = filtered.filter_stats.get("pre", len(filtered.candidates))
    return pre == len(retrieved.candidates) and all((c.rank, c.key) in there for c in filtered.candidates)
