"""Settings of the agent, and profiles: the settings of everything, by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit, urlunsplit

import yaml
from pydantic import Field, ValidationError, model_validator

import configs
from agent.models.settings import ModelSettings
from agent.types import Task
from retrieval.errors import InputError
from retrieval.settings import RetrievalSettings, Settings

BASE_URL, API_KEY, MODEL, EMBEDDER = "DOCSAGE_BASE_URL", "DOCSAGE_API_KEY", "DOCSAGE_MODEL", "DOCSAGE_EMBEDDER"
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Granularity = Literal["block", "focus"]


class TaskSettings(Settings):
    """What holds for one kind of question.

    `support` is the confidence from which an answer is final. When there is nothing more to try, what is less sure is a
    tentative answer from `tentative` on, and no answer below that.
    """

    tool_calls: Count
    support: Share
    tentative: Share = 0.1

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.tentative > self.support:
            raise ValueError(f"tentative ({self.tentative}) is above support ({self.support}): lower it")
        return self


class TasksSettings(Settings):
    """Tool-call caps and support thresholds by task."""

    ocr: TaskSettings = TaskSettings(tool_calls=3, support=0.24, tentative=0.1)
    translation: TaskSettings = TaskSettings(tool_calls=5, support=0.27, tentative=0.1)
    reasoning_qa: TaskSettings = TaskSettings(tool_calls=5, support=0.27, tentative=0.1)
    knowledge_qa: TaskSettings = TaskSettings(tool_calls=7, support=0.36, tentative=0.2)
    linguistic_qa: TaskSettings = TaskSettings(tool_calls=6, support=0.27, tentative=0.1)
    document_qa: TaskSettings = TaskSettings(tool_calls=12, support=0.3, tentative=0.1)

    def of(self, task: Task) -> TaskSettings:
        """The settings of one task."""
        found: TaskSettings = getattr(self, task)
        return found


class AgentSettings(Settings):
    """How the agent plans, reads, checks and stops. `model_calls`, `tokens` and `dollars` are None without a cap."""

    tasks: TasksSettings = TasksSettings()
    replans: Count = 2
    verifications: Count = 3
    snippets: Count = 8
    model_calls: Count | None = None
    tokens: Count | None = None
    seconds: Annotated[float, Field(gt=0)] = 120.0
    dollars: Annotated[float, Field(gt=0)] | None = None
    retrieved_pages: Annotated[int, Field(ge=1)] = 10
    read_pages: Annotated[int, Field(ge=1)] = 8
    cited_pages: Annotated[int, Field(ge=1)] = 3
    granularity: Granularity = "block"


class Profile(Settings):
    """Settings of retrieval, agent and model under one name."""

    name: str = "embedded"
    retrieval: RetrievalSettings = RetrievalSettings()
    agent: AgentSettings = AgentSettings()
    model: ModelSettings = ModelSettings()

    def recorded(self) -> dict[str, Any]:
        """What answers depend on, as JSON: no key or password, nor how many workers and calls run at the same time."""
        recorded = self.model_dump(
            mode="json",
            exclude={
                "retrieval": {"ingest": {"workers"}},
                "model": {"api_key", "concurrency", "timeout", "retries", "backoff"},
            },
        )
        recorded["model"]["base_url"] = without_credentials(self.model.base_url)
        return recorded


def without_credentials(url: str) -> str:
    """A URL without user, password, query and fragment, as it may be shown and written down."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def default_profile(environment: Mapping[str, str] = os.environ) -> str:
    """The profile of those who name none: `endpoint` when the environment says where a server is."""
    return "endpoint" if environment.get(BASE_URL, "").strip() else "embedded"


def load_profile(name_or_file: str | None = None, environment: Mapping[str, str] = os.environ) -> Profile:
    """The profile of a shipped name, or of a YAML file; the default one when none is named.

    What it leaves empty of models comes from the environment, and a script is sought beside the file that names it.
    InputError for a wrong name, key or value.
    """
    return _with_environment(_read(name_or_file or default_profile(environment)), environment)


def _with_environment(profile: Profile, environment: Mapping[str, str]) -> Profile:
    """The profile with server, key, model and page-image embedder from the environment where it doesn't say them."""
    profile = _with_embedder(profile, environment.get(EMBEDDER, "").strip())
    model = profile.model
    if model.kind not in ("endpoint", "local"):
        return profile
    sources = {"name": MODEL} if model.kind == "local" else {"name": MODEL, "base_url": BASE_URL, "api_key": API_KEY}
    found = {field: environment.get(variable, "").strip() for field, variable in sources.items()}
    missing = {field: value for field, value in found.items() if value and not getattr(model, field)}
    _check_url(missing.get("base_url") or model.base_url)
    return profile.model_copy(update={"model": model.model_copy(update=missing)})


def _with_embedder(profile: Profile, name: str) -> Profile:
    images = profile.retrieval.images
    if not name or images.embedder.model:
        return profile
    images = images.model_copy(update={"embedder": images.embedder.model_copy(update={"model": name})})
    return profile.model_copy(update={"retrieval": profile.retrieval.model_copy(update={"images": images})})


def _check_url(url: str) -> None:
    """InputError for a URL that can't be taken apart: libraries fail on it in ways of their own."""
    try:
        valid = urlsplit(url).port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InputError(
            f"the server's URL {without_credentials(url)!r} is none",
            remedy=f"set {BASE_URL}, such as http://127.0.0.1:8000/v1",
        )


def _read(name_or_file: str) -> Profile:
    if name_or_file in configs.names():
        return _profile(configs.text(name_or_file), f"profile {name_or_file}")
    path = Path(name_or_file).expanduser()
    if not os.path.exists(path):
        raise InputError(
            f"there is no profile {name_or_file!r}",
            remedy=f"name one of {', '.join(configs.names())}, or a YAML file that exists",
        )
    if not path.is_file():
        raise InputError(f"{path} is no regular file", remedy="give a YAML file")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read ({error})", remedy="give a YAML file in UTF-8") from error
    return _with_script(_profile(text, str(path)), path.parent)


def _with_script(profile: Profile, folder: Path) -> Profile:
    """The profile with the script of its model found beside the profile's file, unless its path is absolute."""
    if not profile.model.script:
        return profile
    script = str(folder / Path(profile.model.script).expanduser())
    return profile.model_copy(update={"model": profile.model.model_copy(update={"script": script})})


def _profile(text: str, source: str) -> Profile:
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # YAML reads 2026-99-99 as a date, which it then is not.
        raise InputError(f"{source} is no YAML ({error})", remedy="correct the line it names") from error
    if data is not None and not isinstance(data, dict):
        raise InputError(f"{source} holds {type(data).__name__}, not settings", remedy=f"its keys are {_keys(())}")
    try:
        return Profile.model_validate(data or {})
    except ValidationError as error:
        problems = "; ".join(_problem(e) for e in error.errors())
        raise InputError(f"{source}: {problems}", remedy="correct these settings") from error


def _problem(error: Any) -> str:
    where = tuple(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"unknown setting {'.'.join(where)}, valid are {_keys(where[:-1])}"
    return f"{'.'.join(where)}: {error['msg']}"


def _keys(where: tuple[str, ...]) -> str:
    """The settings that stand under a dotted path."""
    model: type[Settings] = Profile
    for part in where:
        inner = model.model_fields[part].annotation
        if not (isinstance(inner, type) and issubclass(inner, Settings)):
            break
        model = inner
    return ", ".join(model.model_fields)
