"""A trace as a tree for a terminal: the plans, the calls with their cost, the claims with verdicts, the decisions.

It reads events as they stand in the file. An event, or a field, that it doesn't know is shown as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text
from rich.tree import Tree

from agent.trace import Event
from app.display import VERDICT_MARKS, counted, harmless

Data = dict[str, Any]
Show = Callable[[Data, Text, Tree], None]
_LONG = 200
_RANKED = 5
"""How many of the pages that a search found are shown with their ranks."""
_OUTCOMES = {"ok": "green", "empty": "yellow", "refused": "red", "failed": "red", "retry": "red"}


def trace_tree(events: Sequence[Event]) -> Tree:
    """The events in order, each with the seconds since the first one."""
    if not events:
        return Tree(Text("an empty trace"))
    first = datetime.fromisoformat(events[0].ts)
    tree = Tree(Text(f"run {_clean(events[0].run)}", style="bold"))
    for event in events:
        seconds = (datetime.fromisoformat(event.ts) - first).total_seconds()
        tree.children.append(_branch(event, _SHOW.get(event.kind, _show_fields), seconds))
    return tree


def _branch(event: Event, show: Show, seconds: float) -> Tree:
    title = Text.assemble((f"{seconds:6.2f} s  ", "dim"), (event.kind.replace("_", " "), "bold cyan"), "  ")
    # The title is filled after the branch was made, because what an event says decides what stands beside its name.
    branch = Tree(title)
    try:
        show(_clean(event.data), title, branch)
    except (KeyError, TypeError, ValueError, AttributeError):
        if show is _show_fields:
            raise
        return _branch(event, _show_fields, seconds)
    return branch


def _clean(value: Any) -> Any:
    """The same without line breaks and control characters, in names and texts alike: documents wrote some of them."""
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return " ".join(harmless(value).split()) if isinstance(value, str) else value


def _show_plan(data: Data, title: Text, branch: Tree) -> None:
    plan = data.get("plan") or data.get("refused") or {}
    if "refused" in data:
        title.append("refused  ", style="red")
    if "attempt" in data:
        title.append(f"again ({data['attempt']})")
    if plan:
        title.append(f"{plan.get('task')}, wants {plan.get('answer_type')}, by {plan.get('origin')}")
    for question in plan.get("sub_questions", ()):
        _line(branch, "question", question)
    for step in plan.get("steps") or data.get("steps") or ():
        _line(branch, step.get("tool", "?"), f"{_arguments(step.get('arguments'))}  {step.get('why', '')}")
    for criterion in plan.get("criteria", ()):
        _line(branch, "criterion", criterion)
    for problem in data.get("problems", ()):
        _line(branch, "problem", problem)
    shown: dict[str, list[str]] = {}
    for page in data.get("shown", ()):
        shown.setdefault(str(page.get("document", page.get("doc_id"))), []).append(str(page.get("page")))
    for name, pages in shown.items():
        _line(branch, "shown", f"{name}, {counted(len(pages), 'page')}: {', '.join(pages)}")
    _line(branch, "shown as", data.get("as"))
    _line(branch, "cut", data.get("cut"))


def _show_call(data: Data, title: Text, branch: Tree) -> None:
    outcome = str(data.get("outcome", ""))
    title.append(f"{data.get('tool')} ", style="bold").append(outcome, style=_OUTCOMES.get(outcome, ""))
    title.append(f"  {data.get('ms', 0)} ms", style="dim")
    _line(branch, "input", _arguments(data.get("arguments")))
    _line(branch, "why", data.get("why"))
    _line(branch, "error", data.get("error"))
    if data.get("ranked"):
        for place, hit in enumerate(data["ranked"][:_RANKED], 1):
            ranks = ", ".join(f"{name} {rank}" for name, rank in hit["ranks"].items())
            _line(branch, str(place), f"{hit['doc_id'][:8]} page {hit['page']}  ({ranks})")
        _line(branch, "and", f"{left} more" if (left := len(data["ranked"]) - _RANKED) > 0 else "")
    else:
        _line(branch, "pages", ", ".join(map(str, data.get("pages") or ())))
    _line(branch, "evidence", data.get("evidence"))
    _line(branch, "value", data.get("value"))
    for note in data.get("notes") or ():
        _line(branch, "note", note)


def _show_model_call(data: Data, title: Text, branch: Tree) -> None:
    outcome = str(data.get("outcome", ""))
    title.append(f"{data['role']} ", style="bold").append(outcome, style=_OUTCOMES.get(outcome, ""))
    title.append(f"  {data.get('ms', 0)} ms{_model_cost(data)}", style="dim")
    _line(branch, "error", data.get("error"))
    _line(branch, "asked again, because", data.get("repairs"))
    _line(branch, "thinking", data.get("thinking"))
    _line(branch, "reply", data.get("reply"))


def _model_cost(data: Data) -> str:
    """`, 812 tokens in, 64 out, 2 pictures, 3 attempts, from the cache`: what there is of it."""
    parts = []
    if "tokens_in" in data:
        parts.append(f"{data['tokens_in']:,} tokens in, {data.get('tokens_out', 0):,} out")
    if data.get("pictures"):
        parts.append(counted(data["pictures"], "picture"))
    if data.get("attempts", 1) > 1:
        parts.append(counted(data["attempts"], "attempt"))
    if data.get("cached"):
        parts.append("from the cache")
    return "".join(f", {part}" for part in parts)


def _show_signals(data: Data, title: Text, branch: Tree) -> None:
    signals = data.get("signals", ())
    title.append(", ".join(f"{s['name']} {s['ready']:.0%}" for s in signals))
    for signal in signals:
        _line(branch, signal["name"], signal.get("note"))


def _show_evidence(data: Data, title: Text, branch: Tree) -> None:
    names = {(page["doc_id"], page["page"]): page["document"] for page in data.get("pages", ())}
    items = data.get("evidence", ())
    title.append(f"{len(items)} placed")
    for item in items:
        where = (item.get("region") or {}).get("page_ref") or {}
        name = names.get((where.get("doc_id"), where.get("page")), "")
        _line(branch, f"{name} page {where['page']}" if where else item.get("origin", ""), item.get("text"))


def _show_facts(data: Data, title: Text, branch: Tree) -> None:
    answer, candidate = data.get("answer"), data.get("candidate")
    if answer is not None:
        title.append(_short(answer), style="bold")
    else:
        title.append(f"no answer{f', candidate {_short(candidate)}' if candidate else ''}", style="yellow")
    if origin := data.get("origin"):
        title.append(f"  by {_short(origin)}", style="dim")
    for fact in data.get("facts", ()):
        _line(branch, f"page {fact['region']['page_ref']['page']}", fact.get("text"))
    for missing in data.get("missing", ()):
        _line(branch, "missing", missing)
    _line(branch, "reason", data.get("reason"))
    _line(branch, "calculation", data.get("calculation"))


def _show_claims(data: Data, title: Text, branch: Tree) -> None:
    claims, report = data.get("claims", ()), data.get("report") or {}
    title.append(f"{len(claims)} checked")
    if report:
        title.append(f"  coverage {report.get('coverage'):.2f}, confidence {report.get('confidence'):.2f}", style="dim")
    for claim in claims:
        sign, colour = VERDICT_MARKS[claim["verdict"]]
        text = Text.assemble((f"{sign} {claim['verdict']}  ", colour), _short(claim["text"]))
        branch.add(text.append(f"  {_short(claim.get('reason', ''))}", style="dim"))


def _show_decision(data: Data, title: Text, branch: Tree) -> None:
    title.append(str(data.get("outcome")), style="bold")
    if data.get("stop_reason"):
        title.append(f" ({data['stop_reason']})")
    _line(branch, "why", data.get("why"))


def _show_budget(data: Data, title: Text, branch: Tree) -> None:
    spent, left = data.get("spent") or {}, data.get("left") or {}
    parts = []
    for name, used in spent.items():
        if used:
            rest, form = left.get(name), ".4f" if name == "dollars" else "g"
            parts.append(f"{name.replace('_', ' ')} {used:{form}}" + ("" if rest is None else f" ({rest:{form}} left)"))
    title.append(", ".join(parts) or "nothing spent", style="dim")


def _show_final(data: Data, title: Text, branch: Tree) -> None:
    trajectory = data.get("trajectory") or {}
    answer = trajectory.get("answer")
    title.append("abstained" if answer is None else _short(answer), style="bold yellow" if answer is None else "bold")
    _line(branch, "stopped", trajectory.get("stop_reason"))
    _line(branch, "reason", trajectory.get("reason"))
    _line(branch, "candidate", trajectory.get("candidate"))
    for page in trajectory.get("pages", ()):
        _line(branch, "page", f"{page['document']}, page {page['ref']['page']}")


def _show_fields(data: Data, title: Text, branch: Tree) -> None:
    """Short values beside the event's name, nested ones below it as JSON."""
    for name, value in data.items():
        if isinstance(value, (dict, list)):
            _line(branch, name, json.dumps(value, ensure_ascii=False) if value else None)
        elif value not in (None, ""):
            title.append(f"{name} ", style="dim").append(f"{_short(value)}  ")


_SHOW: dict[str, Show] = {
    "plan": _show_plan,
    "tool_call": _show_call,
    "model_call": _show_model_call,
    "signals": _show_signals,
    "evidence": _show_evidence,
    "facts": _show_facts,
    "claims": _show_claims,
    "decision": _show_decision,
    "budget": _show_budget,
    "final": _show_final,
}


def _line(branch: Tree, name: str, value: Any) -> None:
    """`name: value` below an event; nothing for nothing."""
    if value not in (None, "", [], {}):
        branch.add(Text.assemble((f"{name}: ", "dim"), _short(value)))


def _arguments(arguments: Data | None) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in (arguments or {}).items())


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"
