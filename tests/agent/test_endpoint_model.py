"""The endpoint model against a loopback server: what is sent, what comes back, and how failures are told."""

from __future__ import annotations

import asyncio
import base64
import gc
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Received

from agent.models.endpoint import EndpointModel
from agent.models.settings import DecodingSettings, ModelSettings
from agent.models.types import ModelFailed, Picture, Prompt, StructureMode
from retrieval.errors import InputError

Serve = Callable[..., FakeServer]
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
KEY = "sk-very-secret-0123456789"


def model_at(url: str, **settings: Any) -> EndpointModel:
    given: dict[str, Any] = {"kind": "endpoint", "base_url": url, "name": "fake", **settings}
    return EndpointModel(ModelSettings(**given))


def prompt(**fields: Any) -> Prompt:
    given: dict[str, Any] = {"role": "answer", "system": "Be brief.", "user": "Who?", **fields}
    return Prompt(**given)


async def failure_of(model: EndpointModel, asked: Prompt | None = None, mode: StructureMode = "text") -> ModelFailed:
    with pytest.raises(ModelFailed) as failure:
        await model.generate(asked or prompt(), mode)
    return failure.value


async def test_a_prompt_becomes_messages_with_pictures_and_earlier_turns(serve: Serve) -> None:
    server = serve(["ok"])
    asked = prompt(
        user="谁？", pictures=(Picture(b"jpeg", "image/jpeg"),), earlier=(("assistant", "x"), ("user", "No."))
    )
    await model_at(server.base_url).generate(asked, "text")
    system, user, reply, again = server.chats[0].body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    text, picture = user["content"]
    assert text == {"type": "text", "text": "谁？"}
    assert picture["image_url"]["url"] == "data:image/jpeg;base64," + base64.b64encode(b"jpeg").decode()
    assert (reply["role"], reply["content"], again["role"], again["content"]) == ("assistant", "x", "user", "No.")


async def test_decoding_is_sent_under_the_names_that_every_server_knows(serve: Serve) -> None:
    server = serve(["ok"])
    decoding = DecodingSettings(temperature=0.3, top_p=0.9, seed=5, max_tokens=77)
    await model_at(server.base_url, decoding=decoding).generate(prompt(system=""), "text")
    body = server.chats[0].body
    assert {k: v for k, v in body.items() if k not in ("messages", "stream")} == {
        "model": "fake",
        "temperature": 0.3,
        "top_p": 0.9,
        "seed": 5,
        "max_tokens": 77,
    }
    assert not body.get("stream")
    assert [message["role"] for message in body["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("schema", "mode", "sent"),
    [
        (CLOSED, "schema", {"name": "answer", "schema": CLOSED, "strict": True}),
        ({**CLOSED, "required": []}, "schema", {"name": "answer", "schema": {**CLOSED, "required": []}}),
        (CLOSED, "json", "json_object"),
        (CLOSED, "text", None),
        (None, "schema", None),
    ],
)
async def test_the_form_of_replies_is_asked_for_as_the_mode_says(
    serve: Serve, schema: dict[str, Any] | None, mode: StructureMode, sent: Any
) -> None:
    server = serve(["{}"])
    await model_at(server.base_url).generate(prompt(schema=schema), mode)
    form = server.chats[0].body.get("response_format")
    assert (form and (form.get("json_schema") or form["type"])) == sent


@pytest.mark.parametrize(
    ("answer", "text", "thinking"),
    [
        (Answer("42", message={"reasoning_content": "six by seven"}), "42", "six by seven"),
        (Answer("42", message={"reasoning": "six by seven"}), "42", "six by seven"),
        (Answer("<think>\nsix by seven\n</think>\n\n42"), "42", "six by seven"),
        (Answer("six by seven\n</think>\n\n42"), "42", "six by seven"),
        (Answer('{"quote": "ends with </think> here"}'), '{"quote": "ends with </think> here"}', None),
        (Answer(finish=None, body='{"choices": [{"message": {"content": "42"}}], "usage": null}'), "42", None),
        (Answer(message={"content": [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]}), "42", None),
    ],
)
async def test_hidden_reasoning_is_kept_apart(serve: Serve, answer: Answer, text: str, thinking: str | None) -> None:
    reply = await model_at(serve([answer]).base_url).generate(prompt(), "text")
    assert (reply.text, reply.thinking) == (text, thinking)


async def test_tokens_and_finish_are_those_of_the_server(serve: Serve) -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 8}
    reply = await model_at(serve([Answer("ok", finish="eos", usage=usage)]).base_url).generate(prompt(), "text")
    assert (reply.tokens_in, reply.tokens_out, reply.finish, reply.attempts) == (120, 8, "eos", 1)


