"""The scripted model: which reply a prompt gets, the failures it plays, and what it says of a wrong script."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent.models.scripted import ScriptedModel
from agent.models.settings import ModelSettings
from agent.models.types import Capabilities, ModelFailed, Prompt, Role
from retrieval.errors import InputError


def prompt(user: str = "Who?", role: Role = "answer") -> Prompt:
    return Prompt(role=role, system="Answer.", user=user)


async def said(model: ScriptedModel, user: str = "Who?", role: Role = "answer") -> str:
    return (await model.generate(prompt(user, role), "schema")).text


async def test_replies_come_by_role_and_in_order_and_objects_as_json() -> None:
    model = ScriptedModel.from_script({"plan": [{"steps": ["读"]}], "answer": ["first", "second"]})
    assert await said(model) == "first"
    assert json.loads(await said(model, role="plan")) == {"steps": ["读"]}
    assert await said(model) == "second"
    assert [asked.role for asked in model.asked] == ["answer", "plan", "answer"]
    assert model.modes == ["schema"] * 3


async def test_a_role_without_a_reply_left_fails_by_name() -> None:
    model = ScriptedModel.from_script({"answer": ["only"]})
    await said(model)
    with pytest.raises(ModelFailed, match=r"no reply left for the role answer \(1 in all\)") as failure:
        await said(model)
    assert not failure.value.retry
    with pytest.raises(ModelFailed, match=r"for the role verify \(there are none\)"):
        await said(model, role="verify")


async def test_prompts_find_their_replies_whatever_their_order() -> None:
    entries = [{"when": f"question {i},", "reply": f"answer {i}"} for i in range(20)]
    model = ScriptedModel.from_script({"answer": [*entries, "any other"]})
    asked = [f"question {i}, please" for i in reversed(range(20))]
    replies = await asyncio.gather(*(said(model, user) for user in asked))
    assert replies == [f"answer {i}" for i in reversed(range(20))]
    assert await said(model, "question 3, please") == "any other"


async def test_a_reply_for_several_words_needs_them_all() -> None:
    model = ScriptedModel.from_script({"verify": [{"when": ["claim 1", 1996], "reply": "both"}, "else"]})
    assert await said(model, "claim 1, of 1997", "verify") == "else"
    assert await said(model, "claim 1, of 1996", "verify") == "both"


async def test_a_repeating_script_begins_again() -> None:
    model = ScriptedModel.from_script({"repeat": True, "answer": ["a", "b", {"when": "tide", "reply": "c"}]})
    assert [await said(model) for _ in range(3)] == ["a", "b", "a"]
    assert [await said(model, "tide") for _ in range(2)] == ["c", "c"]
    assert await said(model) == "b"


@pytest.mark.parametrize(
    ("error", "retry", "words"),
    [
        ("timeout", True, "no reply in time"),
        ("connection", True, "can't be reached"),
        (429, True, "HTTP 429"),
        (500, True, "HTTP 500"),
        (401, False, "refuses the key"),
        ("refused", False, "HTTP 400"),
        ("truncated", False, "truncated"),
        ("empty", True, "empty"),
    ],
)
async def test_failures_are_played_as_an_endpoint_would_fail(error: Any, retry: bool, words: str) -> None:
    model = ScriptedModel.from_script({"answer": [{"error": error}, "then"]})
    with pytest.raises(ModelFailed, match=words) as failure:
        await said(model)
    assert failure.value.retry is retry
    assert not failure.value.unsupported
    assert await said(model) == "then"


async def test_a_played_429_says_how_long_to_wait_and_a_refused_schema_that_it_is_one() -> None:
    model = ScriptedModel.from_script({"answer": [{"error": 429, "after": 2}, {"error": "unsupported"}, ""]})
    with pytest.raises(ModelFailed) as busy:
        await said(model)
    assert busy.value.after == 2
    with pytest.raises(ModelFailed) as refused:
        await said(model)
    assert refused.value.unsupported
    with pytest.raises(ModelFailed, match="empty"):
        await said(model)


async def test_an_object_with_an_error_of_its_own_is_a_reply() -> None:
    model = ScriptedModel.from_script({"answer": [{"error": "none", "facts": []}, {"reply": {"error": "timeout"}}]})
    assert json.loads(await said(model)) == {"error": "none", "facts": []}
    assert json.loads(await said(model)) == {"error": "timeout"}


async def test_replies_carry_thinking_and_a_steady_count_of_tokens() -> None:
    model = ScriptedModel.from_script({"answer": [{"reply": "12345", "thinking": "hm"}]})
    reply = await model.generate(Prompt(role="answer", system="1234", user="1234"), "text")
    assert (reply.thinking, reply.tokens_in, reply.tokens_out) == ("hm", 2, 2)


async def test_capabilities_come_from_the_settings_then_the_script(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text("capabilities: {vision: true}\nanswer: [a]\n", encoding="utf-8")
    model = ScriptedModel.from_file(path)
    assert await model.capabilities() == Capabilities(vision=True, structured="schema", context=32_768)
    model = ScriptedModel(ModelSettings(kind="scripted", script=str(path), structured="text", context=999))
    assert await model.capabilities() == Capabilities(vision=True, structured="text", context=999)


def test_identity_follows_the_content_of_the_script() -> None:
    one, same, other = (ScriptedModel.from_script({"answer": [text]}) for text in ("a", "a", "b"))
    assert one.identity == same.identity != other.identity
    halves = (ScriptedModel.from_script({"answer": [text]}) for text in ("\ud83d", "\ud83e"))
    assert len({model.identity for model in halves}) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("answers: [a]", "has the key 'answers': its keys are .*classify, plan, read, answer"),
        ("answer: a", "answer is no list"),
        ("- a", "holds no mapping"),
        ("answer: [{error: 418}]", r"answer\.0\.error: .*timeout"),
        ("answer: [{when: x}]", "give either `reply` or `error`"),
        ("answer: [{reply: x, whenn: y}]", r"answer\.0\.whenn"),
        ("answer: [a, ]\nplan: [~]", "the entry is empty"),
        ("capabilities: {visions: true}", r"capabilities\.visions"),
        ("capabilities: {context: 0}", "capabilities: the context is 0, and must be 1 at least"),
        ("[" * 5000, "is no YAML or JSON"),
        ("answer: [2021-13-45]", "is no YAML or JSON"),
        ("answer: [" + "9" * 5000 + "]", "is no YAML or JSON"),
        ("answer: [", "is no YAML or JSON"),
    ],
)
def test_a_wrong_script_is_refused_by_file_place_and_choices(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=words) as refusal:
        ScriptedModel.from_file(path)
    assert "wrong.yaml" in str(refusal.value)


def test_a_missing_script_is_refused() -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml can't be read"):
        ScriptedModel.from_file("nowhere.yaml")
    with pytest.raises(InputError, match=r"name its file in model\.script"):
        ScriptedModel(ModelSettings(kind="scripted"))
