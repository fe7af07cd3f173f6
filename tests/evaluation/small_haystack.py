"""A tiny haystack on disk, and stand-ins for what searches, judges and answers, whose work can be counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from evaluation.chaystack.benchmark import Benchmark, RunOptions, Workers
from evaluation.chaystack.filtering import Filter
from evaluation.chaystack.folder import ChaystackRun, run_config
from evaluation.chaystack.generation import Generated
from evaluation.chaystack.images import HaystackImage, find_images
from evaluation.chaystack.pages import HaystackPage
from evaluation.chaystack.plans import RuleQueryPlanner
from evaluation.chaystack.retrievers import Hit
from evaluation.chaystack.samples import Category, data_root, load_chaystack
from evaluation.chaystack.scoring import ChaystackSummary
from retrieval.progress import Progress
from tools.judgment_cache import JudgmentCache
from tools.judgments import JudgedPage, JudgeFailed, Judgment

QUESTIONS: dict[str, list[tuple[str, str, str]]] = {
    "paper": [("林丘果园有多少棵苹果树？", "312棵", "p1"), ("果园建于哪一年？", "1996年", "p2")],
    "camera": [("停车费是多少？", "30元", "c1")],
    "webpage": [("高压锅上汽后炖多久？", "20分钟", "w1"), ("谁写了《南明史》？", "顾诚", "lost")],
}
IMAGES: dict[str, list[str]] = {
    "paper": ["p1", "p2", "p3"],
    "camera": ["c1", "c2"],
    "webpage": ["w1"],
    "advertise": ["a1"],
}
RANKINGS: dict[str, list[str]] = {
    "林丘果园有多少棵苹果树？": ["paper/p3", "paper/p1", "advertise/a1", "paper/p2"],
    "果园建于哪一年？": ["advertise/a1", "paper/p1", "paper/p3", "paper/p2"],
    "停车费是多少？": ["camera/c1", "camera/c2", "paper/p1"],
    "高压锅上汽后炖多久？": ["webpage/w1", "paper/p1"],
    "谁写了《南明史》？": ["webpage/w1", "camera/c1"],
}
"""The order of all images that match, by question; that of a category is the same without the others."""
YES = {
    ("林丘果园有多少棵苹果树？", "paper/p1"),
    ("果园建于哪一年？", "paper/p2"),
    ("高压锅上汽后炖多久？", "webpage/w1"),
}
"""What the judge says YES to."""
ANSWERS = {
    "林丘果园有多少棵苹果树？": "312 棵。",
    "果园建于哪一年？": "1990年",
    "停车费是多少？": "答案：30元",
    "高压锅上汽后炖多久？": None,
    "谁写了《南明史》？": "无法确定",
}


def make_haystack(folder: Path) -> Path:
    """The data folder: five questions, one of them over an image that isn't there, and seven images of one colour."""
    (folder / "data" / "eval").mkdir(parents=True)
    for category, rows in QUESTIONS.items():
        lines = [json.dumps({"query": q, "answer": a, "image_id": i}, ensure_ascii=False) for q, a, i in rows]
        (folder / "data" / "eval" / f"{category}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number, (category, names) in enumerate(IMAGES.items()):
        (folder / "data" / "image" / category).mkdir(parents=True)
        for place, name in enumerate(names):
            colour = (40 * number + 60, 70 * place + 50, 90)
            Image.new("RGB", (24, 32), colour).save(folder / "data" / "image" / category / f"{name}.png")
    return folder


class Counted:
    """Counts its calls, and raises KeyboardInterrupt at the `fatal` one, as an interrupt would."""

    def __init__(self, fatal: int | None = None) -> None:
        self.calls: list[Any] = []
        self.fatal = fatal

    def note(self, call: Any) -> None:
        self.calls.append(call)
        if self.fatal is not None and len(self.calls) == self.fatal:
            raise KeyboardInterrupt


class ListRetriever(Counted):
    """Ranks as `RANKINGS` says."""

    name = "list"

    def retrieve(self, question: str, category: Category | None, k: int) -> list[Hit]:
        self.note((question, category))
        keys = [key for key in RANKINGS.get(question, []) if category is None or key.startswith(f"{category}/")]
        return [Hit(key, 1.0 / rank) for rank, key in enumerate(keys[:k], 1)]


class SetJudge(Counted):
    """Says YES to the pairs of `YES`, else NO; `broken` are keys of pages that it can't judge."""

    identity = "set"

    def __init__(self, fatal: int | None = None, broken: Sequence[str] = ()) -> None:
        super().__init__(fatal)
        self.broken = set(broken)

    async def ready(self) -> None:
        """Nothing is needed."""

    async def judge(self, question: str, page: JudgedPage) -> Judgment:
        self.note((question, page.key))
        if page.key in self.broken:
            raise JudgeFailed("no reply")
        page.image().close()
        yes = (question, page.key) in YES
        return Judgment(
            verdict="yes" if yes else "no", probability=0.9 if yes else 0.2, reply="YES" if yes else "答案是NO"
        )


class TableGenerator(Counted):
    """Answers as `ANSWERS` says; remembers the pages that it was shown."""

    reads_text = False

    def generate(self, question: str, pages: Sequence[HaystackPage]) -> Generated:
        self.note((question, [page.key for page in pages]))
        return Generated(ANSWERS[question], len(pages), f"trace {len(self.calls)}")


class NoTexts:
    """Texts of pages that nobody may ask for."""

    def read(self, images: Sequence[HaystackImage], progress: Progress) -> None:
        raise AssertionError("nothing reads text")

    def document(self, image: HaystackImage) -> str | None:
        raise AssertionError("nothing reads text")

    def text(self, image: HaystackImage) -> str:
        raise AssertionError("nothing reads text")


class Bench:
    """A run over a haystack with stand-ins; each call of `measure` is what one command does.

    `open` tells which workers are open, `opened` in which order they were.
    """

    def __init__(self, data: Path, out: Path) -> None:
        self.data = data
        self.out = out
        self.retriever = ListRetriever()
        self.judge = SetJudge()
        self.generator = TableGenerator()
        self.broken: JudgeFailed | None = None
        self.together = 1
        self.planner: Any = RuleQueryPlanner()
        self.open: set[str] = set()
        self.opened: list[str] = []
        self.searched: list[Sequence[Category]] = []
        self.notes: list[str] = []
        self.problem = ""
        self.fatal: tuple[str, int] | None = None

    def measure(self, *, limit: int | None = None, resume: bool = False, **options: Any) -> ChaystackSummary:
        found = load_chaystack(self.data)
        run = ChaystackRun(self.out)
        chosen = RunOptions(**options)
        with run.opened(run_config(found.samples, categories=[], gold=chosen.gold, limit=limit), resume=resume):
            benchmark = Benchmark(
                run,
                found,
                find_images(data_root(self.data)),
                options=chosen,
                workers=self._workers(),
                progress=Notes(self.notes, self.fatal),
                limit=limit,
            )
            try:
                return benchmark.measure()
            finally:
                self.problem = benchmark.problem

    def files(self) -> dict[str, str]:
        """What the run's files of results hold, by path."""
        names = ("plans.jsonl", "phase1_retrieval.jsonl", "phase2_filtered.jsonl", "filter_rag.jsonl")
        paths = [path for path in sorted(self.out.rglob("*.jsonl")) if path.name in names]
        return {str(path.relative_to(self.out)): path.read_text(encoding="utf-8") for path in paths}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The lines of one file."""
        return [json.loads(line) for line in (self.out / name).read_text(encoding="utf-8").splitlines()]

    def _workers(self) -> Workers:
        def filtering() -> Filter:
            cache = JudgmentCache(self.out.parent / f"{self.out.name}-judgments.sqlite")
            return Filter(judge=self.judge, cache=cache, together=self.together, broken=self.broken)

        def retrievers(categories: Sequence[Category]) -> list[ListRetriever]:
            self.searched.append(tuple(categories))
            return [self.retriever]

        return Workers(
            planner=lambda: self._held("planner", lambda: self.planner),
            retrievers=lambda categories: self._held("retriever", lambda: retrievers(categories)),
            filter=lambda: self._held("filter", filtering),
            generator=lambda: self._held("generator", lambda: self.generator),
            texts=NoTexts(),
            together=self.together,
        )

    @contextmanager
    def _held(self, name: str, make: Callable[[], Any]) -> Iterator[Any]:
        assert not self.open, f"{name} was opened while {self.open} was"
        self.open.add(name)
        self.opened.append(name)
        made = make()
        try:
            yield made
        finally:
            self.open.remove(name)
            if isinstance(made, Filter) and made.cache is not None:
                made.cache.close()


class Notes:
    """A progress that keeps its notes; it is interrupted where it advances for the nth time in a `fatal` stage."""

    def __init__(self, notes: list[str], fatal: tuple[str, int] | None = None) -> None:
        self.notes = notes
        self.stage, self.left = fatal or ("", 0)
        self.now = ""

    def start(self, stage: str, total: int) -> None:
        self.now = stage

    def advance(self, units: int = 1) -> None:
        if self.now == self.stage:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    def note(self, message: str) -> None:
        self.notes.append(message)


def values(scores: Mapping[str, Any]) -> dict[str, float | None]:
    """The values of some scores, rounded."""
    return {name: None if score.value is None else round(score.value, 4) for name, score in scores.items()}
