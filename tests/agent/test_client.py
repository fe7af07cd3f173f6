"""The client of a model: retries, cache, limits, and what is no reply."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.models.cache import ReplyCache, request_key
from agent.models.choice import open_client
from agent.models.client import ModelClient
from agent.models.scripted import ScriptedModel
from agent.models.settings import DecodingSettings, ModelSettings
from agent.models.types import Capabilities, ModelFailed, Picture, Prompt, Reply, StructureMode
from retrieval.errors import InputError

ASK = Prompt(role="answer", system="Answer.", user="How many trees?")
FORM = Prompt(role="plan", system="Plan.", user="Where?", schema={"type": "object"})


def client_of(script: dict[str, Any], cache: ReplyCache | None = None, **settings: Any) -> ModelClient:
    """A client that waits for nothing, over a model that replies from a script."""
    return ModelClient(ScriptedModel.from_script(script), ModelSettings(backoff=0.0, **settings), cache)


class Counting:
    """A model that replies when it is let, and knows how many calls ran at the same time."""

    name = "counting"
    identity = "counting"

    def __init__(self, reply: Callable[[], Awaitable[Reply]]) -> None:
        self._reply = reply
        self.running = self.most = self.calls = 0

    async def capabilities(self) -> Capabilities:
        return Capabilities()

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._reply()
        finally:
            self.running -= 1


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between tries, which no test waits for."""
    waited: list[float] = []
    sleep = asyncio.sleep

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr("asyncio.sleep", wait)
    return waited


async def test_what_passes_is_tried_again_until_the_retries_are_used_up(waits: list[float]) -> None:
    client = client_of({"answer": [{"error": "429"}, {"error": "timeout"}, "312"]}, retries=2)
    reply = await client.reply(ASK)
    assert (reply.text, reply.attempts) == ("312", 3)
    assert len(waits) == 2
    lasting = client_of({"repeat": True, "answer": [{"error": "500"}]}, retries=2)
    with pytest.raises(ModelFailed, match="HTTP 500"):
        await lasting.reply(ASK)
    assert isinstance(lasting.model, ScriptedModel)
    assert len(lasting.model.asked) == 3


@pytest.mark.parametrize("error", ["401", "refused", "truncated"])
async def test_what_lasts_is_tried_once(waits: list[float], error: str) -> None:
    client = client_of({"repeat": True, "answer": [{"error": error}]}, retries=5)
    with pytest.raises(ModelFailed):
        await client.reply(ASK)
    assert isinstance(client.model, ScriptedModel)
    assert len(client.model.asked) == 1
    assert waits == []


async def test_waits_are_those_that_the_server_asks_for_and_grow_otherwise(waits: list[float]) -> None:
    script = {"answer": [{"error": "429", "after": 7.5}, {"error": "429", "after": 9000}, "312"]}
    await client_of(script, retries=2).reply(ASK)
    assert waits == [7.5, 60.0]
    waits.clear()
    settings = ModelSettings(backoff=1.0, retries=8)
    failing = ScriptedModel.from_script({"repeat": True, "answer": [{"error": "500"}]})
    with pytest.raises(ModelFailed):
        await ModelClient(failing, settings).reply(ASK)
    assert len(waits) == 8
    assert all(0 <= wait <= min(2.0**number, 60.0) for number, wait in enumerate(waits))
    assert max(waits) > 1.0


@pytest.mark.parametrize(
    ("after", "waited"), [(math.inf, 60.0), (1e308, 60.0), (-math.inf, 0.0), (-5.0, 0.0), (math.nan, None)]
)
async def test_waits_that_make_no_sense_are_held_within_the_limits(
    waits: list[float], after: float, waited: float | None
) -> None:
    await client_of({"answer": [{"error": "429", "after": after}, "312"]}, retries=1).reply(ASK)
    assert waits == [0.0 if waited is None else waited]  # without a number, as when the server says none


async def test_a_reply_that_was_cut_off_or_is_empty_is_no_answer(tmp_path: Path) -> None:
    async def cut() -> Reply:
        return Reply(text='{"answer": "31', finish="length", tokens_out=3)

    async def blank() -> Reply:
        return Reply(text=" \n")

    cache = ReplyCache(tmp_path / "replies.sqlite")
    for reply, calls, said in ((cut, 1, "truncated at 3 tokens"), (blank, 3, "was empty")):
        model = Counting(reply)
        client = ModelClient(model, ModelSettings(backoff=0.0, retries=2), cache)
        for _ in range(2):
            with pytest.raises(ModelFailed, match=said):
                await client.reply(ASK)
        assert model.calls == 2 * calls  # nothing of it was kept
    cache.close()


async def test_no_more_calls_run_at_the_same_time_than_the_settings_say() -> None:
    go = asyncio.Event()

    async def when_let() -> Reply:
        await go.wait()
        return Reply(text="yes")

    model = Counting(when_let)
    client = ModelClient(model, ModelSettings(concurrency=3))
    asked = [asyncio.create_task(client.reply(ASK)) for _ in range(10)]
    while model.running < 3:
        await asyncio.sleep(0)
    for _ in range(50):
        await asyncio.sleep(0)
    assert model.running == 3
    go.set()
    await asyncio.gather(*asked)
    assert (model.most, model.calls) == (3, 10)


