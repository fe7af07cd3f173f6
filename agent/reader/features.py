"""Candidate spans of a paragraph and what speaks for each one.

A candidate is a run of tokens inside one sentence. Its features say what it is (length, names, numbers, the classes of
its first and last token and of the tokens around it, word vectors), how it stands to the question (the question's
words inside it and around it, decaying with distance; similarity of its words with the noun that is asked for), and how
its sentence stands to the question (shared words, e5 similarity, also relative to the paragraph's best).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.reader.asked import Asked, matches
from agent.reader.tokens import Tokens
from agent.reader.vectors import WordKnowledge

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

CATEGORIES = (7, 8, 9, 10, 11, 12, 13)
"""Columns without order: the question's type and the classes of tokens."""
_LONGEST = {"english": 9, "chinese": 14}
_FAR = 99.0
_ENGLISH_FIRST = frozenset("between about around over more less under nearly by in to at from on".split())
_ENGLISH_LAST = frozenset(("%", "”", "it"))
_CHINESE_NOT_FIRST = frozenset("的了是和与及或等")
_CHINESE_NOT_LAST = frozenset("的了是和与及或在被把对从")
_OPENING, _CLOSING = frozenset('《「『“"$£'), frozenset("》」』”%")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Spans (first and last token, both inclusive) and one row of features for each."""

    first: Ints
    last: Ints
    features: Floats


def spans(tokens: Tokens) -> tuple[Ints, Ints]:
    """The candidate spans of a paragraph."""
    opens, closes = _bounds(tokens)
    first, last = [], []
    count, longest = len(tokens.words), _LONGEST[tokens.language]
    for start in np.flatnonzero(opens).tolist():
        for stop in range(start, min(count, start + longest)):
            if tokens.sentence[stop] != tokens.sentence[start]:
                break
            if closes[stop]:
                first.append(start)
                last.append(stop)
    if tokens.language == "chinese":
        _add_clauses(tokens, opens, closes, first, last)
    return np.array(first, np.int64), np.array(last, np.int64)


def _add_clauses(tokens: Tokens, opens: np.ndarray, closes: np.ndarray, first: list[int], last: list[int]) -> None:
    """Whole clauses that are longer than other candidates: answers to how and why."""
    count = len(tokens.words)
    ends = [*(i for i, word in enumerate(tokens.words) if word in "，。；！？："), count]
    for start in [0, *(i + 1 for i in ends if i + 1 < count)]:
        after = bisect_right(ends, start)
        for stop in [i - 1 for i in ends[after : after + 4]]:
            whole = tokens.sentence[stop] == tokens.sentence[start] and opens[start] and closes[stop]
            if whole and stop - start >= _LONGEST["chinese"]:
                first.append(start)
                last.append(stop)


def candidates(
    tokens: Tokens, asked: Asked, similarity: Floats, knowledge: WordKnowledge, chosen: tuple[Ints, Ints] | None = None
) -> Candidates:
    """The candidates of a paragraph, or the `chosen` ones. `similarity` of its sentences with the question."""
    first, last = chosen or spans(tokens)
    if not len(first):
        return Candidates(first, last, np.zeros((0, 0), np.float32))
    match = np.array(matches(asked, tokens, knowledge.rarity, knowledge.unseen), np.float32)
    whole = sum(knowledge.rarity.get(key, knowledge.unseen) for key in asked.content) or 1.0
    columns = [
        *_inside(tokens, match, first, last),
        np.full(len(first), asked.kind),
        *_classes(tokens, match, first, last),
        *_around(tokens, match / whole, first, last),
        *_sentences(tokens, asked, similarity, knowledge, first),
        *_question_words(tokens, asked, first, last),
        *_words(tokens, asked, knowledge, first, last),
    ]
    return Candidates(first, last, np.column_stack(columns).astype(np.float32))


def _bounds(tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
    words = tokens.words
    opening = np.array([word in _OPENING for word in words], bool)
    closing = np.array([word in _CLOSING for word in words], bool)
    if tokens.language == "chinese":
        opens = (~tokens.mark | opening) & ~np.array([word in _CHINESE_NOT_FIRST for word in words], bool)
        return opens, (~tokens.mark | closing) & ~np.array([word in _CHINESE_NOT_LAST for word in words], bool)
    allowed = np.array([word in _ENGLISH_FIRST for word in words], bool) | np.isin(tokens.kind, (100, 105))
    opens = (~tokens.mark | opening) & (~tokens.stop_word | allowed)
    closes = (~tokens.stop_word & ~tokens.mark) | np.array([word in _ENGLISH_LAST for word in words], bool)
    return opens, closes


def _inside(tokens: Tokens, match: Floats, first: Ints, last: Ints) -> list[np.ndarray]:
    counted = (tokens.name, tokens.number, tokens.stop_word, tokens.mark, match > 0)
    sums = [np.concatenate([[0], np.cumsum(flags)]) for flags in counted]
    lengths = tokens.stops[last] - tokens.starts[first]
    return [last - first + 1, lengths, *(total[last + 1] - total[first] for total in sums)]


def _classes(tokens: Tokens, match: Floats, first: Ints, last: Ints) -> list[np.ndarray]:
    hit = match > 0
    kinds = [tokens.kind[first], tokens.kind[last]]
    kinds += [_shifted(tokens, tokens.kind, first, -1), _shifted(tokens, tokens.kind, last, 1)]
    kinds += [_shifted(tokens, tokens.kind, first, -2), _shifted(tokens, tokens.kind, last, 2)]
    flags = [values[at] for values in (tokens.name, tokens.number, hit) for at in (first, last)]
    beside = [
        _shifted(tokens, values, at, step)
        for values in (tokens.name, tokens.number, hit)
        for at, step in ((first, -1), (last, 1))
    ]
    return [*kinds, *flags, *beside]


def _shifted(tokens: Tokens, values: np.ndarray, at: Ints, step: int) -> np.ndarray:
    """`values` one or two tokens away; -1 where that is another sentence."""
    count = len(tokens.words)
    there = np.clip(at + step, 0, count - 1)
    inside = (at + step >= 0) & (at + step < count) & (tokens.sentence[there] == tokens.sentence[at])
    return np.where(inside, values[there].astype(np.int64), -1)


def _around(tokens: Tokens, match: Floats, first: Ints, last: Ints) -> list[np.ndarray]:
    """The question's words on the left and on the right: mass decaying over 3 and 10 tokens, nearest distance."""
    sides = []
    for reach in (3.0, 10.0):
        sides += [_decayed(match, tokens.sentence, reach)[first]]
        sides += [_decayed(match[::-1], tokens.sentence[::-1], reach)[::-1][last]]
    left = _nearest(match > 0, tokens.sentence)[first]
    right = _nearest((match > 0)[::-1], tokens.sentence[::-1])[::-1][last]
    return [*sides, left, right, np.minimum(left, right)]


