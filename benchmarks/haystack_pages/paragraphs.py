"""Paragraphs with human questions, and which of them become which pages of a haystack."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from opencc import OpenCC

Kind = Literal["scan", "photo", "web", "advert"]
Category = Literal["paper", "camera", "webpage", "advertise"]
Language = Literal["zh", "zh-Hant", "en"]
Split = Literal["dev", "train"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CATEGORIES: dict[Kind, Category] = {"scan": "paper", "photo": "camera", "web": "webpage", "advert": "advertise"}
# Longer sentences can't be set in large type.
SLOGAN: dict[Language, int] = {"zh": 40, "zh-Hant": 40, "en": 110}
_GOLD_SHARE = 0.7
_SENTENCES = {"zh": re.compile(r"(?<=[。！？；\n])"), "en": re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“])|\n")}
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the answers that its annotators gave, and where the first one stands in the paragraph."""

    text: str
    answers: tuple[str, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of an article; `questions` are those that it answers."""

    title: str
    text: str
    language: Language
    source: str
    split: Split
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page to make: `text` is what it shows of the paragraph, `questions` those it is the gold page of."""

    image_id: str
    kind: Kind
    title: str
    text: str
    language: Language
    source: str
    split: Split
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which pages a haystack has: sets for gold and distractor pages, and how much of each kind."""

    pages: int
    gold: tuple[str, ...]
    distractors: tuple[str, ...]
    kinds: tuple[Kind, ...] = KINDS
    mix: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    questions: int = 1
    seed: int = 0


@dataclass(slots=True)
class _Rotation:
    """Deals kinds so that after every page each kind is as near to its share as can be."""

    shares: dict[Kind, float]
    dealt: dict[Kind, int] = field(default_factory=dict)

    def next(self, *, without_advert: bool) -> Kind:
        """The kind that is furthest behind its share; a paragraph without a short sentence is no advertisement."""
        count, whole = 1 + sum(self.dealt.values()), sum(self.shares.values())
        fit = [kind for kind in self.shares if not (without_advert and kind == "advert")] or ["advert"]
        kind = max(fit, key=lambda kind: count * self.shares[kind] / whole - self.dealt.get(kind, 0))
        self.dealt[kind] = self.dealt.get(kind, 0) + 1
        return kind


def load_paragraphs(folder: Path, split: Split, sets: Sequence[str]) -> list[Paragraph]:
    """All paragraphs of a split's SQuAD-format files, by name of set: what stands before the file name's first "_"."""
    paths = sorted((folder / split).glob("*.json"))
    known = {path.stem.split("_")[0] for path in paths}
    if unknown := [name for name in sets if name not in known]:
        raise SystemExit(
            f"no set {unknown[0]!r} in {folder / split}: name some of {', '.join(sorted(known)) or 'none'}"
        )
    found, traditional = [], OpenCC("s2t")
    for path in paths:
        source = path.stem.split("_")[0]
        language: Language = "en" if "_en" in path.stem else "zh-Hant" if "hant" in path.stem else "zh"
        for article in json.loads(path.read_text(encoding="utf-8"))["data"] if source in sets else ():
            title = article["title"].replace("_", " ")
            # DRCD names its articles in simplified characters.
            title = traditional.convert(title) if language == "zh-Hant" else title
            for item in article["paragraphs"]:
                asked = tuple(_questions(item["qas"]))
                found.append(Paragraph(title, item["context"], language, source, split, asked))
    return found


def _questions(entries: Sequence[dict[str, Any]]) -> Iterator[Question]:
    """Those that have an answer."""
    for entry in entries:
        answers = [answer for answer in entry["answers"] if answer["text"].strip()]
        if answers:
            texts = tuple(dict.fromkeys(answer["text"] for answer in answers))
            yield Question(entry["question"].strip(), texts, answers[0]["answer_start"])


def plan(folder: Path, choice: Choice) -> list[Leaf]:
    """The pages of a haystack, gold pages first; the same ones for the same choice.

    All development paragraphs of the gold sets that have a question become gold pages, unless they are more than 70 %
    of the pages: then that many are drawn. Training paragraphs are the distractors. Once all of them are used they
    come again, drawn anew, so that a haystack can have any size.
    """
    draw = random.Random(f"haystack {choice.seed}")
    rotation = _Rotation(dict(zip(choice.kinds, choice.mix, strict=True)))
    gold = [paragraph for paragraph in load_paragraphs(folder, "dev", choice.gold) if paragraph.questions]
    draw.shuffle(gold)
    leaves = [
        _gold_leaf(paragraph, rotation, draw, choice) for paragraph in gold[: max(1, round(_GOLD_SHARE * choice.pages))]
    ]
    texts = {paragraph.text for paragraph in gold}
    rest = [found for found in load_paragraphs(folder, "train", choice.distractors) if found.text not in texts]
    draw.shuffle(rest)
    others = _Rotation(rotation.shares)
    for number in range(choice.pages - len(leaves) if rest else 0):
        again, place = divmod(number, len(rest))
        leaves.append(_distractor(rest[place], others, draw, again))
    return leaves


def _gold_leaf(paragraph: Paragraph, rotation: _Rotation, draw: random.Random, choice: Choice) -> Leaf:
    """A page with questions drawn from those of its paragraph; an advertisement's are on the sentence that it shows."""
    asked = draw.sample(paragraph.questions, len(paragraph.questions))
    short = [question for question in asked if _is_slogan(sentence_of(paragraph, question), paragraph.language)]
    kind = rotation.next(without_advert=not short)
    text = paragraph.text
    if kind == "advert":
        asked = short or asked
        text = sentence_of(paragraph, asked[0])
        asked = [question for question in asked if sentence_of(paragraph, question) == text]
    return _leaf(paragraph, kind, text, tuple(asked[: choice.questions]))


def _distractor(paragraph: Paragraph, rotation: _Rotation, draw: random.Random, again: int) -> Leaf:
    sentences = [text.strip() for text in _sentences(paragraph.text, paragraph.language)]
    short = [text for text in sentences if len(text) >= 8 and _is_slogan(text, paragraph.language)]
    kind = rotation.next(without_advert=not short)
    text = draw.choice(short or sentences) if kind == "advert" else paragraph.text
    return _leaf(paragraph, kind, text, (), again)


def _leaf(paragraph: Paragraph, kind: Kind, text: str, questions: tuple[Question, ...], again: int = 0) -> Leaf:
    content = json.dumps([kind, paragraph.title, text, again], ensure_ascii=False)
    name = f"{kind}_{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    about = (paragraph.language, paragraph.source, paragraph.split, questions)
    return Leaf(name, kind, paragraph.title, text.strip(), *about)


def sentence_of(paragraph: Paragraph, question: Question) -> str:
    """The sentences that hold the first answer, as one string."""
    end, place, held = question.start + len(question.answers[0]), 0, []
    for sentence in _sentences(paragraph.text, paragraph.language):
        start = paragraph.text.index(sentence, place)
        place = start + len(sentence)
        if start < end and place > question.start:
            held.append(sentence)
    return _SPACE.sub(" ", ("" if paragraph.language != "en" else " ").join(held)).strip()


def _sentences(text: str, language: Language) -> list[str]:
    return [part for part in _SENTENCES["en" if language == "en" else "zh"].split(text) if part.strip()]


def _is_slogan(text: str, language: Language) -> bool:
    return len(text) <= SLOGAN[language]
