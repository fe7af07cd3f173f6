"""CHaystack's files: every question loads, odd lines are refused one by one, images are found by category and id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from small_haystack import make_haystack

from evaluation.chaystack.images import find_images, reduced
from evaluation.chaystack.samples import data_root, load_chaystack
from retrieval.errors import InputError


def _write(folder: Path, category: str, lines: list[object], *, encoding: str = "utf-8") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    (folder / f"{category}.jsonl").write_text("\n".join(texts), encoding=encoding)
    return folder


def test_samples_come_in_the_order_of_categories_with_ids_made_of_category_and_image(tmp_path: Path) -> None:
    data = make_haystack(tmp_path / "data")
    found = load_chaystack(data)
    assert [sample.sample_id for sample in found.samples] == [
        *("paper_p1", "paper_p2", "camera_c1", "webpage_w1", "webpage_lost")
    ]
    assert [sample.sample_id for sample in found.limited(1)] == ["paper_p1", "camera_c1", "webpage_w1"]
    assert {sample.category for sample in load_chaystack(data, ["camera"]).samples} == {"camera"}
    assert data_root(data) == data / "data"
    assert load_chaystack(data / "data").samples == found.samples


def test_all_names_of_fields_are_known_and_ids_stay_distinct(tmp_path: Path) -> None:
    folder = _write(
        tmp_path / "eval",
        "paper",
        [
            {"query": "甲？", "answer": "一", "image_id": "x"},
            {"question": "乙？", "gold_answer": 2, "image_id": "x", "answer_type": "number", "answers": ["2"]},
            "",
            {"query": "丙？", "answer": "三", "image_id": 7, "sample_id": "own"},
        ],
        encoding="utf-8-sig",
    )
    first, second, third = load_chaystack(folder.parent).samples
    assert (first.sample_id, second.sample_id, third.sample_id) == ("paper_x", "paper_x_2", "own")
    assert (second.question, second.gold_answer, second.answer_type) == ("乙？", "2", "number")
    assert (third.gold_image_id, third.gold_key) == ("7", "paper/7")


def test_a_line_that_cant_be_used_is_named_and_left_out(tmp_path: Path) -> None:
    good = {"query": "甲？", "answer": "一", "image_id": "x", "sample_id": "s"}
    folder = _write(
        tmp_path / "eval",
        "webpage",
        [good, "{", [1], {**good, "query": " "}, {**good, "image_id": None}, {**good, "answer": ["一"]}, good],
    )
    found = load_chaystack(folder.parent)
    assert len(found.samples) == 1
    file = folder / "webpage.jsonl"
    assert [line.partition(" is left out: ")[0] for line in found.refused] == [
        f"line {number} of {file}" for number in (2, 3, 4, 5, 6, 7)
    ]
    for line, problem in zip(
        found.refused,
        ("not JSON", "no object", "question or query", "has no image_id", "answer", "sample_id 's' is that of line 1"),
        strict=True,
    ):
        assert problem in line


@pytest.mark.parametrize(
    ("lines", "categories", "problem"),
    [
        ([], (), "holds no question"),
        (["{"], (), "line 1 of .* is left out"),
        ([], ("camera",), "camera.jsonl is no file"),
    ],
)
def test_without_a_question_the_error_says_what_is_wrong(
    tmp_path: Path, lines: list[object], categories: tuple[str, ...], problem: str
) -> None:
    _write(tmp_path / "eval", "paper", lines)
    with pytest.raises(InputError, match=problem):
        load_chaystack(tmp_path, categories)  # type: ignore[arg-type]


def test_a_folder_of_another_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no folder data/eval"):
        load_chaystack(tmp_path)


def test_images_are_found_by_category_and_id_whatever_their_suffix(tmp_path: Path) -> None:
    folder = tmp_path / "image" / "advertise"
    folder.mkdir(parents=True)
    for name in ("T1..AS_!!0-item_pic.jpg", "b.PNG", "a.jpeg", "a.png", ".hidden.jpg"):
        Image.new("RGB", (4, 4)).save(folder / name, "PNG")
    (folder / "notes.txt").write_text("no image")
    (tmp_path / "image" / "other").mkdir()
    haystack = find_images(tmp_path)
    assert list(haystack.images) == ["advertise/T1..AS_!!0-item_pic", "advertise/a", "advertise/b"]
    assert haystack.images["advertise/a"].path.name == "a.jpeg"
    assert haystack.counts() == {"paper": 0, "camera": 0, "webpage": 0, "advertise": 3}
    assert find_images(tmp_path / "nowhere").images == {}


def test_models_are_shown_no_more_pixels_than_they_need() -> None:
    assert reduced(Image.new("RGB", (300, 200)), 60_000).size == (300, 200)
    assert reduced(Image.new("RGB", (3000, 2000)), 60_000).size == (300, 200)
