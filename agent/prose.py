"""Answers out of running text: the learned reader over the sentences that rank best for a question."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from agent.question import Question
from agent.ranking import WANTED, Scored, wanted_values
from agent.reader.ranker import Reader, Span

_SENTENCES = 8
_LETTERS = 1600
_NEAR = 0.4
_KEPT = 12
_ENDS = ".!?。！？；;:："
_NOT_READ = frozenset(("yes_no", "list"))
_OTHER_TYPE = 0.5
"""What the probability is worth of words that aren't of the wanted type."""


@dataclass(frozen=True, slots=True)
class ProseAnswer:
    """Words out of a unit of text, and the probability that they are right."""

    text: str
    best: Scored
    confidence: float


class ProseReader:
    """Joins the best sentences of the pages into one paragraph and has the reader read it. Safe for several threads."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._reading = threading.Lock()

    def read(self, question: Question, ranked: Sequence[Scored]) -> ProseAnswer | None:
        """The words that answer the question in the best units of running text.

        None for questions that want more than words (lists, yes or no, one of two options, a calculation), and when
        there is no running text.
        """
        if question.options or question.operation is not None or question.answer_type in _NOT_READ:
            return None
        units = running_text(ranked)
        paragraph, ends = joined(units, question.language == "zh")
        if not paragraph:
            return None
        with self._reading:
            reading = self._reader.read(question.text, paragraph, keep=_KEPT)
        for strict in (True, False):
            for span in reading.spans:
                at = next(number for number, end in enumerate(ends) if span.start < end)
                text = _trimmed(span, units[at].unit.text)
                if strict and not fits(question, text):
                    continue
                trust = 1.0 if fits(question, text) else _OTHER_TYPE
                return ProseAnswer(text, units[at], trust * reading.answerable)
        return None


def fits(question: Question, text: str) -> bool:
    """Whether words are of the type that the question wants."""
    return question.answer_type not in WANTED or bool(wanted_values(question, text))


def running_text(ranked: Sequence[Scored]) -> list[Scored]:
    """The best units that are no rows, as many as one paragraph holds, in the order of their pages."""
    found: list[Scored] = []
    letters = 0
    for item in ranked[: 4 * _SENTENCES]:
        if item.unit.cells or item.score < _NEAR * ranked[0].score:
            continue
        letters += len(item.unit.text)
        if found and (len(found) == _SENTENCES or letters > _LETTERS):
            break
        found.append(item)
    places = {item.unit.page: number for number, item in reversed(list(enumerate(found)))}
    return sorted(found, key=lambda item: (places[item.unit.page], item.unit.order))


def joined(units: Sequence[Scored], chinese: bool) -> tuple[str, list[int]]:
    """The units as one paragraph, and where each of them ends in it."""
    paragraph, ends = "", []
    for item in units:
        paragraph += item.unit.text.rstrip()
        if paragraph[-1] not in _ENDS:
            paragraph += "。" if chinese else "."
        paragraph += "" if chinese else " "
        ends.append(len(paragraph))
    return paragraph, ends


def _trimmed(span: Span, unit: str) -> str:
    """The words of a span without the stop that was put after their unit."""
    text = span.text.strip()
    return text if text in unit else text.rstrip("。.")
