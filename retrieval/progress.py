"""How long work tells about itself. The command line hands in a progress bar; the default says nothing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the advance of long work, from the thread that asked for it."""

    def start(self, stage: str, total: int) -> None:
        """A stage ("reading", "OCR", "vectors") of `total` units begins; it replaces the one before."""

    def advance(self, units: int = 1) -> None:
        """`units` more are done."""

    def note(self, message: str) -> None:
        """One line for the user, such as a file that was refused."""


class Silent:
    """A progress that says nothing."""

    def start(self, stage: str, total: int) -> None:
        """Say nothing."""

    def advance(self, units: int = 1) -> None:
        """Say nothing."""

    def note(self, message: str) -> None:
        """Say nothing."""
