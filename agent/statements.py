"""Facts in words: one sentence that stands alone, from a unit of a page."""

from __future__ import annotations

import re

from agent.matching import is_chinese
from agent.question import Question
from agent.reading import Unit

_DANGLING = re.compile(
    r"^(?:it|they|this|these|that|those|he|she|such|its|their|his|her)\b|^(?:其|该|它|他|她|此|这)", re.IGNORECASE
)
_BULLET = re.compile(r"^[•●▪■◦–—\-*·○☑✓\s]+|^\(?[0-9a-z]{1,2}[.)]\s+")


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
    chinese = is_chinese(unit.label)
    label = unit.label.strip(" :：")
    place = unit.heading.strip()
    note = f" ({unit.note})" if unit.note and unit.note not in place else ""
    if value and any(value == cell.text.strip() for cell in unit.cells):
        if chinese:
            return f"{f'“{place}”中，' if place else ''}{label}{f'（{head}）' if head else ''}为{value}{note}。"
        column = f" for {head}" if head else ""
        return f"{f'In “{place}”, ' if place else ''}{label}{column} is {value}{note}."
    cells = [f"{cell.text.strip()} ({cell.head})" if cell.head else cell.text.strip() for cell in unit.cells]
    listed = "、".join(cells) if chinese else ", ".join(cells)
    start = (f"“{place}”中，" if chinese else f"In “{place}”, ") if place else ""
    return f"{start}{label}{'：' if chinese else ': '}{listed}{note}{'。' if chinese else '.'}"
