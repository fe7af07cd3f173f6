"""What went wrong between us and a server, said in one line with its remedy; keys never stand in it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from agent.models.texts import cleaned_line
from agent.models.types import ModelFailed

_SHOWN = 400
_LISTED = 12
_PASSING = {408, 409, 425, 429}
"""Statuses below 500 after which the same request may succeed."""
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|ContextWindowExceeded|maximum context length|maximum model length"
    r"|available context size|context (window|size|length)|prompt is too long|input tokens exceed",
    re.IGNORECASE,
)
_STRUCTURE = re.compile(
    r"response_?format|json[_ ]?schema|json_object|structured.outputs?|guided|grammar|xgrammar|the word .?json",
    re.IGNORECASE,
)
_PICTURES = re.compile(r"image|multi-?modal|vision|mmproj", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model.{0,80}(not exist|not[ _]found|not a valid|unknown)|(unknown|invalid|no such) model", re.IGNORECASE
)


class Refused(ModelFailed):
    """The server replied with an error: its HTTP `status`, what it `said`, and the parameter it complains of."""

    status: int = 0
    said: str = ""
    param: str = ""

    @property
    def concerns_model(self) -> bool:
        """Whether another name of the model may help."""
        return self.status in (403, 404) or bool(_NO_MODEL.search(self.said))


class Unusable(ModelFailed):
    """A reply came and is none: truncated, empty or withheld."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked of whom, for the words of a failure. `server` is the URL to show, without credentials."""

    server: str
    model: str
    timeout: float
    key: str = ""
    structured: bool = False
    pictures: bool = False


def failure_of(error: openai.APIError | TimeoutError, request: Request) -> ModelFailed:
    """The failure that an error of the client stands for."""
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return ModelFailed(
            f"{request.server} gave no reply within {request.timeout:g} s",
            remedy="raise model.timeout, or lower model.concurrency if the server is overloaded",
            retry=True,
        )
    if isinstance(error, openai.APIStatusError):
        said = error.body if error.body else error.response.text
        return refusal(error.status_code, said, request, after=_wait_in(error.response.headers))
    # Causes are told by their names, since openai's client comes with httpx or with httpx2.
    cause_name = type(error.__cause__).__name__
    cause = _one_line(str(error.__cause__ or error), request.key)
    if cause_name == "DecodingError":
        return malformed(f"its compression can't be undone: {cause}", request)
    if isinstance(error, openai.APIConnectionError):
        return ModelFailed(
            f"{request.server} can't be reached ({cause})",
            remedy="is the server running, and is DOCSAGE_BASE_URL right?",
            # Nobody listens: waiting won't help. A connection that broke off is another matter.
            retry=cause_name != "ConnectError",
        )
    return malformed(cause, request)


def malformed(problem: str, request: Request) -> ModelFailed:
    """The failure of a server that replies with something that is no chat completion."""
    return ModelFailed(
        f"{request.server} replied with no chat completion ({problem})",
        remedy="DOCSAGE_BASE_URL must be that of an OpenAI-compatible API; it mostly ends in /v1",
    )


