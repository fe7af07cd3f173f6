"""Files of a run that survive being killed: JSON lines that are appended whole, and JSON that is replaced whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from retrieval.errors import InputError

R = TypeVar("R", bound=BaseModel)


class JsonLines(Generic[R]):
    """An append-only file, one record a line. A last line that was torn by a kill is dropped before the next append."""

    def __init__(self, path: Path, model: type[R]) -> None:
        self.path = path
        self._model = model

    def read(self) -> list[R]:
        """All whole records, in file order; none when there is no file. A whole line that is no record is an error."""
        records = []
        for number, line in enumerate(self._whole().splitlines(), 1):
            try:
                records.append(self._model.model_validate_json(line))
            except ValidationError as error:
                raise InputError(
                    f"line {number} of {self.path} is not a {self._model.__name__}: {error.errors()[0]['msg']}",
                    remedy="remove that line, and its question is asked again",
                ) from error
        return records

    def append(self, record: R) -> None:
        """Write one record in a single call and hand it to the disk before returning."""
        line = record.model_dump_json(by_alias=True).encode() + b"\n"
        with open(self.path, "ab", buffering=0) as file:
            file.write(line)
            os.fsync(file.fileno())

    def repair(self) -> None:
        """Cut off a torn last line. Only the process that holds the run may do it."""
        whole = len(self._whole())
        if self.path.exists() and self.path.stat().st_size > whole:
            os.truncate(self.path, whole)

    def _whole(self) -> bytes:
        content = self.path.read_bytes() if self.path.exists() else b""
        return content[: content.rfind(b"\n") + 1]


def write_json(path: Path, value: BaseModel) -> None:
    """Replace `path` by the JSON of `value` in one step, so that a reader sees the old or the new file, never half."""
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        file.write(value.model_dump_json(by_alias=True, indent=2).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
