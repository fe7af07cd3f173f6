"""One budget a question: what may be spent, what was spent, and what is left. Nothing here raises on exhaustion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from agent.settings import AgentSettings
from agent.types import Task, Usage
from retrieval.types import Frozen

T = TypeVar("T")
Cap = Annotated[int, Field(ge=0)] | None
Resource = Literal["tool_calls", "replans", "verifications", "snippets", "model_calls", "tokens", "seconds", "dollars"]


class Budget(Frozen):
    """Caps of one question, None where there is none. As an override, None keeps the cap of the settings.

    `snippets` caps each call, the others the whole question.
    """

    tool_calls: Cap = None
    replans: Cap = None
    verifications: Cap = None
    snippets: Cap = None
    model_calls: Cap = None
    tokens: Cap = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    dollars: Annotated[float, Field(gt=0)] | None = None

    @classmethod
    def of(cls, settings: AgentSettings, task: Task, override: Budget | None = None) -> Budget:
        """The caps of a task, with those of `override` in their place where it has any."""
        caps = cls(
            tool_calls=settings.tasks.of(task).tool_calls,
            replans=settings.replans,
            verifications=settings.verifications,
            snippets=settings.snippets,
            model_calls=settings.model_calls,
            tokens=settings.tokens,
            seconds=settings.seconds,
            dollars=settings.dollars,
        )
        return caps.model_copy(update=override.model_dump(exclude_none=True)) if override else caps

    def left(self, spent: Usage) -> dict[Resource, float | None]:
        """What is left of each resource, None where it has no cap."""
        used: dict[Resource, float] = {
            "tool_calls": spent.tool_calls,
            "replans": spent.replans,
            "verifications": spent.verifications,
            "model_calls": spent.model_calls,
            "tokens": spent.tokens_in + spent.tokens_out,
            "seconds": spent.seconds,
            "dollars": spent.dollars,
        }
        caps: dict[Resource, float | None] = {name: getattr(self, name) for name in used}
        return {name: None if (cap := caps[name]) is None else max(cap - used[name], 0) for name in used}

    def exhausted(self, spent: Usage, *resources: Resource) -> tuple[Resource, ...]:
        """Those of the resources of which nothing is left."""
        left = self.left(spent)
        return tuple(name for name in resources if left[name] == 0)

    def reserve(self, wanted: Sequence[T], spent: Usage, *, keep: int = 0) -> tuple[tuple[T, ...], tuple[T, ...]]:
        """Split calls into those that fit the tool-call budget and those that don't; `keep` calls stay unspent.

        Calls that will run at the same time are reserved together, before the first of them starts.
        """
        left = self.left(spent)["tool_calls"]
        if left is None:
            return tuple(wanted), ()
        fits = max(int(left) - keep, 0)
        return tuple(wanted[:fits]), tuple(wanted[fits:])


def add(spent: Usage, charge: Usage) -> Usage:
    """The reducer: two charges added up."""
    return Usage(**{name: getattr(spent, name) + getattr(charge, name) for name in Usage.model_fields})
