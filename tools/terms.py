"""The terms a text is about, by rules."""

from __future__ import annotations

import re

from tools.characters import normalize

_QUOTED = re.compile(r"[\"“‘「『《]([^\"”’」』》]{2,80})[\"”’」』》]")
_PROPER = re.compile(
    r"\b[A-Z][\w&.'’-]*(?:\s+(?:of|the|and|for|&|[A-Z0-9][\w&.'’-]*))*\s+[A-Z][\w&.'’-]*|\b[A-Z]{2,}[\w-]*"
)
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+|\d[\d,.]*%?")
_ENGLISH_STOP = """
 a about above according after all also am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further give given had has have having
he her here him his how i if in into is it its itself just let me more most much many my no nor not now of off
on once only or other our out over own please same she should so some such tell than that the their them then
there these they this those through to too under until up very was we were what when where which while who
whom whose why will with would you your answer question document report page slide paper
"""
STOP_WORDS = frozenset(_ENGLISH_STOP.split())
_HAN_JOINTS = re.compile(
    r"请问|是多少|有多少|多少|什么|怎么样|怎么|怎样|如何|哪一个|哪一年|哪年|哪个|哪些|哪里|何时|何人|何处|是谁|为何|为什么"
    r"|是否|是不是|根据|文中|本文|一共|总共|[谁吗呢么几哪问的了是在和与及其之于以而也就都被把为]"
)


def extract_terms(text: str, limit: int = 20) -> tuple[str, ...]:
    """Quoted phrases, names, then content words in the order in which they stand; case and script variants merge."""
    found = [match.group(1).strip() for match in _QUOTED.finditer(text)]
    found += [match.group().strip(" .,'’") for match in _PROPER.finditer(text)]
    covered = {word.lower() for term in found for word in term.split()}
    words = [match.group() for match in _WORD.finditer(text)]
    found += [word for word in words if word.lower() not in STOP_WORDS and word.lower() not in covered]
    for match in _HAN.finditer(text):
        found += _han_terms(match.group())
    kept: dict[str, str] = {}
    for term in found:
        key = normalize(term).text.lower()
        if key and key not in STOP_WORDS:
            kept.setdefault(key, term)
    return tuple(kept.values())[:limit]


def _han_terms(run: str) -> list[str]:
    """The pieces of a run of Chinese characters between the words that only ask or join, two characters or more."""
    folded = normalize(run)
    terms: list[str] = []
    at = 0
    for match in (*_HAN_JOINTS.finditer(folded.text), None):
        stop = match.start() if match else len(folded.text)
        if stop - at > 1:
            terms.append(folded.quote(at, stop))
        at = match.end() if match else stop
    return terms
