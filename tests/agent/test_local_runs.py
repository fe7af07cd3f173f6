"""Whole runs with a transformers model in this process: tiny random Qwen2.5-VL and Qwen3-VL checkpoints.

What such a model says is useless, and that is the point: pages as pictures, batches, repairs and rules in its place are
what a user's run is made of, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest
from modelled import events
from tiny_models import FAMILIES

from agent.baselines import Baseline
from agent.build import Agent, build_agent, build_baseline
from agent.models.settings import DecodingSettings, EvidenceForm, LocalSettings
from agent.settings import Profile, load_profile
from agent.trace import find, load, trajectory_of
from agent.types import Trajectory
from retrieval.collection import Collection
from retrieval.types import Scope

pytestmark = pytest.mark.local
Family = Literal["Qwen2.5-VL", "Qwen3-VL"]
Opened = Callable[..., tuple[Agent, Scope]]
BOTH: tuple[Family, ...] = ("Qwen2.5-VL", "Qwen3-VL")
TREES = "How many apple trees does the orchard hold?"
QUESTIONS = (TREES, "How many tonnes was the harvest of 2024?", "How deep does the deeper well reach?")
MAX_TOKENS = 8


@pytest.fixture(scope="module", autouse=True)
def _two_threads() -> Iterator[None]:
    """Tiny tensors gain nothing from more threads, and tests run beside others."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Family, bool], Path]:
    """A family's checkpoint whose replies have `MAX_TOKENS` tokens, of which the last is the end token or isn't: its
    own config of generation says so, as those of trained models say other things.
    """

    @cache
    def written(family: Family, ends: bool) -> Path:
        folder = FAMILIES[family](tmp_path_factory.mktemp("checkpoint"))
        path = folder / "generation_config.json"
        config = json.loads(path.read_text())
        end = {"forced_eos_token_id": config["eos_token_id"], "min_new_tokens": MAX_TOKENS - 1}
        path.write_text(json.dumps({**config, **(end if ends else {"min_new_tokens": MAX_TOKENS})}))
        return folder

    return written


@pytest.fixture
def collection(english_pdf: Path, tmp_path: Path) -> Iterator[Collection]:
    with ExitStack() as opened:
        collection = Collection(tmp_path / "collection")
        opened.callback(collection.close)
        collection.read([english_pdf])
        yield collection


@pytest.fixture
def profiled(checkpoint: Callable[[Family, bool], Path]) -> Callable[..., Profile]:
    """The profile `local` with a tiny checkpoint: `profiled(family, evidence="both", ends=True)`."""

    def made(family: Family, *, evidence: EvidenceForm = "both", ends: bool = True) -> Profile:
        profile = load_profile("local", {})
        changes = {
            "name": str(checkpoint(family, ends)),
            "context": 32_768,
            "evidence": evidence,
            "dpi": 36,
            "decoding": DecodingSettings(max_tokens=MAX_TOKENS),
            "local": LocalSettings(max_pixels=12 * 28 * 28),
        }
        return profile.model_copy(update={"model": profile.model.model_copy(update=changes)})

    return made


@pytest.fixture
def opened(collection: Collection, profiled: Callable[..., Profile]) -> Iterator[Opened]:
    """The whole agent over the collection, and its scope: `opened(family, **settings of profiled)`."""
    with ExitStack() as closing:

        def made(family: Family, **settings: Any) -> tuple[Agent, Scope]:
            agent = build_agent(collection, profiled(family, **settings))
            assert agent.client is not None
            assert agent.client.cache is not None
            closing.callback(agent.client.cache.close)
            return agent, scope_of(collection)

        yield made


def scope_of(collection: Collection) -> Scope:
    return Scope(doc_ids=tuple(document.doc_id for document in collection.documents()))


def calls(collection: Collection, trajectory: Trajectory, role: str) -> list[dict[str, Any]]:
    """The model calls of a role in a run's trace."""
    return [call for call in events(collection.root, trajectory.trace_id, "model_call") if call["role"] == role]


@pytest.mark.parametrize("evidence", ["both", "image"])
@pytest.mark.parametrize("family", BOTH)
def test_several_pages_reach_the_model_as_pictures(
    family: Family, evidence: EvidenceForm, opened: Opened, collection: Collection
) -> None:
    agent, scope = opened(family, evidence=evidence)
    trajectory = agent.ask(TREES, scope)
    asked = calls(collection, trajectory, "answer")
    assert [call["pictures"] for call in asked[:2]] == [3, 3]
    assert [call["outcome"] for call in asked[:2]] == ["ok", "ok"]
    words, pictures = asked[0]["characters"] // 4, 3 * 4
    assert asked[0]["tokens_in"] > words + pictures
    assert agent.client is not None
    assert trajectory.models["model"] == agent.client.name


