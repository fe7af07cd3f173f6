"""Runs MMLongBench-Doc: reads its documents, searches and asks each question over its own, and scores the whole."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from agent.types import Trajectory
from evaluation.folder import RunConfig
from evaluation.mmlongbench.samples import Sample, document_paths
from evaluation.mmlongbench.scoring import Summary, judge, summarise
from evaluation.plots import RISK_PLOT, plot_risk
from evaluation.records import write_json
from evaluation.run import Run, failure_of
from evaluation.types import Question, Ranked
from retrieval.collection import Collection
from retrieval.errors import UnreadableDocument
from retrieval.progress import Progress, Silent
from retrieval.types import Document, Scope

DEPTH = 10
"""How many pages are ranked for recall@k and all-hit@k."""


class Asker(Protocol):
    """What answers a question over a scope."""

    def ask(self, question: str, scope: Scope) -> Trajectory:
        """The trajectory of one question."""


def run_config(samples: Sequence[Sample], settings: dict[str, Any], *, limit: int | None = None) -> RunConfig:
    """What a run over all of `samples` is recorded as. `settings` is what answers depend on, as JSON."""
    return RunConfig(benchmark="mmlongbench-doc", questions=fingerprint(samples), settings=settings, limit=limit)


def measure(
    run: Run,
    data: Path,
    samples: Sequence[Sample],
    *,
    collection: Collection,
    agent: Asker | None,
    progress: Progress | None = None,
    threshold: float | None = None,
    together: int = 1,
) -> Summary:
    """Read, search, ask and score `samples` within an opened run; without an agent only the search is measured.

    What the run's files hold already isn't done again, so a complete run is only scored. Writes `summary.json` and the
    risk-coverage plot; `threshold` is the confidence from which the agent answers, to be marked there.
    """
    shown = progress or Silent()
    documents = _read(run, data, samples, collection, shown)
    questions = [
        Question(id=s.id, text=s.question, scope=Scope(doc_ids=(documents[s.document].doc_id,)))
        for s in samples
        if s.document in documents
    ]
    run.rank(questions, lambda question: rank(question, collection), progress=shown)
    if agent is not None:
        answering = agent
        run.ask(
            questions, lambda question: answering.ask(question.text, question.scope), progress=shown, together=together
        )
    judged = judge(
        samples,
        documents=documents,
        rankings=run.ranked.read(),
        trajectories=run.trajectories.read(),
        page_of=collection.store.page,
    )
    asked = agent is not None
    summary = summarise(judged, run.open_failures(asked=asked), asked=asked, threshold=threshold)
    write_json(run.out / "summary.json", summary)
    if summary.risk is not None:
        plot_risk(run.out / RISK_PLOT, "Risk and coverage", {"MMLongBench-Doc": summary.risk})
    return summary


def rank(question: Question, collection: Collection) -> Ranked:
    """The first pages that search alone finds for a question as it stands, after all work that serves its ranking.

    The seconds are those of the search, without that work.
    """
    collection.enrich(question.scope, query=question.text)
    begin = time.perf_counter()
    result = collection.search(question.text, question.scope, k=DEPTH)
    return Ranked(
        id=question.id,
        question=question.text,
        pages=tuple(hit.ref for hit in result.hits),
        signals=result.signals,
        seconds=time.perf_counter() - begin,
    )


def fingerprint(samples: Sequence[Sample]) -> str:
    """A hash of which question is asked under which id over which document. Corrected gold answers don't change it."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(repr((sample.id, sample.document, sample.question)).encode())
    return digest.hexdigest()[:16]


def _read(
    run: Run, data: Path, samples: Sequence[Sample], collection: Collection, progress: Progress
) -> dict[str, Document]:
    """Read and enrich the documents; what they are, by name. Questions over unreadable ones are failures."""
    paths = document_paths(data, samples)
    present = {name: path for name, path in paths.items() if path.is_file()}
    report = collection.read(list(present.values()), progress=progress)
    refused = {refusal.path.resolve(): refusal.reason for refusal in report.refused}
    documents = {}
    for name, path in present.items():
        known = collection.store.known_file(path)
        if known is not None and path.resolve() not in refused:
            documents[name] = collection.document(known.doc_id)
    if documents:
        scope = Scope(doc_ids=tuple(dict.fromkeys(document.doc_id for document in documents.values())))
        collection.enrich(scope, progress=progress)
    for name, path in paths.items():
        if name not in documents:
            reason = refused.get(path.resolve(), f"{path} does not exist")
            progress.note(reason)
            _fail(run, [s for s in samples if s.document == name], UnreadableDocument(reason))
    return documents


def _fail(run: Run, samples: Sequence[Sample], error: UnreadableDocument) -> None:
    for sample in samples:
        question = Question(id=sample.id, text=sample.question, scope=Scope(doc_ids=()))
        run.failures.append(failure_of(question, error))
