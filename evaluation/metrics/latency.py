"""How long answers take: percentiles of the seconds per question."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.types import Score


def percentile(seconds: Sequence[float], share: float) -> Score:
    """The value below which `share` (0 to 1) of the observations lie, linear between neighbours; None without any.

    At position share * (n - 1) of the sorted values, as numpy's default.
    """
    if not seconds:
        return Score.nothing("no timed questions")
    ordered = sorted(seconds)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return Score(value=ordered[low] + (ordered[high] - ordered[low]) * (position - low), n=len(ordered))


def latency_scores(seconds: Sequence[float]) -> dict[str, Score]:
    """`p50` and `p95` in seconds."""
    return {"p50": percentile(seconds, 0.5), "p95": percentile(seconds, 0.95)}
