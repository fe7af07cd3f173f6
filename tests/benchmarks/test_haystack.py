"""The haystack maker: pages of four kinds in CHaystack's layout, the same ones each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPT = BENCHMARKS / "haystack.py"
CHINESE = (
    "林丘果园位于青河北岸，占地四百亩。果园建于1996年，由马立德主持种植。园中共有苹果树三百一十二棵，"
    "其中最老的一棵已有八十年树龄。2024年收获苹果十八吨，是建园以来最多的一年，大部分卖到了邻近的三个县城。"
)
ENGLISH = (
    "The orchard at Linden Hill lies on the north bank of the river. It was planted in 1996 by Edith Marlow. "
    "Two wells supply it with water, and the deeper one, which was dug by hand, reaches forty-three metres."
)


def article(title: str, text: str, *asked: tuple[str, str]) -> dict[str, Any]:
    """An article of one paragraph; an empty answer makes a question that can't be answered."""
    questions = [
        {
            "id": f"{title}-{number}",
            "question": question,
            "answers": [{"text": answer, "answer_start": text.index(answer)}] if answer else [],
        }
        for number, (question, answer) in enumerate(asked)
    ]
    return {"title": title, "paragraphs": [{"context": text, "qas": questions}]}


@pytest.fixture
def reading(tmp_path: Path) -> Path:
    """Eight Chinese gold paragraphs and an English one, and two distractors."""
    folder = tmp_path / "reading"
    gold = [
        article(f"果园{n}", CHINESE.replace("林丘", f"林丘{n}"), ("谁主持种植？", "马立德"), ("谁卖掉了它？", ""))
        for n in range(8)
    ]
    files = {
        "dev/cmrc_zh": gold,
        "dev/squad_v2_en": [article("Linden_Hill", ENGLISH, ("Who planted it?", "Edith Marlow"))],
        "train/cmrc_zh": [
            article("水井", "村里有两口井。较深的一口有四十三米。", ("有几口井？", "两口")),
            article("收成", "当年的收成是十八吨。前一年是十五吨。", ("收成多少？", "十八吨")),
        ],
        "train/squad_v2_en": [article("Wells", ENGLISH.replace("Linden", "Elm"), ("Who?", "Edith Marlow"))],
    }
    for name, articles in files.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"version": "1", "data": articles}, ensure_ascii=False), encoding="utf-8")
    return folder


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The script as a module, and its parts."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import importlib.util

    from haystack_pages import paragraphs, typesetting

    spec = importlib.util.spec_from_file_location("haystack_script", SCRIPT)
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return SimpleNamespace(script=script, paragraphs=paragraphs, typesetting=typesetting)


