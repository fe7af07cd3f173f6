"""Runs with an evidence pool: when it is asked, in which order, and that what it says is background and no ground."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from book import SCOPE, Book, columns
from modelled import asked, events, scripted_agent

from agent.build import Part, assemble
from agent.planner import Hints
from agent.settings import Profile
from agent.types import Task, Trajectory
from retrieval.knowledge.building import build_pool
from retrieval.knowledge.pool import Pool

QUESTION = "文中的“井田”是什麼制度？"
SNIPPET = "井田者，八家共耕，中央為公田。"
KNOWLEDGE = Hints(task="knowledge_qa")
LOOKED_UP = ["term_extractor", "evidence_retriever"]
PLAN = {"steps": [{"tool": "page_retriever", "query": "井田"}]}


@pytest.fixture
def book() -> Book:
    return Book(columns(1, "方里而井井九百畝其中為公田", "八家皆私百畝同養公田", "此井田之制也"), name="mengzi.png")


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    records = [
        {"key": "井田", "text": SNIPPET, "source": {"title": "孟子注"}},
        {"key": "丘甲", "text": "丘甲者，一丘出甲士三人。"},
    ]
    file = tmp_path / "terms.jsonl"
    file.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in records), encoding="utf-8")
    build_pool([file], tmp_path / "pool")
    return Pool.open(tmp_path / "pool")


def ruled(book: Book, root: Path, pool: Pool | None, *without: Part, task: Task = "knowledge_qa") -> Trajectory:
    """A run by rules alone."""
    agent = assemble(book, root, Profile(), client=None, pool=pool, without=frozenset(without))
    return agent.ask(QUESTION, SCOPE, hints=Hints(task=task))


def called(root: Path, run: str) -> list[str]:
    """The tools of the first plan's calls, in order."""
    return [call["tool"] for call in events(root, run, "tool_call")]


def background(trajectory: Trajectory) -> list[str]:
    return [item.text for item in trajectory.evidence if item.kind == "snippet"]


def test_the_rules_look_terms_up_after_reading(book: Book, pool: Pool, tmp_path: Path) -> None:
    trajectory = ruled(book, tmp_path / "run", pool)
    tools = called(tmp_path / "run", trajectory.trace_id)
    order = [tools.index(name) for name in ("page_reader", *LOOKED_UP)]
    assert order == sorted(order)
    assert trajectory.plan.grounding == ("page", "pool")
    assert background(trajectory) == [SNIPPET]
    lookup = next(d for d in events(tmp_path / "run", trajectory.trace_id, "tool_call") if d["tool"] == LOOKED_UP[1])
    assert "井田" in lookup["arguments"]["terms"]
    assert trajectory.usage.tool_calls <= 7


@pytest.mark.parametrize("task", ["reasoning_qa", "linguistic_qa", "document_qa", "translation", "ocr"])
def test_other_tasks_dont_ask_the_pool(book: Book, pool: Pool, tmp_path: Path, task: Task) -> None:
    trajectory = ruled(book, tmp_path / "run", pool, task=task)
    assert "evidence_retriever" not in called(tmp_path / "run", trajectory.trace_id)
    assert background(trajectory) == []
    assert trajectory.plan.grounding == ("page",)


@pytest.mark.parametrize("without", [(), ("retrieval",)])
def test_without_a_pool_nothing_is_planned_for_it(
    book: Book, pool: Pool, tmp_path: Path, without: tuple[Part, ...]
) -> None:
    trajectory = ruled(book, tmp_path / "run", pool if without else None, *without)
    assert not {*LOOKED_UP} & {*called(tmp_path / "run", trajectory.trace_id)}
    assert trajectory.plan.grounding == ("page",)


def scripted(book: Book, root: Path, pool: Pool | None, script: dict[str, Any], **parts: Any) -> tuple[Trajectory, Any]:
    agent, model = scripted_agent(book, root, {"repeat": True, **script}, pool=pool, **parts)
    return agent.ask(QUESTION, SCOPE, hints=KNOWLEDGE), model


def reply(*sources: str) -> dict[str, Any]:
    fact = {"text": "井田是八家共耕、同養公田的制度。", "sources": list(sources)}
    return {"facts": [fact], "sufficient": True, "answer": "八家共耕的土地制度"}


