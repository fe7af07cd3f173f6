"""Train the reader on SQuAD-format files and write its model files into `agent/reader/models/`.

    python training/train_reader.py --english squad_v2.json --chinese cmrc_trial.json cmrc.json drcd.json

Deterministic: fixed seeds, one thread order. The files that ship were trained on 383 paragraphs of SQuAD v2 (English)
and 839 of CMRC 2018 and DRCD (Chinese); `agent/reader/models/NOTICE.md` names the licences.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import lightgbm
import numpy as np

from agent.prose import ProseReader
from agent.question import analyse as read_question
from agent.ranking import PageRead, Scored, rank_units
from agent.reader.asked import analyse
from agent.reader.features import CATEGORIES, candidates, spans
from agent.reader.ranker import Reader
from agent.reader.tokens import Language, Tokens, tokenise
from agent.reader.vectors import DIMENSIONS, WordKnowledge
from evaluation.metrics.reading import Rules, match_answer
from evaluation.reading.corpus import corpus
from retrieval.embedders.e5 import E5
from retrieval.text.tokens import is_cjk
from retrieval.types import BBox, Block, Line, Page, PageRef

MODELS = Path(__file__).parent.parent / "agent" / "reader" / "models"
SEED = 20260101
NEGATIVES = 300
SPAN_PARAMETERS = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 10,
    "learning_rate": 0.05,
    "num_leaves": 31,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "cat_smooth": 30,
    "verbose": -1,
    "seed": SEED,
    "deterministic": True,
    "num_threads": 2,
}
ANSWERABLE_PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.03,
    "num_leaves": 8,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "verbose": -1,
    "seed": SEED,
    "deterministic": True,
    "num_threads": 2,
}
SPAN_ROUNDS, ANSWERABLE_ROUNDS, FOLDS = 400, 150, 3
PAGES_READ = 8
SENTENCE = re.compile(r"(?<=[。！？\n])|(?<=[.!?]) ")


@dataclass(frozen=True, slots=True)
class Example:
    """A question over a paragraph, with the answers' offsets; none when it can't be answered there."""

    paragraph: str
    question: str
    answers: tuple[tuple[int, int], ...]


def load(paths: list[Path]) -> list[Example]:
    """The questions of SQuAD v2 JSON files."""
    found = []
    for path in paths:
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                for asked in paragraph["qas"]:
                    answers = [] if asked.get("is_impossible") else asked["answers"]
                    places = tuple((a["answer_start"], a["answer_start"] + len(a["text"])) for a in answers)
                    found.append(Example(paragraph["context"], asked["question"], places))
    return found


def word_table(examples: list[Example], language: Language) -> dict[str, np.ndarray]:
    """Projected e5 vectors of the training words, and in how many paragraphs each key stands."""
    paragraphs = [tokenise(text, language) for text in dict.fromkeys(e.paragraph for e in examples)]
    seen = Counter(word for tokens in paragraphs for word in tokens.words)
    words = sorted(word for word, count in seen.items() if count > 1 or language == "english")
    raw = np.concatenate([E5().passages(words[at : at + 256]) for at in range(0, len(words), 256)])
    mean = raw.mean(axis=0)
    _, _, directions = np.linalg.svd(raw - mean, full_matrices=False)
    projection = directions[:DIMENSIONS].T
    vectors = (raw - mean) @ projection
    scale = np.abs(vectors).max(axis=0) / 127
    counts: Counter[str] = Counter()
    for tokens in paragraphs:
        counts.update(set(tokens.keys) if language == "english" else set("".join(tokens.words)))
    keys = sorted(counts)
    return {
        "words": np.array(words),
        "vectors": np.round(vectors / scale).astype(np.int8),
        "scale": scale.astype(np.float32),
        "mean": mean.astype(np.float32),
        "projection": projection.astype(np.float32),
        "keys": np.array(keys),
        "counts": np.array([counts[key] for key in keys], np.int32),
        "paragraphs": np.array(len(paragraphs)),
    }


def overlaps(tokens: Tokens, first: np.ndarray, last: np.ndarray, answers: tuple[tuple[int, int], ...]) -> np.ndarray:
    """F1 of each span with the answer it meets best, by place, articles and marks not counted."""
    weight = np.where(tokens.mark | (tokens.kind == 100), 0.0, 1.0)
    if tokens.language == "chinese":
        weight = weight * (tokens.stops - tokens.starts)
    total = np.concatenate([[0.0], np.cumsum(weight)])
    size = total[last + 1] - total[first]
    best = np.zeros(len(first))
    for start, stop in answers:
        inside = np.flatnonzero((tokens.starts < stop) & (tokens.stops > start))
        if not len(inside):
            continue
        a, b = inside[0], inside[-1]
        low, high = np.maximum(first, a), np.minimum(last, b)
        shared = np.where(low <= high, total[np.minimum(high, len(weight) - 1) + 1] - total[low], 0.0)
        best = np.maximum(best, 2 * shared / np.maximum(size + total[b + 1] - total[a], 1e-6))
    return best


@dataclass(frozen=True, slots=True)
class Rows:
    """Training rows of one example."""

    features: np.ndarray
    grades: np.ndarray


def span_rows(examples: list[Example], reader: Reader, language: Language) -> Iterator[Rows]:
    """Features and grades (0 to 4) of the spans of each answerable example; a sample of those that are all wrong."""
    chance = np.random.default_rng(SEED)
    for example in examples:
        tokens = tokenise(example.paragraph, language)
        first, last = spans(tokens)
        f1 = overlaps(tokens, first, last, example.answers)
        wrong = np.flatnonzero(f1 < 0.3)
        if len(wrong) > NEGATIVES:
            wrong = chance.choice(wrong, NEGATIVES, replace=False)
        kept = np.sort(np.concatenate([np.flatnonzero(f1 >= 0.3), wrong]))
        similarity = reader.similarities(example.question, tokens.sentences)
        asked = analyse(example.question, language)
        found = candidates(tokens, asked, similarity, reader.knowledge(language), (first[kept], last[kept]))
        yield Rows(found.features, np.where(f1[kept] > 0.999, 4, np.floor(3 * f1[kept])).astype(np.int32))


def fit_spans(rows: list[Rows]) -> lightgbm.Booster:
    """A ranker of spans."""
    data = lightgbm.Dataset(
        np.concatenate([r.features for r in rows]),
        np.concatenate([r.grades for r in rows]),
        group=[len(r.grades) for r in rows],
        categorical_feature=list(CATEGORIES),
        params={"verbose": -1},
    )
    return lightgbm.train(SPAN_PARAMETERS, data, SPAN_ROUNDS)


Judged = tuple[np.ndarray, float]
"""Features of the words that were chosen, and 1 when they are right."""


def paragraph_row(reader: Reader, example: Example) -> Judged | None:
    """The best span of the example's paragraph; None for a paragraph without words."""
    reading = reader.read(example.question, example.paragraph, keep=1)
    if reading.row is None:
        return None
    return reading.row, rightness(reading.spans[0].text, example)


