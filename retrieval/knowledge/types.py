"""What an evidence pool is made of, and what a look-up in it gives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from retrieval.types import Frozen

Basis = Literal["exact key", "key in question", "year-equivalent", "substring", "character overlap"]
Reason = Literal["holds an answer", "repeats an answer", "repeats a question", "is part of a question or answer"]


class Source(Frozen):
    """Where a snippet comes from, as far as it is known. `file` is the input file when nothing else is."""

    title: str = ""
    url: str = ""
    file: str = ""
    date: str = ""

    def __str__(self) -> str:
        """Title, address, file and date, those that there are."""
        return ", ".join(part for part in (self.title, self.url, self.file, self.date) if part)


class Snippet(Frozen):
    """A text with the keys that it is found by, and the years that the keys and the text name (-140 is 140 BC)."""

    id: str
    keys: tuple[str, ...]
    text: str
    sources: tuple[Source, ...] = ()
    key_years: tuple[int, ...] = ()
    text_years: tuple[int, ...] = ()


class PoolHit(Frozen):
    """A snippet that matches: on what grounds (best first), by which key, how well (0 to 1)."""

    snippet: Snippet
    bases: tuple[Basis, ...]
    matched: str
    score: Annotated[float, Field(ge=0, le=1)]

    @property
    def basis(self) -> str:
        """The grounds in words: `exact key 井田; key in question`."""
        first, *others = self.bases
        named = f"{first} {self.matched}" if self.matched else first
        return "; ".join([named, *others])


class InputFile(Frozen):
    """A file that a pool was built from, or that test questions were read from."""

    name: str
    sha256: str
    records: int
    refused: int = 0


class Manifest(Frozen):
    """`pool.json`: what is frozen. `sha256` is that of the bytes of `snippets.jsonl`."""

    schema_version: Literal["docsage.pool/1"] = Field(default="docsage.pool/1", alias="schema")
    sha256: str
    snippets: int
    keys: int
    duplicates: int
    inputs: tuple[InputFile, ...]
    tests: tuple[InputFile, ...] = ()
    excluded: dict[Reason, int] = Field(default_factory=dict)
    excluded_sha256: str


class Exclusion(Frozen):
    """A snippet that was left out, and the test question it overlaps. Neither text is repeated here."""

    keys: tuple[str, ...]
    source: str
    reason: Reason
    test: str
