"""The judge that needs no model: how much of a question the words of a page say, together in one place and in all.

Chinese is compared by single characters, weighed by their rarity, and pairs of neighbours; English by stems.
"""

from __future__ import annotations

import asyncio
import math
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from agent.listing.lists import NEEDS_EYES
from agent.reader.asked import Asked, analyse
from agent.reader.shipped import stored_words
from agent.reader.tokens import Language, language_of, tokenise
from agent.reader.vectors import rarities
from retrieval.text.tokens import simplified
from tools.judgments import JudgedPage, Judgment, PageVerdict, page_text

_CHARACTERS, _WORDS = 80, 50
"""How long one place of a page is: about two sentences, whatever lines and columns make of them."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """Of the mean of both shares: what is rejected below `least`, and the logistic curve from it to a probability.

    Fitted on questions of CMRC, DRCD and SQuAD's training paragraphs against what search finds for them besides, with
    as much weight for all wrong pages as for the right ones. `least` rejects 1 right page in 250, and 1 in 100 where
    OCR loses characters (5 % of the Chinese ones, 2 % of the English ones).
    """

    least: float
    slope: float
    middle: float


_MEASURES: dict[Language, _Measure] = {
    "chinese": _Measure(least=0.30, slope=18.1, middle=0.445),
    "english": _Measure(least=0.16, slope=10.6, middle=0.466),
}


class TextJudge:
    """Rejects pages that clearly lack what is asked for, and no others. Safe for several threads.

    It doesn't decide about a page without text, a page in another language than the question's, and a question that
    only eyes can answer.
    """

    identity = "words-judge/1"

    async def ready(self) -> None:
        """Nothing is needed."""

    async def judge(self, question: str, page: JudgedPage) -> Judgment:
        """The judgment of one page; JudgeFailed when its text can't be read."""
        text = await page_text(page)
        return await asyncio.to_thread(judged, question, text)


def judged(question: str, text: str) -> Judgment:
    """The judgment of a page by its text; `reply` says what it rests on."""
    language = language_of(text)
    if not any(map(str.isalnum, text)):
        return Judgment(verdict=None, reply="the page has no text")
    if language_of(question) != language:
        return Judgment(verdict=None, reply="the page is in another language")
    asked = analyse(question, language)
    if not asked.content:
        return Judgment(verdict=None, reply="the question names nothing to look for")
    near, whole = _chinese(asked, text) if language == "chinese" else _english(asked, text)
    measure, said = _MEASURES[language], (near + whole) / 2
    verdict: PageVerdict | None = "yes" if said >= measure.least else "no"
    if verdict == "no" and NEEDS_EYES.search(question):
        verdict = None
    return Judgment(
        verdict=verdict,
        probability=round(1 / (1 + math.exp(-measure.slope * (said - measure.middle))), 4),
        reply=f"{near:.2f} of the question in one place, {whole:.2f} on the page",
    )


def _chinese(asked: Asked, text: str) -> tuple[float, float]:
    """The share of the question's characters in the best place, and of its pairs on the page."""
    # Lines end anywhere in a word, so they are joined.
    letters = "".join(simplified(unicodedata.normalize("NFKC", text)).lower().split())
    weights = _weights("chinese", {character.lower() for character in asked.content})
    places = range(0, max(len(letters) - _CHARACTERS // 2, 1), _CHARACTERS // 2)
    near = max(_share(weights, frozenset(letters[at : at + _CHARACTERS])) for at in places)
    pairs = {pair.lower() for pair in asked.pairs}
    return near, sum(pair in letters for pair in pairs) / len(pairs) if pairs else near


def _english(asked: Asked, text: str) -> tuple[float, float]:
    """The share of the question's words in the best place, and on the page."""
    keys = tokenise(text, "english").keys
    weights = _weights("english", asked.content)
    places = range(0, max(len(keys) - _WORDS // 2, 1), _WORDS // 2)
    near = max(_share(weights, frozenset(keys[at : at + _WORDS])) for at in places)
    return near, _share(weights, frozenset(keys))


def _weights(language: Language, content: Collection[str]) -> dict[str, float]:
    rarity, unseen = _rarities(language)
    return {key: rarity.get(key, unseen) for key in content}


def _share(weights: Mapping[str, float], found: Collection[str]) -> float:
    return sum(weight for key, weight in weights.items() if key in found) / sum(weights.values())


@lru_cache(maxsize=2)
def _rarities(language: Language) -> tuple[dict[str, float], float]:
    return rarities(stored_words(language))