def refusal(status: int, body: Any, request: Request, *, after: float | None = None) -> Refused:
    """The failure that a status of HTTP and the body that came with it stand for."""
    details = _details(body)
    said = _one_line(details.get("message") or "", request.key)
    kinds = " ".join((said, _one_line(details.get("code", ""), ""), _one_line(details.get("type", ""), "")))
    reading = _request_read(status, kinds, request) or _status_read(status, kinds, request)
    failure = Refused(
        f"{reading.problem} (HTTP {status}{': ' if said else ''}{said.rstrip('.')})",
        remedy=reading.remedy,
        retry=reading.retry,
        after=after,
        unsupported=reading.unsupported,
    )
    failure.status, failure.said, failure.param = status, kinds, details.get("param") or ""
    return failure


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a refusal means."""

    problem: str
    remedy: str
    retry: bool = False
    unsupported: bool = False


def _request_read(status: int, kinds: str, request: Request) -> _Reading | None:
    """What in the request the server can't take; None when the refusal isn't about that, or passes by itself."""
    if status in (401, 429, 503):
        return None
    model = f"the model {request.model!r}"
    if request.structured and _STRUCTURE.search(kinds):
        problem = f"{request.server} can't enforce the form of replies"
        return _Reading(problem, "set model.structured to json or text", unsupported=True)
    if _TOO_LONG.search(kinds):
        remedy = "set model.context to what the server serves, or lower model.evidence_tokens or model.images"
        return _Reading(f"the prompt is too long for {model}", remedy)
    if request.pictures and _PICTURES.search(kinds):
        remedy = "set model.vision to false, or use a vision model"
        return _Reading(f"{model} takes no pictures", remedy, unsupported=True)
    return None


def _status_read(status: int, kinds: str, request: Request) -> _Reading:
    """What a status means when the refusal isn't about the content of the request."""
    server, model = request.server, f"model {request.model!r}"
    if status == 401:
        return _Reading(f"{server} refuses the key", "set DOCSAGE_API_KEY to a key that is valid there")
    if status == 429 and "insufficient_quota" in kinds:
        return _Reading(f"{server} has no quota left for this key", "see the account of this key")
    if status == 429:
        remedy = "lower model.concurrency, or raise model.retries"
        return _Reading(f"{server} takes no more requests now", remedy, retry=True)
    if status == 403:
        remedy = "use a key that may use it, or another DOCSAGE_MODEL"
        return _Reading(f"{server} denies access to the {model}", remedy)
    if status == 404 or _NO_MODEL.search(kinds):
        return _Reading(f"{server} has no {model}", "see DOCSAGE_MODEL and DOCSAGE_BASE_URL")
    if status in _PASSING or (status >= 500 and status != 501):
        return _Reading(f"{server} failed", "see the log of the server", retry=True)
    return _Reading(f"{server} refuses the request", "see model.decoding and the documentation of the server")


def truncated(max_tokens: int) -> Unusable:
    """The failure of a reply that ended at the limit of its length."""
    return Unusable(
        f"the reply was truncated at {max_tokens} tokens or at the end of the context",
        remedy="raise model.decoding.max_tokens, or the context that the server serves",
        cut=True,
    )


def empty(finish: str) -> Unusable:
    """The failure of a reply without any text."""
    return Unusable(
        f"the reply was empty (finish reason {finish!r})",
        remedy="raise model.decoding.max_tokens if the model thinks before it replies",
        retry=True,
    )


def withheld(reason: str) -> Unusable:
    """The failure of a reply that the server's filter or the model itself refused to give."""
    problem = f"the reply was withheld ({_one_line(reason, '')})"
    return Unusable(problem, remedy="ask another model, or put the question differently")


def no_such_model(refused: Refused, request: Request, listed: list[str] | None) -> Refused:
    """The same refusal, with the models that the server lists (None: it lists none) as its remedy."""
    if listed:
        if request.model in listed:
            return refused
        shown = ", ".join(map(cleaned_line, get_close_matches(request.model, listed, n=_LISTED, cutoff=0.0)))
        shown += f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
        remedy = f"set DOCSAGE_MODEL to one of {shown}"
    else:
        remedy = (
            "it lists no models either: DOCSAGE_BASE_URL must be that of an OpenAI-compatible API, mostly ending in /v1"
        )
    failure = Refused(refused.problem, remedy=remedy)
    failure.status, failure.said, failure.param = refused.status, refused.said, refused.param
    return failure


def worded(value: Any) -> str:
    """A value of a server's JSON in words, whatever it is: text as it stands."""
    try:
        return str(value)
    except RecursionError:
        return f"{type(value).__name__}, nested too deep"


def _details(body: Any) -> dict[str, str]:
    """`message`, `code`, `type` and `param` of an error, in whichever of the usual forms it comes."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            message = inner.get("message") or inner.get("detail") or inner.get("error") or ""
            known = {name: inner.get(name) for name in ("code", "type", "param")}
            return {"message": worded(message)} | {k: worded(v) for k, v in known.items() if v is not None}
        return {"message": worded(inner)}
    return {"message": re.sub(r"<[^<>]*>", " ", worded(body or ""))}


def _one_line(text: str, key: str) -> str:
    line = cleaned_line(text)
    if len(key) > 3:
        line = line.replace(key, "[key]")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _wait_in(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait that the server asks for; None when it says none that can be read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            seconds = _seconds_until(text)
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return None


def _seconds_until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
