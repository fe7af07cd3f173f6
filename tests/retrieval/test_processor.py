"""The kernels that numpy's products of matrices run on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval.processor import wide_core

WIDE = "fpu sse2 avx2 avx512f avx512dq avx512cd avx512bw avx512vl"


@pytest.mark.parametrize(
    ("vendor", "flags", "core"),
    [
        ("AuthenticAMD", WIDE, "SkylakeX"),
        ("AuthenticAMD", "fpu sse2 avx2", None),
        ("AuthenticAMD", WIDE.replace("avx512vl", ""), None),
        ("GenuineIntel", WIDE, None),
    ],
)
def test_amd_processors_with_wide_registers_use_them(tmp_path: Path, vendor: str, flags: str, core: str | None) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n\nprocessor\t: 1\n", encoding="utf-8"
    )
    assert wide_core(cpuinfo) == core


def test_a_system_that_does_not_say_is_left_alone(tmp_path: Path) -> None:
    assert wide_core(tmp_path / "nothing") is None


def test_what_the_environment_says_stays(tmp_path: Path) -> None:
    code = "import os, retrieval; print(os.environ.get('OPENBLAS_CORETYPE'))"
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Haswell"
