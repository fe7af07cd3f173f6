"""A command line in a folder of its own, with a profile that reads fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from app.cli import main

sys.path.append(str(Path(__file__).parents[1] / "agent"))  # the loopback server that stands for a model's
from fake_server import FakeServer, Replies

PROFILE = """
name: quick
retrieval:
  ingest: {workers: 1}
  search: {vectors: 0}
"""


class Result(NamedTuple):
    """What a command printed and returned."""

    code: int
    out: str
    err: str


Docsage = Callable[..., Result]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A profile without vectors, which the command line's tests don't need."""
    path = tmp_path / "quick.yaml"
    path.write_text(PROFILE)
    return path


@pytest.fixture
def docsage(
    tmp_path: Path, profile: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Docsage:
    """Runs `docsage` with the given words in the test's folder: `docsage("ask", "question", path)`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCSAGE_PROFILE", str(profile))
    for name in ("DOCSAGE_BASE_URL", "DOCSAGE_API_KEY", "DOCSAGE_MODEL", "DOCSAGE_COLLECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("PYMUPDF_MESSAGE", "fd:2"), ("PYMUPDF_SUGGEST_LAYOUT_ANALYZER", "0"), ("PYTHONWARNINGS", "")):
        # They are set so that what docsage sets for its children is taken back after the test.
        monkeypatch.setenv(name, value)

    def run(*words: object) -> Result:
        code = main([str(word) for word in words])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeServer]]:
    """Starts a loopback server: `serve(replies, **options)` of `FakeServer`; it stops with the test."""
    with ExitStack() as running:

        def start(replies: Replies = (), **options: Any) -> FakeServer:
            return running.enter_context(FakeServer(replies, **options))

        yield start
