"""What a model is shown of the pages: pieces with ids that it can cite, within a limit of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent.models.calls import text_tokens
from agent.prompts import fenced
from agent.question import Question
from agent.ranking import PageRead, Scored
from agent.reading import Unit
from retrieval.types import PageRef
from tools.types import Evidence

_OVERHEAD = 5
"""Tokens that the id and the line break of a piece take."""


@dataclass(frozen=True, slots=True)
class Exhibits:
    """The pieces by id (S1, S2, ...), the pages by marker (P1, P2, ...), and both as text for a prompt.

    `left_out` counts the pieces that had no room.
    """

    text: str
    pieces: dict[str, Scored]
    pages: dict[str, PageRead]
    left_out: int = 0
    background: str = ""
    snippets: dict[str, Evidence] = field(default_factory=dict)


def exhibits(
    question: Question,
    pages: Sequence[PageRead],
    ranked: Sequence[Scored],
    *,
    tokens: int,
    snippets: Sequence[Evidence],
) -> Exhibits:
    """As much of the pages as fits: the pieces that meet the question best with what stands around them.

    They are shown in the order of the pages, so that the model reads the pages and not a ranking.
    """
    background, known = _background(question, snippets, tokens // 3)
    chosen = _chosen(ranked, tokens - text_tokens(background))
    markers = {read.page.ref: f"P{number}" for number, read in enumerate(pages, 1)}
    by_page: dict[PageRef, list[Scored]] = {}
    for item in chosen:
        by_page.setdefault(item.unit.page, []).append(item)
    lines: list[str] = []
    pieces: dict[str, Scored] = {}
    for read in pages:
        found = sorted(by_page.get(read.page.ref, []), key=lambda item: item.unit.order)
        if not found:
            continue
        lines.append(page_marker(markers[read.page.ref], read))
        context = ""
        for item in found:
            if item.unit.context and item.unit.context != context:
                context = item.unit.context
                lines.append(f"({context})")
            piece = f"S{len(pieces) + 1}"
            pieces[piece] = item
            lines.append(f"[{piece}] {item.unit.text}")
    return Exhibits(
        text=fenced("\n".join(lines)),
        pieces=pieces,
        pages={markers[read.page.ref]: read for read in pages},
        left_out=len(ranked) - len(chosen),
        background=background,
        snippets=known,
    )


def page_marker(marker: str, read: PageRead) -> str:
    """The line above the pieces of a page: "=== P2: report.pdf, page 14 (printed 12) ==="."""
    page = read.page
    printed = f" (printed {page.label})" if page.label not in ("none", "", str(page.ref.page)) else ""
    return f"=== {marker}: {read.name or page.ref.doc_id[:8]}, page {page.ref.page}{printed} ==="


def _chosen(ranked: Sequence[Scored], tokens: int) -> list[Scored]:
    """The pieces that fit, best first, each with the ones before and after it on its page."""
    by_place = {(item.unit.page, item.unit.order): item for item in ranked}
    chosen: dict[tuple[PageRef, int], Scored] = {}
    left = tokens
    if ranked and all(_cost(item.unit) > tokens for item in ranked):
        return [_cut_to(ranked[0], tokens)]
    for item in ranked:
        for order in (item.unit.order, item.unit.order - 1, item.unit.order + 1):
            place = (item.unit.page, order)
            near = by_place.get(place)
            if near is None or place in chosen:
                continue
            cost = _cost(near.unit)
            if cost <= left:
                chosen[place] = near
                left -= cost
    return list(chosen.values())


def _cut_to(item: Scored, tokens: int) -> Scored:
    """The beginning of a piece that is too long to be shown as a whole."""
    text = item.unit.text
    kept = text[: max(len(text) * tokens // (2 * max(text_tokens(text), 1)), 1)]
    return replace(item, unit=item.unit.model_copy(update={"text": kept, "context": item.unit.context[:100]}))


def _cost(unit: Unit) -> int:
    return text_tokens(unit.text) + text_tokens(unit.context) // 4 + _OVERHEAD


def _background(question: Question, snippets: Sequence[Evidence], tokens: int) -> tuple[str, dict[str, Evidence]]:
    """The snippets of the pool as background that can be named (K1, K2, ...), and no ground of an answer."""
    lines: list[str] = []
    known: dict[str, Evidence] = {}
    for snippet in snippets:
        line = f"[K{len(known) + 1}] {snippet.text}" + (f" ({snippet.context})" if snippet.context else "")
        tokens -= text_tokens(line)
        if tokens < 0:
            break
        known[f"K{len(known) + 1}"] = snippet
        lines.append(line)
    if not lines:
        return "", {}
    head = "背景资料（不是文档内容）：" if question.language == "zh" else "Background (not from the documents):"
    return f"{head}\n{fenced(chr(10).join(lines))}", known
