"""Find what a question wants calculated, as cells with the arithmetic over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agent.calculation.accounts import accounts, plain_name, ratios
from agent.calculation.aggregates import OPERATION_TERMS, aggregate
from agent.calculation.bands import banded
from agent.calculation.comparisons import comparison_of
from agent.calculation.formulas import Formula, accounts_in, definitions_of, formula_of
from agent.calculation.ledger import Entry, Ledger
from agent.calculation.operands import Operands
from agent.calculation.subjects import operands_of_subjects
from agent.calculation.totals import total_of
from agent.matching import terms
from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables.cells import CellPick, cell_picks, cell_years, is_number, main_clause
from agent.tables.rows import Cell
from agent.tables.scales import excepts, of_shares, scale_word
from agent.values import years
from tools.arithmetic import Scale

_TRIED = 12
_SCALE_WORDS: dict[str, Scale] = {
    "thousand": "thousand",
    "million": "million",
    "billion": "billion",
    "万": "万",
    "亿": "亿",
    "百万": "million",
}
_MATCH = 0.3
_YEARLY_MATCH = 0.4
_MOST_PAGES = 0.75
_SAID_ANYWAY = frozenset(
    terms(
        "much many amount value figure company firm business corporation group year end fiscal report record generate"
        " have earn make spend state balance sheet income statement cash flow level total 公司 多少 是多少 全年 年度"
    )
)
"""What a question may say beside an account without asking for another thing."""
_NO_AMOUNT = frozenset(("date", "name", "yes_no"))
_TIMES = frozenset(
    terms("january february march april may june july august september october november december year ended fiscal")
)


def operands(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    """The operands of a question's calculation, or the cells of each year that it names; None when it wants neither.

    An amount that a table gives in thousands, and the question wants in millions, is calculated as well.
    """
    found = _operands(question, ranked, support)
    return _scaled(question, found) if found is not None else _converted(question, ranked, support)


def _operands(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    if question.operation is None and question.answer_type in _NO_AMOUNT:
        return None
    if (formula := formula_of(question)) is not None:
        return _computed(question, formula, Ledger(ranked))
    if (comparison := comparison_of(question)) is not None:
        return operands_of_subjects(question, comparison, ranked, support)
    total = total_of(question)
    if total is not None and (found := operands_of_subjects(question, total, ranked, support)) is not None:
        return found
    if (found := banded(question, ranked, support)) is not None:
        return found
    if (found := _account(question, Ledger(ranked), ranked)) is not None:
        return found
    if len(question.years) >= 2 and (found := _over_years(question, ranked, support)) is not None:
        return found
    return aggregate(question, ranked, support) or _over_years(question, ranked, support)


def _scaled(question: Question, found: Operands) -> Operands:
    """The operands with what they are given in and what is wanted, where the question wants something else."""
    given = {_scale_of(unit, cell) for unit, cell in zip(found.units, found.cells, strict=True)}
    wanted = _SCALE_WORDS.get(question.unit or "")
    quotient = found.percent or found.operation in ("ratio", "growth", "count") or "/" in (found.expression or "")
    if wanted is None or quotient or len(given) != 1 or (scale := given.pop()) in (None, wanted):
        return found
    return replace(found, scale=scale, into=wanted)


def _scale_of(unit: Unit, cell: Cell) -> Scale | None:
    """What a cell is given in, by its head or the table's note; None for percentages and what is in neither."""
    if "%" in cell.text or (excepts(unit.note) and of_shares(f"{unit.section} {unit.label} {cell.head}")):
        return None
    return next((_SCALE_WORDS[word] for note in (cell.head, unit.note) if (word := scale_word(note))), None)