async def test_a_request_is_made_once_also_by_the_next_process(tmp_path: Path) -> None:
    calls = []
    for _ in range(2):
        cache = ReplyCache(tmp_path / "deep" / "replies.sqlite")
        client = client_of({"answer": ["312", "999"]}, cache)
        replies = [await client.reply(ASK) for _ in range(2)]
        assert [reply.text for reply in replies] == ["312", "312"]
        assert replies[1].cached
        assert isinstance(client.model, ScriptedModel)
        calls.append(len(client.model.asked))
        cache.close()
    assert calls == [1, 0]


def test_everything_that_a_reply_depends_on_is_in_its_key() -> None:
    picture = Picture(b"png")
    variants = [
        ("m", ASK, "text"),
        ("other model", ASK, "text"),
        ("m", ASK, "json"),
        ("m", Prompt(role="answer", system="Answer!", user=ASK.user), "text"),
        ("m", Prompt(role="answer", system=ASK.system, user="How many pears?"), "text"),
        ("m", Prompt(role="answer", system=ASK.system, user=ASK.user, pictures=(picture,)), "text"),
        ("m", Prompt(role="answer", system=ASK.system, user=ASK.user, pictures=(picture, picture)), "text"),
        ("m", Prompt(role="answer", system=ASK.system, user=ASK.user, schema={"type": "object"}), "text"),
        ("m", Prompt(role="answer", system=ASK.system, user=ASK.user, earlier=(("assistant", "x"),)), "text"),
    ]
    keys = [request_key(identity, prompt, mode) for identity, prompt, mode in variants]  # type: ignore[arg-type]
    assert len(set(keys)) == len(variants)
    renamed = Prompt(role="verify", system=ASK.system, user=ASK.user, version="answer/9")
    assert request_key("m", renamed, "text") == keys[0]


def test_decoding_is_a_part_of_what_replies_depend_on() -> None:
    warm = ModelSettings(decoding=DecodingSettings(temperature=0.7))
    script = ScriptedModel.from_script({})._script
    assert ScriptedModel(ModelSettings(), script).identity != ScriptedModel(warm, script).identity


async def test_the_first_of_two_replies_to_one_request_stays(tmp_path: Path) -> None:
    replies = iter(["first", "second"])
    both_asked = asyncio.Barrier(2)

    async def next_one() -> Reply:
        await both_asked.wait()
        return Reply(text=next(replies))

    cache = ReplyCache(tmp_path / "replies.sqlite")
    client = ModelClient(Counting(next_one), ModelSettings(), cache)
    both = await asyncio.gather(client.reply(ASK), client.reply(ASK))
    assert {reply.text for reply in both} == {"first", "second"}
    kept = [(await client.reply(ASK)).text for _ in range(2)]
    assert kept in (["first"] * 2, ["second"] * 2)
    cache.close()


async def test_replies_are_cleaned_where_they_enter(tmp_path: Path) -> None:
    async def odd() -> Reply:
        return Reply(text="a\ud83d\x00\tb\r\nc\x1b[31m 谁😀", thinking="\udc00\x08hm")

    with closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
        client = ModelClient(Counting(odd), ModelSettings(), cache)
        for cached in (False, True):
            reply = await client.reply(ASK)
            assert (reply.text, reply.thinking, reply.cached) == ("a?\tb\nc[31m 谁😀", "?hm", cached)

    async def nothing() -> Reply:
        return Reply(text="\x00\x01")

    with pytest.raises(ModelFailed, match="was empty"):
        await ModelClient(Counting(nothing), ModelSettings(retries=0)).reply(ASK)


def test_names_are_shown_without_what_a_terminal_would_obey() -> None:
    model = ScriptedModel.from_script({})
    model.name = "\x1b]0;title\x07\x1b[31mqwen\x1b[0m\n\x9b2J 7b\ud83d\x00"
    assert ModelClient(model, ModelSettings()).name == "qwen 2J 7b?"


async def test_prompts_of_damaged_texts_have_keys_of_their_own(tmp_path: Path) -> None:
    halves = [Prompt(role="answer", system="", user=f"a{half}", schema={"n": 10**30}) for half in ("\ud83d", "\ud83e")]
    with closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
        client = client_of({"answer": ["one", "other"]}, cache)
        assert [(await client.reply(half)).text for half in halves * 2] == ["one", "other"] * 2


async def test_a_server_that_cant_enforce_a_schema_is_asked_in_weaker_ways_from_then_on() -> None:
    script = {
        "capabilities": {"structured": "schema"},
        "plan": [{"error": "unsupported"}, {"error": "unsupported"}, "{}", "{}"],
        "verify": ["{}"],
    }
    client = client_of(script)
    await client.reply(FORM)
    await client.reply(FORM)
    await client.reply(Prompt(role="verify", system="", user="?", schema={"type": "object"}))
    assert isinstance(client.model, ScriptedModel)
    assert client.model.modes == ["schema", "json", "text", "text", "schema"]
    hopeless = client_of({"capabilities": {"structured": "text"}, "plan": [{"error": "unsupported"}]})
    with pytest.raises(ModelFailed, match="form of replies"):
        await hopeless.reply(FORM)


async def test_prompts_without_a_form_are_asked_for_words() -> None:
    client = client_of({"answer": ["words"]})
    await client.reply(ASK)
    assert isinstance(client.model, ScriptedModel)
    assert client.model.modes == ["text"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"kind": "endpoint"}, "DOCSAGE_BASE_URL"),
        ({"kind": "local"}, "DOCSAGE_MODEL"),
        ({"kind": "scripted"}, "model.script"),
    ],
)
def test_a_kind_of_model_says_what_it_lacks(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        open_client(ModelSettings(**settings), tmp_path)
    assert open_client(ModelSettings(), tmp_path) is None
