"""A trace as a tree for a terminal: the questions, the plans, the calls, the claims, the decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text
from rich.tree import Tree

from agent.trace import Event
from app.display import harmless

_LONG = 160
_VERDICT_STYLES = {"supported": "green", "contradicted": "red", "unsupported": "yellow"}


def trace_tree(events: Sequence[Event]) -> Tree:
    """The events in order, each with the seconds since the first one. Fields that have no line of their own follow."""
    if not events:
        return Tree("an empty trace")
    first = datetime.fromisoformat(events[0].ts)
    tree = Tree(Text(f"run {events[0].run}", style="bold"))
    for event in events:
        seconds = (datetime.fromisoformat(event.ts) - first).total_seconds()
        title = Text.assemble((f"{seconds:7.2f} s  ", "dim"), (event.kind.replace("_", " "), "bold cyan"), "  ")
        branch = tree.add(title)
        _SHOWN.get(event.kind, _show_fields)(event.data, title, branch)
    return tree


def _show_fields(data: dict[str, Any], title: Text, branch: Tree) -> None:
    """Short values on the line of the event, long and nested ones below it."""
    for name, value in data.items():
        if value in (None, "", [], {}):
            continue
        if isinstance(value, (dict, list)):
            _nest(branch, name, value)
        else:
            title.append(f"{name}=", style="dim").append(f"{_short(value)}  ")


def _nest(branch: Tree, name: str, value: Any) -> None:
    if isinstance(value, list) and all(not isinstance(item, (dict, list)) for item in value):
        branch.add(Text.assemble((f"{name}: ", "dim"), _short(", ".join(map(str, value)))))
        return
    if isinstance(value, dict) and all(not isinstance(item, (dict, list)) for item in value.values()):
        branch.add(Text.assemble((f"{name}: ", "dim"), _short(", ".join(f"{k}={v}" for k, v in value.items()))))
        return
    inner = branch.add(Text(name, style="dim"))
    for key, item in value.items() if isinstance(value, dict) else enumerate(value, 1):
        if isinstance(item, (dict, list)):
            _nest(inner, str(key), item)
        else:
            inner.add(Text.assemble((f"{key}: ", "dim"), _short(item)))


def _short(value: Any) -> str:
    text = " ".join(harmless(str(value)).split())
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


_SHOWN: dict[str, Callable[[dict[str, Any], Text, Tree], None]] = {}
