"""Runs MMLongBench-Doc: reads its documents, searches and asks each question over its own, and scores the whole."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agent.types import Trajectory
from evaluation.mmlongbench.samples import Sample, document_paths, load_samples
from evaluation.mmlongbench.scoring import Judged, Summary, judge, summarise
from evaluation.records import write_json
from evaluation.run import Run, RunConfig, failure_of
from evaluation.types import Question, Ranked
from retrieval.collection import Collection
from retrieval.errors import UnreadableDocument
from retrieval.progress import Progress, Silent
from retrieval.types import Scope

DEPTH = 10
"""How many pages are ranked for recall@k and all-hit@k."""


class Asker(Protocol):
    """What answers a question over a scope."""

    def ask(self, question: str, scope: Scope) -> Trajectory:
        """The trajectory of one question."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made. `settings` is what answers depend on, as JSON; it is recorded and a run keeps to it."""

    limit: int | None = None
    resume: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


def evaluate(
    data: Path,
    out: Path,
    *,
    collection: Collection,
    agent: Asker | None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Run the benchmark of `data` into `out` and score it; without an agent only the search is measured.

    Files: `run.json`, `ranked.jsonl`, `trajectories.jsonl`, `failures.jsonl`, `summary.json`. The same call goes on
    with a run that was killed, and only scores one that is complete.
    """
    chosen, shown = options or Options(), progress or Silent()
    everything = load_samples(data)
    samples = everything[: chosen.limit]
    config = RunConfig(
        benchmark="mmlongbench-doc",
        questions=fingerprint(everything),
        settings=chosen.settings,
        limit=chosen.limit,
    )
    run = Run(out)
    with run.opened(config, resume=chosen.resume):
        doc_ids = _read(run, data, samples, collection, shown)
        questions = [
            Question(id=s.id, text=s.question, scope=Scope(doc_ids=(doc_ids[s.document],)))
            for s in samples
            if s.document in doc_ids
        ]
        run.rank(questions, lambda question: rank(question, collection), progress=shown)
        if agent is not None:
            answering = agent
            run.ask(questions, lambda q: answering.ask(q.text, q.scope), progress=shown)
        summary = summarise(
            _judged(run, samples, doc_ids),
            run.open_failures(asked=agent is not None),
            asked=agent is not None,
        )
        write_json(out / "summary.json", summary)
    return summary


def rank(question: Question, collection: Collection) -> Ranked:
    """The first pages that search alone finds for a question as it stands."""
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
) -> dict[str, str]:
    """Read and enrich the documents; their content hashes by name. Questions over unreadable ones are failures."""
    paths = document_paths(data, samples)
    present = {name: path for name, path in paths.items() if path.is_file()}
    report = collection.read(list(present.values()), progress=progress)
    refused = {refusal.path.resolve(): refusal.reason for refusal in report.refused}
    doc_ids = {}
    for name, path in present.items():
        known = collection.store.known_file(path)
        if known is not None and path.resolve() not in refused:
            doc_ids[name] = known.doc_id
    if doc_ids:
        collection.enrich(Scope(doc_ids=tuple(dict.fromkeys(doc_ids.values()))), progress=progress)
    for name in paths.keys() - doc_ids.keys():
        reason = refused.get(paths[name].resolve(), f"{paths[name]} does not exist")
        progress.note(reason)
        for sample in samples:
            if sample.document == name:
                question = Question(id=sample.id, text=sample.question, scope=Scope(doc_ids=()))
                run.failures.append(failure_of(question, UnreadableDocument(reason)))
    return doc_ids


def _judged(run: Run, samples: Sequence[Sample], doc_ids: dict[str, str]) -> list[Judged]:
    return judge(samples, doc_ids=doc_ids, rankings=run.ranked.read(), trajectories=run.trajectories.read())
