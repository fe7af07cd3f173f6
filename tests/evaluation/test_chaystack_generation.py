"""Answers from kept pages: what the model is shown, how much of it, and what an abstention is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripted_trajectory import trajectory

from agent.models.client import ModelClient
from agent.models.scripted import ScriptedModel
from agent.models.settings import ModelSettings
from agent.models.types import ModelFailed
from agent.types import Trajectory
from evaluation.chaystack.generation import AgentGenerator, DirectGenerator
from evaluation.chaystack.images import HaystackImage
from evaluation.chaystack.pages import HaystackPage
from retrieval.errors import UnreadableDocument
from retrieval.progress import Progress
from retrieval.types import Scope

TEXTS = {"paper/a": "林丘果园共有苹果树三百一十二棵", "paper/b": "停车费三十元"}


class KnownTexts:
    """Texts from `TEXTS`."""

    def read(self, images: Sequence[HaystackImage], progress: Progress) -> None:
        """Nothing has to be read."""

    def document(self, image: HaystackImage) -> str | None:
        return f"doc-{image.image_id}" if image.key in TEXTS else None

    def text(self, image: HaystackImage) -> str:
        if image.key not in TEXTS:
            raise UnreadableDocument(f"{image.path} can't be read")
        return TEXTS[image.key]


@pytest.fixture
def pages(tmp_path: Path) -> list[HaystackPage]:
    """Two pages, and a damaged one between them."""
    found = []
    for name in ("a", "damaged", "b"):
        Image.new("RGB", (30, 40), (200, 200, 200)).save(tmp_path / f"{name}.png")
        found.append(HaystackPage(HaystackImage(name, "paper", tmp_path / f"{name}.png"), KnownTexts()))
    (tmp_path / "damaged.png").write_bytes(b"\x89PNG")
    return found


def _direct(
    replies: list[Any], *, tokens: int = 128, capabilities: dict[str, Any] | None = None, **settings: Any
) -> tuple[DirectGenerator, ScriptedModel]:
    script = {"capabilities": {"vision": True, "context": 32_000, **(capabilities or {})}, "direct": replies}
    model = ScriptedModel.from_script(script)
    generator = DirectGenerator(ModelClient(model, ModelSettings(retries=0, **settings)), tokens=tokens)
    generator.ready()
    return generator, model


def test_a_model_with_eyes_is_shown_the_images_in_order_and_replies_briefly(pages: list[HaystackPage]) -> None:
    generator, model = _direct(["312棵"], evidence="image")
    made = generator.generate("有多少棵苹果树？", pages)
    assert (made.reply, made.shown, made.trace_id, generator.reads_text) == ("312棵", 2, None, False)
    (prompt,) = model.asked
    assert (len(prompt.pictures), prompt.brief, prompt.role) == (2, 128, "direct")
    assert "=== 1 ===\n=== 3 ===" in prompt.user
    assert TEXTS["paper/a"] not in prompt.user


@pytest.mark.parametrize(
    ("vision", "evidence", "pictures"), [(False, "image", 0), (True, "text", 0), (True, "both", 2)]
)
def test_text_is_shown_where_it_is_wanted_or_the_model_has_no_eyes(
    pages: list[HaystackPage], vision: bool, evidence: str, pictures: int
) -> None:
    generator, model = _direct(["30元"], capabilities={"vision": vision}, evidence=evidence)
    assert generator.reads_text
    assert generator.generate("停车费是多少？", pages).shown == 2
    assert len(model.asked[0].pictures) == pictures
    assert all(text in model.asked[0].user for text in TEXTS.values())


def test_no_more_pages_are_shown_than_the_context_holds(pages: list[HaystackPage]) -> None:
    generator, model = _direct(["312棵"], capabilities={"context": 2_200}, evidence="image")
    assert generator.generate("有多少棵苹果树？", [pages[0], pages[2]]).shown == 1
    assert len(model.asked[0].pictures) == 1
    small, _ = _direct(["312棵"], capabilities={"context": 700}, evidence="image")
    with pytest.raises(ModelFailed, match="no room for a page"):
        small.generate("有多少棵苹果树？", pages)


def test_pages_that_cant_be_read_fail_only_when_there_is_no_other(pages: list[HaystackPage]) -> None:
    generator, model = _direct(["312棵"], evidence="image")
    with pytest.raises(UnreadableDocument, match=r"damaged\.png"):
        generator.generate("有多少棵苹果树？", [pages[1]])
    assert model.asked == []


class Agent:
    """Replies what it is told, and remembers its scope."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.scope: Scope | None = None

    def ask(self, question: str, scope: Scope) -> Trajectory:
        self.scope = scope
        return trajectory(question, self.answer)


def test_the_agent_is_asked_over_the_kept_pages_that_could_be_read(pages: list[HaystackPage]) -> None:
    agent = Agent("312棵")
    made = AgentGenerator(agent).generate("有多少棵苹果树？", pages)
    assert agent.scope == Scope(doc_ids=("doc-a", "doc-b"))
    assert (made.reply, made.shown) == ("312棵", 2)
    assert made.trace_id
    assert AgentGenerator(Agent(None)).generate("谁？", pages).reply is None
    nobody = Agent("never")
    assert AgentGenerator(nobody).generate("谁？", [pages[1]]).reply is None
    assert nobody.scope is None
