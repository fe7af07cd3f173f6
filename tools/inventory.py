"""Count what a document has: figures, tables, pages, sections, references, authors, mentions of a phrase."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from retrieval.errors import InputError
from retrieval.types import Page, PageRef
from tools import captions, entries
from tools.base import Arguments, ToolContext, ToolResult, ToolRetry
from tools.captions import Captioned, Found
from tools.parts import BODY, REFERENCES, Stretch, named_part, numbered_pages, whole
from tools.types import Quote

Thing = Literal[
    "figure", "table", "chart", "photo", "exhibit", "algorithm", "box", "equation",
    "reference", "section", "chapter", "appendix", "author", "question", "step", "page", "phrase",
]  # fmt: skip
_CAPTIONED: tuple[Captioned, ...] = ("figure", "table", "chart", "photo", "exhibit", "algorithm", "box")
_SHOWN = 12
_LAID_OUT = 6
_CERTAIN, _LIKELY, _GUESSED, _DOUBTFUL, _UNLIKELY = 0.9, 0.75, 0.4, 0.3, 0.15
_AS_PRINTED = 0.7


class InventoryArguments(Arguments):
    """What to count, and where.

    `by` "page" counts the pages that have such a thing. `pages` are physical page numbers (negative: from the end), or
    printed ones where no page has that physical number. `part` is "appendix", "body", "references", a section's number
    ("3.2") or its title; `doc_id` is the document, by default the one that was found best.
    """

    thing: Thing
    phrase: Annotated[str, Field(max_length=200)] = ""
    by: Literal["thing", "page"] = "thing"
    pages: Annotated[tuple[int, ...], Field(max_length=400)] = ()
    part: Annotated[str, Field(max_length=200)] = ""
    doc_id: str = ""

    @model_validator(mode="after")
    def _phrase_given(self) -> Self:
        if (self.thing == "phrase") != bool(self.phrase.strip()):
            raise ValueError('give a phrase with thing "phrase", and only then')
        return self


class Inventory:
    """Counts over all pages of a document, not only those that were read."""

    name = "inventory"
    description = (
        "How many figures, tables, pages, sections, references, authors or mentions of a phrase there are"
        " in a document, in a part of it or on some of its pages."
    )
    arguments: type[Arguments] = InventoryArguments

    async def run(self, context: ToolContext, arguments: InventoryArguments) -> ToolResult:
        """The count in `value`, the things counted (at most 12) in `quotes`, and how sure it is in `confidence`.
        Counting by page, `terms` are the labels of these pages.

        There is no value when the part or the pages aren't there; ToolRetry for a document outside the scope.
        """
        return await asyncio.to_thread(_count, context, arguments)


def _count(context: ToolContext, arguments: InventoryArguments) -> ToolResult:
    doc_id = _document(context, arguments)
    pages, unread = _pages(context, doc_id)
    stretches = _stretches(pages, arguments)
    if not stretches:
        return ToolResult(notes=(f"the document has no {_where(arguments)}",))
    found, confidence = _found(context, pages, stretches, arguments)
    if arguments.by == "page" and arguments.thing != "page":
        found = list({item.page.ref: item for item in found}.values())
    if arguments.pages and any(page.ref.page not in arguments.pages for page in (s.page for s in stretches)):
        confidence *= 1.0 if min(arguments.pages) < 0 else _AS_PRINTED
    if unread:
        confidence *= 1 - unread / (unread + len(pages))
    quotes = tuple(_quote(item) for item in found[:_SHOWN] if item.lines)
    notes = (f"{unread} pages are not read yet",) if unread else ()
    return ToolResult(
        value=str(len(found)),
        quotes=quotes,
        confidence=round(confidence, 3),
        read=tuple(dict.fromkeys(quote.page for quote in quotes)),
        terms=tuple(item.page.label if item.page.label != "none" else str(item.page.ref.page) for item in found)
        if arguments.by == "page"
        else (),
        notes=notes,
    )


def _where(arguments: InventoryArguments) -> str:
    """Where it was to be counted, in words."""
    if arguments.pages:
        return f"page {', '.join(map(str, arguments.pages))}"
    return "list of references" if arguments.thing == "reference" else f"part {arguments.part!r}"


def _document(context: ToolContext, arguments: InventoryArguments) -> str:
    known = context.scope.doc_ids
    if arguments.doc_id and arguments.doc_id not in known:
        raise ToolRetry(f"document {arguments.doc_id} is outside the scope", remedy="name a document of the scope")
    return arguments.doc_id or (context.hits[0].ref.doc_id if context.hits else known[0])


def _pages(context: ToolContext, doc_id: str) -> tuple[list[Page], int]:
    """(the pages of a document that are read, how many are not)."""
    found: list[Page] = []
    total = context.pages.document(doc_id).pages
    for number in range(1, total + 1):
        try:
            found.append(context.pages.page(PageRef(doc_id=doc_id, page=number)))
        except InputError:
            continue
    return found, total - len(found)


def _stretches(pages: Sequence[Page], arguments: InventoryArguments) -> list[Stretch]:
    if arguments.pages:
        return numbered_pages(pages, arguments.pages)
    if arguments.thing == "reference":
        return named_part(pages, REFERENCES)
    if arguments.part:
        return named_part(pages, arguments.part)
    return named_part(pages, BODY) if arguments.thing == "section" else whole(pages)


def _found(
    context: ToolContext, pages: Sequence[Page], stretches: Sequence[Stretch], arguments: InventoryArguments
) -> tuple[list[Found], float]:
    """(what there is of the wanted thing, probability that this is all of it)."""
    thing = arguments.thing
    if thing == "page":
        return [_page(stretch.page) for stretch in {s.page.ref: s for s in stretches}.values()], _CERTAIN
    if thing == "phrase":
        found = entries.occurrences(stretches, arguments.phrase)
        return found, _LIKELY if found else 0.0
    if thing == "reference":
        return entries.references(stretches)
    if thing == "author":
        return entries.authors(pages)
    if thing == "section":
        return entries.sections(pages, stretches, arguments.part if arguments.part[:1].isdigit() else "")
    if thing == "equation":
        found = captions.equations(stretches)
        return found, _GUESSED if len(found) > 1 else 0.0
    if thing in _CAPTIONED:
        return _captioned(context, stretches, thing, named=bool(arguments.pages or arguments.part))
    return entries.numbered(stretches, thing)


def _captioned(
    context: ToolContext, stretches: Sequence[Stretch], thing: Captioned, *, named: bool
) -> tuple[list[Found], float]:
    """By captions; figures and tables without any by their blocks, which is a guess where the part is long."""
    found = captions.captions(stretches, thing)
    if found:
        return found, captions.sureness(item.key for item in found)
    if thing == "exhibit":
        found = captions.mentions_of(stretches, thing)
        return found, _GUESSED if found else 0.0
    if thing not in ("figure", "photo", "table"):
        return [], 0.0
    refs = list(dict.fromkeys(stretch.page.ref for stretch in stretches))
    laid_out = [context.pages.laid_out(ref) for ref in refs] if len(refs) <= _LAID_OUT else [s.page for s in stretches]
    blocks = captions.tables(laid_out) if thing == "table" else captions.pictures(laid_out)
    sure = _DOUBTFUL if named and len(refs) <= _LAID_OUT else _UNLIKELY
    return blocks, sure if blocks else 0.0


def _page(page: Page) -> Found:
    return Found(page, (0,) if page.lines else (), page.lines[0].text.strip() if page.lines else "", str(page.ref.page))


def _quote(item: Found) -> Quote:
    return Quote(page=item.page.ref, lines=item.lines, text=item.text[:400], kind="line", basis="counted", score=1.0)
