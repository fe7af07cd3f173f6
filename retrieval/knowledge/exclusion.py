"""Test questions and answers that no snippet may repeat.

Texts are compared by their units (Chinese characters and words of other scripts, punctuation and script variants left
out) and by their runs of four units. A snippet is left out when

- it holds an answer of `LONG_ANSWER` units or more word for word, or `RUN` units of one on end,
- it has `ANSWER_SHARE` of the runs of such an answer,
- it has `QUESTION_SHARE` of the runs of a question, or the question's answer, however short, and `ASKED_SHARE` of them,
  or the question word for word,
- half of its own runs stand in one question or answer, of which it is then a part.

A shorter answer alone rejects nothing: a snippet that names 孟子 doesn't give away every question that 孟子 answers.
Answers in other words are not recognised.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retrieval.errors import InputError
from retrieval.knowledge.characters import folded, units
from retrieval.knowledge.records import content_of, lines_of
from retrieval.knowledge.types import InputFile, Reason

LONG_ANSWER = 8
RUN = 20
ANSWER_SHARE = QUESTION_SHARE = PART_SHARE = 0.5
ASKED_SHARE = 0.3
_GRAM = 4
_FEWEST = 5
"""Runs that a text must have to be compared by shares."""
_QUESTIONS = frozenset({"question", "query", "questions"})
_ANSWERS = frozenset({"answer", "answers", "reference", "references", "gold", "gold_answer", "gold_answers"})
_KNOWN = sorted(_QUESTIONS | _ANSWERS)
Gram = tuple[str, ...]


class HeldOut(NamedTuple):
    """A question with its answers, and its place in a file. A line of plain text is a question and an answer."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]
    place: str


class HeldOutFile(NamedTuple):
    """The tests of a file, and a line on each record without any."""

    file: InputFile
    tests: tuple[HeldOut, ...]
    refused: tuple[str, ...]


class Overlap(NamedTuple):
    """Why a text may not stand in the pool."""

    reason: Reason
    place: str


class _Protected(NamedTuple):
    words: str
    grams: frozenset[Gram]
    units: tuple[str, ...]
    is_answer: bool
    test: int


def read_held_out(path: Path) -> HeldOutFile:
    """The questions and answers of a file: JSON lines, JSON (SQuAD and its like, too), or plain text, one a line."""
    content = content_of(path)
    tests: list[HeldOut] = []
    refused: list[str] = []
    for where, value in _values(content, path):
        place = f"{path.name}, {where}"
        if isinstance(value, str):
            found = [HeldOut((value,), (value,), place)]
        else:
            found = [HeldOut(tuple(q), tuple(a), place) for q, a in _asked(value) if q or a]
        tests += found
        if not found:
            refused.append(f"{place}: it has no question and no answer; the fields are {', '.join(_KNOWN)}")
    if not tests:
        raise InputError(f"{path} holds no test question", remedy=f"its records must have one of {', '.join(_KNOWN)}")
    file = InputFile(
        name=path.name, sha256=hashlib.sha256(content).hexdigest(), records=len(tests), refused=len(refused)
    )
    return HeldOutFile(file, tuple(tests), tuple(refused))


def _values(content: bytes, path: Path) -> Iterator[tuple[str, Any]]:
    if path.suffix.lower() == ".json":
        try:
            value = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{path} is not JSON ({error})", remedy="name it .jsonl, or .txt for plain text"
            ) from error
        records = value if isinstance(value, list) else [value]
        yield from ((f"record {number}", record) for number, record in enumerate(records, 1))
        return
    for number, line in lines_of(content):
        if line is None:
            # A question that can't be read can't be kept out, and nobody would see it.
            raise InputError(f"line {number} of {path} is not UTF-8", remedy="save it as UTF-8")
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InputError(f"line {number} of {path} is not JSON ({error})", remedy="mend it") from error
        else:
            yield f"line {number}", line


def _asked(value: Any) -> Iterator[tuple[list[str], list[str]]]:
    """(questions, answers) of every object in a JSON value that has them."""
    if isinstance(value, list):
        for item in value:
            yield from _asked(item)
    if not isinstance(value, dict):
        return
    lowered = {str(name).lower(): item for name, item in value.items()}
    questions = [text for name in sorted(_QUESTIONS & set(lowered)) for text in _strings(lowered[name])]
    answers = [text for name in sorted(_ANSWERS & set(lowered)) for text in _strings(lowered[name])]
    if questions or answers:
        yield questions, answers
        return
    for item in value.values():
        if isinstance(item, dict | list):
            yield from _asked(item)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        yield from _strings(value.get("text"))


class Exclusions:
    """Finds what a text repeats of the tests. It is built once; a look-up takes time by the length of the text."""

    def __init__(self, tests: Iterable[HeldOut]) -> None:
        self._tests = tuple(tests)
        self._protected: list[_Protected] = []
        self._holders: dict[Gram, list[int]] = defaultdict(list)
        self._answers: dict[int, list[str]] = defaultdict(list)
        for number, test in enumerate(self._tests):
            for is_answer, texts in ((False, test.questions), (True, test.answers)):
                for text in texts:
                    self._protect(text, number, is_answer=is_answer)

    def _protect(self, text: str, test: int, *, is_answer: bool) -> None:
        parts = tuple(units(folded(text)))
        words = _words(parts)
        if is_answer and parts:
            self._answers[test].append(words)
        grams = _grams(parts)
        if not grams or (is_answer and len(parts) < LONG_ANSWER):
            return
        number = len(self._protected)
        self._protected.append(_Protected(words, grams, parts, is_answer, test))
        for gram in grams:
            self._holders[gram].append(number)

    def overlap(self, text: str) -> Overlap | None:
        """What `text` repeats, None when it may stand in the pool."""
        parts = units(folded(text))
        grams = _grams(parts)
        shared = Counter(number for gram in grams for number in self._holders.get(gram, ()))
        words = _words(parts) if shared else ""
        for number, count in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
            protected = self._protected[number]
            if (reason := self._reason(protected, count, words=words, own=len(grams))) is not None:
                return Overlap(reason, self._tests[protected.test].place)
        return None

    def _reason(self, protected: _Protected, count: int, *, words: str, own: int) -> Reason | None:
        total = len(protected.grams)
        share = count / total if total >= _FEWEST else 0.0
        if protected.is_answer:
            if protected.words in words or (count > RUN - _GRAM and _has_run(protected.units, words)):
                return "holds an answer"
            if share >= ANSWER_SHARE:
                return "repeats an answer"
        elif self._answered(protected.test, words):
            if share >= ASKED_SHARE or protected.words in words:
                return "repeats a question"
        elif share >= QUESTION_SHARE:
            return "repeats a question"
        if own >= _FEWEST and count / own >= PART_SHARE:
            return "is part of a question or answer"
        return None

    def _answered(self, test: int, words: str) -> bool:
        return any(answer in words for answer in self._answers[test])


def _grams(parts: Sequence[str]) -> frozenset[Gram]:
    return frozenset(zip(*(parts[i:] for i in range(_GRAM)), strict=False))


def _words(parts: Sequence[str]) -> str:
    """Units between single spaces, so that only whole ones are found in it."""
    return f" {' '.join(parts)} "


def _has_run(parts: Sequence[str], words: str) -> bool:
    return any(_words(parts[at : at + RUN]) in words for at in range(len(parts) - RUN + 1))
