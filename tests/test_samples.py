"""The samples are what their generator writes, and docsage answers their questions with the right page and box."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from agent.types import Trajectory
from app.cli import main
from retrieval.types import BBox
from tools.types import Region

SAMPLES = Path(__file__).parent.parent / "samples"
DOCUMENTS = ("harbour-report.pdf", "scanned-notice.pdf", "classical-page.png")
QUESTIONS = [json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
ANSWERABLE = [q for q in QUESTIONS if q["answer"] is not None]
UNANSWERABLE = [q for q in QUESTIONS if q["answer"] is None]
CLASSICAL = [q for q in ANSWERABLE if q["doc"] == "classical-page.png"]


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run([sys.executable, str(SAMPLES / "make_samples.py"), str(folder)], check=True)
    return folder


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_sample_shows_what_its_generator_draws(name: str, regenerated: Path) -> None:
    with pymupdf.open(SAMPLES / name) as kept, pymupdf.open(regenerated / name) as made:
        assert [page.get_text() for page in kept] == [page.get_text() for page in made]
        if kept.is_pdf:
            assert [page.get_label() for page in kept] == [page.get_label() for page in made]
        for old, new in zip(kept, made, strict=True):
            assert old.get_pixmap(dpi=50).samples == new.get_pixmap(dpi=50).samples


def test_the_questions_are_what_their_generator_writes(regenerated: Path) -> None:
    assert (SAMPLES / "questions.jsonl").read_bytes() == (regenerated / "questions.jsonl").read_bytes()


@pytest.mark.parametrize("question", [q for q in ANSWERABLE if q["page"] in (4, 5, 6)], ids=lambda q: q["id"])
def test_the_region_of_digital_text_holds_the_answer(question: dict[str, Any]) -> None:
    with pymupdf.open(SAMPLES / question["doc"]) as document:
        page = document[question["page"] - 1]
        x1, y1, x2, y2 = question["region"]
        width, height = page.rect.width, page.rect.height
        assert question["answer"] in page.get_textbox((x1 * width - 1, y1 * height, x2 * width + 1, y2 * height))


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trajectory]:
    """The trajectories of all questions by id, from one call of the command line."""
    folder = tmp_path_factory.mktemp("asked")
    out = folder / "answers.jsonl"
    questions = SAMPLES / "questions.jsonl"
    code = main(["ask", "--questions", str(questions), "--out", str(out), "--collection", str(folder / "collection")])
    assert code == 0
    found = [Trajectory.model_validate_json(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {trajectory.question_id: trajectory for trajectory in found}


@pytest.mark.slow
@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda q: q["id"])
def test_an_answer_is_right_and_its_box_holds_the_place(
    question: dict[str, Any], answered: dict[str, Trajectory]
) -> None:
    trajectory = answered[question["id"]]
    assert trajectory.answer is not None, trajectory.reason
    assert _same(question["answer"], trajectory.answer)
    place = _box(question)
    # A box around the whole page would hold every place and show nothing.
    cited = [region.block for region in _cited(trajectory, question["page"]) if region.block.area < 0.4]
    assert max((place.coverage_by(block) for block in cited), default=0.0) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("question", UNANSWERABLE, ids=lambda q: q["id"])
def test_a_question_that_the_document_does_not_answer_is_not_answered(
    question: dict[str, Any], answered: dict[str, Trajectory]
) -> None:
    assert answered[question["id"]].abstained


@pytest.mark.slow
@pytest.mark.parametrize("question", CLASSICAL, ids=lambda q: q["id"])
def test_the_focus_on_a_vertical_page_is_the_right_column(
    question: dict[str, Any], answered: dict[str, Trajectory]
) -> None:
    column = _box(question)
    focuses = [region.focus for region in _cited(answered[question["id"]], 1) if region.focus is not None]
    # On the column, and not much wider than it: a neighbouring column would double the width.
    assert [box for box in focuses if box.x1 < _middle(column) < box.x2 and _width(box) < 1.5 * _width(column)]


def _cited(trajectory: Trajectory, page: int) -> list[Region]:
    return [fact.region for fact in trajectory.facts if fact.region.page_ref.page == page]


def _box(question: dict[str, Any]) -> BBox:
    x1, y1, x2, y2 = question["region"]
    return BBox(x1=x1, y1=y1, x2=x2, y2=y2)


def _middle(box: BBox) -> float:
    return (box.x1 + box.x2) / 2


def _width(box: BBox) -> float:
    return box.x2 - box.x1


def _same(expected: str, answer: str) -> bool:
    """The expected number is the first one of the answer, or the answer holds the expected words."""
    numbers = [re.findall(r"\d[\d,.]*", text.replace(",", "")) for text in (expected, answer)]
    if numbers[0]:
        return numbers[0][0] == next(iter(numbers[1]), None)
    return expected.casefold() in answer.casefold()
