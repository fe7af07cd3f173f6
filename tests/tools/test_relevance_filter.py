"""The relevance filter: what replies mean, which pages stay, what is remembered."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent / "agent"))

from book import DOC, SCOPE, Book, page

from retrieval.errors import InputError
from retrieval.types import PageHit, PageRef
from tools.base import ToolContext, ToolFailed, ToolRetry
from tools.judgment_cache import JudgmentCache
from tools.judgments import JudgedPage, JudgeFailed, Judging, Judgment, PageVerdict, page_image, page_text
from tools.registry import Registry
from tools.relevance_filter import StoredPage, judge_pages
from tools.verdicts import verdict_of, yes_probability

QUESTION = "When was the ferry built?"


@dataclass
class Paper:
    """A page outside any collection. A `broken` one can't be read."""

    key: str
    words: str = ""
    broken: Exception | None = None

    @property
    def content(self) -> str:
        return f"hash of {self.key}"

    def text(self) -> str:
        if self.broken is not None:
            raise self.broken
        return self.words

    def image(self) -> Image.Image:
        if self.broken is not None:
            raise self.broken
        return Image.new("L", (4, 4))


@dataclass
class Judge:
    """Judges by what it was told of the keys; pages that aren't named are left undecided."""

    verdicts: Mapping[str, PageVerdict]
    failing: tuple[str, ...] = ()
    identity: str = "judge/1"
    dead: bool = False
    asked: list[str] = field(default_factory=list)

    async def ready(self) -> None:
        if self.dead:
            raise JudgeFailed("the server can't be reached", remedy="start it")

    async def judge(self, question: str, page: JudgedPage) -> Judgment:
        self.asked.append(page.key)
        await page_text(page)
        if page.key in self.failing:
            raise JudgeFailed("timed out")
        verdict = self.verdicts.get(page.key)
        return Judgment(verdict=verdict, probability=0.9 if verdict == "yes" else None, reply=verdict or "perhaps")


def papers(*keys: str) -> list[Paper]:
    return [Paper(key) for key in keys]


@pytest.mark.parametrize(
    "reply",
    [
        "YES",
        "Yes.",
        "回答YES。",
        "是",
        "是的，页面中提到了",
        "ＹＥＳ",
        "**YES**",
        "The answer is YES.",
        "YES, there is no doubt.",
        "YES\n\nNO table is needed for it.",
        '{"answer": "yes"}',
        '```json\n{"relevant": true, "reason": "no table, but a date"}\n```',
        "I looked at the page.\nYES",
        "该页面包含回答该问题所需的证据。",
        "The page contains the evidence.",
        "没错，YES",
    ],
)
def test_replies_that_say_yes(reply: str) -> None:
    assert verdict_of(reply) == "yes"


@pytest.mark.parametrize(
    "reply",
    [
        "NO",
        "no.",
        "答案是NO",
        "最终答案是：否",
        "否",
        "不是",
        "不，页面没有提到",
        "没有",
        "沒有",
        "无法回答",
        "ＮＯ",
        "'NO'",
        "NO, because it would say yes elsewhere: YES",
        '{"answer":"no"}',
        '{"relevant": false}',
        "No evidence on this page.",
        "The page does not contain the answer.",
        "图片中没有相关信息。",
        "Not relevant.",
    ],
)
def test_replies_that_say_no(reply: str) -> None:
    assert verdict_of(reply) == "no"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n",
        "NOTE",
        "know",
        "NOVEMBER 5",
        "No. 5 on the list is a ferry.",
        "Note that the page is about ships.",
        "I see no tables, but there is a chart.",
        "YES or NO",
        "Is it YES or is it NO?",
        "是否包含证据",
        "不确定",
        "无法判断",
        "不仅如此",
        "没有问题",
        "否则",
        "页面是一份菜单。",
        "这页介绍了诺贝尔奖",
        "Yesterday",
        "{}",
        '{"answer": "no", "verdict": "yes"}',
    ],
)
def test_replies_that_say_neither_or_both(reply: str) -> None:
    assert verdict_of(reply) is None


@pytest.mark.parametrize(
    ("chances", "probability"),
    [
        ([{"YES": 0.6, "NO": 0.2, " yes": 0.1, "The": 0.1}], 7 / 9),
        ([{"否": 0.75, "是": 0.25}], 0.25),
        ([{"答案": 1.0}, {"是": 0.99}, {"NO": 0.9, "YES": 0.1}], 0.1),
        ([{"**": 1.0}, {"ĠNo": 0.5, "ĠYes": 0.5}], 0.5),
        ([{"The": 0.9, "No": 0.02}], None),
        ([], None),
    ],
)
def test_the_probability_is_that_at_the_place_of_the_verdict(
    chances: list[dict[str, float]], probability: float | None
) -> None:
    found = yes_probability(chances)
    assert found == (None if probability is None else pytest.approx(probability))