UPHELD = {"quote": "八家皆私百畝同養公田", "value": "", "verdict": "supported", "missing": ""}


@pytest.mark.parametrize(
    "plan", [PLAN, {"steps": [*PLAN["steps"], {"tool": "term_extractor"}, {"tool": "evidence_retriever"}]}]
)
def test_a_model_plans_look_ups_or_gets_them_all_the_same(
    book: Book, pool: Pool, tmp_path: Path, plan: dict[str, Any]
) -> None:
    trajectory, model = scripted(
        book, tmp_path / "run", pool, {"plan": [plan], "answer": [reply("S1", "S2")], "verify": [UPHELD]}
    )
    assert trajectory.plan.origin == "model"
    tools = called(tmp_path / "run", trajectory.trace_id)
    order = [tools.index(name) for name in ("page_reader", *LOOKED_UP)]
    assert order == sorted(order)
    assert trajectory.plan.grounding == ("page", "pool")
    assert "- evidence_retriever()" in asked(model, "plan")[0].user
    user = asked(model, "answer")[0].user
    assert f"[K1] {SNIPPET} (井田 (孟子注))" in user
    assert user.index("八家皆私百畝") < user.index("背景") < user.index(f"[K1] {SNIPPET}")


def test_snippets_never_become_facts_regions_or_pages(book: Book, pool: Pool, tmp_path: Path) -> None:
    trajectory, _ = scripted(
        book, tmp_path / "run", pool, {"plan": [PLAN], "answer": [reply("S2", "K1")], "verify": [UPHELD]}
    )
    assert trajectory.answer is not None
    assert background(trajectory) == [SNIPPET]
    ids = {item.id for item in trajectory.evidence if item.kind == "snippet"}
    assert all(not ids & set(fact.evidence_ids) for fact in trajectory.facts)
    assert {page.document for page in trajectory.pages} == {"mengzi.png"}
    assert all(item.region is None for item in trajectory.evidence if item.kind == "snippet")


def test_an_answer_that_rests_on_the_pool_alone_is_not_given(book: Book, pool: Pool, tmp_path: Path) -> None:
    other = {
        "facts": [{"text": "丘甲是一丘出甲士三人的軍賦。", "sources": ["K1"]}],
        "sufficient": True,
        "answer": "一丘出甲士三人",
    }
    script = {"plan": [PLAN], "answer": [other], "verify": [{**UPHELD, "quote": SNIPPET}]}
    trajectory, _ = scripted(book, tmp_path / "run", pool, script, model={"rules": "when_failed"})
    assert trajectory.answer is None
    assert "丘甲" not in "".join(fact.text for fact in trajectory.facts)
    assert all(fact.region.page_ref.page == 1 for fact in trajectory.facts)


def test_a_model_without_a_pool_is_offered_none(book: Book, tmp_path: Path) -> None:
    steps = [*PLAN["steps"], {"tool": "evidence_retriever"}]
    trajectory, model = scripted(
        book, tmp_path / "run", None, {"plan": [{"steps": steps}], "answer": [reply("S2")], "verify": [UPHELD]}
    )
    assert "- evidence_retriever(" not in asked(model, "plan")[0].user
    assert background(trajectory) == []
    assert "[K1]" not in asked(model, "answer")[0].user
    assert trajectory.answer == "八家共耕的土地制度"


@pytest.mark.parametrize(("part", "missing"), [("planner", "plan"), ("verifier", "verify"), ("retrieval", None)])
def test_each_part_can_be_left_out(book: Book, pool: Pool, tmp_path: Path, part: Part, missing: str | None) -> None:
    script = {"plan": [PLAN], "answer": [reply("S2")], "verify": [UPHELD]}
    trajectory, model = scripted(book, tmp_path / "run", pool, script, without=frozenset({part}))
    assert trajectory.answer == "八家共耕的土地制度"
    roles = {prompt.role for prompt in model.asked}
    assert roles == {"plan", "answer", "verify"} - {missing}
    assert (trajectory.plan.origin == "rules") == (part == "planner")
    assert (trajectory.claims == ()) == (part == "verifier")
    assert (background(trajectory) == []) == (part == "retrieval")
    assert trajectory.models["planner"] == ("rules" if part == "planner" else "model")
    assert trajectory.models["verifier"] == ("none" if part == "verifier" else "model")
