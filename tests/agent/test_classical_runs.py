"""Classical pages with a model: the five tasks, simplified text beside the original, background from a pool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from book import DOC, SCOPE, Book, columns, page
from modelled import asked, events, scripted_agent

from agent.planner import Hints
from agent.types import Task
from retrieval.knowledge.building import build_pool
from retrieval.knowledge.pool import Pool
from retrieval.types import Page, PageRef

COLUMNS = ("子曰學而時習之不亦說乎", "有朋自遠方來不亦樂乎", "人不知而不慍不亦君子乎")
MODERN = (
    "孔子说：学了又时常温习，不是很愉快吗？有志同道合的人从远方来，不是很快乐吗？别人不了解我而我不怨恨，不也是君子吗？"
)
SUPPORTED = {"quote": "有朋自遠方來", "value": "", "verdict": "supported", "missing": ""}


@pytest.fixture
def leaf() -> Book:
    return Book(columns(1, *COLUMNS), name="leaf.png")


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    entries = [
        {"keys": ["君子"], "text": "君子原指有位者，孔子用以指有德之人。", "source": "論語注"},
        {"keys": ["井田"], "text": "井田是相傳的土地制度。", "source": "孟子注"},
    ]
    file = tmp_path / "pool.jsonl"
    file.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")
    build_pool([file], tmp_path / "pool")
    return Pool.open(tmp_path / "pool")


def run(leaf: Book, root: Path, task: Task, question: str, answer: dict[str, Any], **more: Any) -> tuple[Any, Any]:
    parts = {name: more.pop(name) for name in ("pool", "without") if name in more}
    script = {"repeat": True, "plan": [{}], "answer": [answer], "verify": [SUPPORTED], **more}
    agent, model = scripted_agent(leaf, root, script, model={"rules": "when_failed"}, **parts)
    return agent.ask(question, SCOPE, hints=Hints(task=task)), model


def test_a_translation_cites_the_columns_that_it_translates(leaf: Book, tmp_path: Path) -> None:
    reply = {"sources": ["S1", "S2", "S3"], "sufficient": True, "answer": MODERN, "missing": ""}
    trajectory, model = run(leaf, tmp_path, "translation", "请把这一页译成现代汉语。", reply)
    assert trajectory.answer == MODERN
    assert [fact.text for fact in trajectory.facts] == list(COLUMNS)
    assert [claim.verdict for claim in trajectory.claims] == ["supported"]
    shown = asked(model, "answer")[0].user
    assert [shown.index(text) for text in COLUMNS] == sorted(shown.index(text) for text in COLUMNS)
    assert "学而时习之" in shown
    verify = asked(model, "verify")[0].user
    assert COLUMNS[2] in verify
    assert MODERN in verify


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("孔子说。", "0.1 times as long"),
        ("".join(COLUMNS), "the original again"),
    ],
)
def test_what_is_no_translation_is_refused_whatever_the_model_says(
    leaf: Book, tmp_path: Path, answer: str, reason: str
) -> None:
    reply = {"sources": ["S1", "S2", "S3"], "sufficient": True, "answer": answer, "missing": ""}
    trajectory, _ = run(leaf, tmp_path, "translation", "请把这一页译成现代汉语。", reply)
    assert trajectory.abstained
    assert reason in trajectory.claims[0].reason


def test_a_fault_that_the_verifier_shows_in_the_original_refuses_a_translation(leaf: Book, tmp_path: Path) -> None:
    reply = {"sources": ["S1", "S2", "S3"], "sufficient": True, "answer": MODERN, "missing": ""}
    fault = {"quote": "不亦君子乎", "value": "", "verdict": "unsupported", "missing": "最后一句"}
    trajectory, _ = run(leaf, tmp_path, "translation", "请把这一页译成现代汉语。", reply, verify=[fault])
    assert trajectory.abstained
    assert "不亦君子乎" in trajectory.claims[0].reason


def test_a_fault_may_be_shown_by_words_that_a_translation_adds(leaf: Book, tmp_path: Path) -> None:
    added = MODERN + "后来孔子做了十年官。"
    reply = {"sources": ["S1", "S2", "S3"], "sufficient": True, "answer": added, "missing": ""}
    fault = {"quote": "后来孔子做了十年官", "value": "", "verdict": "unsupported", "missing": ""}
    trajectory, _ = run(leaf, tmp_path, "translation", "请把这一页译成现代汉语。", reply, verify=[fault])
    assert trajectory.abstained
    assert "added or wrong: '后来孔子做了十年官'" in trajectory.claims[0].reason


@pytest.mark.parametrize("verdict", [{"quote": "", "verdict": "unsupported"}, "no JSON"])
def test_a_translation_that_the_model_does_not_confirm_stays_tentative(
    leaf: Book, tmp_path: Path, verdict: Any
) -> None:
    reply = {"sources": ["S1", "S2", "S3"], "sufficient": True, "answer": MODERN, "missing": ""}
    trajectory, _ = run(leaf, tmp_path, "translation", "请把这一页译成现代汉语。", reply, verify=[verdict])
    assert (trajectory.stop_reason, trajectory.confidence) == ("tentative", 0.3)


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"text": "\n".join(COLUMNS)}, ensure_ascii=False),
        json.dumps({"page": 1, "lines": list(COLUMNS)}, ensure_ascii=False),
        "```text\n" + "\n".join(COLUMNS) + "\n```",
        "Here it is:\n```\n" + "\n".join(COLUMNS) + "\n```\nAsk me for more.",
        "\x1b[31m" + "\n".join(COLUMNS).replace("子", "\u202e子", 1) + "\x1b[0m\x00",
    ],
    ids=["JSON", "lines in JSON", "fence", "words around a fence", "hidden characters"],
)
def test_what_a_reader_wraps_its_text_in_is_taken_off(leaf: Book, tmp_path: Path, reply: str) -> None:
    script = {"capabilities": {"vision": True}, "read": [reply]}
    trajectory, _ = run(leaf, tmp_path, "ocr", "请抄录此页文字。", {}, **script)
    assert trajectory.answer == "\n".join(COLUMNS)
    assert trajectory.usage.replans == 0


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, I can't read this.",
        "抱歉，图片太模糊，无法识别其中的文字。",
        "无法识别",
        "（此页没有文字）",
        "NO TEXT",
    ],
)
def test_a_refusal_is_no_transcription_of_a_page_that_only_the_model_sees(tmp_path: Path, reply: str) -> None:
    blank = Page(ref=PageRef(doc_id=DOC, page=1), width=600, height=800)
    script = {"capabilities": {"vision": True}, "read": [reply]}
    trajectory, _ = run(Book(blank), tmp_path, "ocr", "请抄录此页文字。", {}, **script)
    assert trajectory.abstained
    assert trajectory.candidate is None


def test_a_page_that_opens_like_a_refusal_is_still_transcribed(tmp_path: Path) -> None:
    text = "I cannot see the harbour from here, wrote Ada"
    letter = Book(page(1, ("paragraph", text.replace("harbour", "harbor"))))
    script = {"capabilities": {"vision": True}, "read": [text]}
    trajectory, _ = run(letter, tmp_path, "ocr", "Transcribe this page", {}, **script)
    assert trajectory.answer == text


KNOWLEDGE = "这一页所说的“君子”指什么样的人？"


def test_a_knowledge_question_looks_its_terms_up_in_the_pool(leaf: Book, pool: Pool, tmp_path: Path) -> None:
    reply = {
        "facts": [{"text": "不为人知而不怨恨的人，是君子。", "sources": ["S3"]}],
        "answer": "不为人知而不怨恨的人。",
    }
    said = {"quote": "人不知而不慍不亦君子乎", "value": "", "verdict": "supported", "missing": ""}
    trajectory, model = run(leaf, tmp_path, "knowledge_qa", KNOWLEDGE, reply, pool=pool, verify=[said])
    assert trajectory.answer == "不为人知而不怨恨的人。"
    calls = [call["tool"] for call in events(tmp_path, trajectory.trace_id, "tool_call")]
    assert calls.index("page_reader") < calls.index("term_extractor") < calls.index("evidence_retriever")
    assert trajectory.plan.grounding == ("page", "pool")
    shown = asked(model, "answer")[0].user
    assert "[K1] 君子原指有位者" in shown
    assert "井田" not in shown
    snippet = next(item for item in trajectory.evidence if item.kind == "snippet")
    assert snippet.region is None
    assert snippet.match_basis
    assert all(snippet.id not in fact.evidence_ids for fact in trajectory.facts)


def test_background_alone_is_no_ground_of_an_answer(leaf: Book, pool: Pool, tmp_path: Path) -> None:
    reply = {"facts": [{"text": "君子原指有位者。", "sources": ["K1"]}], "answer": "君子原指有位者。"}
    trajectory, _ = run(leaf, tmp_path, "knowledge_qa", KNOWLEDGE, reply, pool=pool)
    assert trajectory.abstained


def test_what_an_answer_explains_may_stand_in_the_background(leaf: Book, pool: Pool, tmp_path: Path) -> None:
    reply = {
        "facts": [{"text": "人不知而不慍，是君子。", "sources": ["S3"]}],
        "answer": "指有德之人，孔子这样用这个词。",
    }
    said = {"quote": "孔子用以指有德之人", "value": "有德之人", "verdict": "supported", "missing": ""}
    trajectory, model = run(leaf, tmp_path, "knowledge_qa", KNOWLEDGE, reply, pool=pool, verify=[said])
    assert trajectory.answer == "指有德之人，孔子这样用这个词。"
    assert "(background) 君子原指有位者" in asked(model, "verify")[0].user
    assert [fact.region.page_ref.page for fact in trajectory.facts] == [1]


def test_without_a_pool_nothing_is_looked_up(leaf: Book, pool: Pool, tmp_path: Path) -> None:
    reply = {
        "facts": [{"text": "不为人知而不怨恨的人，是君子。", "sources": ["S3"]}],
        "answer": "不为人知而不怨恨的人。",
    }
    left_out = frozenset({"retrieval"})
    trajectory, model = run(leaf, tmp_path, "knowledge_qa", KNOWLEDGE, reply, pool=pool, without=left_out)
    calls = {call["tool"] for call in events(tmp_path, trajectory.trace_id, "tool_call")}
    assert "evidence_retriever" not in calls
    assert "[K1]" not in asked(model, "answer")[0].user


def test_a_linguistic_answer_quotes_the_page_in_its_own_characters(leaf: Book, tmp_path: Path) -> None:
    reply = {
        "facts": [{"text": "“說”通“悦”，见“不亦說乎”。", "sources": ["S1"]}],
        "answer": "“說”通“悦”，见“不亦說乎”。",
    }
    said = {"quote": "不亦說乎", "value": "", "verdict": "supported", "missing": ""}
    trajectory, _ = run(leaf, tmp_path, "linguistic_qa", "“不亦說乎”的“說”字怎样用？", reply, verify=[said])
    assert trajectory.answer == "“說”通“悦”，见“不亦說乎”。"
    cited = next(item for item in trajectory.evidence if item.id in trajectory.facts[0].evidence_ids)
    assert cited.text == COLUMNS[0]


def test_an_answer_that_runs_over_columns_cites_all_of_them(leaf: Book, tmp_path: Path) -> None:
    reply = {"facts": [], "answer": "不亦說乎有朋自遠方來不亦樂乎"}
    said = {"quote": COLUMNS[1], "value": "", "verdict": "supported", "missing": ""}
    trajectory, _ = run(leaf, tmp_path, "reasoning_qa", "学习之后说了什么？", reply, verify=[said])
    assert trajectory.answer == "不亦說乎有朋自遠方來不亦樂乎"
    assert len(trajectory.regions) == 2


def test_a_reasoning_answer_rests_on_what_the_page_says(leaf: Book, tmp_path: Path) -> None:
    reply = {"facts": [{"text": "有朋友从远方来。", "sources": ["S2"]}], "answer": "有朋自遠方來"}
    trajectory, _ = run(leaf, tmp_path, "reasoning_qa", "页中因何而乐？", reply)
    assert trajectory.answer == "有朋自遠方來"
    assert trajectory.regions[0].block == leaf.pages[next(iter(leaf.pages))].lines[1].bbox


def test_a_model_that_sees_reads_the_page_and_ocr_checks_it(leaf: Book, tmp_path: Path) -> None:
    text = "\n".join(COLUMNS).replace("慍", "愠")
    sighted = {"capabilities": {"vision": True}}
    trajectory, model = run(leaf, tmp_path, "ocr", "请抄录此页文字。", {}, read=[text], **sighted)
    assert trajectory.answer == text
    assert len(asked(model, "read")[0].pictures) == 1
    assert [claim.verdict for claim in trajectory.claims] == ["supported", "supported"]
    assert len(trajectory.regions) == 3


def test_ocr_answers_where_the_model_read_something_else(leaf: Book, tmp_path: Path) -> None:
    script = {"capabilities": {"vision": True}, "read": ["天地玄黃宇宙洪荒日月盈昃"]}
    trajectory, model = run(leaf, tmp_path, "ocr", "请抄录此页文字。", {}, **script)
    assert trajectory.answer == "\n".join(COLUMNS)
    assert trajectory.usage.replans == 1
    assert len(asked(model, "read")) == 1


def test_the_task_is_asked_for_where_the_caller_doesnt_say_it(leaf: Book, tmp_path: Path) -> None:
    reply = {"sources": ["S1", "S2", "S3"], "sufficient": True, "answer": MODERN, "missing": ""}
    script = {
        "repeat": True,
        "classify": [{"task": "translation"}],
        "plan": [{}],
        "answer": [reply],
        "verify": [SUPPORTED],
    }
    agent, _ = scripted_agent(leaf, tmp_path, script)
    trajectory = agent.ask("此页用今天的话怎么说？", SCOPE)
    assert trajectory.task == "translation"
    assert trajectory.answer == MODERN
