"""What can go wrong with the user's input. Anything else that is raised is a bug of ours."""

from __future__ import annotations


class DocsageError(Exception):
    """Base of the errors that end in one clear line: what is wrong, and the remedy."""

    def __init__(self, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"{problem}: {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


class InputError(DocsageError):
    """A path, option or value that the user gave can't be used."""


class UnreadableDocument(InputError):
    """One file can't be read; the rest of the batch goes on."""


class PasswordNeeded(UnreadableDocument):
    """The file is encrypted, and none of the passwords given opens it."""


class CollectionBusy(DocsageError):
    """Another process is writing to the collection."""
