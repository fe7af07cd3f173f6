"""The cells of tables that answer a question: by label, section, column, period and kind of value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.matching import Weights, terms
from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables.rows import Cell
from agent.values import values, years

_SEARCHED = 150
_HEAD, _BESIDE, _CAPTION, _NEAR = 0.95, 0.85, 0.7, 0.45
"""What a term of the question counts that isn't in the label: in the head, beside it, above the table, near."""
_UNDATED, _EARLIER, _UNNAMED = 0.75, 0.8, 0.8
_SPARE_LABEL, _SPARE_HEAD = 0.35, 0.1
_VAGUE = 0.8
_PERIODS = (
    ("quarter", re.compile(r"\b(?:(?:three|3) months|(?:thirteen|12|13) weeks|quarter(?:ly)?|q[1-4])\b|季度", re.I)),
    ("half", re.compile(r"\b(?:(?:six|6) months|(?:twenty-six|26) weeks|half[- ]year)\b|半年", re.I)),
    ("nine", re.compile(r"\b(?:(?:nine|9) months|(?:thirty-nine|39) weeks)\b", re.I)),
    ("year", re.compile(r"\b(?:(?:twelve|12) months|5[23] weeks|(?:fiscal|full) years?|fy|annual)|年度", re.I)),
)
_ASIDE = re.compile(
    r",? \b(?:including|excluding|taking|defined as|respectively|according to|based on|whose)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?。？！])\s*(?=[A-Z\u3400-\u9fff])")
_BRACKETS = re.compile(r"\([^()]*\)|（[^（）]*）")
_PREFACE = re.compile(r"^(?:considering|using|according to|based on|looking at|given)\b[^,:]*[,:]\s*", re.IGNORECASE)
_ASIDE_WEIGHT = 0.3
"""What a term counts that a question says aside: what is included, how something is defined."""
_SHARE = re.compile(r"%|％|\bper ?cent|\brates?\b|\bmargins?\b|比率|率", re.IGNORECASE)
_UNIT_WORDS = frozenset(terms("usd dollar thousand million billion respectively"))
_COLUMN_WORDS = frozenset(terms("value amount number company year years fiscal end ended date"))


@dataclass(frozen=True, slots=True)
class CellPick:
    """A cell that answers a question, and how well: `row_match` by label and place, `column_match` by head, period and
    kind, both 0 to 1. `margin` is how far its match is ahead of the best other cell with another value.
    """

    answer: str
    unit: Unit
    cell: Cell
    row_match: float
    column_match: float
    margin: float
    scored: Scored

    @property
    def match(self) -> float:
        """How well the question is met, 0 to 1."""
        return self.row_match * self.column_match


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a cell is compared with: a question, its content terms and their weights."""

    question: Question
    terms: frozenset[str]
    weights: Weights
    aside: frozenset[str]

    @classmethod
    def by(cls, question: Question, wanted: frozenset[str], texts: Iterable[str]) -> _Asked:
        said = frozenset(terms(main_clause(question.text)))
        return cls(question, wanted, Weights.over(texts), wanted - said)

    def weight(self, term: str) -> float:
        return self.weights.of(term) * (_ASIDE_WEIGHT if term in self.aside else 1.0)

    def of(self, found: Iterable[str]) -> float:
        return sum(self.weight(term) for term in found)


def main_clause(text: str) -> str:
    """The clause of a question that asks: without sentences on how to go about it, and without what is said aside."""
    sentences = _SENTENCE.split(text)
    asking = next((s for s in sentences if s.rstrip().endswith(("?", "？"))), sentences[0])
    asking = _PREFACE.sub("", _BRACKETS.sub(" ", asking))
    aside = _ASIDE.search(asking)
    return asking[: aside.start()] if aside and terms(asking[: aside.start()]) else asking


def cell_picks(question: Question, ranked: Sequence[Scored], *, drop: Iterable[str] = ()) -> list[CellPick]:
    """The cells with values that answer a question best, best first; `drop` are terms of it that don't count."""
    rows = [item for item in ranked[:_SEARCHED] if item.unit.cells]
    wanted = frozenset(question.terms) - frozenset(drop) - set(question.years) - _UNIT_WORDS
    asked = _Asked.by(question, wanted, (item.unit.text for item in ranked))
    vague = _vague(asked, rows)
    scored = [
        (row * (_VAGUE if item.unit in vague else 1.0), column, item, cell)
        for item in rows
        for row, column, cell in _cells(asked, item)
    ]
    scored.sort(key=lambda found: -found[0] * found[1])
    picks = []
    for row, column, item, cell in scored:
        text = cell.text.strip()
        rival = next((r * c for r, c, _, other in scored if other.text.strip() != text), 0.0)
        picks.append(CellPick(text, item.unit, cell, row, column, max(row * column - rival, 0.0), item))
    return picks


