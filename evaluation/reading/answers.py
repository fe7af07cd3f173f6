"""What a reader said to each question: the records of a run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from retrieval.types import Frozen


class ReadAnswer(Frozen):
    """A question's best words, also where they would be withheld, and how well they match the gold answers.

    `set_name` and `answerable` say where the question comes from; `seconds` are those of searching and reading.
    `source` is the paragraph that the words were taken from, by its place in the set; None when search found none.
    `rank` is that of the question's own paragraph among all of its set; None when it isn't among the first ten, and
    where it was given.
    """

    schema_version: Literal["docsage.reading/1"] = Field(default="docsage.reading/1", alias="schema")
    id: str
    set_name: str
    question: str
    text: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    answerable: bool
    exact: float
    f1: float
    source: int | None
    seconds: float
    rank: int | None = None
