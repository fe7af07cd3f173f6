"""Whole pages as text: in reading order, in their own characters, each column with its region, and checked as such."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pymupdf
import pytest
from book import DOC, SCOPE, Book, agent_over, columns, page
from rapidfuzz.distance import Levenshtein

from agent.build import build_agent
from agent.draft import Draft
from agent.planner import Hints
from agent.question import analyse
from agent.transcript_check import transcript_claims
from agent.types import Fact, Trajectory
from retrieval.collection import Collection
from retrieval.types import BBox, Block, Line, Page, PageRef, Scope
from tools.types import Region

TITLE = "學而第一"
SENTENCES = (
    "子曰學而時習之不亦說乎",
    "有朋自遠方來不亦樂乎",
    "人不知而不慍不亦君子乎",
    "有子曰其為人也孝弟而好犯上者鮮矣",
    "不好犯上而好作亂者未之有也",
)
TRANSCRIBE = "请按从右到左、从上到下的顺序抄录这一页的文字。"


def _ask(book: Book, root: Path, question: str, *pages: int, task: str | None = "ocr") -> Trajectory:
    hints = Hints(task=task, pages=tuple(PageRef(doc_id=DOC, page=n) for n in pages or (1,)))  # type: ignore[arg-type]
    return agent_over(book, root).ask(question, SCOPE, hints=hints)


def _vertical(*lines: tuple[str, tuple[float, float, float, float]], number: int = 1, sure: float = 0.9) -> Page:
    made = tuple(
        Line(text=text, bbox=BBox(x1=x1, y1=y1, x2=x2, y2=y2), source="ocr", confidence=sure)
        for text, (x1, y1, x2, y2) in lines
    )
    block = Block(kind="paragraph", bbox=BBox.union_of(line.bbox for line in made), lines=tuple(range(len(made))))
    ref = PageRef(doc_id=DOC, page=number)
    return Page(ref=ref, width=600, height=800, lines=made, blocks=(block,), writing="vertical")


@pytest.fixture(scope="module")
def printing() -> ModuleType:
    """The script that prints classical texts as woodblock pages."""
    path = Path(__file__).parents[2] / "benchmarks" / "classical_pages.py"
    spec = importlib.util.spec_from_file_location("classical_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["classical_pages"] = module
    spec.loader.exec_module(module)
    return module


# What is transcribed


def test_a_page_is_given_column_by_column_in_its_own_characters(tmp_path):
    found = _ask(Book(columns(1, TITLE, *SENTENCES)), tmp_path, TRANSCRIBE)
    assert found.answer == "\n".join([TITLE, *SENTENCES])
    assert (found.stop_reason, found.task) == ("supported", "ocr")
    assert [claim.verdict for claim in found.claims] == ["supported", "supported"]


def test_each_column_is_a_fact_with_a_region_of_its_own_from_right_to_left(tmp_path):
    found = _ask(Book(columns(1, TITLE, *SENTENCES)), tmp_path, TRANSCRIBE)
    assert len(found.facts) == len(found.regions) == 1 + len(SENTENCES)
    lefts = [region.block.x1 for region in found.regions]
    assert lefts == sorted(lefts, reverse=True)
    assert found.facts[1].text == f"第1页第2列作「{SENTENCES[0]}」。"


def test_halves_of_an_annotation_stay_in_their_column(tmp_path):
    noted = _vertical(
        ("子曰學而時習之", (0.84, 0.1, 0.92, 0.5)),
        ("馬曰子者男", (0.885, 0.5, 0.92, 0.66)),
        ("子之通稱也", (0.845, 0.5, 0.88, 0.66)),
        ("不亦說乎", (0.84, 0.67, 0.92, 0.9)),
        ("包曰同門", (0.785, 0.1, 0.82, 0.22)),
        ("曰朋也也", (0.745, 0.1, 0.78, 0.22)),
        ("有朋自遠方來", (0.74, 0.23, 0.82, 0.6)),
    )
    found = _ask(Book(noted), tmp_path, TRANSCRIBE)
    assert found.answer == "子曰學而時習之馬曰子者男子之通稱也不亦說乎\n包曰同門曰朋也也有朋自遠方來"
    assert len(found.facts) == 2


def test_lines_of_a_horizontal_page_are_kept_and_its_blocks_set_apart(tmp_path):
    report = page(
        1,
        ("heading", "Harbour dues"),
        ("paragraph", ["The dues were raised", "in the spring."]),
        ("table", ["Year|Dues", "1890|40"]),
    )
    found = _ask(Book(report), tmp_path, "Transcribe this page")
    assert found.answer == "Harbour dues\n\nThe dues were raised\nin the spring.\n\nYear Dues\n1890 40"
    assert [fact.text for fact in found.facts][1] == "Page 1, block 2 reads “The dues were raised in the spring.”."


def test_more_columns_than_can_be_placed_in_one_call_are_grouped_and_none_is_lost(tmp_path):
    many = _vertical(*((f"第{n}列之文", (0.99 - 0.008 * n, 0.1, 0.996 - 0.008 * n, 0.9)) for n in range(120)))
    found = _ask(Book(many), tmp_path, TRANSCRIBE)
    assert found.answer is not None
    assert found.answer.count("\n") == 119
    assert len(found.facts) == 40
    assert "第1–3列" in found.facts[0].text.replace("1页第", "")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Transcribe page 2", "Second text"),
        ("请抄录第二页", "Second text"),
        ("OCR the first page", "First text"),
        ("Transcribe page iv of the preface, that is page 3", "Third text"),
        ("transcribe pages 1 and 3", "First text\n\nThird text"),
    ],
)
def test_the_page_is_the_one_that_is_named(tmp_path, question, expected):
    book = Book(*(page(n, ("paragraph", f"{word} text")) for n, word in enumerate(("First", "Second", "Third"), 1)))
    assert _ask(book, tmp_path, question, 1, 2, 3).answer == expected


def test_a_printed_number_counts_where_the_document_has_no_such_page(tmp_path):
    book = Book(page(1, ("paragraph", "Front"), label="117"), page(2, ("paragraph", "Back"), label="118"))
    assert _ask(book, tmp_path, "Transcribe page 118", 1, 2).answer == "Back"


def test_a_page_that_was_only_guessed_is_less_sure(tmp_path):
    book = Book(columns(1, *SENTENCES), columns(2, "其他之文"))
    named = _ask(book, tmp_path, "抄录第1页的文字", 1, 2)
    guessed = _ask(book, tmp_path, "抄录文字", 1, 2)
    assert (named.confidence, guessed.confidence) == (1.0, 0.6)


def test_confidence_is_that_of_the_reader_of_the_lines(tmp_path):
    worn = _vertical(("子曰學而時習之", (0.8, 0.1, 0.9, 0.9)), ("不亦說乎", (0.6, 0.1, 0.7, 0.9)), sure=0.55)
    assert _ask(Book(worn), tmp_path, TRANSCRIBE).confidence == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("抄录第二列的文字", SENTENCES[0]),
        ("Transcribe the last column", SENTENCES[-1]),
        ("抄录“孝弟”所在的那一列", SENTENCES[3]),
    ],
)
def test_a_part_of_the_page_can_be_asked_for(tmp_path, question, expected):
    found = _ask(Book(columns(1, TITLE, *SENTENCES)), tmp_path, question)
    assert (found.answer, len(found.facts)) == (expected, 1)
    assert found.stop_reason == "supported"


def test_what_asks_for_something_in_the_text_gets_no_whole_page(tmp_path):
    dues = page(1, ("paragraph", ["The dues were 40 pounds in 1890.", "They were lower before."]))
    found = _ask(Book(dues), tmp_path, "What does the text say about dues in 1890?", task=None)
    assert "They were lower before" not in (found.answer or "")


def test_a_page_without_text_ends_in_abstention_with_the_reason(tmp_path):
    blank = Page(ref=PageRef(doc_id=DOC, page=1), width=600, height=800, note="empty")
    found = _ask(Book(blank), tmp_path, TRANSCRIBE)
    assert found.abstained
    assert "page 1 has no text (empty)" in found.reason


def test_a_page_that_is_not_there_ends_in_abstention_with_the_reason(tmp_path):
    found = _ask(Book(columns(1, *SENTENCES)), tmp_path, "抄录第9页")
    assert found.abstained
    assert "page 9 was not read, or there is none" in found.reason


# How a transcription is checked


def _claims(answer: str, question: str = TRANSCRIBE) -> list[tuple[str, str]]:
    shown = columns(1, TITLE, *SENTENCES)
    region = Region(page_ref=shown.ref, block=shown.lines[0].bbox)
    fact = Fact(id="f1", text="", region=region, evidence_ids=("e1",))
    draft = Draft(answer=answer, candidate=answer, confidence=1.0, way="transcription")
    return [(c.verdict, c.reason) for c in transcript_claims(analyse(question), draft, [fact], [shown])]


def test_punctuation_and_line_breaks_of_the_transcriber_do_not_count():
    text = "，".join([TITLE, *SENTENCES]) + "。"
    assert [verdict for verdict, _ in _claims(text)] == ["supported", "supported"]


def test_half_a_page_is_valid_but_not_complete():
    (valid, _), (complete, reason) = _claims("".join([TITLE, *SENTENCES[:2]]))
    assert (valid, complete) == ("supported", "unsupported")
    assert f"“{SENTENCES[2]}” is left out" in reason


def test_a_part_is_complete_when_only_that_part_is_asked_for():
    assert [verdict for verdict, _ in _claims(SENTENCES[0], "抄录第二列的文字")] == ["supported", "supported"]


@pytest.mark.parametrize(
    "answer",
    [
        "学而第一子曰学而时习之不亦说乎乐亦在其中矣云云尔汝知之乎",
        "".join(reversed(SENTENCES)),
        "The Master said: to learn and to practise what is learned, is that not a joy?",
    ],
    ids=["other text", "columns from left to right", "a translation"],
)
def test_what_does_not_stand_on_the_page_in_its_order_is_no_transcription(answer):
    assert _claims(answer)[0][0] == "unsupported"


def test_a_whole_column_of_some_size_must_not_be_left_out():
    text = "".join([TITLE, *SENTENCES])
    (valid, _), (complete, reason) = _claims(text.replace(SENTENCES[1], ""))
    assert (valid, complete) == ("supported", "unsupported")
    assert reason.startswith("it has 8")
    assert f"“{SENTENCES[1]}” is left out" in reason


def test_a_title_may_be_left_out():
    assert [verdict for verdict, _ in _claims("".join(SENTENCES))] == ["supported", "supported"]


def test_text_that_is_added_to_the_page_makes_a_transcription_invalid():
    text = "".join([TITLE, *SENTENCES])
    (valid, reason), _ = _claims(text + "王侯將相寧有種乎燕雀安知鴻鵠之志")
    assert valid == "unsupported"
    assert "of it stands nowhere on the page: “王侯將相" in reason
    assert _claims(text + "王侯將相")[0][0] == "supported"


def test_columns_that_changed_places_make_a_transcription_invalid():
    swapped = [TITLE, SENTENCES[1], SENTENCES[0], *SENTENCES[2:]]
    (valid, reason), _ = _claims("".join(swapped))
    assert valid == "unsupported"
    assert "doesn't stand where the page has it" in reason


def test_characters_that_were_read_in_another_way_refuse_nothing():
    text = "".join([TITLE, *SENTENCES])
    worn = "".join("某" if n % 6 == 3 else char for n, char in enumerate(text))
    assert [verdict for verdict, _ in _claims(worn)] == ["supported", "supported"]
    assert [verdict for verdict, _ in _claims(worn.replace("某", "□"))] == ["supported", "supported"]


def test_a_page_with_one_line_twice_is_not_out_of_order():
    verse = ("關關雎鳩在河之洲", "窈窕淑女君子好逑", "關關雎鳩在河之洲", "參差荇菜左右流之")
    shown = columns(1, *verse)
    region = Region(page_ref=shown.ref, block=shown.lines[0].bbox)
    fact = Fact(id="f1", text="", region=region, evidence_ids=("e1",))
    draft = Draft(answer="".join(verse), candidate=None, confidence=1.0, way="transcription")
    assert [c.confidence for c in transcript_claims(analyse(TRANSCRIBE), draft, [fact], [shown])] == [1.0, 1.0]


def test_simplified_characters_are_not_those_of_the_page():
    (_, simplified), _ = _claims("有朋自远方来不亦乐乎为长东门车马龙书")
    assert not simplified.startswith("100%")


# Translation and words, without a model


def test_translating_without_a_model_is_refused_with_the_simplified_text_as_candidate(tmp_path):
    found = _ask(Book(columns(1, TITLE, *SENTENCES)), tmp_path, "请把这一页翻译成白话文", task=None)
    assert (found.task, found.answer, found.abstained) == ("translation", None, True)
    assert found.reason.startswith("no model is configured; translating needs one: --profile endpoint or local")
    assert found.candidate is not None
    assert found.candidate.startswith("学而第一\n子曰学而时习之不亦说乎")
    assert SENTENCES[0] in found.facts[0].text


def test_a_quoted_passage_is_found_in_either_script_and_over_columns(tmp_path):
    question = "把“有朋自远方来，不亦乐乎？人不知”译成现代汉语"
    found = _ask(Book(columns(1, TITLE, *SENTENCES)), tmp_path, question, task=None)
    assert found.candidate == "有朋自远方来不亦乐乎\n人不知而不愠不亦君子乎"


GLOSSED = page(
    1, ("paragraph", ["學而時習之。說，悅也。音悅。朋，同門也。", "EBITA means earnings before interest and tax."])
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("“朋”字是什么意思？", "朋，同門也。"),
        ("“說”的词义是什么？", "說，悅也。"),
        ("What is the meaning of the word EBITA?", "EBITA means earnings before interest and tax."),
    ],
)
def test_a_word_that_the_page_explains_is_answered_in_its_words(tmp_path, question, answer):
    assert _ask(Book(GLOSSED), tmp_path, question, task="linguistic_qa").answer == answer


@pytest.mark.parametrize(
    "question",
    [
        "“習”字是什么意思？",
        "“朋”的读音是什么？",
        "What is the meaning of the word interest?",
        "这一句用了什么修辞手法？",
    ],
)
def test_a_word_that_the_page_does_not_explain_is_not_guessed(tmp_path, question):
    found = _ask(Book(GLOSSED), tmp_path, question, task="linguistic_qa")
    assert found.abstained
    assert "needs a model" in found.reason


def test_a_book_that_the_page_does_not_name_is_not_guessed(tmp_path):
    found = _ask(Book(columns(1, *SENTENCES)), tmp_path, "这一页的文字出自哪部书，作者是谁？", task=None)
    assert found.task == "knowledge_qa"
    assert found.abstained


# Printed pages, read for real


@pytest.mark.parametrize("form", ["pdf", pytest.param("png", marks=pytest.mark.slow)])
def test_a_printed_page_is_read_column_by_column_with_its_annotations(printing, tmp_path, form):
    pieces = [printing.Piece(text, note=n % 2 == 1) for n, text in enumerate(SENTENCES)]
    set_columns = [*printing.set_columns([printing.Piece("論")], 14), *printing.set_columns(pieces, 14)]
    path = tmp_path / f"leaf.{form}"
    boxes = printing.write_page(set_columns, printing.Look(columns=6, rows=14), path)
    collection = Collection(tmp_path / "collection")
    (document,) = collection.read([path]).documents
    hints = Hints(pages=(PageRef(doc_id=document.doc_id, page=1),))
    found = build_agent(collection).ask(TRANSCRIBE, Scope(doc_ids=(document.doc_id,)), hints=hints)
    collection.close()
    assert found.answer is not None
    rows = found.answer.split("\n")
    assert len(rows) == len(set_columns)
    worst = max(
        Levenshtein.normalized_distance(row, column.text) for row, column in zip(rows, set_columns, strict=True)
    )
    assert worst == 0 if form == "pdf" else worst < 0.1
    for region, box in zip(found.regions, boxes, strict=True):
        middle = pymupdf.Point((box.x0 + box.x1) / 2 / printing.WIDTH, (box.y0 + box.y1) / 2 / printing.HEIGHT)
        assert region.block.x1 < middle.x < region.block.x2
        assert region.block.y1 < middle.y < region.block.y2
        height = (region.block.y2 - region.block.y1) * printing.HEIGHT
        assert 0.85 * box.height < height < 1.2 * box.height + 30


def test_printing_gives_pages_and_questions_of_all_five_tasks_the_same_each_time(printing, tmp_path, monkeypatch):
    import json

    chapter = {
        "book": "论语",
        "chapter": "学而篇",
        "classical": list(SENTENCES),
        "modern": [f"译文{n}。" for n in range(5)],
    }
    exam = {
        "question": "下列选项中[]内的“鲜”字翻译为“少”的是",
        "options": ["好犯上者[鲜]矣"],
        "answers": ["好犯上者[鲜]矣"],
    }
    for name, row in (("parallel_chapters", chapter), ("aclue", exam)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    written = []
    for out in ("one", "two"):
        command = ["classical_pages.py", str(tmp_path), "--out", str(tmp_path / out), "--rows", "14", "--columns", "7"]
        monkeypatch.setattr(sys, "argv", command)
        printing.main()
        written.append({path.name: path.read_bytes() for path in sorted((tmp_path / out).iterdir())})
    assert written[0] == written[1]
    rows = {row["task"]: row for row in map(json.loads, written[0]["questions.jsonl"].decode().splitlines())}
    assert set(rows) == {"ocr", "translation", "reasoning_qa", "knowledge_qa", "linguistic_qa"}
    assert rows["ocr"]["reference"].replace("\n", "") == "學而篇" + "".join(SENTENCES)
    assert rows["translation"]["reference"] == "译文0。译文1。译文2。译文3。译文4。"
    assert rows["reasoning_qa"]["reference"] in SENTENCES
    assert (rows["knowledge_qa"]["reference"], rows["linguistic_qa"]["reference"]) == ("论语", "是")
    assert "“鲜”字是不是翻译为“少”" in rows["linguistic_qa"]["question"]


def test_transcribing_runs_inside_an_event_loop_as_well(tmp_path):
    async def inside() -> Trajectory:
        hints = Hints(task="ocr", pages=(PageRef(doc_id=DOC, page=1),))
        return await agent_over(Book(columns(1, *SENTENCES)), tmp_path).aask(TRANSCRIBE, SCOPE, hints=hints)

    assert asyncio.run(inside()).answer == "\n".join(SENTENCES)
