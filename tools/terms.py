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
_CHINESE_STOP = """
的 了 是 在 和 与 及 有 吗 呢 么 什么 怎么 怎样 如何 哪 哪个 哪些 哪里 谁 几 多少 为 为什么 这 那 其 之 于 以 而 也
就 都 请 问 一个 我 你 他 她 它
"""
STOP_WORDS = frozenset(_ENGLISH_STOP.split())
_HAN_STOP = frozenset(_CHINESE_STOP.split())


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
    import jieba

    jieba.setLogLevel(60)
    folded = normalize(run)
    terms: list[str] = []
    at = 0
    for word in jieba.cut(folded.text):
        if word not in _HAN_STOP and len(word) > 1:
            terms.append(folded.quote(at, at + len(word)))
        at += len(word)
    return terms