def _converted(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    """The one cell that answers a question for an amount in another unit than that of its table."""
    if question.unit is None or question.answer_type not in ("money", "number"):
        return None
    for pick in cell_picks(question, ranked)[:1]:
        if pick.match >= max(_MATCH, support) and is_number(pick.cell.text):
            found = _scaled(question, Operands((pick.cell,), (pick.unit,), pick.scored, match=pick.match))
            return found if found.into is not None else None
    return None


def stated(question: Question, text: str) -> bool:
    """Whether a text itself speaks of the change or sum that a question asks for, so that nothing is to calculate."""
    return question.operation is None or bool(_SPOKEN[question.operation] & set(terms(text)))


_CHANGE = frozenset(
    terms("increase decrease change grew rose fell growth declined up down higher lower 增长 下降 增加 减少 相差")
)
_SPOKEN: dict[str, frozenset[str]] = {
    "growth": _CHANGE,
    "difference": _CHANGE | frozenset(terms("difference gap fewer net")),
    "ratio": frozenset(terms("ratio times 比率 倍")),
    "average": frozenset(terms("average mean 平均")),
    "sum": frozenset(terms("total sum combined 合计 共计 总计 总数 共")),
}


def _computed(question: Question, formula: Formula, ledger: Ledger) -> Operands | None:
    """A formula over the accounts of a year; a row that states the ratio or account itself comes before it."""
    year = max(question.years, default=None) or ledger.latest_year()
    if year is None:
        return None
    stated_row = _stated_row(formula, ledger, year)
    if stated_row is not None:
        return _from_entries((stated_row,), None, percent=False)
    resolved = ledger.resolve(formula.expression, year, definitions_of(question))
    if resolved is None:
        return None
    entries = resolved.entries
    if len(entries) == 1 and formula.lookup:
        return _from_entries(entries, None, percent=False)
    expression = resolved.expression
    if expression.startswith("(") and expression.endswith(")") and expression.count("(") == 1:
        expression = expression[1:-1]
    return _from_entries(entries, expression, percent=formula.percent)


def _stated_row(formula: Formula, ledger: Ledger, year: str) -> Entry | None:
    if formula.lookup:
        return ledger.find(accounts()[formula.expression], year)
    ratio = next((ratio for ratio in ratios().values() if ratio.formula == formula.expression), None)
    return ledger.row(ratio.names, year) if ratio is not None else None


def _from_entries(entries: Sequence[Entry], expression: str | None, *, percent: bool) -> Operands:
    return Operands(
        cells=tuple(entry.cell for entry in entries),
        units=tuple(entry.unit for entry in entries),
        best=max((entry.scored for entry in entries), key=lambda scored: scored.coverage),
        expression=expression,
        percent=percent,
        match=min(1.0, *(entry.match for entry in entries)) if len(entries) > 1 else min(1.0, entries[0].match),
    )


def _account(question: Question, ledger: Ledger, ranked: Sequence[Scored]) -> Operands | None:
    """The cells of the one account that a question names, in its years; None when it names more than that account."""
    named = accounts_in(question)
    wanted = _wanted_years(question) or [year for year in (ledger.latest_year(),) if year is not None]
    operation = question.operation
    if len(named) != 1 or named[0] not in accounts() or not wanted or operation == "ratio":
        return None
    if len(wanted) == 1 and operation is not None:
        return None
    account = accounts()[named[0]]
    spoken = {term for name in account.names for term in terms(name)}
    rest = set(terms(main_clause(question.text))) & set(question.terms)
    rest -= spoken | set(question.years) | OPERATION_TERMS | _everywhere(ranked)
    if rest & {term for item in ranked if item.unit.cells for term in terms(item.unit.label)}:
        return None
    if rest - set(question.names) - _SAID_ANYWAY:
        return None
    asked = plain_name(main_clause(question.text))
    said = sorted((name for name in account.names if name in asked), key=len)[-1:]
    entries = [ledger.row(said, year) or ledger.find(account, year) for year in wanted]
    if any(entry is None for entry in entries):
        return None
    return replace(_from_entries([entry for entry in entries if entry], None, percent=False), operation=operation)


def _everywhere(ranked: Sequence[Scored]) -> set[str]:
    """Terms that most pages have, such as the name of the company."""
    pages: dict[object, set[str]] = {}
    for item in ranked:
        pages.setdefault(item.unit.page, set()).update(terms(item.unit.text))
    counts = Counter(term for found in pages.values() for term in found)
    return {term for term, count in counts.items() if count >= max(_MOST_PAGES * len(pages), 2)}


def _over_years(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    """The cells of one row in several years; for growth or a change in one year, the year before comes first."""
    wanted = _wanted_years(question)
    if len(wanted) < 2:
        return None
    asking = OPERATION_TERMS if question.operation is not None else frozenset[str]()
    timeless = tuple(term for term in question.terms if term not in question.years and term not in asking)
    kind = "number" if question.operation is not None else question.answer_type
    latest = question.model_copy(update={"years": (wanted[-1],), "terms": timeless, "answer_type": kind})
    for pick in cell_picks(latest, ranked)[:_TRIED]:
        if (
            pick.match < _YEARLY_MATCH
            or max(pick.scored.coverage, pick.match) < support
            or not is_number(pick.cell.text)
        ):
            continue
        dated = {year: cell for year in wanted if (cell := _in_year(question, pick, year, ranked)) is not None}
        if len(dated) == len(wanted):
            return Operands(
                cells=tuple(dated[year].cell for year in wanted),
                units=tuple(dated[year].unit for year in wanted),
                best=pick.scored,
                operation=question.operation,
                match=pick.match,
            )
    return None


def _wanted_years(question: Question) -> list[str]:
    found = sorted(set(question.years))
    if len(found) == 1 and question.operation in ("growth", "difference"):
        return [str(int(found[0]) - 1), found[0]]
    if len(found) == 2 and question.operation in ("sum", "average") and int(found[1]) - int(found[0]) in range(2, 8):
        first, last = found
        if f"{first} and {last}" not in question.text:
            return [str(year) for year in range(int(first), int(last) + 1)]
    return found


def _in_year(question: Question, pick: CellPick, year: str, ranked: Sequence[Scored]) -> CellPick | None:
    """The cell of the same thing in another year: in its row, or in a row of its table that differs in time only."""
    if year in cell_years(pick.unit, pick.cell):
        return pick
    head, label = _timeless(pick.cell.head), _timeless(pick.unit.label)
    for cell in pick.unit.cells:
        if year in cell_years(pick.unit, cell) and is_number(cell.text) and _timeless(cell.head) == head:
            return _moved(pick, pick.scored, cell)
    for item in ranked:
        unit = item.unit
        if not unit.cells or unit.page != pick.unit.page or _timeless(unit.label) != label:
            continue
        for cell in unit.cells:
            if year in cell_years(unit, cell) and is_number(cell.text) and _timeless(cell.head) == head:
                return _moved(pick, item, cell)
    return None


def _timeless(text: str) -> frozenset[str]:
    """The terms of a head or label without those of time, and whether it is of shares or of amounts."""
    found = years(text)
    signs = frozenset(sign for sign in "%$€£¥" if sign in text)
    return signs | frozenset(
        term for term in terms(text) if term not in found and not term.isdigit() and term not in _TIMES
    )


def _moved(pick: CellPick, item: Scored, cell: Cell) -> CellPick:
    return CellPick(cell.text.strip(), item.unit, cell, pick.row_match, pick.column_match, pick.margin, pick.scored)
