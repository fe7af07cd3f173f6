"""Our scorer against a file of scores that the benchmark's own scorer gave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evaluation.metrics.mmlongbench import ScoredAnswer, accuracy, f1, score_answer
from evaluation.types import Score
from retrieval.errors import InputError

TOLERANCE = 1e-6
"""Reference scores are written with six decimals."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows agree, which don't, and the totals over the rows that the reference could score."""

    rows: int
    unscored: int
    different: tuple[str, ...]
    accuracy: Score
    f1: Score
    reference: dict[str, float]

    @property
    def equal(self) -> bool:
        """Whether every row and every total is the reference's."""
        totals = {"accuracy": self.accuracy.value, "f1": self.f1.value}
        return not self.different and all(
            value is not None and abs(value - self.reference.get(name, value)) <= TOLERANCE
            for name, value in totals.items()
        )

    def lines(self) -> list[str]:
        """The comparison as text, differing rows first."""
        judged = self.rows - self.unscored
        return [
            *self.different,
            f"{judged - len(self.different)} of {judged} rows equal; {self.unscored} more have no reference score",
            *(
                f"{name} {score.reason if score.value is None else score.value}, reference {self.reference.get(name)}"
                for name, score in (("accuracy", self.accuracy), ("f1", self.f1))
            ),
        ]


def compare(path: Path) -> Comparison:
    """Score every row (gold, pred, answer_format, score) of a file; a row with `accuracy` and `f1` has the totals."""
    rows, totals = _rows(path)
    different, scored = [], []
    for number, row in enumerate(rows, 1):
        ours = score_answer(str(row["gold"]), str(row["pred"]), str(row["answer_format"]))
        if row["score"] is None:
            continue
        scored.append(ScoredAnswer(gold=str(row["gold"]), prediction=str(row["pred"]), score=ours))
        if abs(ours - row["score"]) > TOLERANCE:
            different.append(f"row {number}: ours {ours}, reference {row['score']}: {row['gold']!r} / {row['pred']!r}")
    return Comparison(
        rows=len(rows),
        unscored=len(rows) - len(scored),
        different=tuple(different),
        accuracy=accuracy(scored),
        f1=f1(scored),
        reference=totals,
    )


def _rows(path: Path) -> tuple[list[dict[str, Any]], dict[str, float]]:
    try:
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"{path} can't be read ({error})", remedy="--golden wants JSON lines") from error
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path} holds lines that are no objects", remedy="see docs/results.md")
    totals = {name: row[name] for row in rows if "accuracy" in row for name in ("accuracy", "f1")}
    items = [row for row in rows if "accuracy" not in row]
    for number, row in enumerate(items, 1):
        missing = {"gold", "pred", "answer_format", "score"} - row.keys()
        if missing:
            raise InputError(
                f"row {number} of {path} has no {', '.join(sorted(missing))}", remedy="see docs/results.md"
            )
        if not isinstance(row["score"], (int, float, type(None))):
            raise InputError(f"row {number} of {path} has the score {row['score']!r}", remedy="it is a number or null")
    return items, totals
