"""MMLongBench-Doc from its files to its summary, over small documents that are really read and searched."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scripted_trajectory import trajectory

from agent.types import Trajectory
from evaluation.mmlongbench.benchmark import measure, run_config
from evaluation.mmlongbench.golden import compare
from evaluation.mmlongbench.samples import load_samples
from evaluation.mmlongbench.scoring import Summary
from evaluation.report import mmlongbench_report
from evaluation.run import Run
from retrieval.collection import Collection
from retrieval.errors import InputError
from retrieval.settings import RetrievalSettings
from retrieval.types import BBox, Scope
from tools.types import Region

ROWS = [
    ("orchard.pdf", "How many apple trees does Linden Hill hold?", "312", "[1]", "['Pure-text (Plain-text)']", "Int"),
    ("orchard.pdf", "Which years had a harvest?", "['2023', '2024']", "[1, 2]", "['Table', 'Chart']", "List"),
    ("orchard.pdf", "Who is the mayor?", "Not answerable", "[]", "[]", "None"),
    ("lost.pdf", "How deep is the well?", "43", "[3]", "['Generalized-text (Layout)']", "Int"),
]


@pytest.fixture
def data(tmp_path: Path, make_pdf: Callable[..., Path]) -> Path:
    """A data folder with one real document of three pages, and one question over a document that isn't there."""
    folder = tmp_path / "data"
    (folder / "documents").mkdir(parents=True)
    pages = (
        "Orchard survey\nThe orchard at Linden Hill holds 312 apple trees.",
        "Yields\nThe harvest of 2024 came to 18.4 tonnes.\nThe harvest of 2023 came to 15.9 tonnes.",
        "Water\nTwo wells supply the orchard.",
    )
    make_pdf("orchard.pdf", pages).rename(folder / "documents" / "orchard.pdf")
    keys = ("doc_id", "question", "answer", "evidence_pages", "evidence_sources", "answer_format")
    rows = [dict(zip(keys, row, strict=True), doc_type="Brochure") for row in ROWS]
    (folder / "samples.json").write_text(json.dumps(rows))
    return folder


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """An empty collection without vectors, which these tests don't need."""
    settings = RetrievalSettings.model_validate({"ingest": {"workers": 1}, "search": {"vectors": 0}})
    held = Collection(tmp_path / "collection", settings)
    yield held
    held.close()


class Agent:
    """Answers from a list of (answer, cited pages); None abstains, an exception is raised."""

    def __init__(self, answers: dict[str, tuple[str | None, tuple[int, ...]] | Exception]) -> None:
        self.answers = answers
        self.scopes: list[Scope] = []

    def ask(self, question: str, scope: Scope) -> Trajectory:
        self.scopes.append(scope)
        said = self.answers[question]
        if isinstance(said, Exception):
            raise said
        return trajectory(question, said[0], scope=scope, pages=said[1])


def _measure(data: Path, out: Path, collection: Collection, agent: Agent | None) -> Summary:
    samples = load_samples(data)
    run = Run(out)
    with run.opened(run_config(samples, {})):
        return measure(run, data, samples, collection=collection, agent=agent)


def test_samples_are_read_with_their_lists_in_strings(data: Path) -> None:
    samples = load_samples(data)
    assert [s.pages for s in samples] == [(1,), (1, 2), (), (3,)]
    assert [s.sources for s in samples] == [("Pure-text",), ("Table", "Chart"), (), ("Layout",)]
    assert [s.span for s in samples] == ["single-page", "cross-page", "unanswerable", "single-page"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON"),
        ("{}", "holds a dict"),
        ("[]", "holds no sample"),
        ('[{"doc_id": "a.pdf"}]', "sample 0"),
        (
            '[{"doc_id": "a.pdf", "question": "q", "answer": "a", "answer_format": "Date", "evidence_pages": "[]"}]',
            "sample 0",
        ),
    ],
)
def test_broken_samples_are_named(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "samples.json").write_text(content)
    with pytest.raises(InputError, match=problem):
        load_samples(tmp_path)


def test_the_summary_of_a_run(data: Path, tmp_path: Path, collection: Collection) -> None:
    agent = Agent({ROWS[0][1]: ("312", (1,)), ROWS[1][1]: ZeroDivisionError("bug"), ROWS[2][1]: (None, ())})
    summary = _measure(data, tmp_path / "out", collection, agent)

    assert len({scope.doc_ids for scope in agent.scopes}) == 1
    assert (summary.questions, summary.answered, summary.abstained, summary.failed) == (4, 1, 1, 2)
    assert summary.failures_by_kind == {"UnreadableDocument": 1, "ZeroDivisionError": 1}
    assert summary.answers is not None
    assert summary.answers["accuracy"].value == 2 / 4
    # S = 1 of three answerable questions; three predictions (two of them failed) are no abstention
    assert summary.answers["f1"].value == pytest.approx(1 / 3)
    # both questions over the readable document find their pages, the one over the lost document is missing
    assert summary.retrieval["all_hit@10"].value == pytest.approx(2 / 3)
    assert summary.retrieval["all_hit@10"].missing == 1
    assert summary.pages is not None
    assert summary.pages["micro_precision"].value == 1.0
    assert summary.pages["micro_recall"].value == pytest.approx(1 / 4)
    assert summary.abstention is not None
    assert summary.abstention["precision"].value == 1.0
    assert summary.abstention["recall"].value == 1.0
    assert summary.latency is not None
    assert summary.latency["p50"].value == 0.5
    assert list(summary.by_source) == ["Chart", "Layout", "Pure-text", "Table"]
    assert summary.by_source["Pure-text"].accuracy.value == 1.0
    assert summary.by_span["cross-page"].accuracy.value == 0.0
    assert summary.by_document_type["Brochure"].questions == 4
    written = (tmp_path / "out" / "summary.json").read_bytes()
    assert Summary.model_validate_json(written) == summary