def page_row(reader: Reader, example: Example, ranked: Sequence[Scored]) -> Judged | None:
    """The words that the agent would choose from ranked sentences; None when there are none."""
    read = ProseReader(reader).read(read_question(example.question), ranked)
    if read is None or read.reading.row is None:
        return None
    return np.concatenate([read.reading.row, read.found]), rightness(read.text, example)


def rightness(text: str, example: Example) -> float:
    """1 when more than half of a text is right, by the measure of the set."""
    answers = [example.paragraph[start:stop] for start, stop in example.answers]
    rules: Rules = "cmrc" if any(map(is_cjk, example.question)) else "squad"
    return float(bool(answers) and match_answer(text, answers, rules).f1 > 0.5)


def ranked_pages(examples: list[Example]) -> Iterator[list[Scored]]:
    """The units of the paragraphs that search finds for each question, as the agent ranks them.

    Every fourth question can't find its own paragraph, as questions do that a document doesn't answer.
    """
    paragraphs = list(dict.fromkeys(e.paragraph for e in examples))
    own = {text: place for place, text in enumerate(paragraphs)}
    pages = [page_of(text, number) for number, text in enumerate(paragraphs, 1)]
    with corpus(paragraphs) as searched:
        for number, example in enumerate(examples):
            places = [found.place for found in searched.search(example.question, PAGES_READ)]
            if number % 4 == 0:
                places = [place for place in places if place != own[example.paragraph]]
            reads = [PageRead(pages[place], rank) for rank, place in enumerate(places, 1)]
            yield rank_units(read_question(example.question), reads)