def _decayed(mass: Floats, sentence: np.ndarray, reach: float) -> Floats:
    out = np.zeros(len(mass), np.float32)
    keep = math.exp(-1 / reach)
    for i in range(1, len(mass)):
        if sentence[i] == sentence[i - 1]:
            out[i] = (out[i - 1] + mass[i - 1]) * keep
    return out


def _nearest(hit: np.ndarray, sentence: np.ndarray) -> Floats:
    out = np.full(len(hit), _FAR, np.float32)
    for i in range(1, len(hit)):
        if sentence[i] == sentence[i - 1]:
            out[i] = 1 if hit[i - 1] else out[i - 1] + 1
    return np.minimum(out, _FAR)


def _sentences(
    tokens: Tokens, asked: Asked, similarity: Floats, knowledge: WordKnowledge, first: Ints
) -> list[np.ndarray]:
    share = sentence_shares(tokens, asked, knowledge)
    at = tokens.sentence[first]
    previous = np.concatenate([[0], share[:-1]])
    following = np.concatenate([share[1:], [0]])
    begins: dict[int, int] = {}
    for i, number in enumerate(tokens.sentence.tolist()):
        begins.setdefault(number, i)
    offset = first - np.array([begins[number] for number in at.tolist()])
    return [
        share[at],
        similarity[at],
        similarity[at] - similarity.max(),
        share[at] - share.max(),
        _ranks(share)[at],
        _ranks(similarity)[at],
        previous[at],
        following[at],
        offset,
        at,
        np.full(len(first), len(tokens.sentences)),
    ]


