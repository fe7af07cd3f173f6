"""A run that is killed with SIGKILL goes on with the same call: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.run import Run

SCRIPT = """
import os, signal, sys
from pathlib import Path
from evaluation.folder import RunConfig
from evaluation.run import Run
from evaluation.types import Question
from retrieval.types import Scope
from scripted_trajectory import trajectory

out, fatal, torn = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "torn"
questions = [Question(id=f"{n:04d}", text=f"question {n}", scope=Scope(doc_ids=("doc",))) for n in range(5)]

def ask(question):
    print(question.id, flush=True)
    if question.id == fatal:
        if torn:
            with open(out / "trajectories.jsonl", "ab") as file:
                file.write(b'{"schema":"docsage.traj')
        os.kill(os.getpid(), signal.SIGKILL)
    return trajectory(question.text, "yes")

run = Run(out)
with run.opened(RunConfig(benchmark="test", questions="abc", settings={})):
    run.ask(questions, ask)
"""


def _run(out: Path, fatal: str, end: str) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parent
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), fatal, end],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(here), str(here.parents[1])))},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", ["clean", "torn"])
def test_killed_in_the_middle_and_started_again(tmp_path: Path, end: str) -> None:
    killed = _run(tmp_path, "0002", end)
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout.split() == ["0000", "0001", "0002"]

    again = _run(tmp_path, "none", "clean")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.split() == ["0002", "0003", "0004"]
    assert [t.question_id for t in Run(tmp_path).trajectories.read()] == ["0000", "0001", "0002", "0003", "0004"]