async def test_pages_that_are_judged_no_are_left_out_and_the_others_keep_their_order() -> None:
    judge = Judge({"a": "no", "b": "yes", "c": "no", "e": "yes"})
    result = await judge_pages(judge, QUESTION, papers("e", "c", "d", "a", "b"))
    assert result.kept == ("e", "d", "b")
    assert [(record.key, record.verdict, record.kept) for record in result.judged[:3]] == [
        ("e", "yes", True),
        ("c", "no", False),
        ("d", None, True),
    ]
    assert (result.rejected, result.undecided, result.errors, result.fallback) == (2, 1, 0, False)
    assert result.judged[0].probability == 0.9
    assert result.judged[2].reply == "perhaps"


async def test_all_pages_judged_no_are_all_kept_and_that_is_said() -> None:
    result = await judge_pages(Judge(dict.fromkeys("ab", "no")), QUESTION, papers("a", "b"))
    assert result.kept == ("a", "b")
    assert result.fallback
    assert result.rejected == 2
    assert (await judge_pages(Judge({}), QUESTION, [])).fallback is False


async def test_pages_that_cannot_be_judged_are_kept_reported_and_not_remembered(tmp_path: Path) -> None:
    pages = [Paper("a"), Paper("b", broken=OSError("truncated")), Paper("c"), Paper("d", broken=SyntaxError("png"))]
    with closing(JudgmentCache(tmp_path / "judgments.sqlite")) as cache:
        judge = Judge({"a": "no", "c": "yes"}, failing=("c",))
        result = await judge_pages(judge, QUESTION, pages, cache)
        assert result.kept == ("b", "c", "d")
        assert result.errors == 3
        assert result.first_error.startswith("b: the page can't be read (OSError: truncated)")
        assert result.judged[2].error == "timed out"
        again = Judge({"c": "no"})
        result = await judge_pages(again, QUESTION, [Paper(key) for key in "abcd"], cache)
        assert again.asked == ["b", "c", "d"]
        assert [record.cached for record in result.judged] == [True, False, False, False]


async def test_a_judge_that_cannot_be_reached_leaves_the_order_and_caches_nothing(tmp_path: Path) -> None:
    with closing(JudgmentCache(tmp_path / "judgments.sqlite")) as cache:
        judge = Judge({"a": "no"}, dead=True)
        result = await judge_pages(judge, QUESTION, papers("b", "a"), cache)
        assert result.kept == ("b", "a")
        assert not result.fallback
        assert [record.error for record in result.judged] == ["the server can't be reached: start it"] * 2
        assert judge.asked == []
        assert (await judge_pages(Judge({"a": "no"}), QUESTION, papers("b", "a"), cache)).cached == 0


async def test_what_is_no_fault_of_page_or_judge_is_a_bug_and_raised() -> None:
    with pytest.raises(KeyError):
        await judge_pages(Judge({}), QUESTION, [Paper("a", broken=KeyError("bug"))])


async def test_judgments_are_kept_by_question_content_and_judge(tmp_path: Path) -> None:
    path = tmp_path / "judgments.sqlite"

    async def asked(question: str = QUESTION, identity: str = "judge/1", key: str = "a") -> list[str]:
        judge = Judge({"a": "yes", "b": "yes"}, identity=identity)
        with closing(JudgmentCache(path)) as cache:
            result = await judge_pages(judge, question, papers(key), cache)
            assert result.judged[0].model_dump(exclude={"cached", "key"}) == {
                "verdict": "yes",
                "kept": True,
                "probability": 0.9,
                "reply": "yes",
                "error": "",
            }
        return judge.asked

    assert await asked() == ["a"]
    assert await asked() == []
    assert await asked(question="Who?") == ["a"]
    assert await asked(identity="judge/2") == ["a"]
    assert await asked(key="b") == ["b"]


async def test_undecided_replies_are_asked_for_again(tmp_path: Path) -> None:
    with closing(JudgmentCache(tmp_path / "judgments.sqlite")) as cache:
        judge = Judge({})
        for _ in range(2):
            assert (await judge_pages(judge, QUESTION, papers("a"), cache)).undecided == 1
        assert judge.asked == ["a", "a"]


async def test_a_damaged_cache_costs_only_what_it_kept(tmp_path: Path) -> None:
    path = tmp_path / "judgments.sqlite"
    path.write_bytes(b"no database at all, and long enough to be seen as none" * 40)
    for cached in (0, 1):
        with closing(JudgmentCache(path)) as cache:
            result = await judge_pages(Judge({"a": "no", "b": "yes"}), QUESTION, papers("a", "b"), cache)
            assert result.kept == ("b",)
            assert result.cached == 2 * cached
            assert bool(result.problem) == (not cached)
    assert path.with_name("judgments.sqlite.damaged").exists()


