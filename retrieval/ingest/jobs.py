"""Reading the pages of a batch: in this process when they are few, else over worker processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from retrieval.ingest import image as frames
from retrieval.ingest import pdf
from retrieval.ingest.figures import FigureText, figures_to_read, with_figure_text
from retrieval.ingest.fragments import Draft, to_row
from retrieval.ingest.ocr import check_engine
from retrieval.ingest.pool import Outcome, WorkerPool
from retrieval.ingest.reading import FigureJob, Job, Source, read_figures, read_scan, read_text, unreadable
from retrieval.progress import Progress
from retrieval.settings import IngestSettings
from retrieval.store import Store, StoredPage, Work
from retrieval.types import PageRef

_PAGES_A_JOB = 16
_PAGES_IN_PROCESS = 1500
"""Below this, starting processes costs more than they save."""


class PageReader:
    """Reads what the store lacks of some documents, and commits pages as they finish."""

    def __init__(self, store: Store, settings: IngestSettings) -> None:
        self._store = store
        self._settings = settings

    def read_text(self, sources: Mapping[str, Source], progress: Progress) -> int:
        """Text layers of the pages that aren't in the store; the number of pages read."""
        missing = {doc_id: self._missing(doc_id) for doc_id in sources}
        total = sum(map(len, missing.values()))
        if not total:
            return 0
        progress.start("reading", total)
        jobs: dict[Job, str] = {
            (sources[doc_id], tuple(pages[at : at + _PAGES_A_JOB])): doc_id
            for doc_id, pages in missing.items()
            for at in range(0, len(pages), _PAGES_A_JOB)
        }
        here = [job for job in jobs if total <= _PAGES_IN_PROCESS and not job[0].damaged]
        elsewhere = [job for job in jobs if job not in set(here)]
        for job, drafts in chain(_in_process(read_text, here), self._pooled(read_text, elsewhere, len(elsewhere))):
            self._keep_text(_owner(jobs, job), drafts)
            progress.advance(len(drafts))
        return total

    def read_scans(self, sources: Mapping[str, Source], progress: Progress) -> int:
        """OCR of the pages that wait for it; the number of pages read."""
        due = {doc_id: self._store.pages_due(doc_id, "ocr") for doc_id in sources}
        total = sum(map(len, due.values()))
        if not total:
            return 0
        check_engine(self._settings.ocr)
        progress.start("OCR", total)
        threads = self._settings.workers if total == 1 else 1
        jobs: dict[Job, str] = {
            (replace(sources[doc_id], threads=threads), (page,)): doc_id
            for doc_id, pages in due.items()
            for page in pages
        }
        large = [job for job in jobs if _is_large(*job)]  # one at a time, for what they take of memory
        others = [job for job in jobs if job not in set(large)]
        workers = min(self._settings.workers, len(others))
        for job, drafts in chain(self._pooled(read_scan, others, workers), self._pooled(read_scan, large, 1)):
            self._keep_scans(_owner(jobs, job), drafts)
            progress.advance(len(drafts))
        return total

    def read_figures(
        self, sources: Mapping[str, Source], first: Sequence[PageRef], progress: Progress, deadline: float | None
    ) -> Counter[str]:
        """OCR of the figures of documents, as far as the deadline allows; the number of pages done by document.

        The pages in `first` come first, in that order.
        """
        done: Counter[str] = Counter()
        jobs: dict[FigureJob, PageRef] = {}
        for doc_id, source in sources.items():
            due = self._store.pages_due(doc_id, "figures")
            wanted = figures_to_read(self._store.pages(doc_id), self._settings.ocr.figure_min_area)
            idle = [page for page in due if not wanted.get(page)]
            self._settle(doc_id, idle, "done")
            done[doc_id] += len(idle)
            for page in due:
                if wanted.get(page):
                    jobs[source, page, tuple(wanted[page])] = PageRef(doc_id=doc_id, page=page)
        if not jobs:
            return done
        check_engine(self._settings.ocr)
        order = {ref: place for place, ref in enumerate(first)}
        tasks = sorted(jobs, key=lambda job: order.get(jobs[job], len(order)))
        progress.start("figures", len(tasks))
        with WorkerPool(min(self._settings.workers, len(tasks))) as pool:
            for outcome in pool.run(read_figures, tasks, seconds=self._settings.page_timeout, deadline=deadline):
                ref = jobs[outcome.task]
                self._add_figures(ref, outcome.result)
                progress.advance()
                done[ref.doc_id] += 1
        return done

    def _add_figures(self, ref: PageRef, read: FigureText | None) -> None:
        page = self._store.page(ref)
        if page is None:
            return
        ocr, _ = self._store.page_work(ref)
        if read is None or read.problem:
            self._settle(ref.doc_id, [ref.page], "failed")
        elif any(fragments for _, fragments in read.boxes):
            self._store.put_pages([StoredPage(with_figure_text(page, read), ocr, "done")])
        else:
            self._settle(ref.doc_id, [ref.page], "done")

    def _settle(self, doc_id: str, pages: Iterable[int], state: Work) -> None:
        """Record the state of the figures of pages whose content stays as it is."""
        with self._store.writing() as db:
            db.executemany(
                "UPDATE pages SET figures = ? WHERE doc_id = ? AND page = ?", [(state, doc_id, page) for page in pages]
            )

    def _missing(self, doc_id: str) -> list[int]:
        document = self._store.document(doc_id)
        read = set(self._store.pages_read(doc_id))
        return [page for page in range(1, document.pages + 1) if page not in read] if document else []

    def _keep_text(self, doc_id: str, drafts: Iterable[Draft]) -> None:
        rows = []
        for draft in drafts:
            wants_figures = draft.has_figures and not draft.needs_ocr and self._settings.ocr.figures
            rows.append(to_row(draft, doc_id, "due" if draft.needs_ocr else "none", "due" if wants_figures else "none"))
        self._store.put_rows(rows)

    def _keep_scans(self, doc_id: str, drafts: Iterable[Draft]) -> None:
        """Pages read by OCR; one that can't be read keeps what it had, and is not tried again."""
        for draft in drafts:
            if not draft.failed:
                wants_figures = draft.has_figures and self._settings.ocr.figures
                self._store.put_rows([to_row(draft, doc_id, "done", "due" if wants_figures else "none")])
                continue
            with self._store.writing() as db:
                db.execute(
                    "UPDATE pages SET ocr = 'failed', note = ? WHERE doc_id = ? AND page = ?",
                    (draft.note, doc_id, draft.page),
                )

    def _pooled(
        self, read: Callable[[Job], list[Draft]], jobs: Iterable[Job], workers: int
    ) -> Iterator[tuple[Job, list[Draft]]]:
        """Run jobs over processes; the pages of a job that failed are tried again, one alone at a time."""
        jobs = list(jobs)
        if not jobs:
            return
        seconds = self._settings.page_timeout
        suspects: list[Job] = []
        with WorkerPool(min(workers, self._settings.workers)) as pool:
            for outcome in pool.run(read, jobs, seconds=seconds):
                if outcome.result is not None:
                    yield outcome.task, outcome.result
                else:
                    suspects.extend((outcome.task[0], (page,)) for page in outcome.task[1])
        if not suspects:
            return
        with WorkerPool(1) as pool:
            for outcome in pool.run(read, suspects, seconds=seconds):
                yield outcome.task, outcome.result or [_given_up(outcome)]


def _is_large(source: Source, pages: Sequence[int]) -> bool:
    return source.kind == "image" and any(frames.pixel_count(source.path, page) > frames.LARGE_PIXELS for page in pages)


def _owner(jobs: Mapping[Job, str], job: Job) -> str:
    """The document of a job, or of one page of it that was tried again alone."""
    return jobs.get(job) or next(doc_id for known, doc_id in jobs.items() if known[0] == job[0])


def _given_up(outcome: Outcome[Job, list[Draft]]) -> Draft:
    return unreadable(outcome.task[1][0], outcome.problem)


def _in_process(read: Callable[[Job], list[Draft]], jobs: Iterable[Job]) -> Iterator[tuple[Job, list[Draft]]]:
    for job in jobs:
        with pdf.LOCK:
            drafts = read(job)
        yield job, drafts
