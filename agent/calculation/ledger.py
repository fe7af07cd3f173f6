"""Where the accounts of a formula stand: one row of the right statement for each, in the year that is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.calculation.accounts import STATEMENTS, Account, Statement, accounts, plain_name
from agent.calculation.aggregates import SUMMARY
from agent.calculation.operands import plain_number
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables.cells import cell_years, is_number
from agent.tables.rows import Cell
from agent.tables.scales import power_of
from agent.values import years

_RIGHT, _WRONG = 0.1, 0.3
_LATER_PAGE = 0.004
_FEWEST = 0.6
_HEADING = 160
_SHORT = re.compile(r"\b(?:three|six|nine|thirteen|12|13|26|39)\s(?:months|weeks)\b|\bquarter", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """The cell of an account, its row, and how surely it is that account, 0 to 1."""

    cell: Cell
    unit: Unit
    scored: Scored
    match: float
    signed: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """A formula with numbers in it, and the entries that they come from, in the order of the formula."""

    expression: str
    entries: tuple[Entry, ...]


class Ledger:
    """The rows that were read, by account and year."""

    def __init__(self, ranked: Sequence[Scored]) -> None:
        self._rows = [item for item in ranked if item.unit.cells]
        self._statements = _statements(ranked)
        places = dict.fromkeys(item.unit.page for item in ranked)
        self._order = {page: place for place, page in enumerate(places)}

    def latest_year(self) -> str | None:
        """The latest year that heads a column of a statement, None when none does."""
        rows = [item for item in self._rows if item.unit.page in self._statements] or self._rows
        found = [year for item in rows for cell in item.unit.cells for year in years(cell.head)]
        return max(found, default=None)

    def find(self, account: Account, year: str) -> Entry | None:
        """The entry of an account in a year; None when no row is surely it."""
        best: Entry | None = None
        for item in self._rows:
            named = account.match(item.unit.label)
            if not SUMMARY.match(item.unit.label):
                named = max(named, account.match(f"{item.unit.section} {item.unit.label}"))
            if named <= 0:
                continue
            cell = _cell(item.unit, year)
            if cell is None:
                continue
            match = named + self._fit(account.statement, item) - _LATER_PAGE * self._order[item.unit.page]
            if best is None or match > best.match:
                best = Entry(cell, item.unit, item, match, account.signed)
        return best if best is not None and best.match >= _FEWEST else None

    def row(self, names: Sequence[str], year: str) -> Entry | None:
        """The entry of a row that is called by one of these names, such as an effective tax rate that is stated."""
        for item in self._rows:
            if plain_name(item.unit.label) in names and (cell := _cell(item.unit, year)) is not None:
                return Entry(cell, item.unit, item, 1.0, True)
        return None

    def resolve(self, formula: str, year: str, defined: Mapping[str, str]) -> Resolved | None:
        """The formula in numbers; None when an account that isn't optional is nowhere, or amounts differ in scale."""
        found = _Resolver(self, year, defined)
        expression = found.node(ast.parse(formula, mode="eval").body)
        if expression is None or not found.entries:
            return None
        powers = {power_of(f"{entry.cell.head} {entry.unit.note}") for entry in found.entries}
        if len(powers - {0}) > 1:
            return None
        return Resolved(expression, tuple(found.entries))

    def _fit(self, statement: Statement | None, item: Scored) -> float:
        where = self._statements.get(item.unit.page)
        if statement is None or where is None:
            return 0.0
        return _RIGHT if where == statement else -_WRONG


class _Resolver:
    """Writes a formula with the numbers of one year (and of the year before, where an average is wanted)."""

    def __init__(self, ledger: Ledger, year: str, defined: Mapping[str, str]) -> None:
        self.entries: list[Entry] = []
        self._ledger, self._year, self._defined = ledger, year, defined

    def node(self, node: ast.expr, depth: int = 0) -> str | None:
        """One part of the formula in numbers; None when it can't be resolved."""
        if isinstance(node, ast.BinOp):
            left, right = self.node(node.left, depth), self.node(node.right, depth)
            if right == "":
                return left
            if left == "":
                return right if isinstance(node.op, ast.Add) else None
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(node.op)]
            return None if left is None or right is None else f"({left} {sign} {right})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and isinstance(node.args[0], ast.Name):
            name = node.args[0].id
            return self._average(name) if node.func.id == "average" else self._account(name, depth) or ""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return str(node.value)
        return self._account(node.id, depth) if isinstance(node, ast.Name) else None

    def _account(self, name: str, depth: int) -> str | None:
        if name in self._defined and depth == 0:
            return self.node(ast.parse(self._defined[name], mode="eval").body, 1)
        account = accounts()[name]
        if (entry := self._ledger.find(account, self._year)) is not None:
            return self._number(entry)
        if account.formula is None or depth > 2:
            return None
        before = list(self.entries)
        expression = self.node(ast.parse(account.formula, mode="eval").body, depth + 1)
        if not expression:
            self.entries = before
        return expression or None

    def _average(self, name: str) -> str | None:
        account = accounts()[name]
        now = self._ledger.find(account, self._year)
        before = self._ledger.find(account, str(int(self._year) - 1))
        if now is None:
            return None
        if before is None or before.unit != now.unit:
            return self._number(now)
        return f"average({self._number(now)}, {self._number(before)})"

    def _number(self, entry: Entry) -> str:
        self.entries.append(entry)
        number = plain_number(entry.cell.text)
        return number if entry.signed else number.lstrip("-")


def _cell(unit: Unit, year: str) -> Cell | None:
    """The cell of a year, that of a whole year before that of a part of it."""
    cells = [cell for cell in unit.cells if year in cell_years(unit, cell) and is_number(cell.text)]
    cells = [cell for cell in cells if "%" not in cell.text] or cells
    return min(cells, key=lambda cell: bool(_SHORT.search(cell.head)), default=None)


def _statements(ranked: Sequence[Scored]) -> dict[object, Statement]:
    """The statement that a page is, by its headings and short first lines."""
    found: dict[object, Statement] = {}
    for item in sorted(ranked, key=lambda scored: scored.unit.order):
        unit = item.unit
        heading = unit.role == "heading" or (unit.order < 5 and not unit.cells)
        text = unit.text[:_HEADING] if heading else unit.heading
        if unit.page in found or not text:
            continue
        for name, pattern in STATEMENTS:
            if pattern.search(text) and not re.search(r"\bnotes to\b", text, re.IGNORECASE):
                found[unit.page] = name
                break
    return found
