"""MMLongBench-Doc's questions as they lie on disk: `samples.json` and a folder `documents/`."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import ValidationError

from evaluation.metrics.mmlongbench import NOT_ANSWERABLE, AnswerFormat
from retrieval.errors import InputError
from retrieval.types import Frozen

Span = Literal["single-page", "cross-page", "unanswerable"]
SOURCE_NAMES = {"Pure-text (Plain-text)": "Pure-text", "Generalized-text (Layout)": "Layout"}


class Sample(Frozen):
    """One question with its gold answer. `sources` say what the evidence is (Table, Chart, ...).

    `pages` are 1-based as a rule; a few annotations name pages that the document doesn't have.
    """

    id: str
    document: str
    doc_type: str
    question: str
    answer: str
    answer_format: AnswerFormat
    pages: tuple[int, ...]
    sources: tuple[str, ...]

    @property
    def answerable(self) -> bool:
        """Whether the benchmark counts it as answerable: literally, "Not answerable or 0 or none" is an answer."""
        return self.answer != NOT_ANSWERABLE

    @property
    def may_abstain(self) -> bool:
        """Whether abstaining is right, also where the benchmark takes another answer besides."""
        return self.answer_format == "None"

    @property
    def span(self) -> Span:
        """The benchmark's own split: one gold page, several (or none) with an answer, or no answer."""
        if not self.answerable:
            return "unanswerable"
        return "single-page" if len(self.pages) == 1 else "cross-page"


def load_samples(data: Path) -> list[Sample]:
    """All samples of a data folder, in file order; ids are their positions ("0000", "0001", ...)."""
    path = data / "samples.json"
    if not os.path.isfile(path):
        raise InputError(f"{path} does not exist", remedy="--data is a folder with samples.json and documents/")
    try:
        rows = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror})", remedy="check its permissions") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON ({error})", remedy="fetch the benchmark's samples.json again") from error
    if not isinstance(rows, list):
        raise InputError(f"{path} holds a {type(rows).__name__}", remedy="it must hold a list of samples")
    if not rows:
        raise InputError(f"{path} holds no sample", remedy="fetch the benchmark's samples.json again")
    return [_sample(row, position, path) for position, row in enumerate(rows)]


def document_paths(data: Path, samples: Sequence[Sample]) -> dict[str, Path]:
    """The file of each document that the samples name, in order of first use. Whether it exists is not checked."""
    return {s.document: data / "documents" / s.document for s in samples}


def _sample(row: Any, position: int, path: Path) -> Sample:
    try:
        return Sample(
            id=f"{position:04d}",
            document=row["doc_id"],
            doc_type=row.get("doc_type") or "unknown",
            question=row["question"],
            answer=str(row["answer"]),
            answer_format=str(row["answer_format"]),
            pages=tuple(sorted({int(page) for page in _listed(row.get("evidence_pages"))})),
            sources=tuple(SOURCE_NAMES.get(str(s), str(s)) for s in _listed(row.get("evidence_sources"))),
        )
    except (KeyError, TypeError, AttributeError, ValueError, ValidationError) as error:
        raise InputError(
            f"sample {position} of {path} can't be read ({type(error).__name__}: {error})",
            remedy="it needs doc_id, question, answer, answer_format, evidence_pages and evidence_sources",
        ) from error


def _listed(value: Any) -> list[Any]:
    """The list that a field holds, as JSON or as Python in a string; nothing at all is an empty list."""
    if isinstance(value, str) and value.strip():
        try:
            value = ast.literal_eval(value)
        except SyntaxError as error:
            raise ValueError(f"{value[:60]!r} is no list") from error
    if not value:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
