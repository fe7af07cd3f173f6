"""The members of what a question names: items of a list under its heading, or of an enumeration in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent.draft import Request
from agent.listing.enumerations import enumerations
from agent.matching import Source, Weights, is_chinese, terms
from agent.question import Question, question_body
from agent.ranking import Scored
from agent.reading import Unit
from retrieval.types import Page, PageRef
from tools.characters import normalize

_BULLETS = "\uf0a7\uf0b7\uf0d8\uf0fc\uf06c\uf075•●▪■◦○–—*·☑✓✔➢➤►▶»"
_BULLET = re.compile(rf"^\s*([{_BULLETS}]|-(?=\s))\s*")
_NUMBER = re.compile(r"^\s*(?:step\s*)?[(（]?(\d{1,2})(?:[.)）、:]\s*|\s+)(?=\S)", re.IGNORECASE)
_LETTER = re.compile(r"^\s*[(（]?([a-h])[.)）]\s*(?=\S)")
_ANNOUNCES = re.compile(r"[:：]\s*$|\b(?:following|as follows|below)\b|如下|以下|包括")
_TERM = re.compile(r"^(.{2,60}?)(?:\s*[:：]\s+|\s+[–—-]\s+|——)(?=\S)")
_SENTENCE = re.compile(r"(?<=[a-z)])\.\s+(?=[A-Z])|(?<=[。；])")
_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_STATED = re.compile(
    rf"\b({'|'.join(_WORDS[2:])}|[2-9]|1\d|20)\s+(?!(?:percent|%|million|billion|thousand|hundred|years?|months?|days?|hours?)\b)(?=[a-z])",
    re.IGNORECASE,
)
_HAN_STATED = re.compile(r"([两二三四五六七八九十]|\d{1,2})(?:大|个|种|类|项|点|条|方面|家|位|名|部分|步)")
_HAN_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"两": 2}
_HEAD = re.compile(
    r"\b(?:what|which|list(?: all)?|name(?: all)?|identify)\s+(?:(?:are|were|is)\s+)?(?:(?:all|of)\s+)?"
    r"(?:the\s+|some\s+)?(?P<noun>(?:(?!(?:of|that|which|in|for|on|at|from|to|with|used|are|is|was|were|does|do|did|has|have|can|could|will|"
    r"would|should|by|under|mentioned|listed|included|needed|required)\b)[\w’'&/-]+\s*){1,6})",
    re.IGNORECASE,
)
_HAN_HEAD = re.compile(
    r"(?:哪些|哪[几两二三四五六七八九十\d]+[个种类项点条家位名]?)(?P<noun>[一-鿿]{1,8})|(?P<before>[一-鿿]{2,8}?)(?:主要)?(?:有|包括|是|为)哪些$"
)
_REFERRING = re.compile(
    r"(?:see |in )?(?:(?P<figure>fig)|(?P<other>tab|sec|app|cha|pag|not))[a-z]*\.?\s*[A-Z]?\d|(?P<han>[图圖表])\s*\d",
    re.IGNORECASE,
)
"""A reference to another part of the document, by the beginning of its word."""
_FIGURES = ("fig", "cha", "gra", "dia", "plo", "ima", "pic", "ill", "图", "圖")
"""The beginnings of what figures may be called."""
_LONGEST = 160
_MOST = 40
_TRIED = 12
_ASKING = frozenset(terms("needed required involved mentioned included listed given take"))
_STEPS = "steps stages phases procedure 步骤"


@dataclass(frozen=True, slots=True)
class Item:
    """One member: its text as an answer gives it, the unit it was taken from, and the lines it stands on."""

    text: str
    unit: Unit
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """Members with what announces them (`lead`), how well that meets the question, and how sure the form is, 0 to 1."""

    items: tuple[Item, ...]
    lead: str
    seed: Scored
    coverage: float
    sure: float
    numbered: bool = False


def members(request: Request, ranked: Sequence[Scored], noun: Sequence[str]) -> Iterator[Members]:
    """All candidates: the lists of the pages, and the enumerations of the best sentences."""
    question = request.question
    weights = Weights.over(read.page.text for read in request.pages)
    pages = {read.page.ref: read.page for read in request.pages}
    asked = tuple(term for term in dict.fromkeys((*question.terms, *noun)) if term not in _ASKING)
    for units in _by_page(ranked):
        for found in _lists(units):
            # "1. Press ..." is a step without being called so.
            near = Source.of(f"{found.lead} {_STEPS}" if found.numbered else found.lead)
            around = Source.of(f"{found.seed.unit.heading} {' '.join(i.text for i in found.items)}", 0.6)
            yield replace(found, coverage=weights.coverage(asked, near, around))
    for scored in ranked[:_TRIED]:
        if scored.unit.cells or scored.unit.role in ("heading", "table", "header", "footer"):
            continue
        for enumeration in enumerations(_NUMBER.sub("", scored.unit.text))[:2]:
            items = tuple(_enumerated(item, scored.unit, pages[scored.unit.page]) for item in enumeration.items)
            given = sum(set(terms(item.text)) <= set(question.terms) for item in items)
            if 2 * given < len(items) and all(_may_be(item, noun) for item in items):
                lead = f"{scored.unit.heading} {enumeration.lead}"
                sure = enumeration.sure * (0.9 if question.language == "en" else 1.0)
                yield Members(items, lead, scored, scored.coverage, sure)


def _may_be(item: Item, noun: Sequence[str]) -> bool:
    """Whether an item may be what is asked for: "Figure 2" is no result, but it may be a chart."""
    referring = _REFERRING.match(item.text)
    if referring is None:
        return True
    allowed = _FIGURES if referring["figure"] else ((referring["other"] or referring["han"]).lower(),)
    return any(word.startswith(allowed) for word in noun)


def head_noun(question: Question) -> tuple[str, ...]:
    """The terms of what a question wants a list of ("key categories"), the noun itself last; () when it doesn't say."""
    body = question_body(question.text)
    if question.language == "zh":
        found = _HAN_HEAD.search(normalize(body).text.rstrip("？?。 "))
        return terms((found["noun"] or found["before"]).rpartition("的")[2]) if found else ()
    found = _HEAD.search(body)
    words = [word for word in terms(found["noun"]) if not word.isdigit()] if found else []
    return tuple(word for word in words if word not in _WORDS)


