"""Exact match and character F1 of CHaystack's answers, and the form in which answers are written out.

The paper (section 5.1) scores after "punctuation removal, whitespace normalization, and lowercasing"; the reference
code holds no scorer, and its normaliser keeps punctuation (as ASCII marks) and single spaces. Both stand here:
`clean_answer` is the normaliser, for the field `answer` of the files; scores compare `bare` texts, without punctuation
and white space. Punctuation is what Unicode calls so, and ASCII's marks: also the point of a number and the per cent
sign. White space is dropped and not collapsed, since models set spaces between Chinese and Latin as they like.

Two readings differ from the reference code, and only where that cuts answers by accident: an explanation is cut where
the first marker stands, whichever it is, and English markers are words ("sincerely" is none).
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter

from retrieval.types import Frozen

LONGEST = 256
"""Characters of an answer that are kept."""
UNCERTAIN = "无法确定"
"""What is written when nothing is answered."""
_MARKS = str.maketrans("，。！？；：“”‘’（）【】《》", ",.!?;:\"\"''()[]<>")
_PREFIX = re.compile(r"(?:(?:答案|回答|answer)\s*[:：]|答案是\s*[:：]?|the answer is\s*[:：]?)\s*", re.IGNORECASE)
_EXPLANATION = re.compile(r"因为|由于|原因是|\b(?:based on|because|since)\b", re.IGNORECASE)
_UNCERTAIN = re.compile(
    r"无法确定|无法回答|不知道|不确定|没有答案|未提及|无法找到|not\s+(?:sure|found|available)"
    r"|cannot\s+(?:determine|answer|find)|unable\s+to|no\s+(?:answer|information)",
    re.IGNORECASE,
)


class AnswerScore(Frozen):
    """Exact match (0 or 1) and character F1 (0 to 1)."""

    exact: float
    f1: float


def normalised(text: str) -> str:
    """Half-width, lower case, Chinese marks as ASCII ones, single spaces, at most 256 characters (cut at a space)."""
    text = unicodedata.normalize("NFKC", text).translate(_MARKS).lower()
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0]


def clean_answer(reply: str) -> str:
    """What a model replied, without "答案是" before and an explanation ("因为…") behind, normalised."""
    text = reply.strip()
    if prefix := _PREFIX.match(text):
        text = text[prefix.end() :]
    found = _EXPLANATION.search(text)
    if found and found.start() > 0:
        text = text[: found.start()]
    return normalised(text)


def is_uncertain(answer: str) -> bool:
    """Whether an answer says that it knows none ("无法确定", "not found", …)."""
    return _UNCERTAIN.search(answer) is not None


def bare(text: str) -> str:
    """A text as it is compared: normalised, without punctuation and white space; nothing is cut off."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return "".join(character for character in folded if not _dropped(character))


def score_answer(answer: str, gold: str) -> AnswerScore:
    """Exact match, and 2PR / (P + R) over characters as bags, of bare texts; empty texts match only each other."""
    said, wanted = bare(answer), bare(gold)
    if not said or not wanted:
        equal = float(said == wanted)
        return AnswerScore(exact=equal, f1=equal)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return AnswerScore(exact=float(said == wanted), f1=2 * shared / (len(said) + len(wanted)))


def _dropped(character: str) -> bool:
    marks = character in string.punctuation or unicodedata.category(character).startswith("P")
    return marks or character.isspace()