def run(reading: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the script as a user does."""
    command = [sys.executable, str(SCRIPT), str(reading), str(out), "--workers", "1", *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def choice(maker: SimpleNamespace, **changes: Any) -> Any:
    return maker.paragraphs.Choice(**{"pages": 8, "gold": ("cmrc",), "distractors": ("cmrc",), **changes})


def test_each_kind_has_gold_pages_and_distractors(maker: SimpleNamespace, reading: Path) -> None:
    leaves = maker.paragraphs.plan(reading, choice(maker, pages=12))
    assert len(leaves) == 12
    gold = [leaf.kind for leaf in leaves if leaf.questions]
    others = [leaf.kind for leaf in leaves if not leaf.questions]
    assert sorted(gold) == sorted(2 * maker.paragraphs.KINDS)
    assert sorted(others) == sorted(maker.paragraphs.KINDS)
    assert len({leaf.image_id for leaf in leaves}) == 12


def test_few_pages_still_have_distractors(maker: SimpleNamespace, reading: Path) -> None:
    leaves = maker.paragraphs.plan(reading, choice(maker, pages=4))
    assert [bool(leaf.questions) for leaf in leaves] == [True, True, True, False]


def test_a_page_shows_the_answers_to_its_questions(maker: SimpleNamespace, reading: Path) -> None:
    leaves = maker.paragraphs.plan(reading, choice(maker, pages=12, gold=("cmrc", "squad"), questions=3))
    asked = [(leaf, question) for leaf in leaves for question in leaf.questions]
    assert len(asked) == 8
    assert all(question.answers[0] in leaf.text for leaf, question in asked)
    adverts = [leaf.text for leaf, _ in asked if leaf.kind == "advert"]
    assert adverts
    assert set(adverts) <= {"果园建于1996年，由马立德主持种植。", "It was planted in 1996 by Edith Marlow."}


def test_a_paragraph_without_a_short_answer_sentence_is_no_advertisement(
    maker: SimpleNamespace, tmp_path: Path
) -> None:
    long = "果园里有苹果树、" * 8 + "由马立德主持种植。"
    for split in ("dev", "train"):
        (tmp_path / split).mkdir()
        data = [article(f"{split}{n}", f"{long}第{n}号", ("谁主持种植？", "马立德")) for n in range(4)]
        (tmp_path / split / "cmrc_zh.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    leaves = maker.paragraphs.plan(tmp_path, choice(maker, pages=6))
    assert {leaf.kind for leaf in leaves if leaf.questions} == {"scan", "photo", "web"}


def test_an_unknown_set_is_refused_by_name(maker: SimpleNamespace, reading: Path) -> None:
    with pytest.raises(SystemExit, match=r"no set 'drcd' .*cmrc, squad"):
        maker.paragraphs.plan(reading, choice(maker, gold=("drcd",)))


@pytest.mark.parametrize("text", [CHINESE, ENGLISH, "（" + CHINESE + "）“引文”" + "长" * 60, "x" * 300])
def test_lines_fit_and_lose_nothing(maker: SimpleNamespace, text: str) -> None:
    setting = maker.typesetting
    kind = setting.Type(20.0)
    made = setting.break_lines(text, 260.0, kind)
    assert "".join("".join(made).split()) == "".join(text.split())
    assert all(setting.width_of(line, kind) <= 260.0 for line in made)
    assert not any(line[0] in "，。、）”,." or line[-1] in "（“" for line in made)


def pages(maker: SimpleNamespace) -> dict[str, Image.Image]:
    """One page of each kind."""
    made = {}
    for kind in maker.paragraphs.KINDS:
        text = "果园建于1996年，由马立德主持种植。" if kind == "advert" else CHINESE
        leaf = maker.paragraphs.Leaf(f"{kind}_1", kind, "林丘果园", text, "zh", "cmrc", "dev", ())
        data = maker.script.render(leaf)
        assert data == maker.script.render(leaf)
        assert data != maker.script.render(leaf, seed=1)
        made[kind] = Image.open(BytesIO(data))
    return made


def test_pages_look_like_their_kinds_and_come_out_the_same(maker: SimpleNamespace) -> None:
    made = pages(maker)
    scan, photo = np.asarray(made["scan"], float), np.asarray(made["photo"].convert("L"), float)
    assert made["scan"].mode == "L"
    assert made["scan"].width == 1240
    assert 4 < scan[:40, :200].std() < 12
    corners = [photo[:9, :9], photo[:9, -9:], photo[-9:, :9], photo[-9:, -9:]]
    assert max(corner.mean() for corner in corners) < 0.6 * np.median(photo)
    web = np.asarray(made["web"].convert("L"))
    assert np.median(web) > 250
    assert web[85:110, 2:30].std() < 3 < 60 < 255 - web[85:110, 2:30].mean()
    assert np.asarray(made["advert"].convert("RGB"), float).std() > 25


@pytest.mark.slow
def test_ocr_reads_the_answer_from_each_kind(maker: SimpleNamespace) -> None:
    from retrieval.ingest.ocr_rapid import RapidOcr

    engine = RapidOcr()
    for kind, image in pages(maker).items():
        read = "".join(line.text for line in engine.read(np.asarray(image.convert("RGB"))))
        assert "马立德" in read, kind


@pytest.mark.slow
def test_an_interrupted_run_goes_on_and_ends_the_same(reading: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for out in (whole, broken):
        assert run(reading, out, "--pages", "8", "--gold", "cmrc").returncode == 0
    assert contents(whole) == contents(broken)
    questions = [row for path in sorted(whole.glob("data/eval/*.jsonl")) for row in lines(path)]
    assert len(questions) == 6
    for row in questions:
        assert (row["answer"], row["answers"]) == ("马立德", ["马立德"])
        assert len(list(whole.glob(f"data/image/*/{row['image_id']}.jpg"))) == 1
    images = sorted(broken.glob("data/image/*/*.jpg"))
    kept = {path: path.stat().st_mtime_ns for path in images[:3]}
    for path in [*images[3:], *broken.glob("data/eval/*"), broken / "pages.jsonl"]:
        path.unlink()
    assert run(reading, broken, "--pages", "8", "--gold", "cmrc").returncode == 0
    assert contents(whole) == contents(broken)
    assert kept == {path: path.stat().st_mtime_ns for path in kept}


@pytest.mark.slow
def test_another_seed_replaces_the_pages_and_another_folder_is_left_alone(reading: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(reading, out, "--pages", "4", "--gold", "cmrc").returncode == 0
    before = contents(out)
    assert run(reading, out, "--pages", "4", "--gold", "cmrc", "--seed", "3").returncode == 0
    after = contents(out)
    assert sum(name.endswith(".jpg") for name in after) == 4
    assert not {data for name, data in before.items() if name.endswith(".jpg")} & set(after.values())
    refused = run(reading, reading, "--pages", "4", "--gold", "cmrc")
    assert refused.returncode == 1
    assert "haystack.json" in refused.stderr
    assert sorted(path.name for path in reading.iterdir()) == ["dev", "train"]
