"""Baselines: the model alone, in one call, over as much of the scope as it can be shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from book import DOC, SCOPE, Book, columns, page
from modelled import events, quick_profile

from agent.baselines import Baseline, BaselineAgent
from agent.models.client import ModelClient
from agent.models.scripted import ScriptedModel
from agent.models.types import ModelFailed
from agent.planner import Hints
from agent.trace import load
from retrieval.errors import InputError
from retrieval.types import Document, Page, PageRef, Scope

QUESTION = "What was the ticket revenue in 2021?"
OTHER = "d0c0000000000002"


class Shelf(Book):
    """Two documents: a book, and one page that comes after it."""

    def __init__(self, book: Book, extra: Page) -> None:
        super().__init__(*book.pages.values())
        ref = PageRef(doc_id=OTHER, page=1)
        self.pages[ref] = extra.model_copy(update={"ref": ref})

    def document(self, doc_id: str) -> Document:
        number = sum(ref.doc_id == doc_id for ref in self.pages)
        return Document(doc_id=doc_id, kind="pdf", pages=number, names=("book.pdf" if doc_id == DOC else "note.pdf",))


def baseline(
    book: Book,
    root: Path,
    replies: Mapping[str, Any],
    *,
    kind: Baseline = "direct",
    agent: Mapping[str, Any] | None = None,
    **model: Any,
) -> tuple[BaselineAgent, ScriptedModel]:
    context = {"context": model["context"]} if "context" in model else {}
    scripted = ScriptedModel.from_script({**replies, "capabilities": {**replies.get("capabilities", {}), **context}})
    profile = quick_profile(model)
    settings = profile.agent.model_validate({**dict(profile.agent), **(agent or {})})
    client = ModelClient(scripted, profile.model)
    return BaselineAgent(book, root, settings, client=client, baseline=kind), scripted


def reply(answer: object, *pages: int) -> dict[str, Any]:
    return {"answer": answer, "citations": [{"page": number, "sentence": "It says so."} for number in pages]}


def test_direct_shows_the_whole_scope_in_order_and_takes_the_answer_as_it_is(report: Book, tmp_path: Path) -> None:
    agent, model = baseline(report, tmp_path, {"direct": [reply("5,356", 2, 2, 9, 0)]})
    trajectory = agent.ask(QUESTION, SCOPE)
    assert (trajectory.answer, trajectory.abstained, trajectory.stop_reason) == ("5,356", False, "unverified")
    assert [(p.document, p.ref.page, p.doc_page) for p in trajectory.pages] == [("book.pdf", 2, "12")]
    assert (trajectory.claims, trajectory.facts, trajectory.confidence) == ((), (), None)
    assert trajectory.report.support_rate is None
    assert trajectory.models == {"direct": "scripted"}
    assert (trajectory.usage.model_calls, trajectory.usage.tool_calls) == (1, 0)
    (prompt,) = model.asked
    markers = [prompt.user.index(f"=== page {n}: book.pdf, page {n} ===") for n in (1, 2, 3)]
    assert markers == sorted(markers)
    assert prompt.user.index("<<<DATA") < markers[0]
    assert prompt.user.index("Kingfisher") < prompt.user.rindex("DATA ") < prompt.user.index(f"Question: {QUESTION}")
    kinds = [event.kind for event in load(tmp_path / "traces" / f"{trajectory.trace_id}.jsonl")]
    assert kinds == ["started", "plan", "model_call", "final"]


def test_direct_over_several_documents_numbers_their_pages_through(report: Book, tmp_path: Path) -> None:
    shelf = Shelf(report, page(1, ("paragraph", "A note about herons.")))
    agent, model = baseline(shelf, tmp_path, {"direct": [reply("heron", 4)]})
    trajectory = agent.ask("What is the note about?", Scope(doc_ids=(DOC, OTHER)))
    assert "=== page 4: note.pdf, page 1 ===\nA note about herons." in model.asked[0].user
    assert [(p.document, p.ref.page) for p in trajectory.pages] == [("note.pdf", 1)]


def test_direct_rag_shows_the_pages_that_a_search_found(report: Book, tmp_path: Path) -> None:
    book = Book(*report.pages.values(), found=[[3, 2]])
    agent, model = baseline(book, tmp_path, {"direct": [reply("5,356", 2)]}, kind="direct-rag")
    trajectory = agent.ask(QUESTION, SCOPE)
    assert book.searches == [QUESTION]
    assert "=== page 2: book.pdf, page 2 ===" in model.asked[0].user
    assert "Lindale Ferries carries" not in model.asked[0].user
    assert [ref.page for ref in trajectory.retrieved] == [3, 2]
    assert [p.ref.page for p in trajectory.pages] == [2]


def test_what_has_no_room_in_the_context_is_cut_and_said(tmp_path: Path) -> None:
    book = Book(*(page(n, ("paragraph", f"Row {n} " + "holds apple trees. " * 60)) for n in range(1, 9)))
    tight = {"context": 2000, "decoding": {"max_tokens": 200}}
    agent, model = baseline(book, tmp_path, {"direct": [reply("8", 1)]}, **tight)
    trajectory = agent.ask("How many rows are there?", SCOPE)
    (plan,) = events(tmp_path, trajectory.trace_id, "plan")
    shown = [entry["page"] for entry in plan["shown"]]
    assert shown == list(range(1, len(shown) + 1))
    assert 3 <= len(shown) < 8
    assert plan["cut"] == f"page {shown[-1]} was cut, and {8 - len(shown)} of 8 pages had no room"
    assert plan["cut"] in trajectory.reason
    assert f"Row {len(shown)} holds" in model.asked[0].user
    assert f"Row {len(shown) + 1} " not in model.asked[0].user
    whole, _ = baseline(book, tmp_path, {"direct": [reply("8", 1)]})
    assert events(tmp_path, whole.ask("How many rows are there?", SCOPE).trace_id, "plan")[0]["cut"] == ""


def test_a_context_without_room_for_a_page_is_a_failure(report: Book, tmp_path: Path) -> None:
    agent, model = baseline(report, tmp_path, {"direct": [reply("5,356")]}, context=1100)
    with pytest.raises(ModelFailed, match="1100 tokens has no room for a page"):
        agent.ask(QUESTION, SCOPE)
    assert model.asked == []
    (trace,) = (tmp_path / "traces").glob("*.jsonl")
    assert load(trace)[-1].kind == "interrupted"


@pytest.mark.parametrize(
    ("evidence", "vision", "pictures", "words"),
    [
        ("text", True, 0, True),
        ("image", True, 3, False),
        ("both", True, 3, True),
        ("image", False, 0, True),
    ],
)
def test_a_model_sees_pages_in_the_form_that_it_can_and_should(
    report: Book, tmp_path: Path, evidence: str, vision: bool, pictures: int, words: bool
) -> None:
    script = {"capabilities": {"vision": vision}, "direct": [reply("5,356", 2)]}
    agent, model = baseline(report, tmp_path, script, evidence=evidence)
    trajectory = agent.ask(QUESTION, SCOPE)
    assert len(model.asked[0].pictures) == pictures
    assert ("Ticket revenue" in model.asked[0].user) == words
    assert "=== page 3:" in model.asked[0].user
    (plan,) = events(tmp_path, trajectory.trace_id, "plan")
    assert plan["as"] == (evidence if vision else "text")


def test_pictures_take_room_too(report: Book, tmp_path: Path) -> None:
    script = {"capabilities": {"vision": True}, "direct": [reply("5,356", 2)]}
    agent, model = baseline(report, tmp_path, script, evidence="image", context=4300)
    trajectory = agent.ask(QUESTION, SCOPE)
    assert len(model.asked[0].pictures) == 2
    assert "1 of 3 pages had no room" in trajectory.reason


@pytest.mark.parametrize(
    ("said", "answer", "cited"),
    [
        ("It was 5,356.", "It was 5,356.", []),
        ('```json\n{"answer": "5,356", "citations": [{"page": 2}]}\n```', "5,356", [2]),
        ('Here it is: {"answer": "5,356", "citations": [{"page": 2}]} Good luck!', "5,356", [2]),
        ('{"answer": "5,356", "citations": ["page 2", {"page": 3}, {"sentence": "x"}]}', "5,356", [3]),
        ('{"answer": "5,356", "citations": null}', "5,356", []),
        ('{"answer": 5356, "citations": [2]}', "5356", [2]),
        ('{"answer": ["Heron", "Teal"]}', "Heron; Teal", []),
        ("5356", "5356", []),
    ],
)
def test_replies_in_other_forms_are_read_as_they_are_meant(
    report: Book, tmp_path: Path, said: str, answer: str, cited: list[int]
) -> None:
    agent, _ = baseline(report, tmp_path, {"direct": [{"reply": said}]})
    trajectory = agent.ask(QUESTION, SCOPE)
    assert trajectory.answer == answer
    assert [p.ref.page for p in trajectory.pages] == cited


@pytest.mark.parametrize(
    "said",
    [
        "Not answerable",
        "not answerable.",
        '{"answer": "Unanswerable", "citations": [{"page": 1}]}',
        "无法回答。",
        '{"answer": ""}',
    ],
)
def test_a_model_that_finds_no_answer_abstains(report: Book, tmp_path: Path, said: str) -> None:
    agent, _ = baseline(report, tmp_path, {"direct": [{"reply": said}]})
    trajectory = agent.ask(QUESTION, SCOPE)
    assert (trajectory.answer, trajectory.abstained, trajectory.stop_reason) == (None, True, "abstained")
    assert trajectory.pages == ()
    assert trajectory.reason == "the model finds no answer"


@pytest.mark.parametrize("error", ["timeout", "500", "truncated", "empty", "401"])
def test_a_failed_call_is_a_failure_and_no_answer(report: Book, tmp_path: Path, error: str) -> None:
    agent, _ = baseline(report, tmp_path, {"repeat": True, "direct": [{"error": error}]})
    with pytest.raises(ModelFailed, match="the model gave no answer"):
        agent.ask(QUESTION, SCOPE)
    (trace,) = (tmp_path / "traces").glob("*.jsonl")
    last = load(trace)[-1]
    assert last.kind == "interrupted"
    assert "the scripted model" in last.data["error"]


@pytest.mark.parametrize("cap", [{"tokens": 50}, {"model_calls": 0}])
def test_a_budget_without_room_is_a_failure(report: Book, tmp_path: Path, cap: dict[str, int]) -> None:
    agent, model = baseline(report, tmp_path, {"direct": [reply("5,356")]}, agent=cap)
    with pytest.raises(ModelFailed, match="the budget has no room"):
        agent.ask(QUESTION, SCOPE)
    assert model.asked == []


def test_a_direct_answer_costs_what_its_tokens_cost(report: Book, tmp_path: Path) -> None:
    agent, _ = baseline(report, tmp_path, {"direct": [reply("5,356")]}, prices={"input": 2.0, "output": 10.0})
    usage = agent.ask(QUESTION, SCOPE).usage
    assert usage.dollars == pytest.approx((2 * usage.tokens_in + 10 * usage.tokens_out) / 1e6)
    assert usage.dollars > 0


def test_a_classical_page_is_asked_in_its_language_and_by_its_task(tmp_path: Path) -> None:
    book = Book(columns(1, "文昌書院在縣治東二里", "沈端為山長"))
    agent, model = baseline(book, tmp_path, {"direct": [reply("文昌书院在县衙东边二里，沈端任山长。", 1)]})
    trajectory = agent.ask("请把这一页译成白话文。", SCOPE, hints=Hints(task="translation"))
    assert trajectory.task == "translation"
    assert "全部译成现代汉语" in model.asked[0].user
    assert trajectory.answer is not None
    assert json.loads(trajectory.model_dump_json())["plan"]["origin"] == "direct"


def test_nothing_to_ask_is_bad_input(report: Book, tmp_path: Path) -> None:
    agent, _ = baseline(report, tmp_path, {})
    with pytest.raises(InputError, match="no documents"):
        agent.ask(QUESTION, Scope(doc_ids=()))
