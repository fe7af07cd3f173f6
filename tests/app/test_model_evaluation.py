"""Benchmarks with a model behind the agent, with the model alone, with a pool and with parts left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, bench, piece, profile_text

from agent.types import Trajectory


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A profile that says what the model can do; the server comes from the environment."""
    path = tmp_path / "served.yaml"
    path.write_text(profile_text())
    return path


def trajectories(out: Path) -> list[Trajectory]:
    return [Trajectory.model_validate_json(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("baseline", [(), ("--baseline", "direct")])
def test_mmlongbench_doc_runs_with_a_model_and_with_it_alone(
    docsage, serve, served: Path, english_pdf: Path, tmp_path: Path, monkeypatch, baseline: tuple[str, ...]
) -> None:
    def unanswerable(role: str, request: Any) -> str | None:
        if "Who paints" not in request.user or role not in ("answer", "direct"):
            return None
        return '{"answer": "Not answerable"}' if role == "direct" else '{"facts": [], "sufficient": false}'

    monkeypatch.setenv("DOCSAGE_BASE_URL", serve(ModelServer(unanswerable)).base_url)
    command = ("eval", "mmlongbench-doc", "--data", bench(tmp_path, english_pdf), "--out", "run", "--json")
    result = docsage(*command, "--profile", served, *baseline)
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    assert (summary["failed"], summary["answered"], summary["abstained"]) == (0, 1, 1)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"].get("baseline") == (
        baseline[1] if baseline else None
    )
    again = docsage(*command, "--profile", served, "--baseline", "direct-rag")
    assert again.code == 2
    assert "settings.baseline" in again.err


@pytest.mark.parametrize("baseline", [(), ("--baseline", "direct"), ("--baseline", "direct-rag")])
def test_ancientdoc_runs_with_a_model_and_with_it_alone(
    docsage, serve, served: Path, ancient: Path, tmp_path: Path, monkeypatch, baseline: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DOCSAGE_BASE_URL", serve(ModelServer(_scholar)).base_url)
    command = ("eval", "ancientdoc", "--data", ancient, "--out", "run", "--profile", served, "--json")
    result = docsage(*command, *baseline)
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    assert (summary["questions"], summary["failed"]) == (3, 0)
    answers = trajectories(tmp_path / "run" / "trajectories.jsonl")
    assert {t.task for t in answers} == {"ocr", "translation", "knowledge_qa"}
    if baseline:
        assert summary["answered"] == 3
        assert {t.stop_reason for t in answers} == {"unverified"}
        assert {t.confidence for t in answers} == {None}
    behaviour = json.loads((tmp_path / "run" / "behaviour.json").read_text())
    assert (behaviour["unread"], behaviour["overall"]["runs"]) == (0, 3)


def _scholar(role: str, request: Any) -> str | None:
    """What a model says about the classical page of `ancient`."""
    if role == "direct":
        return '{"answer": "沈端", "citations": [{"page": 1, "sentence": "沈端為山長"}]}'
    if role == "answer":
        fact = {"text": "沈端為文昌書院山長。", "sources": [piece(request.user, "沈端")]}
        return json.dumps({"facts": [fact], "sources": fact["sources"], "answer": "沈端"})
    if role == "verify":
        return json.dumps({"quote": "沈端為山長", "value": "沈端", "verdict": "supported", "missing": ""})
    return '{"steps": [{"tool": "page_retriever", "query": "山長"}]}' if role == "plan" else None


@pytest.fixture
def ancient(tmp_path: Path, make_pdf) -> Path:
    """AncientDoc with three tasks over one page."""
    make_pdf("page.pdf", ["文昌書院在縣治東二里\n秋堂成延鄉人沈端為山長\n端字伯直博通三禮"])
    rows = [
        ("ocr", "请抄录本页全文。", "文昌書院在縣治東二里秋堂成延鄉人沈端為山長端字伯直博通三禮"),
        ("Vernacular Translation", "请把这一页译成白话文。", "文昌书院在县衙东边二里。"),
        ("knowledge_qa", "誰是文昌書院的山長？", "沈端"),
    ]
    lines = [json.dumps({"image": "page.pdf", "task": t, "question": q, "reference": r}) for t, q, r in rows]
    path = tmp_path / "ancient.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_ancientdoc_asks_a_pool_and_leaves_parts_out(
    docsage, serve, served: Path, ancient: Path, tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "terms.jsonl").write_text(json.dumps({"key": "山長", "text": "書院之主講曰山長。"}))
    assert docsage("pool", "build", "terms.jsonl", "--out", "pool").code == 0
    monkeypatch.setenv("DOCSAGE_BASE_URL", serve(ModelServer(_scholar)).base_url)
    command = ("eval", "ancientdoc", "--data", ancient, "--profile", served, "--json", "--pool", "pool")
    for out, without, snippets in (("whole", [], 1), ("less", ["retrieval", "planner", "verifier"], 0)):
        result = docsage(*command, "--out", out, *(word for part in without for word in ("--without", part)))
        assert result.code == 0, result.err
        found = trajectories(tmp_path / out / "trajectories.jsonl")
        (asked,) = [t for t in found if t.task == "knowledge_qa"]
        assert asked.answer == "沈端"
        assert sum(item.kind == "snippet" for item in asked.evidence) == snippets
        assert (asked.plan.origin, asked.claims == ()) == (("rules", True) if without else ("model", False))
    settings = json.loads((tmp_path / "whole" / "run.json").read_text())["settings"]
    (tmp_path / "other.jsonl").write_text(json.dumps({"key": "山長", "text": "另一個說法。"}))
    docsage("pool", "build", "other.jsonl", "--out", "other")
    assert docsage(*command[:-1], "other", "--out", "whole").code == 2  # another pool is another run
    (tmp_path / "pool").rename(tmp_path / "moved")
    assert docsage(*command[:-1], "moved", "--out", "whole").code == 0  # the same pool elsewhere is the same
    assert len(settings["pool"]) == 12


def test_a_question_of_a_command_asks_the_pool(
    docsage, serve, served: Path, ancient: Path, tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "terms.jsonl").write_text(json.dumps({"key": "山長", "text": "書院之主講曰山長。"}))
    docsage("pool", "build", "terms.jsonl", "--out", "pool")
    model = ModelServer(_scholar)
    monkeypatch.setenv("DOCSAGE_BASE_URL", serve(model).base_url)
    words = ("ask", "誰是文昌書院的山長？", tmp_path / "page.pdf", "--profile", served, "--task", "knowledge_qa")
    result = docsage(*words, "--pool", "pool")
    assert (result.code, result.out.splitlines()[0]) == (0, "沈端")
    assert any("[K1] 書院之主講曰山長。" in user for user in model.users)
    lost = docsage(*words, "--pool", "nowhere")
    assert (lost.code, lost.out) == (2, "")
    (line,) = lost.err.splitlines()
    assert "nowhere is no pool" in line
