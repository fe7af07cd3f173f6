"""Facts in words: one sentence that stands alone, from a unit of a page."""

from __future__ import annotations

import re

from agent.matching import is_chinese
from agent.question import Question
from agent.reading import Unit
from agent.tables.rows import Cell
from agent.tables.scales import currency_of, excepts, measured_in, of_shares, scale_word

_DANGLING = re.compile(
    r"^(?:it|they|this|these|that|those|he|she|such|its|their|his|her)\b|^(?:其|该|它|他|她|此|这)", re.IGNORECASE
)
_BULLET = re.compile(r"^[•●▪■◦–—\-*·○☑✓\s]+|^\(?[0-9a-z]{1,2}[.)]\s+")

_WHEN = re.compile(r"(?:FY ?|fiscal (?:year )?)?\d{4}", re.IGNORECASE)


def state(question: Question, unit: Unit, head: str = "", value: str = "") -> str:
    """The sentence that a unit supports. A row names its table, label and column; a dangling start gets its heading."""
    if unit.cells:
        return _row(unit, head, value)
    text = _BULLET.sub("", unit.text).strip()
    named = unit.heading and unit.heading.strip() != unit.text.strip()
    chinese = is_chinese(text)
    if named and (_DANGLING.match(text) or unit.role in ("list_item", "figure") or len(text) < 25):
        text = f"“{unit.heading}”之下：{text}" if chinese else f"Under “{unit.heading}”: {text}"
    return text if text.endswith((".", "。", "!", "?", "！", "？")) else text + ("。" if chinese else ".")


def _row(unit: Unit, head: str, value: str) -> str:
    """A row in words: one cell with its column, unit and period, or all cells of the row."""
    chinese = is_chinese(unit.label)
    label = unit.label.strip(" :：")
    if unit.section and unit.section not in label:
        label = f"{label}（{unit.section}）" if chinese else f"{label} ({unit.section})"
    place = unit.heading.strip()
    cell = next((cell for cell in unit.cells if value and cell.text.strip() == value and head in ("", cell.head)), None)
    if cell is None:
        cells = [f"{amount(unit, cell)} ({cell.head})" if cell.head else amount(unit, cell) for cell in unit.cells]
        listed = "、".join(cells) if chinese else ", ".join(cells)
        start = (f"“{place}”中，" if chinese else f"In “{place}”, ") if place else ""
        return f"{start}{label}{'：' if chinese else ': '}{listed}{'。' if chinese else '.'}"
    if chinese:
        start = f"“{place}”中，" if place else ""
        return f"{start}{label}{f'（{cell.head}）' if cell.head else ''}为{amount(unit, cell)}。"
    dated = _WHEN.fullmatch(cell.head.strip())
    column = f" {'in' if dated else 'for'} {cell.head}" if cell.head else ""
    return f"{f'In “{place}”, ' if place else ''}{label}{column} was {amount(unit, cell)}."


def amount(unit: Unit, cell: Cell) -> str:
    """A cell with its currency and scale, as the column's head or the table's note gives them ("$7,491 million").

    Percentages, and amounts per share and numbers of shares where the note excepts them, stay as they are.
    """
    text = cell.text.strip()
    excepted = excepts(unit.note) and of_shares(f"{unit.section} {unit.label} {cell.head}")
    bare = is_chinese(text) or re.search(r"[%％A-Za-z]", text) or re.search(r"[%％]", cell.head)
    if excepted or bare or not re.search(r"\d", text):
        return text
    for note in (cell.head, unit.note):
        if word := scale_word(note):
            sign = "" if re.search(r"[$€£¥￥]", text) else currency_of(note)
            shown = re.sub(r"^\((.*?)\s*\)$", r"-\1", text)
            shown = f"-{sign}{shown[1:]}" if shown.startswith("-") else f"{sign}{shown}"
            things = f" {measured_in(note)}" if measured_in(note) and not sign else ""
            return f"{shown}{'' if is_chinese(word) else ' '}{word}{things}"
    return text
