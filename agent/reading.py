"""Pages as units that an answer can be taken from: sentences, table rows, list items, labels, each with its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from agent.matching import is_chinese
from agent.tables.charts import bars_of
from agent.tables.rows import Cell, Row, rows_of
from agent.tables.scales import UNIT_NOTE
from retrieval.types import BBox, Block, BlockKind, Frozen, Page, PageRef
from tools.types import EvidenceKind

_SPLIT = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[\"“‘(]?[A-Z0-9\u3400-\u9fff•])|(?<=[。！？；])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Figs|vs|etc|al|Inc|Corp|Co|Ltd|Jr|Sr|U\.S|e\.g|i\.e|cf|pp|Vol|Sec|Eq)"
    r"|\b[A-Z])\.$"
)
_WORD = re.compile(r"\w")
_TERMINAL = frozenset(".!?:;。！？：；")
_ITEM = 200


class Unit(Frozen):
    """A piece of a page that can be quoted. `context` is what the page says around it: headings, heads, units."""

    page: PageRef
    kind: EvidenceKind
    role: BlockKind
    text: str
    lines: tuple[int, ...]
    order: int
    context: str = ""
    heading: str = ""
    note: str = ""
    label: str = ""
    section: str = ""
    cells: tuple[Cell, ...] = ()


@lru_cache(maxsize=512)
def units_of(page: Page) -> tuple[Unit, ...]:
    """The units of a page in reading order. Headers and footers are units only on a page that holds nothing else."""
    rows = rows_of(page)
    rows += bars_of(page, {i for row in rows for i in row.lines})
    # The layout model calls a single line at the top of a page a header; then it is the page's text.
    return _units(page, rows, furniture=False) or _units(page, rows, furniture=True)


def _units(page: Page, rows: list[Row], *, furniture: bool) -> tuple[Unit, ...]:
    """The units with or without those of headers and footers."""
    taken = {i for row in rows for i in row.lines}
    notes = unit_notes(page)
    found: list[Unit] = []
    heading = ""
    heads: dict[int, str] = {}
    for block in _blocks(page):
        heads |= dict.fromkeys(block.lines, heading)
        if block.kind == "heading" and not UNIT_NOTE.fullmatch(text := _join(page, block.lines)[0]):
            heading = text[:200]
        if furniture or block.kind not in ("header", "footer"):
            found += _block_units(page, block, heading if block.kind != "heading" else "", taken)
    found += [_row_unit(page, row, heads.get(row.lines[0], ""), _note_for(notes, row.lines[0])) for row in rows]
    found.sort(key=lambda unit: unit.lines[0])
    return tuple(unit.model_copy(update={"order": number}) for number, unit in enumerate(found))


def unit_notes(page: Page) -> tuple[tuple[int, str], ...]:
    """What the page says about the units of its amounts, such as "in millions", by line from top to bottom."""
    matches = ((i, UNIT_NOTE.search(line.text)) for i, line in enumerate(page.lines))
    return tuple((i, match.group().strip("()（） ")) for i, match in matches if match)


def _note_for(notes: tuple[tuple[int, str], ...], line: int) -> str:
    """The note that holds for a line: the last one above it, else the first one below."""
    above = [note for at, note in notes if at <= line]
    return above[-1] if above else notes[0][1] if notes else ""


def _blocks(page: Page) -> list[Block]:
    """The blocks of a page, continued ones joined, and one block more for the lines outside all of them."""
    inside = {i for block in page.blocks for i in block.lines}
    outside = tuple(i for i, line in enumerate(page.lines) if i not in inside and line.text.strip())
    blocks: list[Block] = []
    for block in page.blocks:
        if not block.lines:
            continue
        if blocks and _continues(page, blocks[-1], block):
            last = blocks.pop()
            block = Block(
                kind=last.kind, bbox=BBox.union_of([last.bbox, block.bbox]), lines=(*last.lines, *block.lines)
            )
        blocks.append(block)
    if outside:
        boxes = [page.lines[i].bbox for i in outside]
        blocks.append(Block(kind="paragraph", bbox=BBox.union_of(boxes), lines=outside))
    return blocks


def _continues(page: Page, block: Block, following: Block) -> bool:
    """Whether a paragraph goes on with the sentence that the block right above it left open."""
    if block.kind not in ("paragraph", "list_item") or following.kind != "paragraph" or page.writing == "vertical":
        return False
    last, first = page.lines[block.lines[-1]], page.lines[following.lines[0]]
    open_end = last.text.rstrip()[-1:] not in _TERMINAL and (is_chinese(last.text[-1:]) or first.text[:1].islower())
    gap = first.bbox.y1 - last.bbox.y2
    full = last.bbox.x2 >= first.bbox.x2 - 0.05
    return open_end and full and -0.01 <= gap < 1.5 * (last.bbox.y2 - last.bbox.y1)


def _block_units(page: Page, block: Block, heading: str, taken: set[int]) -> list[Unit]:
    lines = tuple(i for i in block.lines if i not in taken)
    if not lines:
        return []
    if block.kind == "figure" or (block.kind == "table" and len(lines) < len(block.lines)):
        return [_unit(page, "line", block.kind, (page.lines[i].text.strip(), (i,)), heading) for i in lines]
    pieces: Iterable[tuple[str, tuple[int, ...]]]
    text, places = _join(page, lines)
    if block.kind == "heading" or (block.kind == "list_item" and len(text) <= _ITEM):
        kind: EvidenceKind = "block"
        pieces = [(text, lines)]
    else:
        kind = "sentence"
        pieces = _sentences(text, places)
        if page.writing == "vertical" and len(lines) > 1 and len(list(pieces)) == 1:
            # Classical pages have no punctuation; there a column is the unit.
            kind, pieces = "line", [(page.lines[i].text.strip(), (i,)) for i in lines]
    return [_unit(page, kind, block.kind, piece, heading) for piece in pieces if _WORD.search(piece[0])]


def _unit(page: Page, kind: EvidenceKind, role: BlockKind, piece: tuple[str, tuple[int, ...]], heading: str) -> Unit:
    text, lines = piece
    return Unit(page=page.ref, kind=kind, role=role, text=text, lines=lines, order=0, context=heading, heading=heading)


def _row_unit(page: Page, row: Row, heading: str, note: str) -> Unit:
    heads = " | ".join(dict.fromkeys(cell.head for cell in row.cells if cell.head))
    return Unit(
        page=page.ref,
        kind="row",
        role="table",
        text=row.text,
        lines=row.lines,
        order=0,
        context=" | ".join(part for part in (heading, row.section, heads, note) if part),
        heading=heading,
        note=note,
        label=row.label,
        section=row.section,
        cells=row.cells,
    )


def _join(page: Page, lines: tuple[int, ...]) -> tuple[str, list[int]]:
    """The text of lines as running text, and for each character of it the line that it came from."""
    text = ""
    places: list[int] = []
    for i in lines:
        part = page.lines[i].text.strip()
        if not part:
            continue
        if text.endswith("-") and len(text) > 1 and text[-2].isalpha() and part[0].islower():
            text, places = text[:-1], places[:-1]
        elif text and not (is_chinese(text[-1]) or is_chinese(part[0]) or text[-1] in "，。、；：？！"):
            text, places = text + " ", [*places, i]
        text, places = text + part, places + [i] * len(part)
    return text, places


def _sentences(text: str, places: list[int]) -> list[tuple[str, tuple[int, ...]]]:
    """Sentences with their lines; a break after an abbreviation is none."""
    found: list[tuple[str, tuple[int, ...]]] = []
    start = 0
    ends = [match for match in _SPLIT.finditer(text) if not _ABBREVIATION.search(text[: match.start()][-12:])]
    for stop, following in [*((m.start() + len(m.group().rstrip()), m.end()) for m in ends), (len(text), len(text))]:
        sentence = text[start:stop]
        if sentence.strip():
            found.append((sentence.strip(), tuple(dict.fromkeys(places[start:stop]))))
        start = following
    return found
