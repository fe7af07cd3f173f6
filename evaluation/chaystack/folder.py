"""The folder of a CHaystack run: what each phase wrote, and the settings that it wrote it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from evaluation.chaystack.records import (
    AnsweredSample,
    FilteredSample,
    Index,
    Phase,
    PlannedSample,
    RetrievedSample,
    Setting,
    Timing,
)
from evaluation.chaystack.samples import ChaystackSample, fingerprint
from evaluation.folder import RunConfig, RunFolder, differences
from evaluation.records import JsonLines, write_json
from retrieval.errors import InputError
from retrieval.types import Frozen

IndexChoice = Literal["category", "all", "both"]
OTHER_INDEX = "all"
"""The folder of the second index's files, when both are run."""
RETRIEVED, FILTERED, ANSWERED = "phase1_retrieval.jsonl", "phase2_filtered.jsonl", "filter_rag.jsonl"
_PHASES_NAME = "phases.json"


class PhaseSettings(Frozen):
    """What each phase's results depend on; None for a phase that was not begun. `index` is that of the files in --out.

    A phase may be run with another profile than the one before it, so each has its own.
    """

    schema_version: Literal["docsage.chaystack-phases/1"] = Field(default="docsage.chaystack-phases/1", alias="schema")
    index: Index | None = None
    retrieve: dict[str, Any] | None = None
    filter: dict[str, Any] | None = None
    generate: dict[str, Any] | None = None

    def of(self, phase: Phase) -> dict[str, Any] | None:
        """The settings of one phase."""
        found: dict[str, Any] | None = getattr(self, phase)
        return found


class SettingFiles:
    """The phases' files of one index, or of the gold images."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.retrieved = JsonLines(folder / RETRIEVED, RetrievedSample)
        self.filtered = JsonLines(folder / FILTERED, FilteredSample)
        self.answered = JsonLines(folder / ANSWERED, AnsweredSample)

    def of(self, phase: Phase) -> JsonLines[Any]:
        """What one phase writes."""
        logs: dict[Phase, JsonLines[Any]] = {
            "retrieve": self.retrieved,
            "filter": self.filtered,
            "generate": self.answered,
        }
        return logs[phase]

    def begun(self, phase: Phase) -> bool:
        """Whether a phase has written anything."""
        path = self.of(phase).path
        return path.exists() and path.stat().st_size > 0


class ChaystackRun(RunFolder):
    """`run.json`, `phases.json`, `plans.jsonl`, `timings.jsonl`, `failures.jsonl`, and the phases' files by setting."""

    def __init__(self, out: Path) -> None:
        self._root, self._other = SettingFiles(out), SettingFiles(out / OTHER_INDEX)
        self.plans = JsonLines(out / "plans.jsonl", PlannedSample)
        self.timings = JsonLines(out / "timings.jsonl", Timing)
        logs = [files.of(phase) for files in (self._root, self._other) for phase in ("retrieve", "filter", "generate")]
        super().__init__(out, (self.plans, self.timings, *logs))

    def phases(self) -> PhaseSettings:
        """What is recorded of the phases; nothing before the first one."""
        path = self.out / _PHASES_NAME
        if not path.exists():
            return PhaseSettings()
        try:
            return PhaseSettings.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise InputError(
                f"{path} can't be read as the settings of a run's phases", remedy="choose another --out"
            ) from error

    def claim(self, phase: Phase, settings: Mapping[str, Any]) -> None:
        """Record what a phase is run with; InputError when it has written something with other settings."""
        before = self.phases()
        known = before.of(phase)
        if known is not None and any(files.begun(phase) for files in (self._root, self._other)):
            changed = differences(known, dict(settings))
            if changed:
                raise InputError(
                    f"{self.out} holds the results of --phase {phase} with {'; '.join(changed)}",
                    remedy="choose another --out; files of the phases before may be copied there",
                )
            return
        write_json(self.out / _PHASES_NAME, before.model_copy(update={phase: dict(settings)}))

    def indexes(self, wanted: IndexChoice | None, *, retrieves: bool) -> tuple[Index, ...]:
        """The indexes to work on: those that are wanted, else both, or those that have been searched.

        The files of the first one that a folder ever had stand in the folder itself.
        """
        root = self.phases().index
        if root is None:
            root = "all" if wanted == "all" else "category"
            if retrieves:
                write_json(self.out / _PHASES_NAME, self.phases().model_copy(update={"index": root}))
        if root == "all" and (wanted in ("category", "both")):
            raise InputError(
                f"{self.out} holds a run over one index of all images, not one with --index {wanted}",
                remedy="choose another --out",
            )
        possible: tuple[Index, ...] = ("all",) if root == "all" else ("category", "all")
        if wanted is not None:
            return tuple(index for index in possible if wanted in (index, "both"))
        if retrieves:
            return possible
        return tuple(index for index in possible if self.files(index).begun("retrieve"))

    def files(self, setting: Setting) -> SettingFiles:
        """The files of one setting."""
        other = setting == "all" and self.phases().index == "category"
        return self._other if other else self._root

    def settings_begun(self) -> tuple[Setting, ...]:
        """The settings of which there is anything, in the order in which they are reported."""
        index = self.phases().index
        if index is None:
            return ("gold",) if self._root.begun("generate") else ()
        found: list[Setting] = [index]
        if index == "category" and self._other.begun("retrieve"):
            found.append("all")
        return tuple(found)


def run_config(
    samples: Sequence[ChaystackSample], *, categories: Sequence[str], gold: bool, limit: int | None = None
) -> RunConfig:
    """What a run over all of `samples` is recorded as; its phases have settings of their own."""
    settings = {"categories": list(categories), "gold": gold}
    return RunConfig(benchmark="chaystack", questions=fingerprint(samples), settings=settings, limit=limit)
