"""What a model is asked and what it gives back; every kind of model satisfies `Model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from retrieval.errors import DocsageError
from retrieval.types import Frozen

Role = Literal["classify", "plan", "read", "answer", "verify", "direct", "probe", "relevance", "anchors"]
"""What a model is asked for: each role has a prompt of its own, and the scripted model replies by role."""
StructureMode = Literal["schema", "json", "text"]
"""How JSON is asked for: by its schema, by the server's JSON mode, or in words only."""


class ModelFailed(DocsageError):
    """A call brought no usable reply.

    `retry`: the same call may succeed later (time-out, 429, 5xx); `after`: the seconds that the server asked to wait.
    `unsupported`: the server refuses what was asked for, such as a JSON schema. `cut`: the reply ended at the limit of
    its length, before it said anything where it was to be brief.
    """

    def __init__(
        self,
        problem: str,
        *,
        remedy: str = "",
        retry: bool = False,
        after: float | None = None,
        unsupported: bool = False,
        cut: bool = False,
    ) -> None:
        super().__init__(problem, remedy=remedy)
        self.retry = retry
        self.after = after
        self.unsupported = unsupported
        self.cut = cut


class Capabilities(Frozen):
    """What a model can do, as its server says or the settings do. `context` is in tokens, prompt and reply together."""

    vision: bool = False
    structured: StructureMode = "text"
    context: int = 8192


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image that goes with a prompt."""

    data: bytes
    media_type: Literal["image/jpeg", "image/png"] = "image/png"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request. `version` is that of the prompt's file; `schema` the JSON schema that the reply should satisfy."""

    role: Role
    system: str
    user: str
    version: str = ""
    pictures: tuple[Picture, ...] = ()
    schema: dict[str, Any] | None = None
    earlier: tuple[tuple[Literal["assistant", "user"], str], ...] = ()
    """What was said after `user` already: a reply that was no good, and what is wrong with it."""
    brief: int | None = None
    """Tokens that the reply may take, below the model's own limit; a reply that is cut off there is one all the same,
    and comes with the probabilities of its tokens where the model gives them."""


class Reply(Frozen):
    """What a model said. `thinking` is its hidden reasoning where the server gives it: recorded, and never parsed.

    `attempts` counts the requests it took; `cached` replies took none. `chances` are the likeliest tokens at each place
    of a brief reply, with their probabilities; None where they aren't known or weren't asked for.
    """

    text: str
    thinking: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    finish: str = "stop"
    attempts: int = 1
    cached: bool = False
    chances: tuple[dict[str, float], ...] | None = None


class Model(Protocol):
    """Something that replies to prompts. Calls may run at the same time."""

    @property
    def name(self) -> str:
        """The model's name, as people know it."""

    @property
    def identity(self) -> str:
        """What replies depend on besides the prompt: kind, server, model and decoding. A part of the cache's keys."""

    async def capabilities(self) -> Capabilities:
        """What it can do, asked for once; ModelFailed when it can't be reached."""

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        """One reply, without retries; ModelFailed for anything that is no whole reply.

        `mode` says how the schema of the prompt is enforced; "text" when it has none.
        """
