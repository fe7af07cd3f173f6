"""Calculate from numbers that were found."""

from __future__ import annotations

import re
from decimal import DivisionByZero, InvalidOperation, Overflow, localcontext
from typing import Annotated, Self

from pydantic import Field, model_validator

from tools.arithmetic import SCALES, Operation, Scale, evaluate, operate, plain
from tools.base import Arguments, ToolContext, ToolResult, ToolRetry
from tools.types import Evidence


class CalculatorArguments(Arguments):
    """Either `expression`, or `operation` over `values`. Values are plain decimal numbers.

    With two values a, b: difference is b - a, ratio b / a, growth (b - a) / |a| in percent. `scale` is what the values
    are given in, `into` what the result is wanted in.
    """

    expression: Annotated[str, Field(max_length=500)] | None = None
    operation: Operation | None = None
    scale: Scale | None = None
    into: Scale | None = None
    values: Annotated[tuple[str, ...], Field(max_length=1000)] = ()

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.scale is None) != (self.into is None):
            raise ValueError("give both scale and into, or neither")
        if (self.expression is None) == (self.operation is None):
            raise ValueError("give either expression, or operation with values")
        return self


class Calculator:
    """Evaluates an expression or an operation; never runs code."""

    name = "calculator"
    description = (
        "Exact arithmetic: an expression, or difference, ratio, growth, sum, average, max, min, count of values."
    )
    arguments: type[Arguments] = CalculatorArguments

    async def run(self, context: ToolContext, arguments: CalculatorArguments) -> ToolResult:
        """The result as plain decimal text in `value`, and as evidence that shows the calculation."""
        with localcontext() as numbers:
            numbers.prec = 34
            try:
                if arguments.expression is not None:
                    shown, result = arguments.expression, evaluate(arguments.expression)
                elif arguments.operation is not None:
                    shown, result = operate(arguments.operation, arguments.values)
            except (DivisionByZero, InvalidOperation, Overflow) as error:
                raise ToolRetry(
                    f"{arguments.expression or arguments.values} has no defined result", remedy="check the operands"
                ) from error
            if arguments.scale is not None and arguments.into is not None and arguments.scale != arguments.into:
                shown = f"{shown} {arguments.scale} in {arguments.into}"
                result = result * SCALES[arguments.scale] / SCALES[arguments.into]
            value = plain(result)
        return ToolResult(value=value, evidence=(_evidence(f"{shown} = {value}"),))


def _evidence(text: str) -> Evidence:
    return Evidence(
        id=f"calc.{re.sub(r'[^0-9A-Za-z=.+*/()-]+', '_', text)}",
        kind="calculation",
        text=text,
        region=None,
        origin="calculator",
        match_basis="arithmetic",
        score=1.0,
    )
