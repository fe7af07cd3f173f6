"""`docsage eval chaystack` from the command line: embedded over images that OCR reads, and with a model at a server."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from fake_server import Answer, Received
from model_server import profile_text, role_of

PAGES = {
    "paper/orchard": "林丘果园共有苹果树三百一十二棵，由马立德主持种植。",
    "paper/harvest": "二零二四年收获苹果十八吨，收获在秋天。",
    "camera/receipt": "停车费收据，停车费为三十元，司机王小明。",
    "webpage/stew": "炖大鹅时高压锅上汽后再炖二十分钟即可。",
}
QUESTIONS = [
    ("paper", "林丘果园的苹果树由谁主持种植？", "马立德", "orchard"),
    ("camera", "停车费是多少？", "三十元", "receipt"),
    ("webpage", "炖大鹅时高压锅上汽后再炖多久？", "二十分钟", "stew"),
]
RUN = ("eval", "chaystack", "--data", "haystack", "--out", "run")


@pytest.fixture
def haystack(tmp_path: Path) -> Path:
    """Three questions over four small page images."""
    folder = tmp_path / "haystack" / "data"
    (folder / "eval").mkdir(parents=True)
    for key, text in PAGES.items():
        category, _, name = key.partition("/")
        (folder / "image" / category).mkdir(parents=True, exist_ok=True)
        page = pymupdf.open().new_page(width=440, height=60)
        page.insert_text((20, 36), text, fontname="china-s", fontsize=15)
        page.get_pixmap(dpi=144).save(folder / "image" / category / f"{name}.png")
    for category, question, answer, image in QUESTIONS:
        row = {"query": question, "answer": answer, "image_id": image}
        (folder / "eval" / f"{category}.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    return tmp_path / "haystack"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("run", name).read_text(encoding="utf-8").splitlines()]


def _images(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [[candidate["image_id"] for candidate in row["candidates"]] for row in rows]


def _served(folder: Path, url: str) -> Path:
    path = folder / "served.yaml"
    path.write_text(profile_text(base_url=url, vision=True, retries=0, name="fake"))
    return path


def _said(request: Received) -> Answer | str:
    """NO to pages that the question isn't about, in words; the answer of the orchard to all."""
    if role_of(request) == "relevance":
        return "答案是NO" if "停车费" in request.user else "回答YES。"
    return "马立德"


@pytest.mark.slow
def test_all_phases_run_in_embedded_and_a_second_call_only_scores(docsage, haystack: Path) -> None:
    result = docsage(*RUN, "--json")
    assert (result.code, "searching: 3 questions" in result.err) == (0, True)
    summary = json.loads(result.out)
    assert json.loads(Path("run", "summary.json").read_text()) == summary
    assert list(summary["settings"]) == ["category", "all"]
    everywhere = summary["settings"]["all"]["overall"]
    assert everywhere["recall"]["recall@1"]["value"] == 1
    assert everywhere["filtered_recall"]["recall@1"]["value"] == 1
    assert everywhere["answers"]["f1"]["value"] > 0.3
    assert "which a user would not know" in result.err
    assert len(_rows("timings.jsonl")) == 18
    assert all(row["trace_id"] for row in _rows("timings.jsonl") if row["phase"] == "generate")
    before = {path: path.read_bytes() for path in Path("run").rglob("*.jsonl")}

    again = docsage(*RUN)
    assert (again.code, "searching" in again.err, "answering" in again.err) == (0, False, False)
    assert {path: path.read_bytes() for path in Path("run").rglob("*.jsonl")} == before

    gold = docsage("eval", "chaystack", "--data", haystack, "--out", "gold", "--gold", "-c", "run/collection", "--json")
    assert gold.code == 0
    assert list(json.loads(gold.out)["settings"]) == ["gold"]
    refused = docsage(*RUN, "--candidates", "3")
    assert refused.code == 2
    assert "candidates 15, not 3" in refused.err


