"""Whether a translation can be one: long enough, not the original again, no refusal, with the original's numbers."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Sequence

from rapidfuzz.fuzz import ratio

from agent.draft import Draft
from agent.question import Question
from agent.refusals import refuses
from agent.types import Claim, Fact
from agent.values import figurative, values
from tools.characters import normalize

_SHORTEST, _LONGEST = 0.6, 8.0
"""How long a translation may be, as a multiple of its original. Modern Chinese takes one and a half to three times as
many characters as classical, English some four times.
"""
_SAME = 95.0
"""From this likeness on (of 100) a text is the original again; lists of names translate into nearly themselves."""
_LEAST = 20
_NUMBERS = 0.5
_ALONE = 0.3
"""Confidence in a translation that rules alone have looked at: they don't know what it says, so it stays tentative."""
_REPEATED = 0.9
"""From this share on of letters that come again at one distance, a text is one word or sentence over and over."""
_PERIOD, _WINDOW, _TIMES = 120, 2000, 3


def translation_claims(question: Question, draft: Draft, facts: Sequence[Fact]) -> tuple[Claim, ...]:
    """One claim: that the answer translates the quoted passage, all of it. Rules refuse it, or support it weakly."""
    original = "".join(quote.text for quote in draft.quotes)
    answer = draft.answer or ""
    problem = _problem(_letters(original), _letters(answer), original, answer)
    chinese = question.language == "zh"
    text = "译文译出了全部原文" if chinese else "the translation puts the whole passage into modern language"
    ids = tuple(fact.id for fact in facts)
    if problem or not ids:
        reason = problem or "no passage is cited"
        return (Claim(id="c1", text=text, verdict="unsupported", fact_ids=(), confidence=0.0, reason=reason),)
    reason = "its length fits, it isn't the original again, and it keeps the numbers"
    return (Claim(id="c1", text=text, verdict="supported", fact_ids=ids, confidence=_ALONE, reason=reason),)


def _problem(source: str, target: str, original: str, answer: str) -> str:
    """What shows that a text is no whole translation of another; "" when nothing does."""
    if not source or not target:
        return "there is no passage" if not source else "there is no translation"
    if refuses(answer):
        return "it says that it can't be translated"
    share = len(target) / len(source)
    if not _SHORTEST <= share <= _LONGEST:
        return f"it is {share:.1f} times as long as the original"
    if len(source) >= _LEAST and ratio(source, target) >= _SAME:
        return "it is the original again"
    if _repeats(target) and not _repeats(source):
        return "it says the same over and over"
    wanted = [value for value in values(original) if not figurative(value)]
    there = values(answer)
    kept = sum(any(value.same(other) for other in there) or value.text in answer for value in wanted)
    if wanted and kept < _NUMBERS * len(wanted):
        return f"of {len(wanted)} numbers and dates it keeps {kept}"
    return ""


def _repeats(letters: str) -> bool:
    """Whether a text is one character, word or sentence again and again, from its start or up to its end."""
    return len(letters) >= _LEAST and any(_periodic(part) for part in {letters[:_WINDOW], letters[-_WINDOW:]})


def _periodic(letters: str) -> bool:
    for period in range(1, min(_PERIOD, len(letters) // _TIMES) + 1):
        again = sum(map(operator.eq, letters, letters[period:]))
        if again >= _REPEATED * (len(letters) - period):
            return True
    return False


def _letters(text: str) -> str:
    return "".join(c for c in normalize(text).text if unicodedata.category(c)[0] not in "PZC")
