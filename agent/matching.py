"""Terms of questions and texts, and how well they match: stems for words, character pairs for Chinese."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.text.tokens import is_cjk
from retrieval.text.tokens import terms as index_terms
from tools.characters import normalize
from tools.terms import STOP_WORDS

_TOKEN = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_FISCAL = re.compile(r"\bfy\s?(?=\d{4}\b)", re.IGNORECASE)
_CHINESE_ASKING = re.compile(
    r"请问|是多少|有多少|多少|什么|怎么样|怎么|怎样|如何|哪一个|哪一天|哪一年|哪年|哪个|哪些|哪里|何时|何人|何处|是谁|为何|为什么"
    r"|是否|是不是|根据|文中|本文|报告|一共|总共|[谁吗呢么几哪请问的了是在和与及有其之于以而也就都被把为]"
)
_EMPTY_WORDS = STOP_WORDS | frozenset(index_terms("much many list identify"))

_LIGHT = frozenset(
    index_terms(
        "spent spend delivered total amount value number shown show mentioned mention described reported compared using"
        " used use made make different type types kind kinds called come came took take following table figure part"
        " increase decrease percentage percent share highest lowest largest most least first second third provide"
        " overall based related exactly currently change difference average sum between altogether respectively growth"
        " rate year years ended end fiscal date day month period during january february march april june july august"
        " fewest smallest biggest greatest maximum minimum address id"
        " september october november december million millions thousand thousands billion"
    )
)


def is_chinese(text: str) -> bool:
    """Whether a text holds Chinese characters."""
    return any(is_cjk(char) for char in text)


@lru_cache(maxsize=20_000)
def terms(text: str) -> tuple[str, ...]:
    """All terms of a text in order: stems without stop words, and pairs of neighbouring Chinese characters.

    They are the index terms of retrieval without single Chinese characters, which tell too little on their own.
    """
    found = index_terms(_FISCAL.sub("", text))
    kept = tuple(t for t in found if t not in _EMPTY_WORDS and (len(t) > 1 or not is_cjk(t)))
    return kept or tuple(found)


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
    light: frozenset[str] = frozenset()

    @classmethod
    def over(cls, texts: Iterable[str], *, light: frozenset[str] = frozenset()) -> Weights:
        """Weights from the texts of pages. `light` terms tell nothing, such as the name of the only document."""
        counts: Counter[str] = Counter()
        number = 0
        for text in texts:
            number += 1
            counts.update(set(terms(text)))
        return cls(frequency=counts, texts=number, light=light)

    def of(self, term: str) -> float:
        """ln(1 + (N + 1) / (n + 0.5)), at least 0.5; 0.4 for words that questions use and documents needn't."""
        if term in _LIGHT or term in self.light or (term.isdigit() and len(term) <= 2):
            return 0.4
        return max(math.log(1 + (self.texts + 1) / (self.frequency.get(term, 0) + 0.5)), 0.5)

    def shares(self, wanted: Sequence[str]) -> list[float]:
        """What share of the whole each wanted term weighs."""
        weights = [self.of(term) for term in wanted]
        total = sum(weights)
        return [weight / total for weight in weights]

    def coverage(self, wanted: Sequence[str], *sources: Source) -> float:
        """Weighted share of `wanted` found in the sources; 0 when nothing is wanted."""
        return min(float(sum(map(operator.mul, self.shares(wanted), credits_of(wanted, *sources)))), 1.0)


@dataclass(frozen=True, slots=True)
class Source:
    """The terms of a text, single Chinese characters among them, and what a term found there counts, 0 to 1."""

    terms: frozenset[str]
    credit: float

    @classmethod
    def of(cls, text: str, credit: float = 1.0) -> Source:
        """The source that a text makes."""
        return cls(terms=_all_terms(text), credit=credit)

    def match(self, term: str) -> float:
        """1 for a term that is there, 0.5 for a Chinese pair whose characters are, else 0."""
        if term in self.terms:
            return 1.0
        apart = len(term) == 2 and is_cjk(term[0]) and term[0] in self.terms and term[1] in self.terms
        return 0.5 if apart else 0.0


def credits_of(wanted: Sequence[str], *sources: Source) -> list[float]:
    """What each wanted term counts: as much as the best source that has it.

    A pair of Chinese characters that stand apart in a source counts half there: the pair may straddle two words of the
    question.
    """
    found = [0.0] * len(wanted)
    for source in sources:
        if source.terms:
            found = [
                best if best >= source.credit else max(best, source.credit * source.match(term))
                for best, term in zip(found, wanted, strict=True)
            ]
    return found


@lru_cache(maxsize=20_000)
def _all_terms(text: str) -> frozenset[str]:
    return frozenset(index_terms(_FISCAL.sub("", text)))


def surface_forms(text: str, wanted: Iterable[str]) -> tuple[str, ...]:
    """The words of a text behind some of its terms, so that a person can read them."""
    missing = set(wanted)
    forms: list[str] = []
    for token in _TOKEN.findall(normalize(text).text):
        hit = missing.intersection(terms(token))
        if hit:
            forms += sorted(hit, key=token.find) if is_chinese(token) else [token]
    return tuple(dict.fromkeys(forms))