@pytest.mark.slow
def test_a_dead_server_leaves_the_order_of_retrieval_and_a_live_one_goes_on(
    docsage, haystack: Path, tmp_path: Path, serve: Any
) -> None:
    assert docsage(*RUN, "--phase", "retrieve", "--index", "all").code == 0
    dead = docsage(*RUN, "--profile", _served(tmp_path, "http://127.0.0.1:9/v1"))
    assert dead.code == 2
    assert "3 of 3 questions have pages that were not judged" in dead.err
    assert "can't be reached" in dead.err
    before, after = _rows("phase1_retrieval.jsonl"), _rows("phase2_filtered.jsonl")
    assert _images(after) == _images(before)
    assert all("can't be reached" in c["filter_error"] for row in after for c in row["candidates"])
    assert {failure["id"] for failure in _rows("failures.jsonl")} == {"paper_orchard", "camera_receipt", "webpage_stew"}
    assert "--phase generate was not begun: no page could be judged" in dead.err
    assert not Path("run", "filter_rag.jsonl").exists()
    with sqlite3.connect("run/collection/judgments.sqlite") as kept:
        assert kept.execute("SELECT count(*) FROM judgments").fetchone() == (0,)
    kept.close()

    # The same server is up again: it has another port here.
    server, recorded = serve(_said), Path("run", "phases.json")
    recorded.write_text(recorded.read_text().replace("http://127.0.0.1:9/v1", server.base_url))
    live = docsage(*RUN, "--profile", _served(tmp_path, server.base_url), "--json")
    assert live.code == 0
    parking, orchard = _rows("phase2_filtered.jsonl")[1], _rows("filter_rag.jsonl")[0]
    assert (parking["fallback"], _images([parking])) == (True, [_images(before)[1]])
    assert (orchard["answer"], orchard["shown"]) == ("马立德", len(_images(before)[0]))
    assert json.loads(live.out)["settings"]["all"]["by_category"]["paper"]["answers"]["em"]["value"] == 1
    direct = [request for request in server.chats if role_of(request) == "direct"]
    assert len(direct) == 3
    assert any(part["type"] == "image_url" for part in direct[0].body["messages"][-1]["content"])


@pytest.mark.slow
def test_plans_come_from_the_model_and_search_besides_the_question(
    docsage, haystack: Path, tmp_path: Path, serve: Any
) -> None:
    plan = {"anchors": ["苹果树"], "answer_slot": "person", "queries": ["苹果树 种植", "林丘 果园"]}
    server = serve(lambda request: json.dumps(plan) if role_of(request) == "anchors" else Answer("", status=400))
    words = ("--phase", "retrieve", "--planned", "--profile", _served(tmp_path, server.base_url), "--category", "paper")
    assert docsage(*RUN, *words).code == 0
    (row,) = _rows("phase1_retrieval.jsonl")
    assert row["plan"]["queries"] == ["苹果树 种植", "林丘 果园", "苹果树"]
    assert row["candidates"][0]["image_id"] == "orchard"
    assert row["candidates"][0]["ranks"]["question"] == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--fuse",), "--fuse wants an embedder"),
        (("--generator", "direct"), "--generator direct needs a model"),
        (("--gold", "--phase", "filter"), "--gold and --phase filter don't go together"),
        (("--gold", "--planned"), "--gold and --planned don't go together"),
        (("--category", "camera", "--data", "nowhere"), "nowhere holds no folder data/eval"),
        (("--category", "advertise"), "advertise.jsonl is no file"),
        (("--phase", "generate"), "holds no results of --phase filter"),
        (("--embedder", "nowhere/model"), "nowhere/model"),
        (("--embedder", " "), "--embedder is empty"),
    ],
)
def test_what_cant_be_run_costs_one_line(docsage, haystack: Path, words: tuple[str, ...], problem: str) -> None:
    result = docsage(*RUN, *words)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert problem in line


def test_an_unknown_category_names_the_valid_ones(docsage, haystack: Path) -> None:
    result = docsage(*RUN, "--category", "poster")
    assert result.code == 2
    assert "'advertise'" in result.err
