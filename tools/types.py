"""What tools hand to the agent: evidence with its place on a page."""

from __future__ import annotations

from typing import Literal

from retrieval.types import BBox, BlockKind, Frozen, PageRef

EvidenceKind = Literal["sentence", "line", "block", "row", "cell", "page", "snippet", "calculation"]
RegionKind = Literal["paragraph", "list_item", "table", "figure", "caption", "heading", "header", "footer", "vision"]


class Region(Frozen):
    """Where evidence stands: `block` is the layout block that is reported, `focus` the lines or cell inside it."""

    page_ref: PageRef
    block: BBox
    focus: BBox | None = None
    kind: RegionKind = "paragraph"


class Evidence(Frozen):
    """A piece of text that was found, with the tool that found it and why it matched.

    `region` is None for evidence that stands on no page (a pool snippet, a calculation). `context` is what the document
    says around the text that tells what it is about: headings, column heads, the unit of a table.
    """

    id: str
    kind: EvidenceKind
    text: str
    region: Region | None
    origin: str
    match_basis: str
    score: float
    context: str = ""


class Quote(Frozen):
    """Text on a page and the indices of the page's lines that it stands on; `answer` is the part of it that matters.

    What was only seen has a `box` and no lines; its text is what was said to be there.
    """

    page: PageRef
    lines: tuple[int, ...]
    text: str
    kind: EvidenceKind = "sentence"
    score: float = 0.0
    basis: str = "question terms"
    context: str = ""
    answer: str = ""
    box: BBox | None = None


def region_kind(kind: BlockKind) -> RegionKind:
    """The kind of the region that a block of this kind makes."""
    return kind
