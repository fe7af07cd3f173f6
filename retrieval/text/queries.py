"""What a question says about its subject, as weighted search terms.

Instructions on how to answer ("round to two decimals", "write the answer in list format") are left out; financial terms
that name a calculation bring the statement items that it is computed from, at a lower weight (see `glossary.yaml`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from importlib import resources

import yaml

from retrieval.text.tokens import terms

_INSTRUCTION = re.compile(
    r"""(?:^|(?<=[.?!,;。？，)]))\s*
    (?:\(|e\.g\.,?|for\ example,?|please|directly|just|only|and)?\s*
    (?:please\s+)?(?:directly\s+)?
    (?:round(?:ed)?|write|answer|return|give\ (?:me|your|the)|format|express|list\ your|
       provide\ (?:your|the\ answer)|respond|your\ answer|the\ answer\ should|output|keep|use\ the\ format|sort|
       in\ (?:the\ )?(?:list|int|integer|float)|e\.g\.)
    \b.*?(?:[.?!](?=\s|$)|$)""",
    re.IGNORECASE | re.VERBOSE,
)
_EXAMPLE = re.compile(r"(?:e\.g\.|for example|such as|like),?\s*\[.*?\]", re.IGNORECASE)
_CHINESE_INSTRUCTION = re.compile(
    r"(?:请|請)?(?:用|以)[^，。？]{0,12}(?:回答|作答|表示)|(?:请|請)(?:直接|简要|簡要)?(?:回答|列出|写出|寫出)"
)


def subject(question: str) -> str:
    """`question` without the instructions on how to answer it; the question itself when nothing would be left."""
    core = _CHINESE_INSTRUCTION.sub(" ", _INSTRUCTION.sub(" ", _EXAMPLE.sub(" ", question.strip())))
    return core if terms(core) else question


def implied_anchors(question: str) -> tuple[str, ...]:
    """Anchor terms of the statements that a question's accounting vocabulary implies."""
    return tuple(dict.fromkeys(item for item in _implied(subject(question)) if item.startswith("=")))


def weighted_terms(question: str, *, glossary_weight: float) -> dict[str, float]:
    """The search terms of a question: 1 each time it says one, `glossary_weight` for one that is only implied."""
    core = subject(question)
    weights: dict[str, float] = dict(Counter(terms(core)))
    if glossary_weight:
        for implied in _implied(core):
            for term in [] if implied.startswith("=") else terms(implied):
                weights[term] = max(weights.get(term, 0.0), glossary_weight)
    return weights


def _implied(text: str) -> list[str]:
    lowered = " ".join(re.split(r"[\W_]+", text.lower()))
    found: list[str] = []
    for pattern, entries in _glossary():
        if pattern.search(lowered):
            found += entries
    return found


@lru_cache(maxsize=1)
def _glossary() -> list[tuple[re.Pattern[str], list[str]]]:
    text = resources.files("retrieval.text").joinpath("glossary.yaml").read_text(encoding="utf-8")
    entries: dict[str, list[str]] = yaml.safe_load(text)
    return [
        (re.compile(rf"(?:\b|(?<=[\u4e00-\u9fff]))(?:{names})(?:\b|(?=[\u4e00-\u9fff]))"), list(items))
        for names, items in entries.items()
    ]
