"""What a model says to the prompts of docsage, over the chat API: it answers questions about the orchard."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
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
ASKED = "How many apple trees does the orchard at Linden Hill hold?"
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


def profile_text(*, agent: dict[str, Any] | None = None, **model: Any) -> str:
    """A profile whose model is behind an endpoint and fails fast, and which reads fast; `agent` has its caps."""
    settings = {"kind": "endpoint", "vision": False, "structured": "json", "context": 16000, "backoff": 0.0, **model}
    return json.dumps(
        {
            "name": "served",
            "retrieval": {"ingest": {"workers": 1}, "search": {"vectors": 0}},
            "agent": {"tasks": {"document_qa": {"tool_calls": 12, "support": 0.5, "tentative": 0.25}}, **(agent or {})},
            "model": settings,
        }
    )


def bench(folder: Path, pdf: Path) -> Path:
    """MMLongBench-Doc with two questions, one of which has no answer."""
    (folder / "bench" / "documents").mkdir(parents=True)
    (folder / "bench" / "documents" / pdf.name).write_bytes(pdf.read_bytes())
    base = {"doc_id": pdf.name, "doc_type": "Report", "evidence_sources": "['Pure-text (Plain-text)']"}
    samples = [
        {**base, "question": ASKED, "answer": "312", "evidence_pages": "[1]", "answer_format": "Int"},
        {
            **base,
            "question": "Who paints the wells of the orchard?",
            "answer": "Not answerable",
            "evidence_pages": "[]",
            "answer_format": "None",
        },
    ]
    (folder / "bench" / "samples.json").write_text(json.dumps(samples))
    return folder / "bench"
