"""What of the local model needs no torch: refusals in one line, the queue of requests, pictures, hidden reasoning."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from agent.models.local import LocalModel
from agent.models.local.batches import Batches, Ticket
from agent.models.local.pictures import decode, fitted
from agent.models.local.thinking import split_thinking
from agent.models.settings import DecodingSettings, LocalSettings, ModelSettings
from agent.models.types import ModelFailed, Picture, Prompt, Reply
from retrieval.errors import InputError


def _prompt(user: str) -> Prompt:
    return Prompt(role="answer", system="", user=user)


def _model(name: str | Path) -> LocalModel:
    return LocalModel(ModelSettings(kind="local", name=str(name)))


async def test_without_torch_the_remedy_is_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    for name in ("accelerate", "torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"local models need the package .*: pip install 'docsage\[local\]'$"):
        await _model(tmp_path).capabilities()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "no local model is named"),
        ("{}/nowhere", "there is no folder .*/nowhere: give the folder of a checkpoint or a hub name"),
        ("./nowhere", "there is no folder ./nowhere"),
        ("{}", "holds no checkpoint: give the folder with its config.json"),
        ("{}/weights.gguf", "weights.gguf is a file: give the folder of a transformers checkpoint"),
    ],
)
async def test_a_name_of_no_model_is_refused_in_one_line(name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "weights.gguf").write_bytes(b"GGUF")
    model = _model(name.format(tmp_path))
    for call in (model.capabilities, lambda: model.generate(_prompt("why"), "text")):
        with pytest.raises(InputError, match=problem) as caught:
            await call()
        assert "\n" not in str(caught.value)


async def test_a_schema_that_nothing_here_can_enforce_is_refused_as_unsupported(tmp_path: Path) -> None:
    with pytest.raises(ModelFailed, match="can't enforce the mode 'schema'") as caught:
        await _model(tmp_path).generate(_prompt("why"), "schema")
    assert caught.value.unsupported


def test_the_identity_follows_what_replies_depend_on(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    settings = ModelSettings(kind="local", name=str(tmp_path))
    first = LocalModel(settings).identity

    def changed(**update: object) -> str:
        return LocalModel(settings.model_copy(update=update)).identity

    assert changed() == first
    assert changed(local=LocalSettings(batch=16)) == first
    assert changed(local=LocalSettings(max_pixels=5000)) != first
    assert changed(decoding=DecodingSettings(seed=3)) != first
    weights.write_bytes(b"another")
    assert changed() != first


@pytest.mark.parametrize(
    ("reply", "opened", "text", "thinking"),
    [
        ("<think>\nThree, then two.\n</think>\n\nFive.", False, "Five.", "Three, then two."),
        ("Three, then two.\n</think>\nFive.", True, "Five.", "Three, then two."),
        ("<think>\n\n</think>\n\nFive.", False, "Five.", None),
        ("<think>Three, then", False, "", "Three, then"),
        ("Three, then", True, "", "Three, then"),
        (" Five, not <think>six</think>. ", False, "Five, not <think>six</think>.", None),
    ],
)
def test_hidden_reasoning_is_no_part_of_the_text(reply: str, opened: bool, text: str, thinking: str | None) -> None:
    assert split_thinking(reply, opened=opened) == (text, thinking)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((300, 200), (122, 81)), ((100, 50), (100, 50)), ((20, 10), (45, 23)), ((9000, 1), (9000, 1))],
)
def test_pictures_are_scaled_into_the_limits(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert fitted(Image.new("RGB", size), smallest=1000, largest=10_000).size == expected


def test_a_grey_picture_is_decoded_in_colour_and_other_bytes_are_refused() -> None:
    written = io.BytesIO()
    Image.new("LA", (3, 2)).save(written, "PNG")
    assert (decode(Picture(written.getvalue())).mode, decode(Picture(written.getvalue())).size) == ("RGB", (3, 2))
    with pytest.raises(ModelFailed, match=r"can't be decoded \(5 bytes\)"):
        decode(Picture(b"%PDF-"))


class Gate:
    """Work for `Batches` that echoes prompts; it waits at the first batch until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self.seen: list[list[str]] = []

    def __call__(self, tickets: Sequence[Ticket]) -> None:
        self.seen.append([ticket.prompt.user for ticket in tickets])
        self.reached.set()
        assert self.open.wait(20)
        for ticket in tickets:
            if ticket.prompt.user == "boom":
                raise ZeroDivisionError("a bug")
            ticket.settle(Reply(text=ticket.prompt.user))


async def test_requests_that_wait_together_are_a_batch_without_those_that_were_cancelled() -> None:
    gate = Gate()
    batches = Batches(gate, size=3)
    first = asyncio.create_task(batches.reply(_prompt("first")))
    await asyncio.to_thread(gate.reached.wait, 20)
    others = [asyncio.create_task(batches.reply(_prompt(name))) for name in "abcde"]
    await asyncio.sleep(0)
    others[1].cancel()
    await asyncio.wait({others[1]})
    gate.open.set()
    replies = await asyncio.gather(first, *others, return_exceptions=True)
    assert [reply.text if isinstance(reply, Reply) else type(reply) for reply in replies] == [
        "first",
        "a",
        asyncio.CancelledError,
        "c",
        "d",
        "e",
    ]
    assert gate.seen == [["first"], ["a", "c"], ["d", "e"]]


async def test_a_request_that_is_cancelled_in_its_batch_is_marked_and_the_others_are_answered() -> None:
    gate = Gate()
    batches = Batches(gate, size=2)
    gone, kept = (asyncio.create_task(batches.reply(_prompt(name))) for name in ("gone", "kept"))
    await asyncio.to_thread(gate.reached.wait, 20)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    gate.open.set()
    assert (await kept).text == "kept"


async def test_a_bug_reaches_everybody_whom_it_leaves_without_reply_and_the_next_batch_runs() -> None:
    gate = Gate()
    gate.open.set()
    batches = Batches(gate, size=3)
    replies = await asyncio.gather(
        *(batches.reply(_prompt(name)) for name in ("a", "boom", "b")), return_exceptions=True
    )
    assert [type(reply) for reply in replies] == [Reply, ZeroDivisionError, ZeroDivisionError]
    assert (await batches.reply(_prompt("c"))).text == "c"


def test_callers_come_from_one_event_loop_and_then_from_another() -> None:
    gate = Gate()
    batches = Batches(gate, size=2)

    async def abandoned() -> None:
        task = asyncio.create_task(batches.reply(_prompt("abandoned")))
        await asyncio.to_thread(gate.reached.wait, 20)
        task.cancel()

    asyncio.run(abandoned())
    gate.open.set()
    assert asyncio.run(batches.reply(_prompt("later"))).text == "later"
    assert gate.seen == [["abandoned"], ["later"]]
