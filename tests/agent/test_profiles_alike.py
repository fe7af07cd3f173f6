"""One question in every profile: the same kind of trajectory and trace, and the same rules that no model talks down."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pytest
from fake_server import FakeServer, Received
from tiny_models import write_qwen2_5_vl

from agent.build import Agent, build_agent
from agent.draft import Draft, Request, Synthesizer
from agent.loop import run
from agent.models.endpoint import EndpointModel
from agent.models.local.batches import Ticket
from agent.models.local.checkpoint import Checkpoint, Weights
from agent.models.settings import DecodingSettings, LocalSettings
from agent.models.types import Reply
from agent.settings import Profile, load_profile
from agent.trace import Event, find, load, trajectory_of
from agent.types import Trajectory
from retrieval.collection import Collection
from retrieval.types import Scope

Kind = Literal["embedded", "endpoint", "local", "local, random weights"]
Opened = Callable[..., Agent]
QUESTION = "How many apple trees does the orchard hold?"
RIGHT, WRONG = "312", "512"
KINDS: tuple[Any, ...] = ("embedded", "endpoint", "local")
RANDOM = pytest.param("local, random weights", marks=pytest.mark.local)


def said(role: str, user: str, value: str) -> str:
    """What the model of a test says: that the orchard holds `value` trees, and that the evidence says so, too."""
    if role == "plan":
        return json.dumps({"sub_questions": [], "steps": [], "criteria": []})
    if role == "answer":
        found = re.search(r"\[(S\d+)\] [^\n]*312 apple", user)
        assert found, user
        fact = {"text": f"The orchard at Linden Hill holds {value} apple trees.", "sources": [found.group(1)]}
        return json.dumps({"facts": [fact], "sufficient": True, "answer": value, "calculation": "", "missing": ""})
    assert role == "verify", role
    return json.dumps({"quote": "312 apple trees", "value": value, "verdict": "supported", "missing": ""})


class FixedTexts:
    """A generator of a local model that says what it is told to, in the place of weights."""

    def __init__(self, value: str) -> None:
        self._value = value

    def answer(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            ticket.settle(Reply(text=said(ticket.prompt.role, ticket.prompt.user, self._value), tokens_in=9))


class Misreading:
    """A synthesiser by rules that reads 512 where 312 stands."""

    name = "misreading"

    def __init__(self, rules: Synthesizer) -> None:
        self._rules = rules

    async def synthesise(self, request: Request) -> Draft:
        draft = await self._rules.synthesise(request)
        stated = tuple(text.replace(RIGHT, WRONG) for text in draft.statements)
        return draft.model_copy(update={"answer": WRONG, "candidate": WRONG, "statements": stated})


@pytest.fixture
def opened(
    english_pdf: Path, tmp_path: Path, serve: Callable[..., FakeServer], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Opened]:
    """The agent of a profile over the orchard: `opened(kind, value)`; its model, if any, says `value`."""
    with ExitStack() as closing:

        def made(kind: Kind, value: str = RIGHT) -> Agent:
            profile = load_profile("local" if kind.startswith("local") else kind, {})
            if kind == "endpoint":
                server = serve(lambda request: said(_role(request), request.user, value))
                profile = _with_model(profile, base_url=server.base_url, structured="schema")
            if kind == "local":
                monkeypatch.setattr("agent.models.local.model.read_checkpoint", _opened)
                monkeypatch.setattr("agent.models.local.model.load_weights", _loaded)
                monkeypatch.setattr("agent.models.local.model.Generator", lambda *_: FixedTexts(value))
                profile = _with_model(profile)
            if kind == "local, random weights":
                profile = _with_model(profile, name=str(write_qwen2_5_vl(tmp_path / "checkpoint")))
            collection = Collection(tmp_path / kind)
            closing.callback(collection.close)
            collection.read([english_pdf])
            agent = build_agent(collection, profile)
            if agent.client is not None and isinstance(agent.client.model, EndpointModel):
                closing.callback(lambda model: run(model.aclose()), agent.client.model)
            return agent

        yield made


def _with_model(profile: Profile, **changes: Any) -> Profile:
    """The profile with a model that sees, is never asked twice, and finds nothing without its own words."""
    settings = {
        "name": "fixed",
        "vision": True,
        "context": 32_768,
        "cache": False,
        "dpi": 36,
        "rules": "when_failed",
        "decoding": DecodingSettings(max_tokens=8),
        "local": LocalSettings(max_pixels=12 * 28 * 28),
    }
    return profile.model_copy(update={"model": profile.model.model_copy(update={**settings, **changes})})


def _opened(*_: object) -> Checkpoint:
    return Checkpoint(source="fixed", config=None, vision=True, context=32_768)


def _loaded(*_: object) -> Weights:
    return Weights(model=None, processor=None, tokenizer=None, vision=True)


def _role(request: Received) -> str:
    return str(request.body["response_format"]["json_schema"]["name"])


def _asked(agent: Agent) -> tuple[Trajectory, list[Event]]:
    """The trajectory of the question over all documents, and its trace."""
    pages = agent.pages
    assert isinstance(pages, Collection)
    scope = Scope(doc_ids=tuple(document.doc_id for document in pages.documents()))
    trajectory = agent.ask(QUESTION, scope)
    return trajectory, load(find(agent.root, trajectory.trace_id))


def _form(value: Any) -> Any:
    """The fields of a JSON value, all the way down; of a list those of its first item, of anything else nothing."""
    if isinstance(value, dict):
        return {name: _form(item) for name, item in value.items()}
    return [_form(item) for item in value[:1]] if isinstance(value, list) else None


def _steps(trace: Sequence[Event]) -> list[tuple[str, str]]:
    """The kinds of events with their nodes, without what is said to models; several calls in a row are one step."""
    steps = [(event.kind, event.node) for event in trace if event.kind != "model_call"]
    return [step for step, _ in groupby(steps)]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Opened], tuple[Trajectory, list[Event]]]:
    """The run in `embedded`, made once."""
    made: list[tuple[Trajectory, list[Event]]] = []

    def once(opened: Opened) -> tuple[Trajectory, list[Event]]:
        if not made:
            made.append(_asked(opened("embedded")))
        return made[0]

    return once


@pytest.mark.parametrize("kind", [*KINDS[1:], RANDOM])
def test_a_question_leaves_the_same_kind_of_trajectory_and_trace_in_every_profile(
    kind: Kind, opened: Opened, reference: Callable[[Opened], tuple[Trajectory, list[Event]]]
) -> None:
    expected, expected_trace = reference(opened)
    trajectory, trace = _asked(opened(kind))
    assert (trajectory.answer, trajectory.stop_reason, trajectory.task) == (RIGHT, "supported", "document_qa")
    assert [page.ref for page in trajectory.pages] == [page.ref for page in expected.pages]
    assert trajectory.regions == expected.regions
    assert [claim.verdict for claim in trajectory.claims] == [claim.verdict for claim in expected.claims]

    shown, wanted = (t.model_dump(mode="json", by_alias=True) for t in (trajectory, expected))
    models = {"planner", "synthesizer", "verifier"}
    assert set(wanted.pop("models")) == models
    assert set(shown.pop("models")) == {*models, "model"}
    assert {name: _form(value) for name, value in shown.items()} == {n: _form(value) for n, value in wanted.items()}

    assert _steps(trace) == _steps(expected_trace)
    assert trajectory_of(trace) == trajectory
    for kind_of_event in {event.kind for event in trace} - {"model_call", "plan", "tool_call", "question"}:
        one, other = (next(e.data for e in events if e.kind == kind_of_event) for events in (trace, expected_trace))
        assert one.keys() == other.keys(), kind_of_event
    said_to_model = [event for event in trace if event.kind == "model_call"]
    assert {event.data["role"] for event in said_to_model} == {"plan", "answer", "verify"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_the_evidence_denies_is_refused_by_the_rules_in_every_profile(kind: Kind, opened: Opened) -> None:
    """The models insist that the evidence gives the wrong value; without a model it is the rules' own misreading."""
    agent = opened(kind, WRONG)
    if kind == "embedded":
        agent.synthesizer = Misreading(agent.synthesizer)
    trajectory, trace = _asked(agent)
    assert trajectory.abstained
    assert (trajectory.answer, trajectory.candidate) == (None, WRONG)
    assert trajectory.claims[0].verdict != "supported"
    assert trajectory.report.support_rate == 0
    assert trajectory.pages == ()
    decisions = [event.data["outcome"] for event in trace if event.kind == "decision"]
    assert decisions[-1] == "abstain"