@pytest.mark.parametrize(
    ("answer", "retry", "words"),
    [
        (Answer("The answ", finish="length"), False, r"truncated at 1024 tokens.*max_tokens"),
        (Answer('{"a": 1', finish="length"), False, "truncated"),
        (Answer(""), True, "empty"),
        (Answer(None), True, "empty"),
        (Answer("<think>hm", finish="stop"), True, "empty"),
        (Answer("", finish="content_filter"), False, "withheld"),
        (Answer(None, message={"refusal": "I can't help with that."}), False, "withheld .I can't help"),
        (Answer(body="<html>Hello</html>", headers={"content-type": "text/html"}), False, "no chat completion.*/v1"),
        (Answer(body="{not json"), False, "no chat completion"),
        (Answer(body='{"choices": []}'), False, "no chat completion"),
        (Answer(body='{"error": {"message": "busy", "code": 429}}'), True, "HTTP 429: busy"),
    ],
)
async def test_what_is_no_whole_reply_is_a_failure(serve: Serve, answer: Answer, retry: bool, words: str) -> None:
    asked = prompt(schema=CLOSED)
    failure = await failure_of(model_at(serve([answer]).base_url), asked, "schema")
    assert failure.retry is retry
    assert not failure.unsupported
    with pytest.raises(ModelFailed, match=words):
        raise failure


SOON = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5, 1.5),
        ({"Retry-After": SOON}, 3000, 3600),
        ({"Retry-After": "-3"}, 0, 0),
        ({"Retry-After": "soon"}, None, None),
        ({"Retry-After": "nan"}, None, None),
        ({"Retry-After": "inf"}, None, None),
        ({"Retry-After": "Wed, 21 Oct 99999 07:28:00 +99999999999"}, None, None),
        ({}, None, None),
    ],
)
async def test_a_busy_server_says_how_long_to_wait(
    serve: Serve, headers: dict[str, str], least: float | None, most: float | None
) -> None:
    server = serve([Answer(status=429, headers=headers), "ok"])
    model = model_at(server.base_url)
    failure = await failure_of(model)
    assert failure.retry
    assert failure.after is least if least is None or most is None else least <= (failure.after or 0) <= most
    assert len(server.chats) == 1
    assert (await model.generate(prompt(), "text")).text == "ok"


@pytest.mark.parametrize(
    ("status", "error", "retry", "unsupported", "words"),
    [
        (500, {"message": "boom"}, True, False, r"failed \(HTTP 500: boom\)"),
        (503, {"message": "Loading model"}, True, False, "Loading model"),
        (501, {"message": "no such thing"}, False, False, "HTTP 501"),
        (429, {"message": "no", "code": "insufficient_quota"}, False, False, "no quota"),
        (401, {"message": "bad key"}, False, False, "DOCSAGE_API_KEY"),
        (400, {"message": "This model's maximum context length is 8192 tokens"}, False, False, "prompt is too long"),
        (400, {"message": "x", "code": "context_length_exceeded"}, False, False, "too long.*model.context"),
        (400, {"message": "response_format json_schema is unavailable"}, False, True, "model.structured"),
        (500, {"message": "failed to parse grammar"}, False, True, "model.structured"),
        (500, {"message": "image input is not supported"}, False, True, "takes no pictures"),
        (400, "max_tokens is too large", False, False, "refuses the request .HTTP 400: max_tokens is too large"),
    ],
)
async def test_refusals_say_whether_asking_again_helps_and_what_does(
    serve: Serve, status: int, error: Any, retry: bool, unsupported: bool, words: str
) -> None:
    server = serve([Answer(status=status, error=error)])
    asked = prompt(schema=CLOSED, pictures=(Picture(b"png"),))
    failure = await failure_of(model_at(server.base_url), asked, "schema")
    assert (failure.retry, failure.unsupported) == (retry, unsupported)
    assert len(server.chats) == 1
    with pytest.raises(ModelFailed, match=words):
        raise failure


async def test_a_wrong_name_is_answered_with_the_models_that_there_are(serve: Serve) -> None:
    wrong = Answer(status=404, error={"message": "The model `fake` does not exist."})
    server = serve([wrong, wrong], models=[{"id": "qwen-7b"}, {"id": "qwen-32b"}])
    failure = await failure_of(model_at(server.base_url))
    assert str(failure).endswith("set DOCSAGE_MODEL to one of qwen-7b, qwen-32b")
    failure = await failure_of(model_at(server.base_url.replace("/v1", "/api")))
    assert "DOCSAGE_BASE_URL must be that of an OpenAI-compatible API, mostly ending in /v1" in str(failure)


