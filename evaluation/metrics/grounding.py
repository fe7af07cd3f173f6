"""Whether the regions that a right answer cites hold its evidence, and how large they are. Checked by rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from statistics import median

from agent.types import Trajectory
from agent.values import values
from evaluation.metrics.answer_forms import listed, quantity
from evaluation.types import Score
from retrieval.text.passages import joined
from retrieval.types import BBox, Frozen, Page, PageRef
from tools.characters import normalize

PageOf = Callable[[PageRef], Page | None]
"""Gives a page as read; None for a page that isn't there any more."""
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PER_CENT = re.compile(r"\*\s*100\s*$")
_EDGES = " \t.,;:!?。，；：！？\"'“”‘’()[]…"


class Grounding(Frozen):
    """Whether the cited regions hold what was sought, and the share of the page that each box covers.

    Facts in several rows of one table cite one block. `focus_held` and `focus_areas` are the same for the lines inside
    the blocks that hold the evidence, which pictures tint.

    `held` is None where the rule can't tell: "yes" and "no" stand nowhere in the evidence, and a page may have gone.
    """

    held: bool | None
    areas: tuple[float, ...]
    focus_held: bool | None = None
    focus_areas: tuple[float, ...] = ()


def grounding_of(trajectory: Trajectory, page_of: PageOf) -> Grounding:
    """Look for the answer's value, or for every operand of its calculation, in the text of the cited regions.

    A region's text are the lines of its page whose centre lies in its block. Each value has to stand in one of them.
    A count is also held by all the things that were counted, where the trajectory cites as many.
    """
    boxes = {
        "block": dict.fromkeys((region.page_ref, region.block) for region in trajectory.regions),
        "focus": dict.fromkeys((region.page_ref, region.focus or region.block) for region in trajectory.regions),
    }
    held = {name: _held(trajectory, list(found), page_of) for name, found in boxes.items()}
    areas = {name: tuple(box.area for _, box in found) for name, found in boxes.items()}
    return Grounding(held=held["block"], areas=areas["block"], focus_held=held["focus"], focus_areas=areas["focus"])


def _held(trajectory: Trajectory, boxes: Sequence[tuple[PageRef, BBox]], page_of: PageOf) -> bool | None:
    pages = [page_of(ref) for ref, _ in boxes]
    if trajectory.answer is None or trajectory.plan.answer_type == "yes_no" or None in pages:
        return None
    texts = [_text_in(page, box) for page, (_, box) in zip(pages, boxes, strict=True) if page is not None]
    operands = _operands(trajectory)
    ways = [operands] if operands else [_stated(trajectory), _counted(trajectory)]
    return any(way and all(any(holds(text, value) for text in texts) for value in way) for way in ways)


def grounding_scores(items: Sequence[Grounding]) -> dict[str, Score]:
    """`held`: share of the answers whose blocks hold their evidence, `missing` where the rule can't tell.
    `median_area`: of all their blocks, as a share of the page. `focus_*`: the same of the lines inside the blocks.
    """
    return {
        "held": _share([item.held for item in items]),
        "median_area": _median([area for item in items for area in item.areas]),
        "focus_held": _share([item.focus_held for item in items]),
        "focus_median_area": _median([area for item in items for area in item.focus_areas]),
    }


def _share(held: Sequence[bool | None]) -> Score:
    told = [float(item) for item in held if item is not None]
    return Score.mean(told, of="right answers to look for", missing=len(held) - len(told))


def _median(areas: Sequence[float]) -> Score:
    return Score(value=median(areas), n=len(areas)) if areas else Score.nothing("no cited regions")


def holds(text: str, value: str) -> bool:
    """Whether a text holds a value as whole words, case, digit grouping, width and Chinese script aside.

    A number with a unit is also held by the equal number without it, or with it in other words ("三百" and "300").
    """
    folded, wanted = _folded(text), _folded(value).strip(_EDGES)
    if not wanted:
        return False
    words = r"\s*".join(map(re.escape, wanted.split()))
    if re.search(rf"(?<![0-9a-z])(?<!\d[.,]){words}(?![0-9a-z])(?![.,]\d)", folded):
        return True
    number = quantity(wanted)
    return number is not None and any(number.same(other) for other in values(folded))


def _folded(text: str) -> str:
    return " ".join(_GROUPING.sub("", normalize(text).text.lower()).split())


def _text_in(page: Page, box: BBox) -> str:
    return joined([line.text for line in page.lines if _inside(line.bbox, box)])


def _inside(line: BBox, box: BBox) -> bool:
    x, y = (line.x1 + line.x2) / 2, (line.y1 + line.y2) / 2
    return box.x1 <= x <= box.x2 and box.y1 <= y <= box.y2


def _stated(trajectory: Trajectory) -> list[str]:
    """What the answer says: its items for a list, else the whole."""
    answer = trajectory.answer or ""
    return (listed(answer) if trajectory.plan.answer_type == "list" else []) or [answer]


def _counted(trajectory: Trajectory) -> list[str]:
    """What a count counted: the texts that the facts cite, when they are as many as the answer says; else none."""
    found = quantity(trajectory.answer or "") if trajectory.plan.answer_type in ("count", "number") else None
    cited = {evidence_id for fact in trajectory.facts for evidence_id in fact.evidence_ids}
    texts = [evidence.text for evidence in trajectory.evidence if evidence.id in cited]
    return texts if found is not None and found.number == len(texts) else []


def _operands(trajectory: Trajectory) -> list[str]:
    """The operands of the calculation ("b - a = result") that gave the answer; none when it was not calculated."""
    for evidence in trajectory.evidence:
        if evidence.kind != "calculation" or "=" not in evidence.text:
            continue
        expression, result = evidence.text.rsplit("=", 1)
        if _rounds_to(result.strip(), trajectory.answer or ""):
            # In a table nothing is a dash or an empty cell: a zero can't be looked for.
            return [number for number in _NUMBER.findall(_PER_CENT.sub("", expression.strip())) if Decimal(number)]
    return []


def _rounds_to(result: str, answer: str) -> bool:
    """Whether an answer is a result, rounded to the answer's decimals."""
    found = quantity(answer)
    if found is None or found.number is None:
        return False
    try:
        exact = Decimal(result)
    except InvalidOperation:
        return False
    places = -int(found.number.as_tuple().exponent)
    return abs(abs(exact) - abs(found.number)) <= Decimal(10) ** -places / 2
