"""Commands with a model behind them: how it is chosen, what is said when it isn't there, what is written down."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fake_server import Answer
from model_server import ModelServer, bench, profile_text

from agent.types import Trajectory

QUESTION = "How many apple trees does the orchard at Linden Hill hold?"
KEY = "sk-very-secret-0123456789"
GONE = "http://127.0.0.1:9/v1"
"""Nobody listens there."""


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A profile that says what the model can do, so that no probes are made; server and key come from outside."""
    path = tmp_path / "served.yaml"
    path.write_text(profile_text())
    return path


def trajectories(out: Path) -> list[Trajectory]:
    return [Trajectory.model_validate_json(line) for line in out.read_text().splitlines()]


def written(folder: Path) -> str:
    """Everything that stands in files below a folder."""
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def test_three_variables_suffice_to_switch_to_a_model(
    docsage, serve, english_pdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ModelServer()
    server = serve(model)
    monkeypatch.delenv("DOCSAGE_PROFILE")
    monkeypatch.setenv("DOCSAGE_BASE_URL", server.base_url)
    monkeypatch.setenv("DOCSAGE_API_KEY", KEY)
    monkeypatch.setenv("DOCSAGE_MODEL", "orchard-7b")
    trajectory = Trajectory.model_validate_json(docsage("ask", QUESTION, english_pdf, "--json").out)
    assert trajectory.answer == "312"
    assert trajectory.models["model"] == "orchard-7b"
    assert trajectory.usage.model_calls == 3
    assert {chat.body["model"] for chat in server.chats} == {"orchard-7b"}
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    footer = docsage("ask", QUESTION, english_pdf).out.splitlines()[-1]
    assert "3 calls of orchard-7b (3 from the cache)" in footer


def test_a_profile_that_is_named_goes_before_the_environment(
    docsage, serve, english_pdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(ModelServer())
    monkeypatch.setenv("DOCSAGE_BASE_URL", server.base_url)
    for words in ((), ("--profile", "embedded")):  # the first is the profile of DOCSAGE_PROFILE
        trajectory = Trajectory.model_validate_json(docsage("ask", QUESTION, english_pdf, "--json", *words).out)
        assert trajectory.models["planner"] == "rules"
    assert server.requests == []


def test_the_server_names_its_first_model_where_nobody_does(
    docsage, serve, served: Path, english_pdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCSAGE_BASE_URL", f" {serve(ModelServer()).base_url}/ ")
    monkeypatch.setenv("DOCSAGE_MODEL", "")
    result = docsage("ask", QUESTION, english_pdf, "--profile", served, "--json")
    assert Trajectory.model_validate_json(result.out).models["model"] == "fake"


def test_the_key_stands_nowhere(docsage, serve, served: Path, english_pdf: Path, tmp_path: Path, monkeypatch) -> None:
    def refuse(role: str, request: Any) -> Answer | None:
        return Answer(status=401, error={"message": f"bad key {KEY}"}) if role == "verify" else None

    server = serve(ModelServer(refuse))
    monkeypatch.setenv("DOCSAGE_BASE_URL", server.base_url.replace("http://", "http://user:pa55word@"))
    monkeypatch.setenv("DOCSAGE_API_KEY", KEY)
    (tmp_path / "q.txt").write_text(QUESTION)
    said = [
        docsage("ask", QUESTION, english_pdf, "--profile", served, "--json", "--debug"),
        docsage("ask", "--questions", "q.txt", "--out", "out/a.jsonl", english_pdf, "--profile", served),
        docsage("eval", "mmlongbench-doc", "--data", bench(tmp_path, english_pdf), "--out", "run", "--profile", served),
        docsage("trace", "latest"),
    ]
    assert [result.code for result in said] == [0, 0, 0, 0]
    everything = written(tmp_path / ".docsage") + written(tmp_path / "out") + written(tmp_path / "run")
    assert "refuses the key (HTTP 401: bad key [key])" in everything
    for secret in (KEY, "pa55word"):
        assert secret not in everything
        assert all(secret not in result.out + result.err for result in said)


@pytest.mark.parametrize("url", [GONE, "http://no-such-host.invalid/v1", "http://[bad", "http://127.0.0.1:port/v1"])
def test_a_server_that_isnt_there_is_one_line_at_once(
    docsage, served: Path, english_pdf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    waited = []
    sleep = asyncio.sleep

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr("asyncio.sleep", wait)
    monkeypatch.setenv("DOCSAGE_BASE_URL", url)
    (tmp_path / "q.txt").write_text(f"{QUESTION}\nWho planted them?\n")
    data = bench(tmp_path, english_pdf)
    for words in (
        ("ask", QUESTION, english_pdf),
        ("ask", QUESTION, english_pdf, "--baseline", "direct"),
        ("ask", "--questions", "q.txt", "--out", "a.jsonl", english_pdf),
        ("eval", "mmlongbench-doc", "--data", data, "--out", "run"),
    ):
        result = docsage(*words, "--profile", served)
        assert (result.code, result.out) == (2, "")
        (line,) = result.err.splitlines()
        assert "DOCSAGE_BASE_URL" in line
    assert not any(waited)


def test_a_server_that_is_busy_is_waited_for(docsage, serve, english_pdf: Path, tmp_path: Path, monkeypatch) -> None:
    busy = iter([Answer(status=503), Answer(status=429)])
    server = serve(ModelServer(lambda role, _: next(busy, None) if role == "probe" else None))
    (tmp_path / "p.yaml").write_text(profile_text(structured=None, base_url=server.base_url))
    result = docsage("ask", QUESTION, english_pdf, "--profile", "p.yaml")
    assert (result.code, result.out.splitlines()[0]) == (0, "312")


def test_a_baseline_without_a_model_is_one_line(docsage, english_pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(QUESTION)
    many = ("ask", "--questions", "q.txt", "--out", "a.jsonl", english_pdf)
    for words in (("ask", QUESTION, english_pdf), many, (*many, "--estimate")):
        result = docsage(*words, "--baseline", "direct")
        assert (result.code, result.out) == (2, "")
        (line,) = result.err.splitlines()
        assert "needs a model, and profile quick has none" in line


def test_a_baseline_takes_no_parts_of_the_agent(docsage, english_pdf: Path) -> None:
    result = docsage("ask", QUESTION, english_pdf, "--baseline", "direct", "--pool", "pool")
    assert result.code == 2
    assert "--baseline direct and --pool don't go together" in result.err


@pytest.mark.parametrize("baseline", ["direct", "direct-rag"])
def test_a_baseline_answers_in_one_call_and_says_that_nothing_was_verified(
    docsage, serve, served: Path, english_pdf: Path, monkeypatch: pytest.MonkeyPatch, baseline: str
) -> None:
    model = ModelServer()
    monkeypatch.setenv("DOCSAGE_BASE_URL", serve(model).base_url)
    result = docsage("ask", QUESTION, english_pdf, "--profile", served, "--baseline", baseline)
    assert result.code == 0
    assert result.out.splitlines()[0] == "312"
    assert "Unverified: the model's own answer, which nothing verified." in result.out
    assert "The model cites: orchard.pdf, page 1" in result.out
    assert "1 call of fake" in result.out
    assert "nothing verified" in result.out.splitlines()[-1]
    assert dict(model.asked) == {"direct": 1}
    tree = docsage("trace", "latest").out
    assert "shown: orchard.pdf, " in tree
    assert "shown as: text" in tree


def test_a_scripted_run_shows_plan_refusal_replan_and_answer(docsage, samples: Path) -> None:
    question = "How much was spent on dredging in 2025, in thousands of pounds?"
    profile = samples / "scripts" / "harbour.yaml"
    result = docsage("ask", question, samples / "harbour-report.pdf", "--profile", profile)
    assert result.code == 0
    assert result.out.splitlines()[0] == "5,315"
    assert "6 calls of scripted" in result.out
    assert "$0.00" in result.out
    tree = docsage("trace", "latest").out
    calls = [line.split("model call  ")[1].split()[0] for line in tree.splitlines() if "model call  " in line]
    assert calls == ["plan", "answer", "verify", "plan", "answer", "verify"]
    assert tree.index("2,960  by model") < tree.index("decision  replan") < tree.index("5,315  by model")
    assert "tokens in" in tree
    lines = docsage("trace", "latest", "--json").out.splitlines()
    assert {json.loads(line)["schema"] for line in lines} == {"docsage.trace/1"}
    assert sum(json.loads(line)["kind"] == "model_call" for line in lines) == 6


def test_a_script_is_sought_beside_its_profile(docsage, english_pdf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "p.yaml").write_text("model: {kind: scripted, script: replies.yaml}")
    result = docsage("ask", QUESTION, english_pdf, "--profile", folder / "p.yaml")
    assert result.code == 2
    assert f"the script {folder}/replies.yaml can't be read" in result.err
    (folder / "replies.yaml").write_text("plan: [{steps: []}]")
    assert docsage("ask", QUESTION, english_pdf, "--profile", "elsewhere/p.yaml").code in (0, 3)