@pytest.mark.parametrize("row", [b"{", b'{"verdict": null}', b'{"verdict": "maybe"}', 7])
async def test_rows_that_hold_no_verdict_are_asked_for_again_and_replaced(tmp_path: Path, row: object) -> None:
    path = tmp_path / "judgments.sqlite"

    async def cached() -> int:
        with closing(JudgmentCache(path)) as cache:
            return (await judge_pages(Judge({"a": "no"}), QUESTION, papers("a"), cache)).cached

    assert await cached() == 0
    with closing(sqlite3.connect(path)) as others:
        others.execute("UPDATE judgments SET judgment = ?", (row,))
        others.commit()
    assert [await cached(), await cached()] == [0, 1]


def _judge_many(path: Path, first: int) -> None:
    with closing(JudgmentCache(path)) as cache:
        keys = [f"p{number}" for number in range(first, first + 40)]
        judge = Judge(dict.fromkeys(keys, "yes"))
        result = asyncio.run(judge_pages(judge, QUESTION, papers(*keys), cache))
        assert result.problem == ""


@pytest.mark.slow
def test_processes_share_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "judgments.sqlite"
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=_judge_many, args=(path, 30 * number)) for number in range(3)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0, 0, 0]
    with closing(sqlite3.connect(path)) as kept:
        assert kept.execute("SELECT count(*) FROM judgments").fetchone() == (100,)


BOOK = Book(*(page(number, ("paragraph", f"Page {number} of the ferry book.")) for number in (1, 2, 3)))


def context(judge: Judge | None, *found: int) -> ToolContext:
    hits = tuple(
        PageHit(ref=PageRef(doc_id=DOC, page=number), rank=rank, score=1.0) for rank, number in enumerate(found, 1)
    )
    return ToolContext(
        pages=BOOK, scope=SCOPE, question=QUESTION, hits=hits, judging=Judging(judge) if judge is not None else None
    )


async def test_the_tool_judges_the_best_pages_in_rank_order() -> None:
    judge = Judge({f"{DOC}.p2": "no", f"{DOC}.p3": "yes"})
    result = await Registry().run("relevance_filter", context(judge, 3, 2, 1), {"top": 2})
    assert [ref.page for ref in result.kept] == [3]
    assert [ref.page for ref in result.rejected] == [2]
    assert [record.verdict for record in result.judged] == ["yes", "no"]
    assert result.read == ()
    given = {"pages": [{"doc_id": DOC, "page": 1}], "question": "Who?"}
    result = await Registry().run("relevance_filter", context(judge, 3), given)
    assert [ref.page for ref in result.kept] == [1]
    assert result.notes == ("1 pages were left undecided and are kept",)


async def test_the_tool_says_when_it_kept_what_was_judged_no_or_had_nothing_to_judge() -> None:
    judge = Judge({f"{DOC}.p{number}": "no" for number in (1, 2)})
    result = await Registry().run("relevance_filter", context(judge, 2, 1), {})
    assert [ref.page for ref in result.kept] == [2, 1]
    assert result.rejected == ()
    assert result.notes == ("all 2 pages were judged NO, so all are kept",)
    assert "nothing to judge" in (await Registry().run("relevance_filter", context(judge), {})).notes[0]


async def test_the_tool_refuses_pages_that_are_not_there_and_needs_a_judge() -> None:
    with pytest.raises(ToolRetry, match="there is no page 9"):
        await Registry().run("relevance_filter", context(Judge({})), {"pages": [{"doc_id": DOC, "page": 9}]})
    with pytest.raises(ToolFailed, match="nobody to judge"):
        await Registry().run("relevance_filter", context(None, 1), {})


async def test_a_stored_page_is_known_by_its_text_and_resolution() -> None:
    ref = PageRef(doc_id=DOC, page=1)
    changed = Book(page(1, ("paragraph", "Page 1 as it was read anew.")))
    contents = [StoredPage("k", ref, book, dpi).content for book, dpi in ((BOOK, 110), (BOOK, 72), (changed, 110))]
    assert len(set(contents)) == 3
    assert StoredPage("k", ref, BOOK, 110).content == contents[0]
    gone = StoredPage("k", PageRef(doc_id=DOC, page=7), BOOK, 110)
    with pytest.raises(JudgeFailed, match="page 7 isn't there"):
        await page_text(gone)
    assert (await page_image(StoredPage("k", ref, BOOK, 110))).size == (8, 8)
    with pytest.raises(InputError):
        gone.text()
