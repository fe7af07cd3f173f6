"""The file of kept replies when it can't be used: it is only a cache."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.models.cache import ReplyCache
from agent.models.client import ModelClient
from agent.models.scripted import ScriptedModel
from agent.models.settings import ModelSettings
from agent.models.types import Prompt

ASK = Prompt(role="answer", system="Answer.", user="How many trees?")


def client_of(cache: ReplyCache, reply: str = "312") -> ModelClient:
    return ModelClient(ScriptedModel.from_script({"repeat": True, "answer": [reply]}), ModelSettings(), cache)


async def asked_twice(path: Path) -> list[bool]:
    """Whether each of two same requests was answered by the cache in a file."""
    with closing(ReplyCache(path)) as cache:
        client = client_of(cache)
        return [(await client.reply(ASK)).cached for _ in range(2)]


async def test_a_damaged_cache_is_set_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    damaged = b"no database, and long enough to be seen as none" * 50
    path.write_bytes(damaged)
    assert await asked_twice(path) == [False, True]
    assert path.with_name("replies.sqlite.damaged").read_bytes() == damaged
    with closing(ReplyCache(path)) as cache:
        assert cache.problem == ""


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("CREATE TABLE replies (a, b)", "no such column: key"),
        ("CREATE TABLE replies (key TEXT PRIMARY KEY, role TEXT NOT NULL, reply BLOB NOT NULL, more TEXT)", ""),
    ],
)
async def test_a_cache_with_other_columns_is_used_if_possible_and_else_set_aside(
    tmp_path: Path, table: str, problem: str
) -> None:
    path = tmp_path / "replies.sqlite"
    with closing(sqlite3.connect(path)) as others:
        others.execute(table)
    with closing(ReplyCache(path)) as cache:
        assert problem in cache.problem
        assert bool(cache.problem) == bool(problem)
    assert path.with_name("replies.sqlite.damaged").exists() == bool(problem)
    assert await asked_twice(path) == [False, True]


async def test_a_cache_that_is_damaged_in_the_middle_is_begun_anew_while_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    await asked_twice(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x5a" * (len(whole) - 4096))
    with closing(ReplyCache(path)) as cache:
        client = client_of(cache)
        assert [(await client.reply(ASK)).cached for _ in range(3)] == [False, True, True]
        assert "replies.sqlite.damaged" in cache.problem
    path.write_bytes(path.read_bytes()[:5000])  # cut off
    assert (await asked_twice(path))[0] is False


@pytest.mark.parametrize(
    "row",
    [
        b'{"text":',
        b'{"text": 5, "new": 1}',
        b'{"text": "a", "tokens_in": -5}',
        b'{"text": "a", "tokens_out": 1000000000000000000000000000000}',
        b"\xff",
        7,
    ],
)
async def test_rows_of_another_version_are_asked_for_again_and_replaced(tmp_path: Path, row: Any) -> None:
    path = tmp_path / "replies.sqlite"
    await asked_twice(path)
    with closing(sqlite3.connect(path)) as others:
        others.execute("UPDATE replies SET reply = ?", (row,))
        others.commit()
    assert await asked_twice(path) == [False, True]


@pytest.mark.parametrize("hindrance", ["folder", "file above", "locked", "read-only", "full"])
async def test_a_cache_that_cannot_be_used_costs_what_it_keeps_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hindrance: str
) -> None:
    monkeypatch.setattr("retrieval.row_cache._PATIENCE", 0.0)
    path = tmp_path / "deep" / "replies.sqlite"
    if hindrance == "folder":
        path.mkdir(parents=True)
    if hindrance == "file above":
        path.parent.write_text("", encoding="utf-8")
    with closing(ReplyCache(path)) as cache, closing(sqlite3.connect(":memory:", isolation_level=None)) as others:
        if hindrance == "locked":
            others.execute("ATTACH ? AS it", (str(path),))
            others.execute("BEGIN IMMEDIATE")
            others.execute("INSERT INTO it.replies VALUES ('x', 'y', 'z')")
        limits = {"read-only": "PRAGMA query_only = ON", "full": "PRAGMA max_page_count = 1"}
        if hindrance in limits:
            assert cache._connection is not None
            cache._connection.execute(limits[hindrance])
        client = client_of(cache, "312 " * 5000)
        assert [(await client.reply(ASK)).cached for _ in range(2)] == [False, False]
        said = cache.problem
        assert said.startswith(f"{path} can't be used (" if hindrance != "file above" else str(path))
        others.execute("ROLLBACK") if hindrance == "locked" else None
        again = [(await client.reply(ASK)).cached for _ in range(2)]
        assert again == [False, hindrance == "locked"]  # a lock goes, and the rest stays
        assert cache.problem == said


async def test_a_cache_that_is_only_locked_is_not_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.row_cache._PATIENCE", 0.0)
    path = tmp_path / "replies.sqlite"
    await asked_twice(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as others:
        others.execute("BEGIN IMMEDIATE")
        with closing(ReplyCache(path)) as cache:
            assert (await client_of(cache).reply(ASK)).cached
    assert [file.name for file in tmp_path.glob("*.damaged*")] == []
