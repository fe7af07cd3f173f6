"""The draft of a calculation: the result, and each operand as a quote and a fact of its own."""

from __future__ import annotations

from agent.calculation.operands import Operands
from agent.draft import Draft, Request, quote_of
from agent.matching import surface_forms
from agent.reading import Unit
from agent.statements import state
from agent.tables.rows import Cell


async def computed_draft(request: Request, found: Operands, *, trust: float | None = None) -> Draft | None:
    """The draft of operands: what the calculator makes of them, or the cells themselves where each is wanted.

    None when the calculator fails. One quote a row: cells of one row are stated together. `trust` is the probability
    that a calculation is right whose operands meet the question in full.
    """
    question, calculation, answer = request.question, None, found.listed
    if (arguments := found.arguments) is not None:
        result = await request.call("calculator", arguments)
        if result is None or result.value is None:
            return None
        answer = found.answer(question, result.value)
        calculation = result.evidence[0].text if result.evidence else None
    rows: dict[tuple[object, tuple[int, ...]], list[tuple[Unit, Cell]]] = {}
    for unit, cell in zip(found.units, found.cells, strict=True):
        rows.setdefault((unit.page, unit.lines), []).append((unit, cell))
    return Draft(
        answer=answer,
        candidate=answer,
        quotes=tuple(quote_of(cells[0][0], found.best, answer) for cells in rows.values()),
        statements=tuple(
            state(question, cells[0][0], cells[0][1].head, cells[0][1].text)
            if len(cells) == 1
            else state(question, cells[0][0])
            for cells in rows.values()
        ),
        coverage=found.coverage,
        missing=surface_forms(question.text, found.best.missing),
        calculation=calculation,
        confidence=None if trust is None else trust * found.coverage,
        way="calculation",
    )
