"""Servers of odd replies: they cost the reply, and never the run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from fake_server import Answer, FakeServer

from agent.models.endpoint import EndpointModel
from agent.models.failures import Request, refusal
from agent.models.settings import ModelSettings
from agent.models.types import ModelFailed, Prompt

Serve = Callable[..., FakeServer]
ASK = Prompt(role="answer", system="Be brief.", user="Who?")
KEY = "sk-very-secret-0123456789"


def model_at(url: str, **settings: Any) -> EndpointModel:
    given: dict[str, Any] = {"kind": "endpoint", "base_url": url, "name": "fake", **settings}
    return EndpointModel(ModelSettings(**given))


async def failure_of(model: EndpointModel) -> ModelFailed:
    with pytest.raises(ModelFailed) as failure:
        await model.generate(ASK, "text")
    return failure.value


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ([1], (0, 0)),
        ("many", (0, 0)),
        (5, (0, 0)),
        ({"prompt_tokens": "11", "completion_tokens": 7}, (11, 7)),
        ({"prompt_tokens": 1.5, "completion_tokens": 2.0}, (0, 2)),
        ({"prompt_tokens": math.nan, "completion_tokens": math.inf}, (0, 0)),
        ({"prompt_tokens": -1_000_000, "completion_tokens": 7}, (0, 7)),
        ({"prompt_tokens": {"a": 1}, "completion_tokens": [1]}, (0, 0)),
        ({"prompt_tokens": 10**30, "completion_tokens": 1e300}, (0, 0)),
        ({"prompt_tokens": "9" * 5000, "completion_tokens": "²"}, (0, 0)),
    ],
)
async def test_a_usage_that_is_none_costs_no_reply(serve: Serve, usage: Any, counted: tuple[int, int]) -> None:
    body = json.dumps({"choices": [{"message": {"content": "42"}, "finish_reason": ["stop"]}], "usage": usage})
    reply = await model_at(serve([Answer(body=body)]).base_url).generate(ASK, "text")
    assert (reply.text, reply.finish, (reply.tokens_in, reply.tokens_out)) == ("42", "stop", counted)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body="[" * 100_000),
        Answer(body='{"a":' * 5000 + "1" + "}" * 5000),
        Answer(body='{"choices": ' + "9" * 5000 + "}"),
        Answer(body="zz", headers={"content-type": "text/html; charset=hex"}),
        Answer(body="zz", headers={"content-type": "text/html; charset=rot13"}, status=400),
        Answer(body="garbage", headers={"content-encoding": "gzip"}),
        Answer(body="garbage", headers={"content-encoding": "deflate"}),
    ],
)
async def test_a_body_that_cannot_be_read_is_said_as_such(serve: Serve, answer: Answer) -> None:
    server = serve([answer, "ok"], pages={"/v1/models": answer}, models=None)
    model = model_at(server.base_url)
    failure = await failure_of(model)
    assert "replied with no chat completion (its" in str(failure)
    assert "can't be reached" not in str(failure)
    assert await model.fetched("/v1/models") is None
    with pytest.raises(ModelFailed, match=r"its (body|compression)"):
        await model.listed()
    assert (await model.generate(ASK, "text")).text == "ok"


@pytest.mark.parametrize("depth", range(100, 1000, 50))
async def test_what_is_nested_deep_in_a_reply_never_ends_the_run(serve: Serve, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    parts = '[{"text":' * (depth // 2) + '"x"' + "}]" * (depth // 2)
    error = f'{{"error": {{"message": {deep}, "code": {deep}}}}}'
    bodies = [
        f'{{"choices": [{{"message": {{"content": "42", "refusal": {deep}}}}}]}}',
        f'{{"choices": [{{"message": {{"content": {parts}}}}}]}}',
        error,
        deep,
    ]
    server = serve([*(Answer(body=body) for body in bodies), Answer(body=error, status=400)])
    model = model_at(server.base_url)
    for _ in range(5):
        await failure_of(model)
    assert len(server.chats) == 5


def test_a_refusal_of_any_depth_is_said() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    request = Request(server="http://127.0.0.1/v1", model="fake", timeout=1.0)
    assert "HTTP 400: list, nested too deep" in str(refusal(400, {"error": {"message": deep, "code": deep}}, request))


async def test_failures_are_said_in_words_that_can_be_written_and_shown(serve: Serve) -> None:
    odd = "\x1b[31mno\ud83d\x00\nmodel"
    key_in_pieces = KEY[:9] + "\x00" + KEY[9:]
    error = {"message": odd + key_in_pieces, "code": odd, "type": odd}
    replies: list[dict[str, Any]] = [
        {"message": {"refusal": odd}},
        {"message": {"content": ""}, "finish_reason": odd},
        {"message": {"content": "text"}, "finish_reason": odd},
    ]
    server = serve(
        [
            Answer(status=400, body=json.dumps({"error": error})),
            *(Answer(body=json.dumps({"choices": [reply]})) for reply in replies),
            Answer(status=404, body=json.dumps({"error": error})),
        ],
        pages={"/v1/models": Answer(body=json.dumps({"data": [{"id": odd}]}))},
        models=None,
    )
    model = model_at(server.base_url, api_key=KEY)
    failures = [await failure_of(model) for _ in range(3)]
    assert "no? model[key]" in str(failures[0])
    finish = (await model.generate(ASK, "text")).finish
    failures.append(await failure_of(model))
    assert str(failures[-1]).endswith("set DOCSAGE_MODEL to one of no? model")
    for said in (*map(str, failures), finish):
        assert said.isprintable()
        assert said.encode()
        assert KEY not in said
        assert "[31m" not in said