def stated_number(text: str) -> int | None:
    """The first number of things that a text announces ("which two", "six key categories", 三大); None without one."""
    return next((number for number, _ in stated_numbers(text)), None)


def stated_numbers(text: str) -> Iterator[tuple[int, int]]:
    """(number of things, where it ends) for the small numbers of a text that stand before a noun."""
    if is_chinese(text):
        for han in _HAN_STATED.finditer(text):
            yield int(han[1]) if han[1].isdigit() else _HAN_DIGITS[han[1]], han.end()
    for found in _STATED.finditer(text):
        yield int(found[1]) if found[1].isdigit() else _WORDS.index(found[1].lower()), found.end(1)


def _by_page(ranked: Sequence[Scored]) -> list[list[Scored]]:
    """The units in reading order, those of pages that follow each other together: lists run over the page."""
    found: dict[PageRef, list[Scored]] = {}
    for item in ranked:
        found.setdefault(item.unit.page, []).append(item)
    runs: list[list[Scored]] = []
    last: PageRef | None = None
    for ref in sorted(found, key=lambda ref: (ref.doc_id, ref.page)):
        units = sorted(found[ref], key=lambda item: item.unit.order)
        if last is not None and (last.doc_id, last.page + 1) == (ref.doc_id, ref.page):
            runs[-1] += [item for item in units if item.unit.role not in ("header", "footer")]
        else:
            runs.append(units)
        last = ref
    return runs


