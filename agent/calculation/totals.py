"""Several subjects whose values a question wants added up or averaged: "the total share of A, B and C"."""

from __future__ import annotations

import re

from agent.calculation.comparisons import END, TAIL, Comparison, is_subject
from agent.question import Question, question_body
from tools.arithmetic import Operation

_LIST = r"(?P<list>[^?;]{3,160}?)"
_TOGETHER = r"(?:combined|together|altogether|in total|in sum|taken together|added up)"
_QUOTED = re.compile(r"[\"“‘`「『]([^\"”’`」』]{1,80})[\"”’`」』]")
_SPLIT = re.compile(
    r"\s*(?:,\s*(?:and|plus)\b|,(?!\d)|\band\b|\bplus\b|&(?=\s)|(?<=\s)\+|[、，]|以及|[和与及])\s*", re.IGNORECASE
)
_JOINED = re.compile(r"\band\b|\bplus\b|\s[&+]\s|[和与及、]", re.IGNORECASE)
_ADDED = re.compile(
    r"\b(?:total|combined|sum|overall|aggregate|together|altogether)\b|之和|总和|合计|一共|共计|总共", re.I
)
_SPARE = re.compile(
    r"^(?:both |the |those of |that of )+|\s+(?:ha[sd]|have|get|got|make|made|do|are|were)$", re.IGNORECASE
)
_PATTERNS: tuple[tuple[Operation, str], ...] = (
    (
        "sum",
        r"\b(?:total|combined|aggregate|cumulative|summed) (?:[\w%-]+ ){1,3}?"
        rf"(?:of|for|in|from|by|who|that|with) {_LIST}{END}",
    ),
    ("sum", rf"\b(?:sum|total) of {_LIST}{END}"),
    ("sum", rf"\bcombined {_LIST}{END}"),
    ("sum", rf"\b(?:of|for|from|do|did|does|are|is|was|were|have|has) {_LIST},? {_TOGETHER}\b"),
    ("sum", rf"\b(?:do|did|does) {_LIST} (?:have|make|get|earn|account for|hold|add up to)\b[^?]*\b{_TOGETHER}\b"),
    (
        "average",
        rf"\b(?:averaged?|mean) (?:[\w%-]+ ){{0,3}}?(?:of|for|between|across|among|in) {_LIST}{END}",
    ),
    ("sum", r"(?P<list>[^，。？,]{3,60}?)(?:的[^，。？]{0,10})?(?:之和|总和|合计|一共|共计|总共|加起来)"),
    ("average", r"(?P<list>[^，。？,]{3,60}?)(?:的[^，。？]{0,10})?平均"),
)
_FORMS = tuple((operation, re.compile(pattern, re.IGNORECASE)) for operation, pattern in _PATTERNS)


def total_of(question: Question) -> Comparison | None:
    """The subjects that a question wants added up or averaged; None when it names fewer than two, or only years."""
    body = question_body(question.text)
    quoted = [text.strip() for text in _QUOTED.findall(body)]
    if len(quoted) > 1 and _ADDED.search(body) and all(is_subject(text) for text in quoted):
        return Comparison("sum", tuple(dict.fromkeys(quoted)))
    for operation, pattern in _FORMS:
        for match in pattern.finditer(body):
            if (subjects := _subjects(match["list"])) is not None:
                return Comparison(operation, subjects)
    return None


def _subjects(text: str) -> tuple[str, ...] | None:
    """The members of a list of two or more; None when one of them names nothing but a time."""
    if _JOINED.search(text) is None:
        return None
    parts = [_SPARE.sub("", part).strip() for part in _SPLIT.split(text)]
    parts = list(dict.fromkeys(part for part in parts if part))
    if len(parts) > 1 and not TAIL.search(parts[0]) and (tail := TAIL.search(parts[-1])) is not None:
        parts[-1] = parts[-1][: tail.start()].strip()
    return tuple(parts) if len(parts) > 1 and all(is_subject(part) for part in parts) else None