def sentence_shares(tokens: Tokens, asked: Asked, knowledge: WordKnowledge) -> Floats:
    """The share of the question that each sentence says, weighed by rarity."""
    whole = sum(knowledge.rarity.get(key, knowledge.unseen) for key in asked.content) or 1.0
    shares = []
    for number, sentence in enumerate(tokens.sentences):
        if asked.language == "english":
            have = {tokens.keys[i] for i in np.flatnonzero(tokens.sentence == number)}
        else:
            have = set("".join(tokens.words[i] for i in np.flatnonzero(tokens.sentence == number)))
        said = sum(knowledge.rarity.get(key, knowledge.unseen) for key in asked.content & have) / whole
        if asked.pairs:
            text = "".join(tokens.words[i] for i in np.flatnonzero(tokens.sentence == number)) or sentence
            said = (said + sum(pair in text for pair in asked.pairs) / len(asked.pairs)) / 2
        shares.append(said)
    return np.array(shares, np.float32)


def _ranks(values: Floats) -> np.ndarray:
    return np.argsort(np.argsort(-values, kind="stable"), kind="stable")


def _question_words(tokens: Tokens, asked: Asked, first: Ints, last: Ints) -> list[np.ndarray]:
    """Signed distance to the question's verb and last word; whether the text goes on as the question does."""
    size = len(first)
    keys = np.array(tokens.keys)
    out = [_signed_distance(tokens, np.flatnonzero(keys == word), first, last) for word in (asked.verb, asked.last)]
    if asked.language == "english":
        before = np.array([i > 0 and tokens.keys[i - 1] == asked.before != "" for i in range(len(keys))])[first]
        after = np.array([tokens.keys[i + 1] == asked.after != "" for i in range(len(keys) - 1)] + [False])[last]
        same = [before, after, np.zeros(size), np.zeros(size)]
    else:
        left = ["".join(tokens.words[max(0, i - 2) : i]) for i in range(len(keys))]
        right = ["".join(tokens.words[i + 1 : i + 3]) for i in range(len(keys))]
        one, two = asked.before[-1:], asked.before if len(asked.before) == 2 else ""
        same = [np.array([bool(one) and text.endswith(one) for text in left])[first]]
        same += [np.array([bool(asked.after) and text.startswith(asked.after[:1]) for text in right])[last]]
        same += [np.array([bool(two) and text.endswith(two) for text in left])[first]]
        same += [np.array([len(asked.after) == 2 and text.startswith(asked.after) for text in right])[last]]
    return [*out, *same, np.full(size, asked.starts_with_question_word), np.full(size, asked.length)]


def _signed_distance(tokens: Tokens, places: np.ndarray, first: Ints, last: Ints) -> Floats:
    """Tokens from a span to the nearest of `places` in its sentence: negative on the left; far when there is none.

    `places` are in order. A place that is further off than far is far where other sentences have one, too.
    """
    if not len(places):
        return np.full(len(first), _FAR, np.float32)
    # A line of ten thousand equal words has as many places and ten times as many spans: no table of one by the other.
    sentence, at = tokens.sentence[first], np.searchsorted(places, first)
    left, right = places[np.maximum(at - 1, 0)], places[np.minimum(at, len(places) - 1)]
    before = np.where((at > 0) & (tokens.sentence[left] == sentence), first - left, np.inf)
    after = np.where((at < len(places)) & (tokens.sentence[right] == sentence), np.maximum(right - last, 0), np.inf)
    nearest = np.where(before <= after, -before, after)
    elsewhere = np.bincount(tokens.sentence[places], minlength=len(tokens.sentences))[sentence] < len(places)
    nearest[elsewhere & (np.abs(nearest) > _FAR)] = _FAR
    return nearest.astype(np.float32)


def _words(tokens: Tokens, asked: Asked, knowledge: WordKnowledge, first: Ints, last: Ints) -> list[np.ndarray]:
    """Word vectors of the first and the last token, and their likeness to the noun that is asked for."""
    vectors = knowledge.vectors(tokens.words)
    size = len(first)
    if asked.focus:
        focus = knowledge.vectors([asked.focus])[0]
        norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(focus)
        likeness = vectors @ focus / np.maximum(norms, 1e-6)
    else:
        likeness = np.zeros(len(vectors), np.float32)
    same_end = np.array([bool(asked.focus) and word.endswith(asked.focus[-1]) for word in tokens.words])
    return [
        likeness[last],
        likeness[first],
        np.full(size, bool(asked.focus)),
        same_end[last],
        *vectors[last, :10].T,
        *vectors[first, :6].T,
    ]