def _lists(units: Sequence[Scored]) -> Iterator[Members]:
    """The lists of a page: numbered ones, whose items may be explained in between, and runs of bullets."""
    at = 0
    while at < len(units):
        unit = units[at].unit
        if (number := _number(unit)) == 1:
            found, stop = _numbered(units, at)
        elif number is None and unit.role == "list_item":
            found, stop = _bulleted(units, at)
        else:
            at += 1
            continue
        if len(found) >= 2:
            yield _members(units, at, [units[i] for i in found], numbered=number == 1)
        at = max(stop, at + 1)


def _number(unit: Unit) -> int | None:
    match = _NUMBER.match(unit.text) if unit.role in ("list_item", "paragraph", "heading") and not unit.cells else None
    if match is None or not unit.text[match.end() :].strip()[:1].isalpha():
        return None
    return int(match[1])


def _numbered(units: Sequence[Scored], start: int) -> tuple[list[int], int]:
    found, at = [start], start + 1
    heading = units[start].unit.heading
    while at < len(units):
        unit = units[at].unit
        number = _number(unit)
        if number == len(found) + 1:
            found.append(at)
        elif number == 1 or (unit.role == "heading" and number is None and unit.text != heading):
            break
        at += 1
    return found, at


def _bulleted(units: Sequence[Scored], start: int) -> tuple[list[int], int]:
    first = units[start].unit
    mark = _mark(first)
    found, at = [start], start + 1
    while at < len(units):
        unit = units[at].unit
        if unit.role != "list_item" or unit.heading != first.heading or _number(unit) is not None:
            break
        # What follows within one item, and what stands under another bullet, is no member of this list.
        before = units[at - 1].unit
        continued = unit.kind == "sentence" and before.kind == "sentence" and not _mark(unit)
        if _mark(unit) == mark and not (continued and set(unit.lines) & set(before.lines)):
            found.append(at)
        at += 1
    return found, at


def _mark(unit: Unit) -> str:
    match = _BULLET.match(unit.text)
    if match:
        return match[1]
    return "a" if _LETTER.match(unit.text) else ""


def _members(units: Sequence[Scored], at: int, found: Sequence[Scored], *, numbered: bool) -> Members:
    before = units[at - 1].unit if at else None
    lead = found[0].unit.heading
    announced = False
    if before is not None and before.role not in ("list_item", "table", "figure", "header", "footer"):
        announced = bool(_ANNOUNCES.search(before.text)) and before.role != "heading"
        lead = f"{lead} {before.text}" if announced else lead
    texts = _short([item.unit.text for item in found])
    items = tuple(Item(text, item.unit, item.unit.lines) for text, item in zip(texts, found, strict=True))
    sure = 0.8 if announced else 0.7
    return Members(items[:_MOST], lead, found[0], 0.0, sure if lead.strip() else 0.3, numbered)


def _short(texts: Sequence[str]) -> list[str]:
    """Items without marks, and without their explanations where most have the form "Term: explanation"."""
    bare = [_LETTER.sub("", _NUMBER.sub("", _BULLET.sub("", text))).strip() for text in texts]
    marked = [_TERM.match(text) for text in bare]
    if 2 * sum(match is not None for match in marked) > len(bare):
        return [match[1].strip() if match else text for match, text in zip(marked, bare, strict=True)]
    return [_first_sentence(text) for text in bare]


def _first_sentence(text: str) -> str:
    text = _SENTENCE.split(text)[0].strip().removesuffix("; and").removesuffix(", and").rstrip(" ;,.；，。")
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + "…"


def _enumerated(text: str, unit: Unit, page: Page) -> Item:
    """An item with those of the unit's lines that it stands on; all of them when it runs over a break."""
    lines = tuple(i for i in unit.lines if i < len(page.lines) and text in page.lines[i].text)
    return Item(text, unit, lines[:1] or unit.lines)
