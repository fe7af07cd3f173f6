"""Terms of questions and texts, and how well they match: stems for words, character pairs for Chinese."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tools.characters import normalize
from tools.terms import STOP_WORDS

_TOKEN = re.compile(r"[a-z0-9\u00c0-\u024f]+(?:[.,'’][a-z0-9\u00c0-\u024f]+)*|[\u3400-\u9fff\uf900-\ufaff]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_CHINESE_ASKING = re.compile(
    r"请问|是多少|有多少|多少|什么|怎么样|怎么|怎样|如何|哪一个|哪一年|哪年|哪个|哪些|哪里|何时|何人|何处|是谁|为何|为什么|是否|是不是"
    r"|根据|文中|本文|报告|一共|总共|[谁吗呢么几哪请问的了是在和与及有其之于以而也就都被把为]"
)
_FISCAL = re.compile(r"fy\d{4}")
_LOCAL = threading.local()


def is_chinese(text: str) -> bool:
    """Whether a text holds Chinese characters."""
    return _HAN.search(text) is not None


def _stem(word: str) -> str:
    # A PyStemmer object keeps a buffer of its own, so each thread has one.
    stemmer = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        import Stemmer

        stemmer = _LOCAL.stemmer = Stemmer.Stemmer("english")
    stem: str = stemmer.stemWord(word)
    return stem


@lru_cache(maxsize=20_000)
def terms(text: str) -> tuple[str, ...]:
    """All terms of a text in order: stems without stop words, and pairs of neighbouring Chinese characters."""
    found: list[str] = []
    for token in _TOKEN.findall(normalize(text).text.lower()):
        if _HAN.match(token):
            found += [token[i : i + 2] for i in range(len(token) - 1)] or [token]
            continue
        word = token.replace(",", "").replace("’", "'").removesuffix("'s")
        word = word[2:] if _FISCAL.fullmatch(word) else word
        if word not in STOP_WORDS:
            found.append(_stem(word))
    return tuple(found)


def question_terms(text: str) -> tuple[str, ...]:
    """The content terms of a question, without repeats and without the words that only ask."""
    folded = normalize(text).text
    if is_chinese(folded):
        folded = _CHINESE_ASKING.sub(" ", folded)
    return tuple(dict.fromkeys(terms(folded)))


@dataclass(frozen=True, slots=True)
class Weights:
    """Inverse document frequencies over the pages that were read. A term on no page weighs the most."""

    frequency: Mapping[str, int]
    texts: int

    @classmethod
    def over(cls, texts: Iterable[str]) -> Weights:
        """Weights from the texts of pages."""
        counts: Counter[str] = Counter()
        number = 0
        for text in texts:
            number += 1
            counts.update(set(terms(text)))
        return cls(frequency=counts, texts=number)

    def of(self, term: str) -> float:
        """ln(1 + (N + 1) / (n + 0.5)), at least 0.5."""
        return max(math.log(1 + (self.texts + 1) / (self.frequency.get(term, 0) + 0.5)), 0.5)

    def coverage(self, wanted: Iterable[str], *sources: tuple[frozenset[str], float]) -> float:
        """Weighted share of `wanted` found in the sources; a term counts by the best source that has it.

        Each source is a set of terms and what a term found there counts, 0 to 1. No wanted terms: 0.
        """
        total = found = 0.0
        for term in wanted:
            weight = self.of(term)
            total += weight
            found += weight * max((credit for source, credit in sources if term in source), default=0.0)
        return found / total if total else 0.0


def surface_forms(text: str, wanted: Iterable[str]) -> tuple[str, ...]:
    """The words of a text behind some of its terms, so that a person can read them."""
    missing = set(wanted)
    forms: list[str] = []
    for token in _TOKEN.findall(normalize(text).text.lower()):
        hit = missing.intersection(terms(token))
        if not hit:
            continue
        forms += sorted(hit, key=token.find) if _HAN.match(token) else [token]
    return tuple(dict.fromkeys(forms))
