"""A model that replays replies from a script: for tests, demos and documentation.

A script is YAML or JSON:

    capabilities: {vision: false, structured: schema, context: 32768}   # as here unless said
    repeat: true                       # begin again when the replies of a role are used up; false unless said
    plan:                              # by role, in order
      - {sub_questions: [...]}         # an object: replied as JSON
    answer:
      - "words"                        # a string: replied as it is
      - when: "harbour"                # only to prompts whose user text holds this (or all of a list)
        reply: {facts: [...]}
        thinking: "..."                # optional
        probability: 0.9               # optional, to brief prompts: that of "YES", the rest is that of "NO"
      - error: timeout                 # or another of `ScriptedError`; `after` seconds may go with it
        after: 2

A prompt gets the first unused reply whose `when` it satisfies, else the first unused one without `when`. In a script
that repeats, those with `when` and those without begin again each on their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from agent.models.settings import ModelSettings
from agent.models.texts import cleaned_line
from agent.models.types import Capabilities, ModelFailed, Prompt, Reply, Role, StructureMode
from retrieval.errors import InputError
from retrieval.types import Frozen

ScriptedError = Literal["timeout", "connection", "429", "500", "401", "refused", "unsupported", "truncated", "empty"]
"""The failures that a script can play: those of an endpoint."""
_RETRIED = ("timeout", "connection", "429", "500", "empty")
_PROBLEMS: dict[ScriptedError, str] = {
    "timeout": "gave no reply in time",
    "connection": "can't be reached",
    "429": "takes no more requests now (HTTP 429)",
    "500": "failed (HTTP 500)",
    "401": "refuses the key (HTTP 401)",
    "refused": "refuses the request (HTTP 400)",
    "unsupported": "can't enforce the form of replies (HTTP 400)",
    "truncated": "cut its reply off: the reply was truncated",
    "empty": "replied with nothing: the reply was empty",
}
_FORM_KEYS = frozenset({"when", "reply", "error", "after", "thinking", "probability"})
_ROLES: tuple[Role, ...] = get_args(Role)


class ScriptedReply(Frozen):
    """One reply of a script: an answer or a failure, and the prompts that it is for."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    when: tuple[str, ...] = ()
    reply: str | None = None
    error: ScriptedError | None = None
    after: float | None = None
    thinking: str | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_entry(cls, entry: Any) -> Any:
        """A string or an object stands for the reply itself, unless its keys are those of this form."""
        if entry is None:
            raise ValueError("the entry is empty")
        if not isinstance(entry, Mapping) or not _is_form(entry):
            return {"reply": _as_text(entry)}
        form = dict(entry)
        if form.get("reply") is not None:
            form["reply"] = _as_text(form["reply"])
        if "when" in form and not isinstance(form["when"], list):
            form["when"] = [form["when"]]
        if "error" in form:
            form["error"] = str(form["error"])
        return form

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.reply is None) == (self.error is None):
            raise ValueError("give either `reply` or `error`")
        return self

    def fits(self, user: str) -> bool:
        """Whether the reply is for a prompt with this user text."""
        return all(part in user for part in self.when)


def _usable(capabilities: Capabilities) -> Capabilities:
    """What a script says of its model, held to what profiles are; ValueError for a context without a token."""
    if capabilities.context < 1:
        raise ValueError(f"the context is {capabilities.context}, and must be 1 at least")
    return capabilities


class Script(Frozen):
    """The replies of all roles."""

    capabilities: Annotated[Capabilities, AfterValidator(_usable)] = Capabilities(structured="schema", context=32_768)
    repeat: bool = False
    replies: dict[Role, tuple[ScriptedReply, ...]] = Field(default={})


