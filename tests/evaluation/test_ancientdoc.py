"""AncientDoc from its file to its summary, over small documents that are really read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console
from traced_agent import Round, TracedAgent

from agent.planner import Hints
from evaluation.ancientdoc.benchmark import Measured, measure, run_config, settings_of
from evaluation.ancientdoc.report import ancientdoc_report
from evaluation.ancientdoc.samples import load_ancient_set
from evaluation.ancientdoc.scoring import Comparison
from evaluation.metrics.translation import chrf_sentence
from evaluation.run import Run
from retrieval.collection import Collection
from retrieval.errors import InputError
from retrieval.settings import RetrievalSettings

ROWS = [
    ("o", "page1.pdf", "Page-level OCR", "抄录全页。", "秋堂成，延沈端為山長。"),
    ("t", "page1.pdf", "translation", "译成白话。", "秋堂建成，请沈端担任山长。"),
    ("r", ["page1.pdf", "page2.pdf"], "reasoning_qa", "沈端为何受聘？", "因为他博通三礼。"),
    ("k", "page2.pdf", "knowledge_qa", "三礼是哪三部书？", "周礼、仪礼、礼记。"),
    ("k2", "page2.pdf", "knowledge_qa", "山长是什么职务？", "书院的主持人。"),
    ("l", "lost.png", "linguistic_qa", "此句用了何种句式？", "省略主语的陈述句。"),
]
ANSWERS: dict[str, str | Exception | None] = {
    "抄录全页。": "秋堂成延沈端為山長",
    "译成白话。": "秋堂建成，请沈端担任山长。",
    "沈端为何受聘？": "他博通三礼。",
    "三礼是哪三部书？": None,
    "山长是什么职务？": ZeroDivisionError("bug"),
}


@pytest.fixture
def data(tmp_path: Path, make_pdf: Callable[..., Path]) -> Path:
    """A file of six questions and one line that is none, over two pages, and one image that isn't there."""
    make_pdf("page1.pdf", ["秋堂成\n延沈端為山長"])
    make_pdf("page2.pdf", ["沈端字伯直\n博通三禮"])
    keys = ("id", "image", "task", "question", "reference")
    lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in ROWS]
    path = tmp_path / "ancient.jsonl"
    path.write_text("\n".join([*lines, '{"task": "poetry"}']), encoding="utf-8")
    return path


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """An empty collection without vectors."""
    settings = RetrievalSettings.model_validate({"ingest": {"workers": 1}, "search": {"vectors": 0}})
    held = Collection(tmp_path / "collection", settings)
    yield held
    held.close()


class Same:
    """Finds every answer half as near as possible, so that a test sees where the values go."""

    name = "half"

    def f1(self, predictions: list[str], references: list[str]) -> list[float]:
        return [0.5 if said else 0.0 for said in predictions]


def _measure(
    data: Path,
    out: Path,
    collection: Collection,
    agent: TracedAgent,
    *,
    comparison: Comparison | None = None,
    predict_task: bool = False,
    without: tuple[str, ...] = (),
) -> Measured:
    found = load_ancient_set(data)
    settings = settings_of({"name": "test"}, without=without, predict_task=predict_task)
    run = Run(out)
    with run.opened(run_config(found.samples, settings)):
        return measure(
            run,
            found,
            collection=collection,
            agent=agent,
            settings=settings,
            comparison=comparison or Comparison(None, "no model"),
        )


def test_the_summary_of_a_run(data: Path, tmp_path: Path, collection: Collection) -> None:
    agent = TracedAgent(collection.root, ANSWERS)
    summary, _ = _measure(data, tmp_path / "out", collection, agent)

    assert (summary.questions, summary.answered, summary.abstained, summary.failed) == (6, 3, 1, 2)
    assert summary.failures_by_kind == {"UnreadableDocument": 1, "ZeroDivisionError": 1}
    assert len(summary.refused) == 1
    assert list(summary.tasks) == ["ocr", "translation", "reasoning_qa", "knowledge_qa", "linguistic_qa"]
    knowledge = summary.tasks["knowledge_qa"]
    assert (knowledge.questions, knowledge.abstained, knowledge.failed) == (2, 1, 1)
    assert (knowledge.scores["chrf++"].value, knowledge.scores["chrf++"].missing) == (0.0, 1)

    values = {task: one.scores["chrf++_sentence"].value for task, one in summary.tasks.items()}
    assert values["translation"] == pytest.approx(1)
    reasoning = chrf_sentence("他博通三礼。", "因为他博通三礼。")
    assert values["reasoning_qa"] == pytest.approx(reasoning)
    # the mean over the understanding tasks has the same weight for each, and OCR isn't among them
    assert summary.understanding["chrf++_sentence"].value == pytest.approx((1 + reasoning + 0 + 0) / 4)
    # two of eleven characters are missing, and both are punctuation
    assert summary.tasks["ocr"].scores["cer"].value == pytest.approx(2 / 11)
    assert summary.tasks["ocr"].scores["cer_folded"].value == 0
    assert summary.understanding["bertscore_f1"].value is None
    assert summary.understanding["bertscore_f1"].reason == "no model"
    assert summary.task_accuracy is None
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == json.loads(
        summary.model_dump_json(by_alias=True)
    )


def test_each_question_is_asked_over_its_own_images_and_with_its_task(
    data: Path, tmp_path: Path, collection: Collection
) -> None:
    agent = TracedAgent(collection.root, ANSWERS)
    _measure(data, tmp_path / "out", collection, agent)
    asked = {question: (scope, hints) for question, scope, hints in agent.asked}
    assert set(asked) == {row[3] for row in ROWS[:5]}
    assert asked["抄录全页。"][1] == Hints(task="ocr")
    one, two = (asked[question][0].doc_ids for question in ("抄录全页。", "三礼是哪三部书？"))
    assert asked["沈端为何受聘？"][0].doc_ids == (*one, *two)