def test_the_summary_tells_answerable_from_unanswerable_and_what_confidence_is_worth(
    data: Path, tmp_path: Path, collection: Collection
) -> None:
    class Cautious(Agent):
        """Withholds what it thinks of the harvest, sure that it is right; whom it takes for the mayor, it says."""

        def ask(self, question: str, scope: Scope) -> Trajectory:
            said = super().ask(question, scope)
            if "harvest" in question:
                page = said.pages[0].ref
                region = Region(page_ref=page, block=BBox(x1=0, y1=0, x2=1, y2=0.5))
                plan = said.plan.model_copy(update={"answer_type": "list"})
                return said.model_copy(update={"plan": plan, "regions": (region,), "confidence": 0.8})
            withheld = {"answer": None, "abstained": True, "candidate": "300 trees", "confidence": 0.1}
            return said.model_copy(update=withheld) if "apple" in question else said

    agent = Cautious({ROWS[0][1]: ("300", (1,)), ROWS[1][1]: ("2023, 2024", (2,)), ROWS[2][1]: ("Edith", ())})
    summary = _measure(data, tmp_path / "out", collection, agent)
    assert summary.answers is not None
    assert summary.answers["accuracy_answerable"].value == pytest.approx(1 / 3)
    assert summary.answers["accuracy_unanswerable"].value == 0.0
    # most confident first: Edith (0.9, the verifier's) wrong, the harvest (0.8) right, 300 trees (0.1, withheld) wrong
    assert summary.risk is not None
    assert [point.risk for point in summary.risk.curve] == pytest.approx([1, 1 / 2, 2 / 3])
    assert summary.risk.operating.coverage == 0.5
    assert summary.risk.scores["aurc"].missing == 1
    assert summary.grounding is not None
    assert (summary.grounding["held"].value, summary.grounding["median_area"].value) == (1.0, 0.5)
    assert "MMLongBench-Doc: 50 % answered" in (tmp_path / "out" / "risk-coverage.svg").read_text(encoding="utf-8")


def test_resuming_asks_only_what_failed(data: Path, tmp_path: Path, collection: Collection) -> None:
    _measure(data, tmp_path / "out", collection, Agent({row[1]: RuntimeError("down") for row in ROWS}))
    (data / "documents" / "lost.pdf").write_bytes((data / "documents" / "orchard.pdf").read_bytes())
    agent = Agent({row[1]: (row[2] if row[2] != "Not answerable" else None, ()) for row in ROWS})
    summary = _measure(data, tmp_path / "out", collection, agent)
    assert len(agent.scopes) == 4
    assert summary.failed == 0
    assert summary.answers is not None
    assert summary.answers["accuracy"].value == 1.0


def test_pages_that_the_document_lacks_are_counted(data: Path, tmp_path: Path, collection: Collection) -> None:
    rows = json.loads((data / "samples.json").read_text())
    rows[0]["evidence_pages"], rows[1]["evidence_pages"] = "[0, 1]", "[1, 289]"
    (data / "samples.json").write_text(json.dumps(rows))
    summary = _measure(data, tmp_path / "out", collection, None)
    assert summary.unreachable == 2
    assert summary.retrieval["all_hit@10"].value == 0.0
    assert summary.retrieval["recall@10"].value == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_searching_alone_leaves_answers_without_a_score(data: Path, tmp_path: Path, collection: Collection) -> None:
    summary = _measure(data, tmp_path / "out", collection, None)
    assert summary.answers is None
    assert summary.by_span["single-page"].accuracy.reason == "no question was asked"
    assert summary.retrieval["recall@10"].n == 3
    assert not (tmp_path / "out" / "trajectories.jsonl").exists()


def _golden(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_scorer_is_compared_row_by_row_and_in_total(tmp_path: Path) -> None:
    rows = [
        {"gold": "12", "pred": "12", "answer_format": "Int", "score": 1.0},
        {"gold": "ocean", "pred": "lake", "answer_format": "Str", "score": 0.0},
        {"gold": "['a']", "pred": "['a'", "answer_format": "List", "score": None},
        {"accuracy": 0.5, "f1": 0.5},
    ]
    same = compare(_golden(tmp_path / "same.jsonl", rows))
    assert same.equal
    assert same.unscored == 1

    rows[1]["score"] = 0.4
    assert not compare(_golden(tmp_path / "row.jsonl", rows)).equal
    rows[1]["score"], rows[3]["f1"] = 0.0, 0.7
    assert not compare(_golden(tmp_path / "total.jsonl", rows)).equal


@pytest.mark.parametrize(
    ("row", "problem"),
    [([1], "no objects"), (None, "no objects"), ({"gold": "a"}, "row 1"), ({"score": "high"}, "row 1 .* 'high'")],
)
def test_a_reference_that_is_none_is_refused(tmp_path: Path, row: Any, problem: str) -> None:
    if isinstance(row, dict) and "score" in row:
        row |= {"gold": "a", "pred": "a", "answer_format": "Str"}
    with pytest.raises(InputError, match=problem):
        compare(_golden(tmp_path / "golden.jsonl", [row]))


def test_the_report_shows_scores_and_why_one_is_missing(data: Path, tmp_path: Path, collection: Collection) -> None:
    written = io.StringIO()
    Console(file=written, width=120).print(mmlongbench_report(_measure(data, tmp_path / "out", collection, None)))
    assert "66.7" in written.getvalue()
    assert "no question was asked" in written.getvalue()
