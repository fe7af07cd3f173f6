"""The replies of the writer: facts with the pieces that they stand in, an answer, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, field_validator

_MOST, _LONGEST_ID = 100, 200


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _strings(value: Any) -> list[str]:
    """A list of strings, whatever a model wrote in its place."""
    values = [] if value is None else value if isinstance(value, list) else [value]
    return [str(item)[:_LONGEST_ID] for item in values[:_MOST]]


class FactReply(BaseModel):
    """One fact as a model states it, with the pieces that it stands in."""

    text: str = Field(json_schema_extra={"maxLength": 400})
    sources: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": 4})

    @field_validator("sources", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return _strings(value)


class SeenFactReply(FactReply):
    """A fact that a model saw. `box` is where, as shares of the page."""

    box: list[float] | None = Field(default=None, json_schema_extra={"maxItems": 4})

    @field_validator("box", mode="before")
    @classmethod
    def _as_box(cls, value: Any) -> Any:
        """A box of another form costs the box and not the answer."""
        return value if _is_list(value) and all(type(item) in (int, float) for item in value) else None


def _text(value: Any) -> Any:
    """A field of text that a model left out or wrote as a list."""
    if value is None:
        return ""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


Text = Annotated[str, BeforeValidator(_text)]


class AnswerReply(BaseModel):
    """The reply of the writer. `missing` says what would be needed when `sufficient` is false."""

    facts: Sequence[FactReply] = Field(default_factory=list, json_schema_extra={"maxItems": 8})
    sufficient: bool = True
    answer: Text = ""
    calculation: Text = ""
    missing: Text = ""

    @field_validator("facts", mode="before")
    @classmethod
    def _as_facts(cls, value: Any) -> Any:
        if value is None:
            return []
        return (
            [{"text": item} if isinstance(item, str) else item for item in value[:_MOST]] if _is_list(value) else value
        )


class SeenAnswerReply(AnswerReply):
    """The reply of a writer that was shown pictures only."""

    facts: Sequence[SeenFactReply] = Field(default_factory=list, json_schema_extra={"maxItems": 8})


class TranslationReply(BaseModel):
    """The reply of the translator, with the pieces that it translated."""

    sources: Annotated[list[str], BeforeValidator(_strings)] = Field(
        default_factory=list, json_schema_extra={"maxItems": 60}
    )
    sufficient: bool = True
    answer: Text = ""
    missing: Text = ""
