"""What the processor can do, for the libraries that don't find it out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CORE = "OPENBLAS_CORETYPE"
_WIDE = frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})


def choose_kernels(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Have numpy's OpenBLAS use AVX-512 on the AMD processors that have it: it takes them for older ones.

    Products of matrices, such as those of MaxSim, are twice as fast then. Must be called before numpy is loaded, and
    does nothing after it, on other systems, or where the environment has made a choice.
    """
    if _CORE in os.environ or "numpy" in sys.modules:
        return
    if (core := wide_core(cpuinfo)) is not None:
        os.environ[_CORE] = core


def wide_core(cpuinfo: Path) -> str | None:
    """The kernels that suit an AMD processor with AVX-512; None for any other, or when that can't be told."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as file:
            first = file.read(8192).partition("\n\n")[0]
    except OSError:
        return None
    fields = {name.strip(): value for name, _, value in (line.partition(":") for line in first.splitlines())}
    wide = set(fields.get("flags", "").split()) >= _WIDE
    return "SkylakeX" if wide and fields.get("vendor_id", "").strip() == "AuthenticAMD" else None
