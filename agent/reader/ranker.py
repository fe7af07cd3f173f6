"""The reader: ranks the candidate spans of a paragraph, and says how likely it is that one of them is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from agent.reader.asked import Asked, analyse
from agent.reader.features import Candidates, candidates, sentence_shares
from agent.reader.shipped import Part, model, stored_words
from agent.reader.tokens import Language, Tokens, language_of, tokenise
from agent.reader.vectors import Floats, WordKnowledge
from retrieval.embedders.base import TextEmbedder

if TYPE_CHECKING:
    import lightgbm

Scores = NDArray[np.float64]
_REMEMBERED = 20_000
_EMBEDDED = 1_000
"""Characters of a sentence that tell what it is about; e5 takes a second for every thousand Chinese ones."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a paragraph that may be the answer: offsets, the words, and the ranker's score (only order matters)."""

    start: int
    stop: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """The best spans of a paragraph, best first; `row` are the features that tell whether the best one is right."""

    language: Language
    spans: tuple[Span, ...] = ()
    row: Floats | None = None


class Reader:
    """Reads paragraphs. One object serves one thread at a time. `knowledge` and `models` replace what ships."""

    name = "span-ranker/1"

    def __init__(
        self,
        embedder: TextEmbedder,
        knowledge: Mapping[Language, WordKnowledge] | None = None,
        models: Mapping[tuple[Language, Part], lightgbm.Booster] | None = None,
    ) -> None:
        self._embedder = embedder
        self._sentences: dict[str, Floats] = {}
        self._question: tuple[str, Floats] | None = None
        self._knowledge = dict(knowledge or {})
        self._models = dict(models or {})

    @staticmethod
    def check() -> None:
        """DocsageError when a file that ships is missing or damaged; it would be met in the middle of the work."""
        for language in get_args(Language):
            stored_words(language)
            for part in get_args(Part):
                model(language, part)

    def read(self, question: str, paragraph: str, *, keep: int = 5) -> Reading:
        """The spans of `paragraph` that answer `question` best; none for a paragraph without words."""
        language = language_of(paragraph)
        tokens, asked = tokenise(paragraph, language), analyse(question, language)
        if not len(tokens.words):
            return Reading(language)
        similarity = self.similarities(question, tokens.sentences)
        knowledge = self.knowledge(language)
        found = candidates(tokens, asked, similarity, knowledge)
        if not len(found.first):
            return Reading(language)
        scores = self._predict(language, "spans", found.features)
        order = np.argsort(-scores, kind="stable")
        spans = tuple(_span(tokens, found, int(at), float(scores[at])) for at in order[:keep])
        row = answer_features(tokens, asked, similarity, knowledge, scores[order], found.features[order[0]])
        return Reading(language, spans, row)

    def answerable(self, reading: Reading) -> float:
        """The probability that the best span of a paragraph is right."""
        return (
            0.0 if reading.row is None else float(self._predict(reading.language, "answerable", reading.row[None])[0])
        )

    def right_over_pages(self, reading: Reading, found: Floats) -> float:
        """The probability that a span is right that was read in sentences of several pages, with what `found` it."""
        if reading.row is None:
            return 0.0
        row = np.concatenate([reading.row, found])
        return float(self._predict(reading.language, "pages", row[None])[0])

    def _predict(self, language: Language, part: Part, rows: Floats) -> Scores:
        ranker = self._models.get((language, part)) or model(language, part)
        return np.asarray(ranker.predict(rows, num_threads=1), np.float64)

    def similarities(self, question: str, sentences: Sequence[str]) -> Floats:
        """e5 similarity of each sentence with the question, both by how they begin where they are very long.

        Vectors are kept, since pages are read again and again for one question.
        """
        if len(self._sentences) > _REMEMBERED:
            self._sentences.clear()
        begun = [sentence[:_EMBEDDED] for sentence in sentences]
        new = [sentence for sentence in dict.fromkeys(begun) if sentence not in self._sentences]
        if new:
            self._sentences.update(zip(new, self._embedder.passages(new), strict=True))
        asked = question[:_EMBEDDED]
        if self._question is None or self._question[0] != asked:
            self._question = asked, self._embedder.queries([asked])[0]
        return np.asarray(np.stack([self._sentences[sentence] for sentence in begun]) @ self._question[1], np.float32)

    def knowledge(self, language: Language) -> WordKnowledge:
        """What is known of the words of a language."""
        if language not in self._knowledge:
            self._knowledge[language] = WordKnowledge(stored_words(language), self._embedder)
        return self._knowledge[language]


def answer_features(
    tokens: Tokens, asked: Asked, similarity: Floats, knowledge: WordKnowledge, scores: np.ndarray, best: Floats
) -> Floats:
    """What tells whether a paragraph holds the answer. `scores` best first; `best` has the first candidate's features.

    The rarest word of the question that the paragraph lacks matters most: a name or a year that it doesn't speak of.
    """
    shares = sentence_shares(tokens, asked, knowledge)
    text = set(tokens.keys) if asked.language == "english" else set("".join(tokens.words))
    weights = {key: knowledge.rarity.get(key, knowledge.unseen) for key in asked.content}
    lacking = sorted((w for key, w in weights.items() if key not in text), reverse=True)
    whole = sum(weights.values()) or 1.0
    top = scores[: 5 if len(scores) >= 5 else len(scores)]
    own = [
        scores[0],
        scores[0] - top[-1],
        scores[0] - scores.mean(),
        scores.std(),
        shares.max(),
        float(np.sort(shares)[-2]) if len(shares) > 1 else 0.0,
        similarity.max(),
        float(similarity.mean()),
        1 - sum(lacking) / whole,
        lacking[0] if lacking else 0.0,
        float(len(lacking)),
        float(len(asked.content)),
        float(len(tokens.sentences)),
    ]
    return np.concatenate([np.array(own, np.float32), best]).astype(np.float32)


def _span(tokens: Tokens, found: Candidates, at: int, score: float) -> Span:
    start, stop = int(tokens.starts[found.first[at]]), int(tokens.stops[found.last[at]])
    return Span(start, stop, tokens.text[start:stop], score)
