"""A run whose process is killed, or whose checkpoint is damaged: nothing done twice, nothing stuck."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from book import SCOPE, Book, agent_over, page

from agent.trace import find, load
from agent.verifier import Case, RuleVerifier, Verification

QUESTION = "How many apple trees does the orchard hold?"
TEXT = "The orchard at Linden Hill holds 312 apple trees."
SCRIPT = f"""
import os, signal, sys
from pathlib import Path
from book import SCOPE, Book, agent_over, page
from agent.verifier import RuleVerifier

class Killed(RuleVerifier):
    async def verify(self, case):
        os.kill(os.getpid(), signal.SIGKILL)

book = Book(page(1, ("paragraph", {TEXT!r})))
agent_over(book, Path(sys.argv[1]), verifier=Killed()).ask({QUESTION!r}, SCOPE, run_id="run1")
"""


class Breaks(RuleVerifier):
    async def verify(self, case: Case) -> Verification:
        raise RuntimeError("the power went out")


def orchard() -> Book:
    return Book(page(1, ("paragraph", TEXT)))


def kinds(root: Path) -> list[str]:
    return [event.kind for event in load(find(root, "run1"))]


@pytest.mark.slow
def test_a_run_whose_process_was_killed_goes_on_after_the_last_node(tmp_path: Path) -> None:
    here = Path(__file__).parent
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(here), str(here.parents[1])))},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert kinds(tmp_path)[-2:] == ["facts", "budget"]
    book = orchard()
    trajectory = agent_over(book, tmp_path).ask(QUESTION, SCOPE, run_id="run1")
    assert trajectory.answer == "312"
    assert book.searches == []
    assert kinds(tmp_path).count("plan") == kinds(tmp_path).count("facts") == 1
    assert kinds(tmp_path)[-1] == "final"
    assert list((tmp_path / "checkpoints").iterdir()) == []


@pytest.mark.parametrize("damage", [b"no database at all, but words of some length", b""])
def test_a_run_whose_checkpoint_is_damaged_starts_again(tmp_path: Path, damage: bytes) -> None:
    with pytest.raises(RuntimeError, match="power"):
        agent_over(orchard(), tmp_path, verifier=Breaks()).ask(QUESTION, SCOPE, run_id="run1")
    (tmp_path / "checkpoints" / "run1.sqlite").write_bytes(damage)
    book = orchard()
    trajectory = agent_over(book, tmp_path).ask(QUESTION, SCOPE, run_id="run1")
    assert trajectory.answer == "312"
    assert book.searches == [QUESTION]
    assert "resumed" in kinds(tmp_path)
    assert [event.seq for event in load(find(tmp_path, "run1"))] == list(range(len(kinds(tmp_path))))


def test_runs_at_the_same_time_leave_each_others_checkpoints_alone(tmp_path: Path) -> None:
    for number in range(3):
        with pytest.raises(RuntimeError, match="power"):
            agent_over(orchard(), tmp_path, verifier=Breaks()).ask(f"{QUESTION} {number}", SCOPE, run_id=f"run{number}")
    agent_over(orchard(), tmp_path).ask(f"{QUESTION} 1", SCOPE)
    left = {path.name.partition(".")[0] for path in (tmp_path / "checkpoints").iterdir()}
    assert left == {"run0", "run2"}