def test_the_task_may_be_left_to_the_agent(data: Path, tmp_path: Path, collection: Collection) -> None:
    agent = TracedAgent(collection.root, ANSWERS, tasks={"抄录全页。": "ocr", "译成白话。": "knowledge_qa"})
    summary, behaviour = _measure(data, tmp_path / "out", collection, agent, predict_task=True)
    assert {hints for _, _, hints in agent.asked} == {None}
    assert summary.task_accuracy is not None
    assert summary.task_accuracy.value == pytest.approx(1 / 6)
    assert summary.task_accuracy.missing == 2
    # behaviour is told by the benchmark's tasks
    assert behaviour.tasks["translation"].runs == 1


def test_bertscore_goes_into_every_task(data: Path, tmp_path: Path, collection: Collection) -> None:
    agent = TracedAgent(collection.root, ANSWERS)
    summary, _ = _measure(data, tmp_path / "out", collection, agent, comparison=Comparison(Same()))
    assert summary.bertscore_model == "half"
    assert summary.tasks["translation"].scores["bertscore_f1"].value == 0.5
    assert summary.tasks["knowledge_qa"].scores["bertscore_f1"].value == 0
    assert summary.understanding["bertscore_f1"].value == pytest.approx((0.5 + 0.5 + 0 + 0) / 4)
    rows = [json.loads(line) for line in (tmp_path / "out" / "scores.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["answered"] * 3 + ["abstained"] + ["failed"] * 2
    assert rows[1]["bertscore_f1"] == 0.5
    assert rows[3]["prediction"] == ""


def test_behaviour_comes_from_the_traces(data: Path, tmp_path: Path, collection: Collection) -> None:
    rounds = {
        "三礼是哪三部书？": [Round(("page_reader",), support=0.0, confidence=0.2), Round(("evidence_retriever",))]
    }
    agent = TracedAgent(collection.root, ANSWERS, rounds=rounds)
    _, behaviour = _measure(data, tmp_path / "out", collection, agent)
    assert (behaviour.overall.runs, behaviour.unread) == (4, 0)
    knowledge = behaviour.tasks["knowledge_qa"]
    assert knowledge.tools["evidence_retriever"].value == 1
    assert (knowledge.replanning.support_before.value, knowledge.replanning.support_after.value) == (0.0, 1.0)
    assert behaviour.tasks["ocr"].replanning.runs == 0
    assert {path.name for path in (tmp_path / "out").glob("*.svg")} == {"tool-use.svg", "replanning.svg"}
    assert json.loads((tmp_path / "out" / "behaviour.json").read_text())["schema"] == "docsage.behaviour/1"


def test_the_same_run_again_asks_only_what_failed(data: Path, tmp_path: Path, collection: Collection) -> None:
    _measure(data, tmp_path / "out", collection, TracedAgent(collection.root, ANSWERS))
    again = TracedAgent(collection.root, {**ANSWERS, "山长是什么职务？": "书院的主持人。"})
    summary, _ = _measure(data, tmp_path / "out", collection, again)
    assert [question for question, _, _ in again.asked] == ["山长是什么职务？"]
    assert (summary.answered, summary.failed) == (4, 1)


def test_a_trace_that_has_gone_is_said_to_be_missing(data: Path, tmp_path: Path, collection: Collection) -> None:
    _measure(data, tmp_path / "out", collection, TracedAgent(collection.root, ANSWERS))
    (collection.root / "traces" / "run2.jsonl").unlink()
    summary, behaviour = _measure(data, tmp_path / "out", collection, TracedAgent(collection.root, ANSWERS))
    assert (behaviour.unread, behaviour.overall.runs) == (1, 3)
    assert "translation" not in behaviour.tasks
    assert summary.tasks["translation"].scores["chrf++"].value == pytest.approx(1)


def test_a_run_without_a_part_is_another_run(data: Path, tmp_path: Path, collection: Collection) -> None:
    agent = TracedAgent(collection.root, ANSWERS)
    summary, _ = _measure(data, tmp_path / "out", collection, agent, without=("verifier", "planner"))
    assert summary.without == ("planner", "verifier")
    recorded = json.loads((tmp_path / "out" / "run.json").read_text())
    assert recorded["settings"]["without"] == ["planner", "verifier"]
    with pytest.raises(InputError, match=r"settings\.without"):
        _measure(data, tmp_path / "out", collection, agent)


def test_a_task_that_isnt_asked_isnt_scored(tmp_path: Path, data: Path, collection: Collection) -> None:
    lines = data.read_text(encoding="utf-8").splitlines()
    data.write_text(lines[0] + "\n" + lines[1], encoding="utf-8")
    summary, _ = _measure(data, tmp_path / "out", collection, TracedAgent(collection.root, ANSWERS))
    assert list(summary.tasks) == ["ocr", "translation"]
    assert summary.understanding["chrf++"].n == 1
    assert summary.understanding["chrf++"].missing == 3


def test_the_report_shows_scores_and_why_some_are_missing(data: Path, tmp_path: Path, collection: Collection) -> None:
    agent = TracedAgent(collection.root, ANSWERS)
    summary, _ = _measure(data, tmp_path / "out", collection, agent, without=("retrieval",))
    written = io.StringIO()
    Console(file=written, width=80).print(ancientdoc_report(summary))
    for words in (
        "6 questions, without retrieval: 3 answered, 1 abstained, 2 failed; 1 entries",
        "mean without ocr",
        "cer_folded",
        "bertscore_f1: no model",
        "100.00",
    ):
        assert words in written.getvalue(), words
