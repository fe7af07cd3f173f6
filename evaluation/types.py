"""What evaluation measures and how it says so: a value, or None with the reason, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from agent.types import Trajectory
from retrieval.types import Frozen, PageRef, Scope, SignalStatus


class Score(Frozen):
    """A score over `n` items. `value` is None when there was nothing to score, and `reason` then says why.

    `missing` counts the items that belong to the score but could not be judged by their own merit: they have no
    prediction. Whether they count as wrong or are left out is stated by the metric.
    """

    value: float | None
    n: int
    missing: int = 0
    reason: str = ""

    @classmethod
    def nothing(cls, reason: str, *, missing: int = 0) -> Score:
        """No score, because there was nothing to score."""
        return cls(value=None, n=0, missing=missing, reason=reason)

    @classmethod
    def mean(cls, values: Iterable[float], *, of: str, missing: int = 0) -> Score:
        """The arithmetic mean of `values`; None when there are none. `of` names the items ("answerable questions")."""
        items = list(values)
        if not items:
            return cls.nothing(f"no {of}", missing=missing)
        return cls(value=sum(items) / len(items), n=len(items), missing=missing)

    @classmethod
    def ratio(cls, part: float, whole: int, *, of: str, missing: int = 0) -> Score:
        """`part` / `whole`; None when `whole` is 0. `of` names what `whole` counts."""
        if whole == 0:
            return cls.nothing(f"no {of}", missing=missing)
        return cls(value=part / whole, n=whole, missing=missing)


class Question(Frozen):
    """One question of a run: a stable id, its text, and the documents that it is asked over."""

    id: str
    text: str
    scope: Scope


class Ranked(Frozen):
    """The pages that search alone returns for a question, best first."""

    schema_version: Literal["docsage.ranked/1"] = Field(default="docsage.ranked/1", alias="schema")
    id: str
    question: str
    pages: tuple[PageRef, ...]
    signals: tuple[SignalStatus, ...] = ()
    seconds: float


class Failure(Frozen):
    """A question that could not be answered because something went wrong. It is tried again on resume."""

    schema_version: Literal["docsage.failure/1"] = Field(default="docsage.failure/1", alias="schema")
    id: str
    question: str
    error: str
    kind: str
    traceback: str = ""


Answers = dict[str, Trajectory]
"""Trajectories by question id."""
