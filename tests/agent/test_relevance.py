"""Judges of pages: a model asked for YES or NO, and the words of a page; runs whose plan filters before it reads."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from book import SCOPE, Book, page
from fake_server import Answer, FakeServer, Received
from modelled import asked, events, quick_profile, scripted_agent
from PIL import Image

from agent.budget import Budget
from agent.models.cache import ReplyCache, request_key
from agent.models.client import ModelClient
from agent.models.endpoint import EndpointModel
from agent.models.scripted import ScriptedModel, script_of
from agent.models.settings import ModelSettings
from agent.models.types import Capabilities, ModelFailed, Prompt, Reply, StructureMode
from agent.roles.relevance import ModelJudge, open_judge
from agent.text_judge import TextJudge, judged
from tools.judgment_cache import JudgmentCache
from tools.relevance_filter import judge_pages

QUESTION = "What was the ticket revenue in 2021?"
CHINESE = "林丘果园共有多少棵苹果树？"
VISION = {"vision": True, "structured": "schema"}
Serve = Callable[..., FakeServer]


@dataclass
class Paper:
    """A page outside any collection, plain grey."""

    key: str
    words: str = ""
    shade: int = 128

    @property
    def content(self) -> str:
        return self.key

    def text(self) -> str:
        return self.words

    def image(self) -> Image.Image:
        return Image.new("L", (20, 10), self.shade)


def judge_of(replies: Sequence[Any], *, capabilities: Any = None, **settings: Any) -> tuple[ModelJudge, ScriptedModel]:
    script = {"relevance": list(replies), **({"capabilities": capabilities} if capabilities else {})}
    chosen = quick_profile(settings).model
    model = ScriptedModel(chosen, script_of(script, "the script"))
    return ModelJudge(ModelClient(model, chosen)), model


async def test_a_model_with_eyes_is_shown_the_image_and_no_text() -> None:
    judge, model = judge_of([{"reply": "YES", "probability": 0.83}], capabilities=VISION)
    result = await judge_pages(judge, QUESTION, [Paper("a", "secret words", shade=40)])
    record = result.judged[0]
    assert (record.verdict, record.reply) == ("yes", "YES")
    assert record.probability == pytest.approx(0.83)
    prompt = model.asked[0]
    assert QUESTION in prompt.user
    assert "secret" not in prompt.user
    with Image.open(io.BytesIO(prompt.pictures[0].data)) as shown:
        assert shown.size == (20, 10)
        assert abs(shown.convert("L").getpixel((5, 5)) - 40) < 4
    assert prompt.brief == 16


@pytest.mark.parametrize("settings", [{"vision": False}, {"vision": True, "evidence": "text"}])
async def test_a_model_without_eyes_or_by_the_settings_is_shown_the_text(settings: dict[str, Any]) -> None:
    judge, model = judge_of(["答案是NO"], **settings)
    result = await judge_pages(judge, CHINESE, [Paper("a", "这一页写的是井。"), Paper("b", "x")])
    assert (result.judged[0].verdict, result.judged[0].probability) == ("no", None)
    assert "这一页写的是井。" in model.asked[0].user
    assert model.asked[0].pictures == ()
    assert "回复 YES 或 NO" in model.asked[0].user
    assert "no reply left" in result.judged[1].error  # the script has one reply: the other page is kept
    assert result.kept == ("b",)


async def test_what_was_not_shown_of_a_long_text_may_hold_the_evidence() -> None:
    judge, model = judge_of(["NO"], vision=False, evidence_tokens=50)
    result = await judge_pages(judge, QUESTION, [Paper("a", "Fares went up again. " * 100)])
    assert (result.judged[0].verdict, result.judged[0].reply, result.kept) == (None, "NO", ("a",))
    assert len(model.asked[0].user) < 1000


async def test_prose_without_a_verdict_is_undecided_and_failures_are_errors() -> None:
    replies = [
        {"when": "aaa", "reply": "The page shows a ship."},
        {"when": "bbb", "error": "401"},
        {"when": "ccc", "error": "truncated"},
        {"when": "ddd", "reply": "NO"},
    ]
    judge, _ = judge_of(replies, vision=False)
    result = await judge_pages(judge, QUESTION, [Paper(key, key) for key in ("aaa", "bbb", "ccc", "ddd")])
    assert [record.verdict for record in result.judged] == [None, None, None, "no"]
    assert (result.undecided, result.errors, result.rejected) == (1, 2, 1)
    assert result.kept == ("aaa", "bbb", "ccc")


async def test_judges_are_told_apart_by_model_and_by_what_they_see() -> None:
    identities = []
    for settings in ({"vision": True}, {"vision": False}, {"vision": True, "name": "other"}):
        judge, _ = judge_of(["YES"], **settings)
        await judge.ready()
        identities.append(judge.identity)
    assert len({*identities, TextJudge().identity}) == 4
    assert open_judge(None).identity == TextJudge().identity


class Verbose:
    """A model that comes to the point after forty tokens: it thinks, aloud or hidden, or begins with a preamble."""

    name = identity = "verbose"

    def __init__(self, begun: str) -> None:
        self._begun = begun
        self.briefs: list[int | None] = []

    async def capabilities(self) -> Capabilities:
        return Capabilities()

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        self.briefs.append(prompt.brief)
        if prompt.brief is not None:
            return Reply(text=self._begun, tokens_out=prompt.brief, finish="length")
        return Reply(text="After all that: NO", tokens_out=60)


@pytest.mark.parametrize("begun", ["", "Let me look at what the page", "Okay, so the user wants"])
async def test_a_model_that_needs_more_tokens_is_given_them_from_then_on(begun: str) -> None:
    model = Verbose(begun)
    judge = ModelJudge(ModelClient(model, ModelSettings()))
    for paper in (Paper("a", "a"), Paper("b", "b")):
        assert (await judge_pages(judge, QUESTION, [paper])).judged[0].verdict == "no"
    assert model.briefs == [16, 160, None, None]


class Rambling(Verbose):
    """A model that never comes to the point."""

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        self.briefs.append(prompt.brief)
        return Reply(text=self._begun, tokens_out=prompt.brief or 1024, finish="length")


async def test_a_model_that_never_comes_to_the_point_is_undecided_and_asked_for_little() -> None:
    model = Rambling("The page, the page, the page")
    judge = ModelJudge(ModelClient(model, ModelSettings()))
    for paper in (Paper("a", "a"), Paper("b", "b")):
        (record,) = (await judge_pages(judge, QUESTION, [paper])).judged
        assert (record.verdict, record.kept, record.error) == (None, True, "")
    assert model.briefs == [16, 160, None, 160, 160]


LOGPROBS = {
    "content": [
        {
            "token": "YES",
            "logprob": -0.22314,
            "top_logprobs": [{"token": "YES", "logprob": -0.22314}, {"token": "NO", "logprob": -1.60944}],
        }
    ]
}


def endpoint_judge(server: FakeServer, cache: ReplyCache | None = None) -> ModelJudge:
    settings = quick_profile(
        {"base_url": server.base_url, "name": "fake", "vision": True, "structured": "text", "context": 8000}
    ).model
    return ModelJudge(ModelClient(EndpointModel(settings), settings, cache))


async def test_an_endpoint_is_asked_for_few_tokens_with_their_probabilities(serve: Serve, tmp_path: Path) -> None:
    server = serve([Answer("YES, the page", finish="length", choice={"logprobs": LOGPROBS})])
    with closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
        # Both live as long as the loop, which closes their connections when it ends.
        judges = [endpoint_judge(server, cache), endpoint_judge(server, cache)]
        for judge in judges:
            record = (await judge_pages(judge, QUESTION, [Paper("a")])).judged[0]
            assert record.verdict == "yes"
            assert record.probability == pytest.approx(0.8, abs=1e-3)
    body = server.chats[0].body
    assert len(server.chats) == 1
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (16, True, 5)
    assert body["messages"][1]["content"][1]["image_url"]["url"].startswith("data:image/jpeg")


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Unrecognized request argument supplied: logprobs", "param": "logprobs"},
        {"message": "Requested sample logprobs of 5, which is greater than max allowed: 0"},
        {"message": "You are not allowed to request logprobs from this model"},
    ],
)
async def test_a_server_that_refuses_probabilities_is_asked_without_from_then_on(serve: Serve, error: Any) -> None:
    def replied(request: Received) -> Answer | str:
        return Answer(status=400, error=error) if "logprobs" in request.body else "NO"

    server = serve(replied)
    judge = endpoint_judge(server)
    for key in "ab":
        record = (await judge_pages(judge, QUESTION + key, [Paper(key)])).judged[0]
        assert (record.verdict, record.probability, record.error) == ("no", None, "")
    assert ["logprobs" in chat.body for chat in server.chats] == [True, False, False]


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        5,
        {},
        {"content": None},
        {"content": "YES"},
        {"content": [5]},
        {"content": [{"token": None, "logprob": 1}]},
        {"content": [{"token": "YES", "logprob": float("nan"), "top_logprobs": {"YES": 1}}]},
        {"content": [{"token": "YES", "logprob": "high", "top_logprobs": [None, 7]}]},
    ],
)
async def test_probabilities_that_cannot_be_read_are_none(serve: Serve, logprobs: Any) -> None:
    server = serve([Answer("YES", choice={"logprobs": logprobs})])
    record = (await judge_pages(endpoint_judge(server), QUESTION, [Paper("a")])).judged[0]
    assert (record.verdict, record.probability) == ("yes", None)


async def test_a_dead_endpoint_leaves_all_pages_in_order_and_nothing_in_the_cache(tmp_path: Path) -> None:
    settings = quick_profile({"base_url": "http://127.0.0.1:9/v1", "name": "fake", "vision": True}).model
    judge = ModelJudge(ModelClient(EndpointModel(settings), settings))
    with closing(JudgmentCache(tmp_path / "judgments.sqlite")) as cache:
        result = await judge_pages(judge, QUESTION, [Paper("b"), Paper("a")], cache)
    assert result.kept == ("b", "a")
    assert result.errors == 2
    assert "can't be reached" in result.first_error


async def test_a_server_that_fails_on_one_page_costs_that_page_only(serve: Serve, tmp_path: Path) -> None:
    def replied(request: Received) -> Answer | str:
        return Answer(status=500) if "bad" in request.user else "NO"

    server = serve(replied)
    settings = quick_profile(
        {"base_url": server.base_url, "name": "fake", "vision": False, "structured": "text", "context": 8000}
    ).model
    judge = ModelJudge(ModelClient(EndpointModel(settings), settings))
    with closing(JudgmentCache(tmp_path / "judgments.sqlite")) as cache:
        for cached in (0, 2):
            papers = [Paper("a", "good"), Paper("b", "bad"), Paper("c", "good too")]
            result = await judge_pages(judge, QUESTION, papers, cache)
            assert (result.kept, result.errors, result.cached) == (("b",), 1, cached)


async def test_only_brief_replies_may_be_cut_off() -> None:
    class Cut:
        name = identity = "cut"

        async def capabilities(self) -> Capabilities:
            return Capabilities()

        async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
            return Reply(text="YES, because", finish="length")

    client = ModelClient(Cut(), ModelSettings())
    asking = Prompt(role="relevance", system="", user="Is it there?")
    with pytest.raises(ModelFailed, match="truncated") as failure:
        await client.reply(asking)
    assert failure.value.cut
    brief = Prompt(role="relevance", system="", user="Is it there?", brief=4)
    assert (await client.reply(brief)).text == "YES, because"
    assert request_key("m", asking, "text") != request_key("m", brief, "text")


PAGE = "林丘果园共有苹果树三百一十二棵。\n果园建于1996年，由马立德主持种植。"


@pytest.mark.parametrize(
    ("question", "text", "verdict"),
    [
        (CHINESE, PAGE, "yes"),
        ("林丘果園建於哪一年？", PAGE, "yes"),
        (CHINESE, "海港今年共有货船四十艘，其中八艘停在北岸的船坞里，等待修理。", "no"),
        (QUESTION, "Ticket revenue of 2021 came to 5,356 thousand pounds, that of 2020 to 4,120.", "yes"),
        (QUESTION, "The deeper of the two wells in the orchard reaches forty metres below the barn.", "no"),
        (QUESTION, PAGE, None),
        (CHINESE, "The orchard at Linden Hill holds 312 apple trees.", None),
        (CHINESE, "", None),
        (CHINESE, " \n*** ", None),
        ("什么是？", PAGE, None),
        ("图中的标志是什么颜色？", "海港今年共有货船四十艘。", None),
    ],
)
def test_words_reject_only_pages_that_clearly_lack_what_is_asked(question: str, text: str, verdict: str | None) -> None:
    judgment = judged(question, text)
    assert judgment.verdict == verdict
    assert judgment.reply
    if verdict is not None:
        assert judgment.probability is not None
        assert (judgment.probability > 0.1) == (verdict == "yes")


def test_lines_and_a_long_page_around_it_hide_nothing_from_the_words() -> None:
    around = "海港今年共有货船四十艘，其中八艘停在北岸。" * 60
    broken = "\n".join((around + PAGE + around)[i : i + 7] for i in range(0, 2 * len(around) + len(PAGE), 7))
    assert judged(CHINESE, broken).verdict == "yes"
    assert judged(CHINESE, around).verdict == "no"


async def test_the_embedded_judge_needs_no_model() -> None:
    papers = [Paper("well", "两口井供给，深的一口有四十三米。"), Paper("trees", PAGE), Paper("blank")]
    result = await judge_pages(open_judge(None), CHINESE, papers)
    assert result.kept == ("trees", "blank")


FILTER = {
    "steps": [
        {"tool": "page_retriever", "query": "ferries revenue"},
        {"tool": "relevance_filter", "why": "few pages matter"},
    ]
}


def filtering(**script: Any) -> dict[str, Any]:
    no = [{"when": "Safety", "reply": {"answer": "no"}}, {"when": "founded on", "reply": "NO"}]
    return {"plan": [FILTER], "relevance": [*no, {"reply": "YES", "probability": 0.7}], **script}


def test_a_plan_that_filters_reads_what_was_kept(report: Book, tmp_path: Path) -> None:
    book = Book(*report.pages.values(), found=[[1, 2, 3]])
    agent, model = scripted_agent(book, tmp_path, filtering(), model={"vision": False})
    trajectory = agent.ask(QUESTION, SCOPE)
    calls = events(tmp_path, trajectory.trace_id, "tool_call")
    (filtered,) = [call for call in calls if call["tool"] == "relevance_filter"]
    assert filtered["outcome"] == "ok"
    assert filtered["pages"] == [2]
    assert [(record["verdict"], record["kept"]) for record in filtered["judged"]] == [
        ("no", False),
        ("yes", True),
        ("no", False),
    ]
    assert filtered["judged"][1]["probability"] == pytest.approx(0.7)
    (read,) = [call for call in calls if call["tool"] == "page_reader"]
    assert read["pages"] == [2]
    assert "relevance_filter" in asked(model, "plan")[0].user
    judged_calls = [call for call in events(tmp_path, trajectory.trace_id, "model_call") if call["role"] == "relevance"]
    assert len(judged_calls) == 3
    assert trajectory.usage.model_calls == len(model.asked) - len(asked(model, "classify"))
    assert trajectory.usage.tool_calls == len(calls)


def test_pages_beyond_the_budget_of_model_calls_are_kept(report: Book, tmp_path: Path) -> None:
    book = Book(*report.pages.values(), found=[[3, 1, 2]])
    agent, model = scripted_agent(book, tmp_path, filtering(), model={"vision": False})
    trajectory = agent.ask(QUESTION, SCOPE, budget=Budget(model_calls=2))
    (filtered,) = [c for c in events(tmp_path, trajectory.trace_id, "tool_call") if c["tool"] == "relevance_filter"]
    assert len(asked(model, "relevance")) == 1
    assert filtered["pages"] == [1, 2]
    assert ["budget has no room" in record["error"] for record in filtered["judged"]] == [False, True, True]
    assert "2 pages couldn't be judged and are kept" in filtered["notes"][0]


def test_rules_plan_without_the_filter(report: Book, tmp_path: Path) -> None:
    agent, model = scripted_agent(report, tmp_path, {"relevance": ["NO"]})
    trajectory = agent.ask(QUESTION, SCOPE)
    assert trajectory.plan.origin.startswith("rules")
    assert asked(model, "relevance") == []


def test_pages_of_a_filter_are_checked_like_those_of_a_reading(report: Book, tmp_path: Path) -> None:
    wrong = {"steps": [{"tool": "relevance_filter", "pages": ["D1.9"]}]}
    right = {"steps": [{"tool": "relevance_filter", "pages": ["D1.2", "3"]}]}
    script = {"plan": [wrong, right], "relevance": ["YES", "YES"]}
    agent, model = scripted_agent(report, tmp_path, script, model={"vision": False})
    trajectory = agent.ask(QUESTION, SCOPE)
    assert "there is no page 'D1.9'" in asked(model, "plan")[1].earlier[1][1]
    (filtered,) = [c for c in events(tmp_path, trajectory.trace_id, "tool_call") if c["tool"] == "relevance_filter"]
    assert filtered["pages"] == [2, 3]


def test_a_run_without_a_model_judges_by_words(tmp_path: Path) -> None:
    from agent.build import Agent
    from agent.planner import PlanRequest, RulePlanner
    from agent.settings import AgentSettings
    from agent.types import Plan, PlanStep, Task

    class Filtering(RulePlanner):
        async def plan(self, request: PlanRequest, task: Task) -> Plan:
            made = await super().plan(request, task)
            step = PlanStep(tool="relevance_filter", stage=1)
            later = [s.model_copy(update={"stage": s.stage + 1}) if s.stage else s for s in made.steps]
            return made.model_copy(update={"steps": (*later, step)})

    book = Book(
        page(1, ("paragraph", "The orchard was visited by no one who was about in the year of the ticket.")),
        page(2, ("paragraph", "The ticket revenue in 2021 was 5,356 thousand pounds.")),
        page(3, ("paragraph", "Wells, barns and the well of a barn are what the farm was proud of.")),
        found=[[3, 2, 1]],
    )
    agent = Agent(book, tmp_path, planner=Filtering(AgentSettings()))
    trajectory = agent.ask(QUESTION, SCOPE)
    calls = events(tmp_path, trajectory.trace_id, "tool_call")
    (read,) = [call for call in calls if call["tool"] == "page_reader"]
    assert 3 not in read["pages"]
    assert read["pages"][0] == 2
    assert trajectory.usage.model_calls == 0
    assert not (tmp_path / "judgments.sqlite").exists()
