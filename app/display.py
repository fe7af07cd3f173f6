"""Plain output of answers and of search results, for people."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from agent.types import Claim, Fact, Trajectory, TrajectoryPage
from app.quiet import silence_stdout
from retrieval.types import NO_LABEL, PageRef

PageOf = Callable[[PageRef], TrajectoryPage]
"""Names a page: its document and the number printed on it."""
_ENDLESS = 100_000
_LOOKED_AT = 5
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
VERDICT_MARKS = {"supported": ("✓", "green"), "contradicted": ("✗", "red"), "unsupported": ("?", "yellow")}


class Output(Console):
    """The console of results. A reader that has had enough (`docsage ask … | head`) doesn't change the exit code."""

    def on_broken_pipe(self) -> None:
        """Go on in silence."""
        self.quiet = True
        silence_stdout()


def stdout() -> Console:
    """The console of results. Off a terminal lines are as long as they are, so that a program finds them whole."""
    width = None if sys.stdout.isatty() else _ENDLESS
    return Output(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)


def stderr() -> Console:
    """The console of progress and messages."""
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)


def counted(number: int, unit: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number} {unit}{'' if number == 1 else 's'}"


def print_json(text: str) -> None:
    """One line for programs on stdout; nothing when nobody reads it any more."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()


def harmless(text: str) -> str:
    """Text of a document without control and direction characters, which could rewrite what the terminal shows."""
    return _CONTROL.sub("", text)


def show_trajectory(trajectory: Trajectory, console: Console, page_of: PageOf, *, seconds: float | None = None) -> None:
    """Print the answer, its facts with their places, what was checked, and one line about the run.

    `seconds` is what the whole command took, reading included; the run's own time is in the trajectory.
    """
    if trajectory.abstained:
        _show_abstention(trajectory, console, page_of)
    else:
        console.print(Text(harmless(trajectory.answer or ""), style="bold"))
    if trajectory.stop_reason == "tentative":
        sure = "" if trajectory.confidence is None else f", {trajectory.confidence:.0%} likely to be right"
        console.print(Text(f"Tentative{sure}: check it against its source.", style="yellow"))
    if trajectory.stop_reason == "unverified":
        _show_unverified(trajectory, console)
    if trajectory.facts and not trajectory.abstained:
        console.print()
        for number, fact in enumerate(trajectory.facts, 1):
            _show_fact(number, fact, trajectory, console=console, page_of=page_of)
    if trajectory.claims:
        console.print(Text("\nChecked", style="bold"))
        for claim in trajectory.claims:
            console.print(_claim_line(claim))
    console.print()
    console.print(Text(_run_line(trajectory, seconds), style="dim"))


def page_name(page: TrajectoryPage) -> str:
    """Document, physical page and printed label: `report.pdf, page 5 (printed "3")`.

    A label that says the same as the number is left out.
    """
    printed = page.doc_page not in (NO_LABEL, "", str(page.ref.page))
    label = f' (printed "{harmless(page.doc_page)}")' if printed else ""
    return f"{' '.join(harmless(page.document).split())}, page {page.ref.page}{label}"


def _show_abstention(trajectory: Trajectory, console: Console, page_of: PageOf) -> None:
    console.print(Text("Not found in the documents.", style="bold yellow"))
    if trajectory.reason:
        console.print(Text(harmless(trajectory.reason)))
    looked = trajectory.pages or tuple(page_of(ref) for ref in trajectory.retrieved[:_LOOKED_AT])
    where = "; ".join(map(page_name, looked)) or "no page matches the words of the question"
    console.print(Text(f"Looked at: {where}"))
    if trajectory.candidate:
        console.print(Text(f"Best candidate, not supported well enough: {harmless(trajectory.candidate)}"))


def _show_unverified(trajectory: Trajectory, console: Console) -> None:
    """What a baseline's answer is worth, and the pages that the model names for it."""
    console.print(Text(f"Unverified: {harmless(trajectory.reason)}.", style="yellow"))
    cited = "; ".join(map(page_name, trajectory.pages)) or "no page"
    console.print(Text(f"The model cites: {cited}"))


def _show_fact(number: int, fact: Fact, trajectory: Trajectory, *, console: Console, page_of: PageOf) -> None:
    console.print(
        Text.assemble((f"[{number}] ", "cyan"), harmless(fact.text), "\n    "),
        Text(page_name(page_of(fact.region.page_ref)), style="cyan"),
        sep="",
    )
    quotes = [e.text for e in trajectory.evidence if e.id in fact.evidence_ids]
    for quote in dict.fromkeys(quotes):
        words = " ".join(harmless(quote).split())
        if words != " ".join(harmless(fact.text).split()):
            console.print(Text(f"    “{words}”", style="dim"))


def _claim_line(claim: Claim) -> Text:
    sign, colour = VERDICT_MARKS[claim.verdict]
    line = Text.assemble((f"  {sign} ", colour), harmless(claim.text), (f"  {claim.verdict}", "dim"))
    if claim.reason:
        line.append(f": {harmless(claim.reason)}", style="dim")
    return line


def _run_line(trajectory: Trajectory, seconds: float | None) -> str:
    usage = trajectory.usage
    whole = "" if seconds is None else f" of {seconds:.1f} s in all"
    parts = [
        f"answered in {usage.seconds:.1f} s{whole}",
        counted(usage.tool_calls, "tool call"),
        *_model_parts(trajectory),
        "nothing verified"
        if trajectory.stop_reason == "unverified"
        else f"confidence {trajectory.confidence or 0:.0%}",
    ]
    partial = [f"{s.name.replace('_', ' ')} for {s.ready:.0%}" for s in trajectory.signals if s.ready < 1]
    if partial:
        parts.append(f"ready so far: {', '.join(partial)} of the pages")
    return " · ".join([*parts, f"stopped: {trajectory.stop_reason}", f"run {trajectory.trace_id}"])


def _model_parts(trajectory: Trajectory) -> list[str]:
    """What the model was asked for, where there is one: `3 calls of qwen (1 from the cache), 2,143 tokens, $0.0012`."""
    usage = trajectory.usage
    if not usage.model_calls:
        return []
    baseline = trajectory.models.get(trajectory.plan.origin, "")
    name = harmless(trajectory.models.get("model", baseline)) or "the model"
    cached = f" ({usage.cached_calls} from the cache)" if usage.cached_calls else ""
    parts = [
        f"{counted(usage.model_calls, 'call')} of {name}{cached}",
        f"{usage.tokens_in + usage.tokens_out:,} tokens",
    ]
    return [*parts, *([f"${usage.dollars:.4f}"] if usage.dollars else [])]
