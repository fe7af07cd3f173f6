"""What the endpoint model finds out about a server: asked where servers say it, tried where they don't."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Received
from PIL import Image

from agent.models.cache import ReplyCache
from agent.models.endpoint import EndpointModel
from agent.models.settings import ModelSettings
from agent.models.types import Capabilities, ModelFailed, Prompt

Serve = Callable[..., FakeServer]


def model_at(server: FakeServer, **settings: Any) -> EndpointModel:
    return EndpointModel(ModelSettings(kind="endpoint", base_url=server.base_url, **settings))


def able(*, form: str = "json_schema", number: str = "") -> Callable[[Received], Answer | str]:
    """A server that enforces forms up to `form`; its model says `number` of pictures ("": they are refused)."""

    def reply(request: Received) -> Answer | str:
        content = request.body["messages"][-1]["content"]
        asked = request.body.get("response_format", {}).get("type")
        if isinstance(content, list):
            return number or Answer(status=400, error={"message": "fake is not a multimodal model"})
        if asked == "json_schema" and form == "json_schema":
            return '{"colour": "green"}'
        if asked == "json_object" and form in ("json_schema", "json_object"):
            return '{"grass": "green"}'
        return "Green."

    return reply


async def test_settings_are_taken_and_the_server_is_not_asked(serve: Serve) -> None:
    server = serve()
    model = model_at(server, name="any", vision=True, structured="json", context=4096)
    assert await model.capabilities() == Capabilities(vision=True, structured="json", context=4096)
    assert server.requests == []


@pytest.mark.parametrize(
    ("entry", "pages", "expected"),
    [
        ({"max_model_len": 32768}, {}, (False, 32768)),  # vLLM
        ({"context_length": 131072, "architecture": {"input_modalities": ["text", "image"]}}, {}, (True, 131072)),
        (
            {"meta": {"n_ctx_train": 32768}},
            {"/props": {"default_generation_settings": {"n_ctx": 6144}, "modalities": {"vision": True}}},
            (True, 6144),
        ),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 32768}}, {"/props": {"modalities": {"vision": False}}}, (False, 4096)),
        (
            {"owned_by": "library"},
            {
                "/api/show": {"capabilities": ["completion", "vision"], "model_info": {"qwen.context_length": 128000}},
                "/api/ps": {"models": [{"name": "fake:latest", "context_length": 4096}]},
            },
            (True, 4096),
        ),
        (
            {},
            {"/api/show": {"capabilities": ["completion"], "parameters": "stop x\nnum_ctx   16384"}},
            (False, 16384),
        ),
        ({}, {"/api/show": {"capabilities": [], "model_info": {"qwen.context_length": 32000}}}, (False, 32000)),
        ({"meta": {"n_ctx_train": 2048}}, {}, (False, 2048)),
        ({"max_model_len": True, "context_length": 10**30, "meta": {"n_ctx": -1}}, {}, (False, 8192)),
        ({}, {"/api/show": {"parameters": "num_ctx " + "9" * 5000}}, (False, 8192)),
        ({}, {"/api/show": {"parameters": "num_ctx 0"}}, (False, 8192)),
        ({}, {"/api/show": {"parameters": 5}, "/api/ps": {"models": 5}}, (False, 8192)),
        ({}, {"/api/show": {"x": 1}, "/api/ps": {"models": [{"name": [1], "model": {}}, 5]}}, (False, 8192)),
        ({}, {"/props": Answer(body="<html>", headers={"content-type": "text/html"})}, (False, 8192)),
    ],
)
async def test_each_kind_of_server_is_asked_in_its_own_way(
    serve: Serve, entry: dict[str, Any], pages: dict[str, Any], expected: tuple[bool, int]
) -> None:
    server = serve(able(), models=[{"id": "other", "max_model_len": 1}, {"id": "fake", **entry}], pages=pages)
    found = await model_at(server, name="fake").capabilities()
    assert (found.vision, found.context) == expected


@pytest.mark.parametrize(
    ("form", "mode"), [("json_schema", "schema"), ("json_object", "json"), ("none of them", "text")]
)
async def test_the_strictest_form_that_the_server_keeps_to_is_used(serve: Serve, form: str, mode: str) -> None:
    server = serve(able(form=form))
    assert (await model_at(server, name="fake").capabilities()).structured == mode


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=400, error={"message": "response_format is not supported"}),
        Answer(status=500, error={"message": "boom"}),
        Answer('{"colour":', finish="length"),
        Answer(""),
    ],
)
async def test_a_server_that_fails_on_forms_is_asked_in_words(serve: Serve, answer: Answer) -> None:
    server = serve(lambda request: answer if "response_format" in request.body else "42")
    assert await model_at(server, name="fake", vision=False, context=1).capabilities() == Capabilities(context=1)


@pytest.mark.parametrize(("number", "sees"), [("7294", True), ("It shows 7 294.", True), ("12345", False), ("", False)])
async def test_a_model_sees_when_it_reads_the_number_in_a_picture(serve: Serve, number: str, sees: bool) -> None:
    server = serve(able(number=number))
    assert (await model_at(server, name="fake").capabilities()).vision is sees
    url = server.chats[-1].body["messages"][-1]["content"][1]["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
        assert picture.convert("L").getextrema() == (0, 255)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '"\ud83d', "\x00"])
async def test_odd_replies_to_probes_show_nothing_and_are_kept_as_others(
    serve: Serve, tmp_path: Path, text: str
) -> None:
    body = json.dumps({"choices": [{"message": {"content": text}}]})
    server = serve(lambda _: Answer(body=body))
    asked = []
    for _ in range(2):
        with closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
            settings = ModelSettings(kind="endpoint", base_url=server.base_url, name="fake")
            found = await EndpointModel(settings, cache).capabilities()
            assert (found.vision, found.structured, cache.problem) == (False, "text", "")
        asked.append(len(server.chats))
    assert asked == [3, 3]


async def test_without_a_name_the_first_model_of_the_list_is_used(serve: Serve) -> None:
    server = serve(["ok"], models=[{"id": "first"}, {"id": "second"}])
    model = model_at(server)
    assert model.name == ""
    await model.generate(Prompt(role="answer", system="", user="Who?"), "text")
    assert model.name == "first"
    assert "first" in model.identity
    assert server.chats[0].body["model"] == "first"


async def test_without_a_name_and_a_list_the_remedy_is_to_name_one(serve: Serve) -> None:
    with pytest.raises(ModelFailed, match=r"has no /models.*DOCSAGE_MODEL"):
        await model_at(serve(models=None)).capabilities()


async def test_callers_at_the_same_time_share_the_questions(serve: Serve) -> None:
    server = serve(able())
    model = model_at(server)
    found = await asyncio.gather(*(model.capabilities() for _ in range(8)))
    assert len(set(map(json.dumps, (f.model_dump() for f in found)))) == 1
    paths = [request.path for request in server.requests]
    assert paths.count("/props") == 1
    assert len(server.chats) == 2
    await model.capabilities()
    assert len(server.requests) == len(paths)


async def test_a_server_that_was_away_is_asked_again(serve: Serve) -> None:
    busy = Answer(status=503, error={"message": "Loading model"})
    answers = iter([busy, '{"colour": "red"}', "7294"])
    model = model_at(serve(lambda _: next(answers)), name="fake")
    with pytest.raises(ModelFailed, match="Loading model") as failure:
        await model.capabilities()
    assert failure.value.retry
    assert await model.capabilities() == Capabilities(vision=True, structured="schema")


async def test_one_caller_that_gives_up_takes_nothing_from_the_others(serve: Serve) -> None:
    server = serve(lambda request: Answer('{"colour": "red"}', delay=0.05))
    model = model_at(server, name="fake", vision=False, context=1)
    patient = asyncio.ensure_future(model.capabilities())
    hasty = asyncio.ensure_future(model.capabilities())
    await asyncio.sleep(0)
    hasty.cancel()
    assert (await patient).structured == "schema"


async def test_a_wrong_key_is_said_and_not_taken_for_a_lack(serve: Serve) -> None:
    server = serve(lambda _: Answer(status=401, error={"message": "no"}))
    with pytest.raises(ModelFailed, match="DOCSAGE_API_KEY"):
        await model_at(server, name="fake").capabilities()
