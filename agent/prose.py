"""Answers out of running text: the learned reader over the sentences that rank best for a question."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from agent.listing.lists import NEEDS_EYES
from agent.matching import terms
from agent.question import Question
from agent.ranking import WANTED, Scored, wanted_values
from agent.reader.ranker import Reader, Reading, Span
from agent.reader.vectors import Floats
from agent.types import AnswerType
from agent.wordings import aligned, dated

_SENTENCES = 8
_LETTERS = 1600
_NEAR = 0.4
_SENTENCE = 4
"""Terms of the shortest text in a table that may be a sentence; what is shorter heads a column."""
_KEPT = 12
_ENDS = ".!?。！？；;:："
_CURRENCY = r"(?:dollars|pounds|euros|yuan|yen|francs)\b"
_SCALE = re.compile(
    rf"\s?(?:%|per ?cent\b|(?:thousand|million|billion|trillion)\b(?:\s{_CURRENCY})?|{_CURRENCY})"
    r"|[十百千万萬亿億]*(?:美元|人民币|人民幣|日元|英镑|英鎊|欧元|歐元|元)|[十百千万萬亿億]+"
)
_TYPES = get_args(AnswerType)
_ONE_OF_SEVERAL, _UNSEEN = 0.5, 0.4
"""What the probability is worth of one thing where several are wanted, and of words about what only eyes can see or
what isn't spoken of.
"""


@dataclass(frozen=True, slots=True)
class ProseAnswer:
    """Words out of a unit of text, and the probability that they are right."""

    text: str
    best: Scored
    confidence: float


@dataclass(frozen=True, slots=True)
class ReadWords:
    """Words that were read, the unit they stand in, and what speaks for them beside the reading itself."""

    text: str
    best: Scored
    reading: Reading
    found: Floats


class ProseReader:
    """Joins the best sentences of the pages into one paragraph and has the reader read it. Safe for several threads."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._reading = threading.Lock()

    def answer(self, question: Question, ranked: Sequence[Scored]) -> ProseAnswer | None:
        """The words that answer the question, with the probability that they are right.

        None for questions that want more than words (yes or no, one of two options, a calculation), and when there is
        no running text.
        """
        if question.options or question.operation is not None or question.answer_type == "yes_no":
            return None
        read = self.read(question, ranked)
        if read is None:
            return None
        with self._reading:
            right = self._reader.right_over_pages(read.reading, read.found)
        if question.answer_type == "list":
            right *= _ONE_OF_SEVERAL
        uncounted = (
            question.answer_type == "count" and question.counted[-1:] and question.counted[-1] in read.best.missing
        )
        if uncounted or NEEDS_EYES.search(question.text):
            right *= _UNSEEN
        return ProseAnswer(read.text, read.best, right)

    def read(self, question: Question, ranked: Sequence[Scored]) -> ReadWords | None:
        """The best words in the best units of running text, those of the wanted type first; None without such text."""
        units = running_text(ranked)
        paragraph, ends = joined(units, question.language == "zh")
        if not paragraph:
            return None
        with self._reading:
            reading = self._reader.read(question.text, paragraph, keep=_KEPT)
        places = [next(number for number, end in enumerate(ends) if span.start < end) for span in reading.spans]
        words = [_trimmed(span, units[at].unit.text) for span, at in zip(reading.spans, places, strict=True)]
        if not words:
            return None
        chosen = next((number for number, text in enumerate(words) if fits(question, text)), 0)
        best = units[places[chosen]]
        text = aligned(question, best.unit.text, _with_scale(words[chosen], best.unit.text))
        found = _found(question, ranked, best, words[chosen], reading, chosen)
        return ReadWords(dated(question.text, text), best, reading, found)


def _found(
    question: Question, ranked: Sequence[Scored], best: Scored, text: str, reading: Reading, chosen: int
) -> Floats:
    """What speaks for words beside the reading: how their unit meets the question, whether they are what is wanted."""
    place = next(number for number, item in enumerate(ranked) if item is best)
    asked_for = {name for name in question.names if name in best.missing}
    own = set(terms(text))
    return np.array(
        [
            best.coverage,
            best.score,
            best.score / ranked[0].score if ranked[0].score else 0.0,
            place,
            len(best.missing),
            len(asked_for),
            len(question.terms),
            fits(question, text),
            chosen,
            reading.spans[0].score - reading.spans[chosen].score,
            _TYPES.index(question.answer_type),
            question.person,
            len(own & set(question.terms)) / max(len(own), 1),
            best.unit.role == "heading",
        ],
        np.float32,
    )


def fits(question: Question, text: str) -> bool:
    """Whether words are of the type that the question wants; nobody's name has digits."""
    if question.person and re.search(r"\d", text):
        return False
    return question.answer_type not in WANTED or bool(wanted_values(question, text))


def running_text(ranked: Sequence[Scored]) -> list[Scored]:
    """The best units that are no rows, as many as one paragraph holds, in the order of their pages."""
    found: list[Scored] = []
    letters = 0
    for item in ranked[: 4 * _SENTENCES]:
        head = item.unit.role == "table" and len(terms(item.unit.text)) < _SENTENCE
        if item.unit.cells or head or item.score < _NEAR * ranked[0].score:
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


def _with_scale(text: str, unit: str) -> str:
    """Words that end in a number with what belongs to it: its scale and its currency."""
    found = _SCALE.match(unit, unit.find(text) + len(text)) if text[-1:].isdigit() and text in unit else None
    return text + found.group().rstrip() if found else text


def _trimmed(span: Span, unit: str) -> str:
    """The words of a span without the stop that was put after their unit, and without a bracket that stays open."""
    text = span.text.strip()
    text = text if text in unit else text.rstrip("。.")
    for opening, closing in ("()", "（）"):
        at = text.rfind(opening)
        if at > 0 and closing not in text[at:]:
            text = text[:at].rstrip()
    return text
