"""What answers a question from a paragraph."""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib import resources
from typing import Annotated, Protocol

from pydantic import Field

from agent.reader.ranker import Reader
from retrieval.embedders.e5 import E5
from retrieval.types import Frozen


class Answer(Frozen):
    """What a reader makes of a question: its best words, and the probability that they are right."""

    text: str
    confidence: Annotated[float, Field(ge=0, le=1)]


class ParagraphReader(Protocol):
    """What answers a question from a paragraph."""

    @property
    def name(self) -> str:
        """Name and version: answers of different readers don't end in one run."""

    @property
    def threshold(self) -> float:
        """The confidence from which an answer is given."""

    def answer(self, question: str, paragraph: str) -> Answer:
        """The best words, also when they are probably wrong; "" only for a paragraph without words."""


class TrainedReader:
    """The reader that ships; DocsageError when it is damaged. It answers when it is more likely right than wrong."""

    threshold = 0.5

    def __init__(self) -> None:
        self._reader = Reader(E5())
        self._reader.check()

    @cached_property
    def name(self) -> str:
        """The reader's version, and a hash of its model files: they may be trained again."""
        digest = hashlib.sha256()
        for file in sorted(resources.files("agent.reader.models").iterdir(), key=lambda file: file.name):
            if file.is_file():
                digest.update(file.read_bytes())
        return f"{Reader.name}/{digest.hexdigest()[:8]}"

    def answer(self, question: str, paragraph: str) -> Answer:
        """The best words of the paragraph."""
        found = self._reader.read(question, paragraph, keep=1)
        return Answer(text=found.spans[0].text if found.spans else "", confidence=self._reader.answerable(found))