async def test_a_server_that_hangs_or_hangs_up_is_tried_again_later(serve: Serve) -> None:
    server = serve([Answer(hang=True), Answer(close=True), "ok"])
    failure = await failure_of(model_at(server.base_url, timeout=0.05))
    assert failure.retry
    assert "no reply within 0.05 s" in str(failure)
    model = model_at(server.base_url)
    failure = await failure_of(model)
    assert failure.retry
    assert "can't be reached" in str(failure)
    assert (await model.generate(prompt(), "text")).text == "ok"


async def test_a_server_that_is_not_there_is_named() -> None:
    failure = await failure_of(model_at("http://user:pass@127.0.0.1:9/v1"))
    assert not failure.retry  # nobody listens there, and waiting won't help
    assert str(failure).startswith("http://127.0.0.1:9/v1 can't be reached")


async def test_parameters_that_a_server_refuses_are_left_out_from_then_on(serve: Serve) -> None:
    def picky(request: Received) -> Answer | str:
        body = request.body
        if "max_tokens" in body:
            problem = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        elif "temperature" in body:
            problem = "Unsupported value: 'temperature' does not support 0 with this model."
        elif body["messages"][0]["role"] == "system":
            problem = "System role not supported"
        else:
            return "ok"
        return Answer(status=400, error={"message": problem})

    server = serve(picky)
    model = model_at(server.base_url)
    assert (await model.generate(prompt(), "text")).attempts == 4
    assert (await model.generate(prompt(), "text")).attempts == 1
    body = server.chats[-1].body
    assert body["max_completion_tokens"] == 1024
    assert body["messages"] == [{"role": "user", "content": "Be brief.\n\nWho?"}]


async def test_the_key_is_sent_and_shown_nowhere(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(["ok", Answer(status=401, error={"message": f"Incorrect API key provided: {KEY}"})])
    model = model_at(server.base_url, api_key=KEY)
    await model.generate(prompt(), "text")
    failure = await failure_of(model)
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    assert "[key]" in str(failure)
    for shown in (str(failure), repr(failure), model.identity, repr(model), repr(vars(model)), caplog.text):
        assert KEY not in shown


async def test_proxies_and_keys_of_the_environment_are_not_used_for_this_machine(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    server = serve(["ok"])
    assert (await model_at(server.base_url).generate(prompt(), "text")).text == "ok"
    assert KEY not in str(server.chats[0].headers)


def test_one_model_serves_several_event_loops_and_leaves_no_connection_open(serve: Serve) -> None:
    server = serve(lambda _: "ok")
    model = model_at(server.base_url)

    async def twice() -> list[str]:
        return [(await model.generate(prompt(), "text")).text for _ in range(2)]

    assert [asyncio.run(twice()) for _ in range(3)] == [["ok", "ok"]] * 3
    assert server.connections == 3
    gc.collect()  # a connection left open warns here, and warnings are errors


async def test_connections_can_be_closed_before_the_loop_ends(serve: Serve) -> None:
    server = serve(lambda _: "ok")
    model = model_at(server.base_url)
    for _ in range(2):
        await model.generate(prompt(), "text")
        await model.aclose()
    assert server.connections == 2


async def test_calls_run_at_the_same_time(serve: Serve) -> None:
    server = serve(lambda request: Answer(request.user, together=16))
    model = model_at(server.base_url, timeout=10)
    replies = await asyncio.gather(*(model.generate(prompt(user=str(i)), "text") for i in range(16)))
    assert [reply.text for reply in replies] == [str(i) for i in range(16)]
    assert server.most_in_flight == 16


async def test_half_characters_of_damaged_texts_are_sent_as_question_marks(serve: Serve) -> None:
    server = serve(["ok"])
    await model_at(server.base_url).generate(prompt(user="a\ud83db 😀"), "text")
    assert server.chats[0].user == "a?b 😀"


async def test_a_key_with_a_line_end_works_and_one_that_cannot_be_sent_is_refused_unseen(serve: Serve) -> None:
    server = serve(["ok"])
    await model_at(server.base_url, api_key=f"{KEY}\n").generate(prompt(), "text")
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(InputError, match="DOCSAGE_API_KEY") as refusal:
        model_at(server.base_url, api_key="geheim\nX-Header: ä")
    assert "geheim" not in str(refusal.value)


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "ftp://127.0.0.1/v1"])
def test_a_wrong_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(InputError, match=r"DOCSAGE_BASE_URL, such as http://127\.0\.0\.1:8000/v1"):
        model_at(url)