@pytest.mark.parametrize("family", BOTH)
def test_a_useless_reply_is_sent_back_once_and_then_left_to_the_rules(
    family: Family, opened: Opened, collection: Collection
) -> None:
    agent, scope = opened(family)
    trajectory = agent.ask(TREES, scope)
    planned = calls(collection, trajectory, "plan")
    assert [call["outcome"] for call in planned] == ["ok", "ok"]
    assert [call.get("repairs") for call in planned] == [None, "the reply is no JSON object"]
    assert trajectory.plan.origin == "rules: the reply can't be used: the reply is no JSON object"
    first = events(collection.root, trajectory.trace_id, "facts")[0]
    assert first["origin"] == "rules: the reply can't be used: the reply is no JSON object"
    assert len(calls(collection, trajectory, "answer")) >= 2
    assert "by rules alone" in trajectory.claims[0].reason
    assert trajectory.answer == "312"
    assert trajectory.usage.tokens_out > 0


@pytest.mark.parametrize("family", BOTH)
async def test_questions_that_are_asked_together_are_answered_in_batches(
    family: Family, opened: Opened, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = _widths(monkeypatch)
    agent, scope = opened(family)
    trajectories = await asyncio.gather(*(agent.aask(question, scope) for question in QUESTIONS))
    assert max(widths) > 1
    assert sum(widths) == sum(t.usage.model_calls - t.usage.cached_calls for t in trajectories)
    for question, trajectory in zip(QUESTIONS, trajectories, strict=True):
        assert trajectory.question == question
        assert trajectory.abstained is (trajectory.answer is None)
        trace = load(find(collection.root, trajectory.trace_id))
        assert trace[-1].kind == "final"
        assert trajectory_of(trace) == trajectory
        assert {call.data["outcome"] for call in trace if call.kind == "model_call"} == {"ok"}
    assert trajectories[0].answer == "312"


@pytest.mark.parametrize("family", BOTH)
def test_replies_that_were_cut_are_failures_which_the_rules_answer_for(
    family: Family, opened: Opened, collection: Collection
) -> None:
    agent, scope = opened(family, ends=False)
    trajectory = agent.ask(TREES, scope)
    failed = events(collection.root, trajectory.trace_id, "model_call")
    assert {call["outcome"] for call in failed} == {"failed"}
    assert "truncated" in failed[0]["error"]
    assert "truncated" in trajectory.plan.origin
    assert trajectory.answer == "312"


@pytest.mark.parametrize("family", BOTH)
def test_a_page_is_transcribed_by_the_model_from_its_picture(
    family: Family, opened: Opened, collection: Collection
) -> None:
    agent, scope = opened(family)
    trajectory = agent.ask("Transcribe page 2.", scope)
    assert trajectory.task == "ocr"
    reads = calls(collection, trajectory, "read")
    assert (reads[0]["pictures"], reads[0]["outcome"], reads[0]["cached"]) == (1, "ok", False)
    assert len(reads) == 1
    drafts = events(collection.root, trajectory.trace_id, "facts")
    assert drafts[0]["origin"] == "model"
    first = events(collection.root, trajectory.trace_id, "claims")[0]["claims"]
    assert {claim["verdict"] for claim in first} == {"unsupported"}, "what a random model reads stands on no page"
    assert drafts[1]["origin"].startswith("rules"), "the text of the page is what is left"
    assert trajectory.answer is not None
    assert "18.4 tonnes" in trajectory.answer


@pytest.mark.parametrize("baseline", ["direct", "direct-rag"])
@pytest.mark.parametrize("family", BOTH)
def test_a_baseline_shows_pages_to_the_model_in_one_call(
    family: Family, baseline: Baseline, collection: Collection, profiled: Callable[..., Profile]
) -> None:
    agent = build_baseline(collection, profiled(family), baseline)
    trajectory = agent.ask(TREES, scope_of(collection))
    assert agent.client.cache is not None
    agent.client.cache.close()
    (asked,) = calls(collection, trajectory, "direct")
    assert (asked["pictures"], asked["outcome"]) == (3, "ok")
    assert trajectory.stop_reason == "unverified"
    assert trajectory.answer == asked["reply"].strip()
    assert trajectory_of(load(find(collection.root, trajectory.trace_id))) == trajectory


def _widths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many prompts each batch of the model held, as they come."""
    from transformers import GenerationMixin

    generate = GenerationMixin.generate
    widths: list[int] = []

    def counted(model: Any, *arguments: Any, **keywords: Any) -> Any:
        widths.append(keywords["input_ids"].shape[0])
        return generate(model, *arguments, **keywords)

    monkeypatch.setattr(GenerationMixin, "generate", counted)
    return widths