def _vague(asked: _Asked, rows: Sequence[Scored]) -> list[Unit]:
    """Rows whose label a question names beside a rarer one of their table: "Net sales", in "net sales of cheese"."""
    named: dict[tuple[object, str], list[tuple[frozenset[str], Unit]]] = {}
    for item in rows:
        label = frozenset(terms(item.unit.label)) - set(asked.question.years)
        if label and label <= asked.terms - asked.aside:
            named.setdefault((item.unit.page, item.unit.heading), []).append((label, item.unit))
    found = []
    for members in named.values():
        for label, unit in members:
            for other, rival in members:
                rarer = _rarest(asked, other - label) > _rarest(asked, label - other) > 0
                if rarer or _parted(asked.question.text, unit.label, rival.label):
                    found.append(unit)
    return found


def _parted(text: str, whole: str, part: str) -> bool:
    """Whether a question says one label as the whole of which the other is a part: "net sales from cheese"."""
    words = rf"\b{re.escape(whole.strip())}\s+(?:from|for|of|by)\s+(?:the\s+)?{re.escape(part.strip())}\b"
    return re.search(words, text, re.IGNORECASE) is not None


def _rarest(asked: _Asked, found: Iterable[str]) -> float:
    return max((asked.weight(term) for term in found), default=0.0)


def _forms(text: str) -> frozenset[str]:
    """The terms of a text, plurals that no stemmer knows ("MSUs") also as singulars."""
    found = frozenset(terms(text))
    return found | {term[:-1] for term in found if len(term) > 3 and term.endswith("s")}


def best_cell(question: Question, unit: Unit) -> Cell | None:
    """The cell of one row whose column the question names; the first cell with a value when it names none.

    None when the question names a year and the row has years, but not that one.
    """
    asked = _Asked.by(question, frozenset(question.terms) - set(question.years), [unit.text])
    cells = [cell for cell in unit.cells if re.search(r"\w", cell.text)]
    scores = [_column(asked, unit, cell) for cell in cells]
    if not cells or max(scores) <= 0:
        return None
    return cells[scores.index(max(scores))]


def cell_years(unit: Unit, cell: Cell) -> tuple[str, ...]:
    """The years of a cell: of its head, else of its row (another cell, the section, the label), else of the caption."""
    if found := years(cell.head):
        return found
    beside = [other.text for other in unit.cells if other is not cell and _is_year(other.text)]
    for text in (*beside, unit.section, unit.label, unit.heading):
        if found := years(text):
            return found
    return ()


def is_number(text: str) -> bool:
    """Whether a cell holds a number that one can calculate with; a year alone is none."""
    return any(value.number is not None and value.kind not in ("date", "year") for value in values(text))


def _is_year(text: str) -> bool:
    return bool(years(text)) and len(text) <= 20


def _cells(asked: _Asked, item: Scored) -> Iterator[tuple[float, float, Cell]]:
    for cell in item.unit.cells:
        if re.search(r"\w", cell.text) and not _is_year(cell.text):
            column = _column(asked, item.unit, cell)
            if column > 0:
                yield _row(asked, item, cell), column, cell


