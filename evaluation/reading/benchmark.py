"""Runs a reader over SQuAD-format sets: each question over its own paragraph, or over what search finds for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evaluation.folder import RunConfig, RunFolder
from evaluation.metrics.reading import match_answer
from evaluation.plots import RISK_PLOT, plot_risk
from evaluation.reading.answers import ReadAnswer
from evaluation.reading.corpus import ParagraphCorpus, corpus
from evaluation.reading.reader import Answer, ParagraphReader
from evaluation.reading.samples import ReadingQuestion, ReadingSet, fingerprint
from evaluation.reading.scoring import Mode, ReadingSummary, summarise_set
from evaluation.records import JsonLines, write_json
from evaluation.run import do_each
from retrieval.progress import Progress
from retrieval.types import Frozen

DEPTH = 10
"""How many paragraphs are ranked."""
READ = 2
"""How many of them are read: a third one costs half as much again, and adds 0.2 to F1 on SQuAD."""


class ReadingRun(RunFolder):
    """The files of a reading run: `run.json`, `answers.jsonl`, `failures.jsonl`."""

    def __init__(self, out: Path) -> None:
        self.answers = JsonLines(out / "answers.jsonl", ReadAnswer)
        super().__init__(out, (self.answers,))


class _Read(Frozen):
    """An answer, the paragraph that it was taken from, and the rank of the question's own paragraph."""

    answer: Answer
    source: int | None
    rank: int | None = None


def run_config(
    sets: Sequence[ReadingSet], reader: ParagraphReader, *, mode: Mode, limit: int | None = None
) -> RunConfig:
    """What a run over the whole of `sets` is recorded as."""
    settings = {"mode": mode, "reader": reader.name}
    return RunConfig(benchmark="reading", questions=fingerprint(sets), settings=settings, limit=limit)


def measure(
    run: ReadingRun,
    sets: Sequence[ReadingSet],
    reader: ParagraphReader,
    *,
    mode: Mode,
    progress: Progress | None = None,
) -> ReadingSummary:
    """Answer, within an opened run, what `answers.jsonl` doesn't hold yet, and score the whole.

    Writes `summary.json` and the risk-coverage plot.
    """
    homes = {question.id: one for one in sets for question in one.questions}
    done = {answer.id for answer in run.answers.read()}
    todo = [question for one in sets for question in one.questions if question.id not in done]
    with _corpora(sets if todo else [], mode) as corpora:

        def answer(question: ReadingQuestion) -> None:
            one = homes[question.id]
            run.answers.append(_answered(question, one, reader, corpora.get(one.name)))

        do_each(todo, "answering", answer, failures=run.failures, progress=progress)
    answers = {answer.id: answer for answer in run.answers.read()}
    summary = ReadingSummary(
        mode=mode,
        reader=reader.name,
        sets={one.name: summarise_set(one, answers, threshold=reader.threshold, mode=mode) for one in sets},
    )
    write_json(run.out / "summary.json", summary)
    title = "Risk and coverage, paragraph given" if mode == "given" else "Risk and coverage, paragraph searched for"
    plot_risk(run.out / RISK_PLOT, title, {name: one.risk for name, one in summary.sets.items()})
    return summary


@contextmanager
def _corpora(sets: Sequence[ReadingSet], mode: Mode) -> Iterator[dict[str, ParagraphCorpus]]:
    """A corpus for each set, by name; none when the paragraphs are given."""
    with ExitStack() as held:
        yield {one.name: held.enter_context(corpus(one.paragraphs)) for one in sets} if mode == "open" else {}


def _answered(
    question: ReadingQuestion, one: ReadingSet, reader: ParagraphReader, searched: ParagraphCorpus | None
) -> ReadAnswer:
    begin = time.perf_counter()
    if searched is None:
        read = _Read(answer=reader.answer(question.text, one.paragraphs[question.paragraph]), source=question.paragraph)
    else:
        read = _found_and_read(question, one.paragraphs, reader, searched)
    seconds = time.perf_counter() - begin
    match = match_answer(read.answer.text, question.answers, one.rules)
    return ReadAnswer(
        id=question.id,
        set_name=one.name,
        question=question.text,
        text=read.answer.text,
        confidence=read.answer.confidence,
        answerable=bool(question.answers),
        exact=match.exact,
        f1=match.f1,
        source=read.source,
        seconds=seconds,
        rank=read.rank,
    )


def _found_and_read(
    question: ReadingQuestion, paragraphs: Sequence[str], reader: ParagraphReader, searched: ParagraphCorpus
) -> _Read:
    """The best paragraphs are read, and that answer is taken which is surest, weighed by its paragraph's score."""
    found = searched.search(question.text, DEPTH)
    places = [hit.place for hit in found]
    rank = places.index(question.paragraph) + 1 if question.paragraph in places else None
    read = [(hit, reader.answer(question.text, paragraphs[hit.place])) for hit in found[:READ]]
    if not read:
        return _Read(answer=Answer(text="", confidence=0.0), source=None, rank=rank)
    best, answer = max(read, key=lambda pair: pair[0].share * pair[1].confidence)
    return _Read(answer=answer, source=best.place, rank=rank)
