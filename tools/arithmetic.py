"""Exact arithmetic on decimals, without running code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal

from tools.base import ToolRetry

Operation = Literal["difference", "ratio", "growth", "sum", "average", "max", "min", "count"]
Scale = Literal["units", "thousand", "万", "million", "亿", "billion"]
SCALES: dict[Scale, Decimal] = {
    "units": Decimal(1),
    "thousand": Decimal(10**3),
    "万": Decimal(10**4),
    "million": Decimal(10**6),
    "亿": Decimal(10**8),
    "billion": Decimal(10**9),
}
"""What amounts may be given in."""
_BINARY: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "average": lambda values: sum(values, Decimal(0)) / len(values),
    "sum": lambda values: sum(values, Decimal(0)),
    "max": max,
    "min": min,
}
_PAIRS = frozenset({"difference", "ratio", "growth"})
_MAX_POWER = 64
_ALLOWED = f"use numbers, + - * / **, brackets, and {', '.join(_FUNCTIONS)}"


def plain(number: Decimal) -> str:
    """A decimal without exponent or trailing zeros, with at most 10 decimals."""
    text = f"{number.quantize(Decimal('1e-10')) if abs(number) < Decimal('1e20') else number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text.replace(",", "").strip())
    except InvalidOperation as error:
        raise ToolRetry(f"{text!r} is no number", remedy="write values as plain decimals, such as 1234.5") from error
    if not number.is_finite():
        raise ToolRetry(f"{text!r} is no finite number", remedy="write values as plain decimals, such as 1234.5")
    return number


def operate(operation: Operation, texts: Sequence[str]) -> tuple[str, Decimal]:
    """How the operation reads when written out, and its result; with two values the earlier one comes first."""
    values = [_decimal(text) for text in texts]
    if operation == "count":
        return f"count({', '.join(texts)})", Decimal(len(values))
    if operation in _PAIRS and len(values) != 2:
        raise ToolRetry(f"{operation} needs two values, not {len(values)}", remedy="give the earlier value first")
    if not values:
        raise ToolRetry(f"{operation} of no values is undefined", remedy="give at least one value")
    first, last = values[0], values[-1]
    listed = ", ".join(texts)
    match operation:
        case "difference":
            return f"{texts[1]} - {texts[0]}", last - first
        case "ratio":
            return f"{texts[1]} / {texts[0]}", last / first
        case "growth":
            return f"({texts[1]} - {texts[0]}) / {texts[0]} * 100", (last - first) / abs(first) * 100
        case "sum":
            return " + ".join(texts), sum(values, Decimal(0))
        case "average":
            return f"average({listed})", sum(values, Decimal(0)) / len(values)
        case "max":
            return f"max({listed})", max(values)
        case "min":
            return f"min({listed})", min(values)


def evaluate(expression: str) -> Decimal:
    """The value of an expression of numbers, + - * / **, brackets, and average, sum, max or min of values.

    ToolRetry for anything else.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, RecursionError, ValueError, MemoryError) as error:
        raise ToolRetry(f"{expression!r} is no arithmetic", remedy=_ALLOWED) from error
    return _node(tree.body, expression)


def _node(node: ast.expr, source: str) -> Decimal:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Decimal(ast.get_source_segment(source.strip(), node) or str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _node(node.operand, source)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _node(node.left, source), _node(node.right, source)
        if isinstance(node.op, ast.Pow) and abs(right) > _MAX_POWER:
            raise ToolRetry(f"the power {right} is too large", remedy=f"powers go up to {_MAX_POWER}")
        return _BINARY[type(node.op)](left, right)
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and called and node.args and not node.keywords:
        return _FUNCTIONS[node.func.id]([_node(argument, source) for argument in node.args])
    raise ToolRetry(f"{ast.unparse(node)!r} is not allowed", remedy=_ALLOWED)