def _row(asked: _Asked, item: Scored, cell: Cell) -> float:
    """How much of the question the row and its place meet, less what the label says that the question doesn't."""
    unit = item.unit
    label = _forms(unit.label)
    beside = " ".join([unit.section, *(other.text for other in unit.cells if other is not cell)])
    places = (
        (label, 1.0),
        (_forms(cell.head), _HEAD),
        (_forms(beside), _BESIDE),
        (_forms(unit.heading), _CAPTION),
        (asked.terms - set(item.missing), _NEAR),
    )
    total = asked.of(asked.terms)
    if not total:
        return 0.0
    met = sum(
        asked.weight(term) * max((credit for place, credit in places if term in place), default=0.0)
        for term in asked.terms
    )
    spare = asked.of(
        frozenset(terms(unit.label)) - asked.terms - {f"{term}s" for term in asked.terms} - set(asked.question.years)
    )
    own = asked.of(label & asked.terms)
    exact = own / (own + spare) if own + spare else 0.0
    return min(met / total, 1.0) * (1 - _SPARE_LABEL + _SPARE_LABEL * exact)


def _column(asked: _Asked, unit: Unit, cell: Cell) -> float:
    """How well a cell's column, period and kind meet the question; 0 where they contradict it."""
    return _dated(asked, unit, cell) * _of_kind(asked, unit, cell) * _headed(asked, unit, cell) * _timed(asked, cell)


def _dated(asked: _Asked, unit: Unit, cell: Cell) -> float:
    own, wanted = cell_years(unit, cell), asked.question.years
    if wanted:
        if not own:
            return 0.0 if any(cell_years(unit, other) for other in unit.cells) else _UNDATED
        return 1.0 if set(own) & set(wanted) else 0.0
    latest = max((year for other in unit.cells for year in years(other.head)), default="")
    return 1.0 if not own or not latest or latest in own else _EARLIER


def _of_kind(asked: _Asked, unit: Unit, cell: Cell) -> float:
    """Percentages for questions about them, amounts for others, when a row has both."""
    kind = asked.question.answer_type
    if kind not in ("percent", "money", "count", "number"):
        return 1.0
    if not is_number(cell.text):
        return 0.3
    shares = [_is_share(other) for other in unit.cells]
    if kind == "percent":
        return 1.0 if _is_share(cell) else 0.5 if any(shares) else 0.9
    asks_share = _SHARE.search(asked.question.text) is not None
    return 0.6 if _is_share(cell) and not asks_share and (kind == "money" or not all(shares)) else 1.0


def _is_share(cell: Cell) -> bool:
    return re.search(r"%|％", cell.text) is not None or re.search(r"%|％|percent", cell.head, re.I) is not None


def _headed(asked: _Asked, unit: Unit, cell: Cell) -> float:
    """How much of its head the question names, compared with the other columns of the row."""
    label = set(terms(unit.label))
    heads = {other.head: _forms(other.head) - label - _COLUMN_WORDS - set(years(other.head)) for other in unit.cells}
    shared = frozenset.intersection(*heads.values())
    named = {head: asked.of((own - shared) & asked.terms) for head, own in heads.items()}
    most = max(named.values())
    if most <= 0:
        first = next(other for other in unit.cells if not _is_year(other.text) or other is cell)
        return 1.0 if len(set(heads.values())) == 1 or cell.head == first.head else _UNNAMED
    own = heads[cell.head] - shared
    spare = sum(1 for term in own - asked.terms if not term.isdigit())
    return (0.4 + 0.6 * named[cell.head] / most) * (1 - _SPARE_HEAD * min(spare, 3))


def _timed(asked: _Asked, cell: Cell) -> float:
    """Whether the period of a column is the one asked for, a whole year where none is named."""
    own = next((name for name, pattern in _PERIODS if pattern.search(cell.head)), None)
    if own is None:
        return 1.0
    wanted = next((name for name, pattern in _PERIODS if pattern.search(asked.question.text)), None)
    return 1.0 if own == wanted else 0.5 if wanted else (1.0 if own == "year" else 0.85)
