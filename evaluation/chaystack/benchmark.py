"""Runs CHaystack: retrieves, filters and answers phase by phase with one model in memory at a time, and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from agent.models.types import ModelFailed
from evaluation.chaystack.filtering import Filter, Unjudged, filter_samples, unfiltered
from evaluation.chaystack.folder import ChaystackRun, IndexChoice
from evaluation.chaystack.generation import AnswerGenerator, generate_samples, gold_samples, unanswered
from evaluation.chaystack.images import Haystack
from evaluation.chaystack.pages import PageTexts
from evaluation.chaystack.plans import QueryPlanner
from evaluation.chaystack.records import FilteredSample, Index, Phase, Setting, category_order, latest, put_in_order
from evaluation.chaystack.retrievers import Retriever, searched_categories
from evaluation.chaystack.samples import CATEGORIES, Category, ChaystackSet
from evaluation.chaystack.scoring import ChaystackSummary, SettingRecords, SettingSummary, summarise_setting
from evaluation.chaystack.searching import order_plans, plan_samples, retrieve_samples, unplanned, unretrieved
from evaluation.records import write_json
from retrieval.errors import InputError
from retrieval.progress import Progress, Silent
from retrieval.types import Frozen

PHASES: tuple[Phase, ...] = ("retrieve", "filter", "generate")
FILTER_SETTING, KEEP_SETTING = "filter", "keep"


class RunOptions(Frozen):
    """What is run: which phases, over which index, with what.

    `settings` are what the results of each phase depend on besides these options, as JSON.
    """

    phases: tuple[Phase, ...] = PHASES
    index: IndexChoice | None = None
    gold: bool = False
    filters: bool = True
    planned: bool = False
    candidates: int = 15
    keep: int = 10
    settings: dict[Phase, dict[str, Any]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Workers:
    """Opens what each phase works with; it is closed before that of the next one is opened.

    `retrievers` are given the categories whose images are to be searched. `together` is how many questions a model is
    asked at the same time.
    """

    planner: Callable[[], AbstractContextManager[QueryPlanner]]
    retrievers: Callable[[Sequence[Category]], AbstractContextManager[Sequence[Retriever]]]
    filter: Callable[[], AbstractContextManager[Filter]]
    generator: Callable[[], AbstractContextManager[AnswerGenerator]]
    texts: PageTexts
    together: int = 1


class Benchmark:
    """One call of the benchmark in an opened run. `problem` is why a phase could not be begun, "" when all could."""

    def __init__(
        self,
        run: ChaystackRun,
        data: ChaystackSet,
        haystack: Haystack,
        *,
        options: RunOptions,
        workers: Workers,
        progress: Progress | None = None,
        limit: int | None = None,
    ) -> None:
        self.run = run
        self.data = data
        self.samples = data.limited(limit)
        self.haystack = haystack
        self.options = options
        self.workers = workers
        self.progress = progress or Silent()
        self.problem = ""
        self._ran: set[tuple[Setting, Phase]] = set()

    def measure(self) -> ChaystackSummary:
        """Do what the phases haven't done yet, put their files in order, and score what there is: `summary.json`."""
        for line in self.data.refused:
            self.progress.note(line)
        phases: tuple[Phase, ...] = ("generate",) if self.options.gold else self.options.phases
        settings = self._settings(phases)
        for phase in phases:
            if self.problem:
                self.progress.note(f"--phase {phase} was not begun: {self.problem}")
                break
            self._do(phase, settings)
        summary = self._summary()
        write_json(self.run.out / "summary.json", summary)
        return summary

    def _settings(self, phases: Sequence[Phase]) -> tuple[Setting, ...]:
        """The settings to work on; InputError when a phase that these phases build upon was never run."""
        if self.options.gold:
            return ("gold",)
        indexes = self.run.indexes(self.options.index, retrieves="retrieve" in phases)
        first = phases[0]
        if first != "retrieve":
            needed = PHASES[PHASES.index(first) - 1]
            lacking = [index for index in indexes if not self.run.files(index).begun(needed)]
            if lacking or not indexes:
                names = f" over the index {' and '.join(lacking)}" if lacking else ""
                raise InputError(
                    f"{self.run.out} holds no results of --phase {needed}{names}",
                    remedy=f"run --phase {needed} first, or --phase all",
                )
        return indexes

    def _do(self, phase: Phase, settings: Sequence[Setting]) -> None:
        indexes: tuple[Index, ...] = tuple(setting for setting in settings if setting != "gold")
        if phase == "retrieve":
            self._retrieve(indexes)
        elif phase == "filter":
            self._filter(indexes)
        else:
            self._generate(settings)
        self._ran |= {(setting, phase) for setting in settings}
        for setting in settings:
            put_in_order(self.run.files(setting).of(phase), self.data.samples)

    def _claim(self, phase: Phase, **more: Any) -> None:
        self.run.claim(phase, {**self.options.settings.get(phase, {}), **more})

    def _retrieve(self, indexes: Sequence[Index]) -> None:
        options, run = self.options, self.run
        asked = category_order([sample.category for sample in self.data.samples])
        searched = searched_categories(asked, indexes if run.phases().index != "all" else ("all",))
        self._claim(
            "retrieve",
            candidates=options.candidates,
            planned=options.planned,
            images={category: self.haystack.fingerprint([category]) for category in CATEGORIES},
        )
        if options.planned and (todo := unplanned(run, self.samples)):
            with self.workers.planner() as planner:
                plan_samples(run, todo, planner, progress=self.progress, together=self.workers.together)
        plans = order_plans(run, self.data.samples) if options.planned else None
        waiting = {index: unretrieved(run, index, self.samples) for index in indexes}
        if not any(waiting.values()):
            return
        if not self.haystack.images:
            raise InputError(
                f"{len(self.samples)} questions were loaded, but there are no images to search",
                remedy="put them into image/{category}/ beside the folder eval",
            )
        with self.workers.retrievers(searched) as retrievers:
            for index, todo in waiting.items():
                retrieve_samples(
                    run,
                    index,
                    todo,
                    retrievers,
                    plans=plans,
                    haystack=self.haystack,
                    k=options.candidates,
                    progress=self.progress,
                )

    def _filter(self, indexes: Sequence[Index]) -> None:
        self._claim("filter", **{FILTER_SETTING: self.options.filters})
        waiting = {index: todo for index in indexes if (todo := unfiltered(self.run, index, self.samples))}
        if not waiting:
            return
        if not self.options.filters:
            for index, todo in waiting.items():
                self._filtered(index, todo, None)
            return
        with self.workers.filter() as filtering:
            found = [self._filtered(index, todo, filtering) for index, todo in waiting.items()]
        total, some = sum(map(len, waiting.values())), sum(one.some for one in found)
        if some:
            self.progress.note(
                f"filter: {some} of {total} questions have pages that were not judged "
                f"({next(one.reason for one in found if one.some)}); those are kept in the order of retrieval"
            )
        if sum(one.wholly for one in found) == total:
            self.problem = str(filtering.broken or "no page could be judged")

    def _filtered(self, index: Index, todo: Sequence[Any], filtering: Filter | None) -> Unjudged:
        return filter_samples(
            self.run,
            index,
            todo,
            filtering,
            haystack=self.haystack,
            texts=self.workers.texts,
            progress=self.progress,
        )

    def _generate(self, settings: Sequence[Setting]) -> None:
        keep = 1 if self.options.gold else self.options.keep
        self._claim("generate", keep=keep, gold=self.options.gold)
        waiting = {
            setting: todo
            for setting in settings
            if (todo := unanswered(self.run, setting, self.samples, self._kept(setting), keep))
        }
        if not waiting:
            return
        filters = not self.options.gold and bool((self.run.phases().of("filter") or {}).get(FILTER_SETTING))
        try:
            with self.workers.generator() as generator:
                for setting, todo in waiting.items():
                    generate_samples(
                        self.run,
                        setting,
                        todo,
                        generator,
                        haystack=self.haystack,
                        texts=self.workers.texts,
                        keep=keep,
                        filter_enabled=filters,
                        progress=self.progress,
                        together=self.workers.together,
                    )
        except ModelFailed as error:
            self.problem = str(error)
            self.progress.note(f"nothing was answered: {error}")

    def _kept(self, setting: Setting) -> Mapping[str, FilteredSample]:
        if setting == "gold":
            return gold_samples(self.samples, self.haystack)
        return latest(self.run.files(setting).filtered.read())

    def _summary(self) -> ChaystackSummary:
        unreachable = frozenset(s.sample_id for s in self.samples if s.gold_key not in self.haystack.images)
        settings: tuple[Setting, ...] = ("gold",) if self.options.gold else self.run.settings_begun()
        plans = latest(self.run.plans.read()).values()
        failures = latest([_Failed(sample_id=f.id, kind=f.kind) for f in self.run.failures.read()])
        found = {setting: self._setting_summary(setting, unreachable) for setting in settings}
        open_ones = self._open(settings)
        kinds = [one.kind for name, one in failures.items() if name in open_ones]
        return ChaystackSummary(
            questions=len(self.samples),
            images=self.haystack.counts(),
            unreachable=len(unreachable),
            refused=self.data.refused,
            planned={origin: sum(p.plan.origin == origin for p in plans) for origin in ("model", "rules")},
            failures_by_kind={kind: kinds.count(kind) for kind in sorted(set(kinds))},
            settings=found,
        )

    def _setting_summary(self, setting: Setting, unreachable: frozenset[str]) -> SettingSummary:
        files, phases = self.run.files(setting), self.run.phases()
        begun = [phase for phase in PHASES if files.begun(phase) or (setting, phase) in self._ran]
        records = SettingRecords(
            setting=setting,
            retrieved=latest(files.retrieved.read()),
            filtered=latest(files.filtered.read()),
            answered=latest(files.answered.read()),
            timings=[timing for timing in self.run.timings.read() if timing.setting == setting],
            begun=frozenset(begun),
            filters=bool((phases.filter or {}).get(FILTER_SETTING, self.options.filters)),
            keep=int((phases.generate or {}).get(KEEP_SETTING, self.options.keep)),
        )
        return summarise_setting(self.samples, records, unreachable)

    def _open(self, settings: Sequence[Setting]) -> set[str]:
        """The samples of which a phase that was begun has nothing, or pages without a judgment."""
        names: set[str] = set()
        for setting in settings:
            files = self.run.files(setting)
            done: dict[Phase, set[str]] = {
                "retrieve": set(latest(files.retrieved.read())),
                "filter": {n for n, one in latest(files.filtered.read()).items() if not one.errors},
                "generate": set(latest(files.answered.read())),
            }
            for phase in PHASES:
                if files.begun(phase) or (setting, phase) in self._ran:
                    names |= {s.sample_id for s in self.samples} - done[phase]
        return names


class _Failed(Frozen):
    """A failure by the sample that it is of."""

    sample_id: str
    kind: str


def failed_questions(summary: ChaystackSummary) -> int:
    """How many questions some phase of some setting could not finish, counted once for each."""
    return sum(sum(setting.failed.values()) for setting in summary.settings.values())
