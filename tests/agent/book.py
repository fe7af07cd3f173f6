"""Small documents in memory, and a collection over them that ranks pages by the words they share with a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from agent.build import Agent
from retrieval.errors import InputError
from retrieval.types import (
    BBox,
    Block,
    BlockKind,
    Document,
    Line,
    Page,
    PageHit,
    PageRef,
    Scope,
    SearchResult,
    SignalStatus,
    WritingMode,
)

Text = tuple[BlockKind, str | list[str]]
DOC = "d0c0000000000001"
SCOPE = Scope(doc_ids=(DOC,))


class Book:
    """Satisfies `tools.base.Pages`. `searches` counts what was asked, so that a test sees work that was repeated."""

    def __init__(self, *pages: Page, name: str = "book.pdf", found: Sequence[Sequence[int]] | None = None) -> None:
        self.pages = {page.ref: page for page in pages}
        self.name = name
        self.searches: list[str] = []
        self._found = list(found) if found is not None else None

    def search(self, query: str, scope: Scope, k: int = 10) -> SearchResult:
        self.searches.append(query)
        if self._found is not None:
            order = [PageRef(doc_id=DOC, page=n) for n in self._found[min(len(self.searches), len(self._found)) - 1]]
        else:
            scores = {ref: len(_words(query) & _words(page.text)) for ref, page in self.pages.items()}
            order = sorted((ref for ref in scores if scores[ref]), key=lambda ref: (-scores[ref], ref.page))
        hits = tuple(
            PageHit(ref=ref, rank=rank, score=1 / rank, ranks={"words": rank}, lines=(0, 1))
            for rank, ref in enumerate(order[:k], 1)
        )
        return SearchResult(hits=hits, signals=(SignalStatus(name="words", ready=1.0),))

    def document(self, doc_id: str) -> Document:
        return Document(doc_id=doc_id, kind="pdf", pages=len(self.pages), names=(self.name,))

    def page(self, ref: PageRef) -> Page:
        if ref not in self.pages:
            raise InputError(f"page {ref.page} isn't there")
        return self.pages[ref]

    def laid_out(self, ref: PageRef) -> Page:
        return self.page(ref).model_copy(update={"layout": "model"})

    def image(self, ref: PageRef, *, dpi: int = 144) -> Image.Image:
        return Image.new("L", (8, 8))


def page(number: int, *texts: Text, label: str | None = None) -> Page:
    """A horizontal page: blocks from top to bottom, a string a line of its own, a table row as cells divided by |."""
    lines: list[Line] = []
    blocks: list[Block] = []
    y = 0.05
    for kind, content in texts:
        first = len(lines)
        for row in [content] if isinstance(content, str) else content:
            for column, cell in enumerate(row.split("|")):
                left = 0.1 + 0.25 * column
                width = min(0.01 * len(cell), 0.24) if "|" in row else 0.8
                if cell.strip():
                    box = BBox(x1=left, y1=round(y, 4), x2=round(left + width, 4), y2=round(y + 0.015, 4))
                    lines.append(Line(text=cell.strip(), bbox=box))
            y += 0.02
        members = tuple(range(first, len(lines)))
        blocks.append(Block(kind=kind, bbox=BBox.union_of(lines[i].bbox for i in members), lines=members))
        y += 0.02
    ref = PageRef(doc_id=DOC, page=number)
    return Page(ref=ref, label=label or str(number), width=612, height=792, lines=tuple(lines), blocks=tuple(blocks))


def columns(number: int, *texts: str) -> Page:
    """A vertical page: one column a text, from right to left, all in one block."""
    lines = tuple(
        Line(
            text=text, bbox=BBox(x1=round(0.9 - 0.1 * i, 4), y1=0.1, x2=round(0.96 - 0.1 * i, 4), y2=0.9), source="ocr"
        )
        for i, text in enumerate(texts)
    )
    block = Block(kind="paragraph", bbox=BBox.union_of(line.bbox for line in lines), lines=tuple(range(len(lines))))
    writing: WritingMode = "vertical"
    return Page(
        ref=PageRef(doc_id=DOC, page=number), width=600, height=800, lines=lines, blocks=(block,), writing=writing
    )


def agent_over(book: Book, root: Path, **parts: object) -> Agent:
    """An agent over a book, with its own traces and checkpoints."""
    return Agent(book, root, **parts)  # type: ignore[arg-type]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+|[\u3400-\u9fff]", text.lower()))