def page_of(paragraph: str, number: int) -> Page:
    """A page that holds one paragraph, each sentence a line."""
    sentences = [part.strip() for part in SENTENCE.split(paragraph) if part.strip()]
    height = 1 / (len(sentences) + 1)
    lines = tuple(
        Line(text=text, bbox=BBox(x1=0.1, y1=round(at * height, 5), x2=0.9, y2=round((at + 0.9) * height, 5)))
        for at, text in enumerate(sentences)
    )
    block = Block(kind="paragraph", bbox=BBox(x1=0.1, y1=0, x2=0.9, y2=1), lines=tuple(range(len(lines))))
    return Page(ref=PageRef(doc_id="set", page=number), width=600, height=800, lines=lines, blocks=(block,))


def without_answers(examples: list[Example]) -> list[Example]:
    """Every other question over another paragraph, the next one: what a file without such questions can teach."""
    paragraphs = list(dict.fromkeys(e.paragraph for e in examples))
    following = dict(zip(paragraphs, paragraphs[1:] + paragraphs[:1], strict=True))
    return [Example(following[e.paragraph], e.question, ()) for e in examples[::2]]


def train(language: Language, paths: list[Path]) -> None:
    """Train one language and write its four files."""
    examples = load(paths)
    answerable = [e for e in examples if e.answers]
    table = word_table(examples, language)
    np.savez_compressed(MODELS / f"{language}-words.npz", **table)  # type: ignore[arg-type]
    embedder = E5()
    knowledge = WordKnowledge(table, embedder)
    reader = Reader(embedder, {language: knowledge})
    rows = list(span_rows(answerable, reader, language))
    print(f"{language}: {len(rows)} questions, {sum(len(r.grades) for r in rows)} spans", flush=True)
    write(fit_spans(rows), f"{language}-spans")
    given = examples if len(answerable) < len(examples) else examples + without_answers(examples)
    searched = examples[::2]
    units = list(ranked_pages(searched))
    paragraph_rows: list[Judged | None] = []
    page_rows: list[Judged | None] = []
    for fold in range(FOLDS):  # a ranker that has not seen a paragraph judges it, as it will be in use
        ranker = fit_spans([r for r, e in zip(rows, answerable, strict=True) if fold_of(e.paragraph) != fold])
        other = Reader(embedder, {language: knowledge}, {(language, "spans"): ranker})
        paragraph_rows += [paragraph_row(other, e) for e in given if fold_of(e.paragraph) == fold]
        page_rows += [
            page_row(other, e, ranked)
            for e, ranked in zip(searched, units, strict=True)
            if fold_of(e.paragraph) == fold
        ]
        print(f"{language}: fold {fold}", flush=True)
    write(fit_rightness(paragraph_rows), f"{language}-answerable")
    write(fit_rightness(page_rows), f"{language}-pages")


def fit_rightness(judged: Sequence[Judged | None]) -> lightgbm.Booster:
    """A model of how likely chosen words are right."""
    rows = [row for row in judged if row is not None]
    right = np.array([whether for _, whether in rows])
    print(f"{len(rows)} rows, {right.mean():.3f} right", flush=True)
    data = lightgbm.Dataset(np.array([features for features, _ in rows]), right, params={"verbose": -1})
    return lightgbm.train(ANSWERABLE_PARAMETERS, data, ANSWERABLE_ROUNDS)


def fold_of(paragraph: str) -> int:
    """The fold of a paragraph, the same in every process."""
    return sum(ord(c) * (i % 97 + 1) for i, c in enumerate(paragraph)) % FOLDS


def write(model: lightgbm.Booster, name: str) -> None:
    """Write a model, packed, with the same bytes each time."""
    packed = gzip.compress(model.model_to_string().encode(), 9, mtime=0)
    (MODELS / f"{name}.txt.gz").write_bytes(packed)
    print(f"{name}: {len(packed) / 1e6:.2f} MB", flush=True)


def main() -> None:
    """Train what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--english", type=Path, nargs="*", default=[])
    parser.add_argument("--chinese", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    if args.english:
        train("english", args.english)
    if args.chinese:
        train("chinese", args.chinese)


if __name__ == "__main__":
    main()