class ScriptedModel:
    """A model that replies from a script, by role. `asked` holds the prompts that it got and `modes` how, in order."""

    def __init__(self, settings: ModelSettings, script: Script | None = None) -> None:
        """The script is read from the file `settings.script` unless it is given; InputError when it can't be used."""
        self._script = script if script is not None else read_script(settings.script)
        self._source = cleaned_line(settings.script) or "the script"
        self._used: dict[Role, set[int]] = {}
        self._decoding = settings.decoding
        given = {"vision": settings.vision, "structured": settings.structured, "context": settings.context}
        self._capabilities = self._script.capabilities.model_copy(
            update={name: value for name, value in given.items() if value is not None}
        )
        self.name = settings.name or "scripted"
        self.asked: list[Prompt] = []
        self.modes: list[StructureMode] = []

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedModel:
        """The model that replies from a file, other settings as they stand."""
        return cls(ModelSettings(kind="scripted", script=str(path)))

    @classmethod
    def from_script(cls, script: Mapping[str, Any]) -> ScriptedModel:
        """The model that replies from a script in memory, in the form of the files."""
        return cls(ModelSettings(kind="scripted"), script_of(script, "the script"))

    def __repr__(self) -> str:
        return f"ScriptedModel({self._source!r})"

    @property
    def identity(self) -> str:
        """Kind, content of the script and decoding."""
        # Scripts may hold half characters, which UTF-8 has none for.
        content = hashlib.sha256(json.dumps(self._script.model_dump()).encode()).hexdigest()[:16]
        return f"scripted {content} {self.name} {self._decoding.model_dump_json()}"

    async def capabilities(self) -> Capabilities:
        """What the settings say, else the script."""
        return self._capabilities

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        """The next reply for the role and the prompt; ModelFailed when it plays a failure or none is left."""
        self.asked.append(prompt)
        self.modes.append(mode)
        scripted = self._taken(prompt)
        text = scripted.reply or ""
        error = scripted.error or (None if text.strip() else "empty")
        if error is not None:
            raise ModelFailed(
                f"the scripted model {_PROBLEMS[error]}",
                remedy=f"{self._source} says so for the role {prompt.role}",
                retry=error in _RETRIED,
                after=scripted.after,
                unsupported=error == "unsupported",
            )
        sent = (prompt.system, prompt.user, *(turn for _, turn in prompt.earlier))
        chances = None
        if prompt.brief is not None and scripted.probability is not None:
            chances = ({"YES": scripted.probability, "NO": 1 - scripted.probability},)
        return Reply(
            text=text,
            thinking=scripted.thinking,
            tokens_in=sum(map(_tokens, sent)),
            tokens_out=_tokens(text),
            chances=chances,
        )

    def _taken(self, prompt: Prompt) -> ScriptedReply:
        """The reply to a prompt, which is used from then on."""
        replies = self._script.replies.get(prompt.role, ())
        used = self._used.setdefault(prompt.role, set())
        specific = [i for i, reply in enumerate(replies) if reply.when and reply.fits(prompt.user)]
        general = [i for i, reply in enumerate(replies) if not reply.when]
        for pool in (specific, general):
            if self._script.repeat and used.issuperset(pool):
                used.difference_update(pool)
            if free := [i for i in pool if i not in used]:
                used.add(free[0])
                return replies[free[0]]
        state = f"{len(replies)} in all" if replies else "there are none"
        raise ModelFailed(
            f"{self._source} has no reply left for the role {prompt.role} ({state})",
            remedy=f"add one for the prompt that begins with {prompt.user[:60]!r}, or set repeat: true",
        )


def read_script(path: str | Path) -> Script:
    """The script in a YAML or JSON file; InputError when it can't be used."""
    if not str(path):
        raise InputError("the scripted model has no script", remedy="name its file in model.script")
    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"the script {path} can't be read ({error.strerror})", remedy="name a file in model.script"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: no UTF-8, a date that is none, a number of too many digits.
        place = " ".join(str(error).split())
        raise InputError(f"the script {path} is no YAML or JSON ({place})", remedy="correct it there") from error
    return script_of(raw, str(path))


def script_of(raw: Any, source: str) -> Script:
    """The script in what a file holds; InputError names what is wrong in `source`."""
    valid = f"capabilities, repeat and the roles {', '.join(_ROLES)}"
    if not isinstance(raw, Mapping):
        raise InputError(f"{source} holds no mapping", remedy=f"its keys are {valid}")
    settings = {name: raw[name] for name in ("capabilities", "repeat") if name in raw}
    roles = {name: value for name, value in raw.items() if name not in settings}
    for name, replies in roles.items():
        if name not in _ROLES:
            raise InputError(f"{source} has the key {name!r}", remedy=f"its keys are {valid}")
        if not isinstance(replies, list):
            raise InputError(f"{source}: {name} is no list", remedy="give the replies of a role as a list")
    if isinstance(settings.get("capabilities"), Mapping):
        base = Script().capabilities.model_dump()
        settings["capabilities"] = base | dict(settings["capabilities"])
    try:
        return Script.model_validate({**settings, "replies": roles})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "replies")
        raise InputError(
            f"{source}: {place}: {first['msg'].removeprefix('Value error, ')}",
            remedy=f"an entry is a string, an object, or has the keys {', '.join(sorted(_FORM_KEYS))}; "
            f"errors are {', '.join(get_args(ScriptedError))}",
        ) from error


def _is_form(entry: Mapping[str, Any]) -> bool:
    """Whether an object says what to reply and when, instead of being the reply."""
    return "when" in entry or "reply" in entry or ("error" in entry and entry.keys() <= _FORM_KEYS)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _tokens(text: str) -> int:
    """About as many tokens as a text has, the same every time."""
    return -(-len(text) // 4)
