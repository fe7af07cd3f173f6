"""A CHaystack run that is killed with SIGKILL in any phase goes on with the same call, and its files are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_haystack import Bench, make_haystack

SCRIPT = """
import os, signal, sys
from pathlib import Path
import small_haystack

class Deadly(small_haystack.Notes):
    def advance(self, units=1):
        try:
            super().advance(units)
        except KeyboardInterrupt:
            if sys.argv[5] == "torn":
                name = {"searching": "phase1_retrieval", "filtering": "phase2_filtered", "answering": "filter_rag"}
                with open(Path(sys.argv[2]) / f"{name[self.stage]}.jsonl", "ab") as file:
                    file.write(b'{"sample_id":"pap')
            os.kill(os.getpid(), signal.SIGKILL)

small_haystack.Notes = Deadly
bench = small_haystack.Bench(Path(sys.argv[1]), Path(sys.argv[2]))
bench.fatal = (sys.argv[3], int(sys.argv[4]))
bench.measure()
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["clean", "torn"])
@pytest.mark.parametrize("stage", ["searching", "filtering", "answering"])
def test_killed_in_any_phase_and_started_again(tmp_path: Path, stage: str, end: str) -> None:
    here = Path(__file__).parent
    data, out = make_haystack(tmp_path / "haystack"), tmp_path / "run"
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(data), str(out), stage, "3", end],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(here), str(here.parents[1])))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (killed.returncode, killed.stderr) == (-signal.SIGKILL, "")
    whole, again = Bench(data, tmp_path / "whole"), Bench(data, out)
    whole.measure()
    assert again.files() != whole.files()
    again.measure()
    assert again.files() == whole.files()
    # What was done before isn't done again: 5 questions in 2 indexes.
    done = {"searching": 3, "filtering": 10, "answering": 10}[stage]
    assert len(again.retriever.calls) == 10 - min(done, 10)
