"""`docsage pool`: what building and looking up print, and how bad input ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GOOD = {"key": "井田", "text": "八家共耕，\u202e中央为公田。", "title": "孟子注"}
LEAK = {"key": "谦卦", "text": "经曰：不富以其邻，利用侵伐，无不利。"}
TEST = {"question": "爻辞是什么？", "reference": "不富以其鄰，利用侵伐，无不利。"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    records = [json.dumps(r, ensure_ascii=False) for r in (GOOD, LEAK)]
    (tmp_path / "terms.jsonl").write_text("\n".join([records[0], '{"text": "x"}', records[1]]), encoding="utf-8")
    (tmp_path / "test.jsonl").write_text(json.dumps(TEST, ensure_ascii=False), encoding="utf-8")
    return tmp_path


def test_building_says_what_is_frozen_refused_and_left_out(docsage, files: Path) -> None:
    built = docsage("pool", "build", "terms.jsonl", "--exclude", "test.jsonl", "--out", "pool")
    assert built.code == 0
    assert "1 snippet, 1 key" in built.out
    assert "excluded: terms.jsonl, line 3 (谦卦): holds an answer, test.jsonl, line 1" in built.out
    assert "frozen in pool" in built.out
    assert "refused: terms.jsonl, line 2: it has no key" in built.err
    again = docsage("pool", "build", "terms.jsonl", "--exclude", "test.jsonl", "--out", "pool")
    assert "it was there already in pool" in again.out


def test_looking_up_says_why_it_matches_and_where_it_is_from(docsage, files: Path) -> None:
    docsage("pool", "build", "terms.jsonl", "--out", "pool")
    shown = docsage("pool", "show", "pool", "井田")
    assert shown.code == 0
    assert "exact key 井田" in shown.out
    assert "八家共耕，中央为公田。" in shown.out
    assert "孟子注" in shown.out
    assert "key in question 井田" in docsage("pool", "show", "pool", "--question", "井田是誰說的？").out
    nothing = docsage("pool", "show", "pool", "火星")
    assert (nothing.code, nothing.out) == (0, "")
    assert "nothing in the pool matches" in nothing.err
    assert "terms.jsonl" in docsage("pool", "show", "pool").out


def test_programs_get_json(docsage, files: Path) -> None:
    manifest = json.loads(docsage("pool", "build", "terms.jsonl", "--out", "pool", "--json").out)
    assert (manifest["schema"], manifest["snippets"]) == ("docsage.pool/1", 2)
    assert json.loads(docsage("pool", "show", "pool", "--json").out) == manifest
    hit = json.loads(docsage("pool", "show", "pool", "井田", "--json").out)
    assert (hit["bases"][0], hit["matched"], hit["snippet"]["keys"]) == ("exact key", "井田", ["井田"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("build", "none.jsonl", "--out", "pool"), "none.jsonl can't be read"),
        (("build", "terms.jsonl", "--exclude", "none.jsonl", "--out", "pool"), "none.jsonl can't be read"),
        (("build", "terms.jsonl", "--out", "."), "is not empty and holds no pool"),
        (("build", "quick.yaml", "--out", "pool"), "is of no kind"),
        (("show", "none"), "none is no pool: it does not exist"),
        (("show", "."), "there is no pool.json in it"),
    ],
)
def test_bad_input_ends_in_one_line(docsage, files: Path, words: tuple[str, ...], problem: str) -> None:
    result = docsage("pool", *words)
    assert result.code == 2
    assert problem in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (files / "pool").exists()


def test_a_changed_pool_is_not_used(docsage, files: Path) -> None:
    docsage("pool", "build", "terms.jsonl", "--out", "pool")
    snippets = files / "pool" / "snippets.jsonl"
    snippets.write_text(snippets.read_text(encoding="utf-8").replace("公田", "私田"), encoding="utf-8")
    result = docsage("pool", "show", "pool", "井田")
    assert (result.code, result.out) == (2, "")
    assert "was changed since the pool was frozen" in result.err
