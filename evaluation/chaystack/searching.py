"""The first phase: plans where they are wanted, then the candidates of each question."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from evaluation.chaystack.folder import ChaystackRun
from evaluation.chaystack.images import Haystack
from evaluation.chaystack.plans import QueryPlanner, queries_of
from evaluation.chaystack.records import (
    AnchorPlan,
    Index,
    PlannedSample,
    RetrievedSample,
    Timing,
    base_fields,
    latest,
    put_in_order,
)
from evaluation.chaystack.retrievers import Retriever, candidates
from evaluation.chaystack.samples import ChaystackSample
from evaluation.run import do_each
from retrieval.progress import Progress


def unplanned(run: ChaystackRun, samples: Sequence[ChaystackSample]) -> list[ChaystackSample]:
    """The samples that have no plan yet."""
    done = latest(run.plans.read())
    return [sample for sample in samples if sample.sample_id not in done]


def plan_samples(
    run: ChaystackRun,
    samples: Sequence[ChaystackSample],
    planner: QueryPlanner,
    *,
    progress: Progress,
    together: int = 1,
) -> None:
    """Plan each question and write `plans.jsonl`, in the order of the samples once all is done."""

    def plan(sample: ChaystackSample) -> None:
        run.plans.append(PlannedSample(sample_id=sample.sample_id, plan=planner.plan(sample.question)))

    do_each(samples, "planning", plan, failures=run.failures, progress=progress, together=together)


def unretrieved(run: ChaystackRun, index: Index, samples: Sequence[ChaystackSample]) -> list[ChaystackSample]:
    """The samples that an index has no candidates of yet."""
    done = latest(run.files(index).retrieved.read())
    return [sample for sample in samples if sample.sample_id not in done]


def retrieve_samples(
    run: ChaystackRun,
    index: Index,
    samples: Sequence[ChaystackSample],
    retrievers: Sequence[Retriever],
    *,
    plans: Mapping[str, AnchorPlan] | None,
    haystack: Haystack,
    k: int,
    progress: Progress,
) -> None:
    """Write the candidates of each question to `phase1_retrieval.jsonl`. With `plans`, those without one are left out.

    The index by category is searched in the category of the gold image, which a real user would not know.
    """
    files = run.files(index)
    files.folder.mkdir(exist_ok=True)

    def retrieve(sample: ChaystackSample) -> None:
        begin = time.perf_counter()
        plan = plans[sample.sample_id] if plans is not None else None
        category = sample.category if index == "category" else None
        found = candidates(retrievers, queries_of(sample.question, plan), category, k, haystack)
        seconds = time.perf_counter() - begin
        files.retrieved.append(RetrievedSample(**base_fields(sample), candidates=found, plan=plan))
        run.timings.append(Timing(sample_id=sample.sample_id, setting=index, phase="retrieve", seconds=seconds))

    planned = [sample for sample in samples if plans is None or sample.sample_id in plans]
    do_each(planned, "searching", retrieve, failures=run.failures, progress=progress)


def order_plans(run: ChaystackRun, samples: Sequence[ChaystackSample]) -> dict[str, AnchorPlan]:
    """The plans by sample, with their file in the order of the samples."""
    put_in_order(run.plans, samples)
    return {name: planned.plan for name, planned in latest(run.plans.read()).items()}
