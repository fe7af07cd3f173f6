"""Exact match and F1 of short answers, by the rules of two official scorers.

`squad` is SQuAD v2's `evaluate-v2.0.py` (Rajpurkar et al., 2018): lower case, ASCII punctuation and articles dropped,
words split at white space; F1 over the words as bags.

`cmrc` is CMRC 2018's `cmrc2018_evaluate.py` (Cui et al., 2019): lower case, its own list of punctuation dropped, Han
characters one by one and everything between them as words; F1 over the longest common run of these segments. The
official script cuts the words between Han characters with NLTK; here a pattern does, which cuts the numbers, names and
marks of short answers alike (NLTK also splits English contractions, which such answers don't hold).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from retrieval.errors import InputError
from retrieval.types import Frozen

Rules = Literal["squad", "cmrc"]
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_SQUAD_MARKS = frozenset(string.punctuation)
_CMRC_MARKS = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
"""The official list also names "……", which, compared with single characters, never matches: "…" stays."""
_HAN = "\u4e00-\u9fa5"
_IN_WORD = rf"[^\s{re.escape(string.punctuation)}—‘«»„{_HAN}]"
_SEGMENT = re.compile(rf"[{_HAN}]|\.{{2,}}|{_IN_WORD}+(?:[.,'&]{_IN_WORD}+)*(?:\.(?=\s+{_IN_WORD}))?|\S")


class AnswerMatch(Frozen):
    """How well a prediction meets the best of several gold answers: 0 or 1, and 0 to 1."""

    exact: float
    f1: float


def match_answer(prediction: str, answers: Sequence[str], rules: Rules) -> AnswerMatch:
    """The best of each measure over the gold answers.

    A question without gold answers is met by an empty prediction only, as in SQuAD v2.
    """
    if rules not in get_args(Rules):
        raise InputError(f"there are no rules {rules!r}", remedy=f"the rules are {', '.join(get_args(Rules))}")
    exact, f1 = (_squad_exact, _squad_f1) if rules == "squad" else (_cmrc_exact, _cmrc_f1)
    gold = [answer for answer in answers if rules == "cmrc" or _squad_words(answer)] or [""]
    return AnswerMatch(exact=_best(exact, prediction, gold), f1=_best(f1, prediction, gold))


def _best(measure: Callable[[str, str], float], prediction: str, answers: Sequence[str]) -> float:
    return max(measure(prediction, answer) for answer in answers)


def _squad_words(text: str) -> list[str]:
    bare = "".join(c for c in text.lower() if c not in _SQUAD_MARKS)
    return _ARTICLES.sub(" ", bare).split()


def _squad_exact(prediction: str, answer: str) -> float:
    return float(_squad_words(prediction) == _squad_words(answer))


def _squad_f1(prediction: str, answer: str) -> float:
    """2PR / (P + R) over words as bags; texts without words match only each other."""
    said, gold = _squad_words(prediction), _squad_words(answer)
    if not said or not gold:
        return float(said == gold)
    shared = sum((Counter(said) & Counter(gold)).values())
    return 2 * shared / (len(said) + len(gold))


def _cmrc_text(text: str) -> str:
    return "".join(c for c in text.lower().strip() if c not in _CMRC_MARKS)


def _cmrc_exact(prediction: str, answer: str) -> float:
    return float(_cmrc_text(prediction) == _cmrc_text(answer))


def _cmrc_f1(prediction: str, answer: str) -> float:
    """2PR / (P + R), where what is shared is the longest common run of segments; texts without any match each other."""
    said, gold = _SEGMENT.findall(_cmrc_text(prediction)), _SEGMENT.findall(_cmrc_text(answer))
    if not said or not gold:
        return float(said == gold)
    return 2 * _longest_common_run(said, gold) / (len(said) + len(gold))


def _longest_common_run(one: Sequence[str], other: Sequence[str]) -> int:
    best = 0
    row = [0] * (len(other) + 1)
    for unit in one:
        diagonal = 0
        for j, rival in enumerate(other, 1):
            row[j], diagonal = (diagonal + 1 if unit == rival else 0), row[j]
            best = max(best, row[j])
    return best
