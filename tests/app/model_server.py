"""What a model says to the prompts of docsage, over the chat API: it answers questions about the orchard."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

from fake_server import Answer, Received

from agent.models.types import Role
from agent.prompts import prompt_file

ROLES = {
    words.system.strip(): role
    for role in get_args(Role)
    if role != "probe"
    for languages in prompt_file(role).variants.values()
    for words in languages.values()
    if words.system
}
TREES = "The orchard at Linden Hill holds 312 apple trees."


class ModelServer:
    """Replies by role, and counts what it was asked: `asked["answer"]`. Probes of what it can do get empty replies.

    `before` is called with role and request, and may reply in its place.
    """

    def __init__(self, before: Callable[[str, Received], Answer | str | None] = lambda _role, _request: None) -> None:
        self.asked: Counter[str] = Counter()
        self.users: list[str] = []
        self._before = before
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Answer | str:
        role = role_of(request)
        with self._lock:
            self.asked[role] += 1
            if role != "probe":
                self.users.append(request.user)
        said = self._before(role, request)
        return self._said(role, request) if said is None else said

    def _said(self, role: str, request: Received) -> Answer | str:
        if role == "plan":
            return json.dumps({"steps": [{"tool": "page_retriever", "query": "apple trees", "why": "the number"}]})
        if role == "answer":
            return json.dumps(
                {"facts": [{"text": TREES, "sources": [piece(request.user, "312 apple")]}], "answer": "312"}
            )
        if role == "verify":
            return json.dumps({"quote": "312 apple trees", "value": "312", "verdict": "supported", "missing": ""})
        if role == "direct":
            return json.dumps({"answer": "312", "citations": [{"page": 1, "sentence": TREES}]})
        return Answer("")


def role_of(request: Received) -> str:
    """The role that a request speaks for, by its system text; "probe" for what tries a server out."""
    said = next((message["content"] for message in request.body["messages"] if message["role"] == "system"), "")
    return ROLES.get(said if isinstance(said, str) else said[0]["text"], "probe")


def piece(prompt: str, text: str) -> str:
    """The id under which a prompt shows a text; "" when it doesn't."""
    found = re.search(rf"\[(S\d+)\] [^\n]*{re.escape(text)}", prompt)
    return found.group(1) if found else ""


def profile_text(**model: Any) -> str:
    """A profile whose model is behind an endpoint and fails fast, reading as fast as the tests' own."""
    settings = {"kind": "endpoint", "vision": False, "structured": "json", "context": 16000, "backoff": 0.0, **model}
    return json.dumps(
        {
            "name": "served",
            "retrieval": {"ingest": {"workers": 1}, "search": {"vectors": 0}},
            "agent": {"tasks": {"document_qa": {"tool_calls": 12, "support": 0.5, "tentative": 0.25}}},
            "model": settings,
        }
    )
