"""From what a model cites to quotes: pieces that it was shown, boxes that it drew, places where its answer stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from agent.draft import Request, quote_of
from agent.matching import is_chinese, terms
from agent.models.types import Picture
from agent.ranking import PageRead, Scored
from agent.roles.exhibits import Exhibits
from agent.roles.replies import AnswerReply, FactReply, SeenFactReply, TranslationReply
from agent.statements import state
from agent.values import values
from retrieval.types import BBox
from tools.characters import normalize
from tools.regions import Quote

_MOST_QUOTES = 50
_SHARED = 0.3
_LONG = 8
_MEETS = 0.5
"""How much of the question a piece must meet so that an answer is sought in it."""
_IDS = re.compile(r"\s*[\[(（【](?:(?:S|P|K)\s*\d+[,;、\s]*)+[\])）】]|\s*\[page=[^\]]*\](?:\])?")


@dataclass(frozen=True, slots=True)
class Shown:
    """A request with what the model is shown of its pages."""

    request: Request
    exhibits: Exhibits
    pictures: tuple[Picture, ...]
    pictured: tuple[PageRead, ...]
    images_only: bool

    @property
    def ids(self) -> tuple[str, ...]:
        """What a fact may name: the pieces, and the pages that were shown as pictures."""
        pages = [f"P{number}" for number in range(1, len(self.pictured) + 1)]
        return tuple(pages) if self.images_only else (*self.exhibits.pieces, *pages)

    def knows(self, source: str) -> bool:
        """Whether a source names something that was shown."""
        return _piece(self, source) is not None or _pictured(self, source) is not None


Cited = tuple[Quote, str, Scored | None]


def cited(shown: Shown, reply: AnswerReply, answer: str) -> list[Cited]:
    """The facts with the pieces that they name. A second piece of a fact is a fact of its own, in its own words."""
    question = shown.request.question
    found: dict[object, Cited] = {}
    for fact in reply.facts:
        text = _sentence(fact.text)
        pieces = [item for source in fact.sources if (item := _piece(shown, source)) is not None]
        for number, item in enumerate(pieces):
            statement = text if number == 0 and _said_by(text, item) else state(question, item.unit)
            key = (item.unit.page, item.unit.lines)
            found.setdefault(key, (quote_of(item.unit, item, answer), statement, item))
        if not pieces and text and (quote := _seen(shown, fact)) is not None:
            found.setdefault((quote.page, str(quote.box)), (quote, text, None))
    held = any(stands(quote.text, answer) for quote, _, _ in found.values())
    for item in _standing(shown.exhibits, answer) if answer and not reply.calculation and not held else ():
        # Small models leave ids out or name others. Where the answer stands word for word, its piece is what they mean.
        key = (item.unit.page, item.unit.lines)
        found.setdefault(key, (quote_of(item.unit, item, answer), state(question, item.unit), item))
    return list(found.values())[:_MOST_QUOTES]


def _said_by(text: str, item: Scored) -> bool:
    """Whether a piece could say what a fact says: it has one of the fact's numbers, if any, and some of its words.

    Words are compared within one language only. A fact that a piece can't say is stated in the piece's own words.
    """
    whole = f"{item.unit.context} {item.unit.text}"
    stated, there = values(text), values(whole)
    if not text or (stated and not any(value.same(other) for value in stated for other in there)):
        return False
    words = set(terms(text))
    if not words or is_chinese(text) != is_chinese(item.unit.text):
        return bool(words)
    return len(words & set(terms(whole))) >= _SHARED * len(words)


def _sentence(text: str) -> str:
    """A fact as one line of words: without the ids and citations that models put into it."""
    return " ".join(_IDS.sub("", text).split())


def _piece(shown: Shown, source: str) -> Scored | None:
    match = re.search(r"S\s*(\d{1,6})(?!\d)", source) or re.fullmatch(r"\s*\[?(\d{1,6})\]?\s*", source)
    return shown.exhibits.pieces.get(f"S{match.group(1)}") if match else None


def _pictured(shown: Shown, source: str) -> PageRead | None:
    match = re.search(r"\bP(?:age)?\s*(\d{1,6})(?!\d)", source, re.I) or re.fullmatch(r"\s*(\d{1,6})\s*", source)
    number = int(match.group(1)) if match else 0
    return shown.pictured[number - 1] if 1 <= number <= len(shown.pictured) else None


def _seen(shown: Shown, fact: FactReply) -> Quote | None:
    """What a vision model saw on a page that it was shown: the box that it gives, else the whole page."""
    read = next((read for source in fact.sources if (read := _pictured(shown, source)) is not None), None)
    if read is None:
        return None
    box = box_of(fact.box if isinstance(fact, SeenFactReply) else None) or BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
    inside = [line for line in read.page.lines if line.bbox.coverage_by(box) >= 0.5]
    text = " ".join(line.text.strip() for line in inside)
    context = text if values(text) or len(text) > 20 else ""
    return Quote(page=read.page.ref, lines=(), text=fact.text, kind="page", basis="vision", context=context, box=box)


def box_of(numbers: Sequence[float] | None) -> BBox | None:
    """The box that a model drew, as shares of the page; percentages and thousandths are scaled; None for no box."""
    if numbers is None or len(numbers) != 4:
        return None
    largest = max(numbers)
    scale = 1.0 if largest <= 1.0 else 100.0 if largest <= 100 else 1000.0
    x1, y1, x2, y2 = (min(max(value / scale, 0.0), 1.0) for value in numbers)
    return BBox(x1=x1, y1=y1, x2=x2, y2=y2) if x1 < x2 and y1 < y2 else None


def _standing(shown: Exhibits, answer: str) -> list[Scored]:
    """The best piece in which an answer stands, of those that meet the question; a lone digit stands anywhere.

    A long answer is sought in all pieces, also across several that follow each other, such as columns.
    """
    if len(answer.strip()) < 2:
        return []
    near = [item for item in shown.pieces.values() if item.coverage >= _MEETS]
    if found := [item for item in near if stands(item.unit.text, answer)]:
        return [max(found, key=lambda item: item.score)]
    return _running_over(list(shown.pieces.values()), _letters(answer)) if len(_letters(answer)) >= _LONG else []


def _running_over(pieces: Sequence[Scored], wanted: str) -> list[Scored]:
    """The pieces of one page that a text runs over; none when it stands nowhere."""
    for page in dict.fromkeys(item.unit.page for item in pieces):
        items = [item for item in pieces if item.unit.page == page]
        texts = [_letters(item.unit.text) for item in items]
        at = "".join(texts).find(wanted)
        if at >= 0:
            ends = list(accumulate(map(len, texts)))
            spans = zip(items, ends, texts, strict=True)
            return [item for item, end, text in spans if end > at and end - len(text) < at + len(wanted)]
    return []


def _letters(text: str) -> str:
    """The letters and digits of a text, case, width and Chinese script aside."""
    return "".join(char for char in normalize(text).text.lower() if char.isalnum())


def stands(text: str, answer: str) -> bool:
    """Whether a text holds an answer word for word, or the one value that it states."""
    if re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE):
        return True
    claimed = values(answer)
    return len(claimed) == 1 and any(claimed[0].same(other) for other in values(text))


def translated(shown: Shown, reply: TranslationReply) -> Sequence[Cited]:
    """The pieces that were translated, each one stated as it stands; all of the best page's when none is named."""
    items = [item for source in reply.sources if (item := _piece(shown, source)) is not None]
    if not items and shown.exhibits.pieces:
        first = next(iter(shown.exhibits.pieces.values())).unit.page
        items = [item for item in shown.exhibits.pieces.values() if item.unit.page == first]
    if not items and shown.pictured:
        page = shown.pictured[0].page
        whole = BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
        return [(Quote(page=page.ref, lines=(), text=page.text, kind="page", basis="vision", box=whole), "", None)]
    unique = {(item.unit.page, item.unit.lines): item for item in items}
    return [(quote_of(item.unit, item), item.unit.text, item) for item in unique.values()][:_MOST_QUOTES]
