"""Files of a run that survive being killed: JSON lines that are appended whole, and JSON that is replaced whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from retrieval.errors import InputError

R = TypeVar("R", bound=BaseModel)


class Unwritable(InputError):
    """A file of results can't be written; going on would lose every further result."""


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
        """Write one record in a single call and hand it to the disk before returning; else raise `Unwritable`."""
        line = record.model_dump_json(by_alias=True).encode() + b"\n"
        try:
            with open(self.path, "ab", buffering=0) as file:
                file.write(line)
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def repair(self) -> None:
        """Cut off a torn last line. Only the process that holds the run may do it.

        A file that holds anything else than these records is somebody's own: InputError, and it stays as it is.
        """
        self.read()
        content = self._content()
        whole = content.rfind(b"\n") + 1
        if whole == len(content):
            return
        if not self._begins_a_record(content[whole:]):
            raise InputError(
                f"the end of {self.path} is no {self._model.__name__}", remedy="name a new file, or one of docsage's"
            )
        try:
            os.truncate(self.path, whole)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _begins_a_record(self, torn: bytes) -> bool:
        """Whether a line that was torn off can have been the beginning of a record."""
        name, field = next(iter(self._model.model_fields.items()))
        start = f'{{"{field.serialization_alias or name}":'.encode()
        if isinstance(field.default, str):
            start += f'"{field.default}"'.encode()
        return torn.startswith(start) or start.startswith(torn)

    def _whole(self) -> bytes:
        content = self._content()
        return content[: content.rfind(b"\n") + 1]

    def _content(self) -> bytes:
        if os.path.exists(self.path) and not self.path.is_file():
            # A device or a pipe may never end.
            raise InputError(f"{self.path} is no regular file", remedy="name a new file, or one of docsage's")
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise InputError(f"{self.path} can't be read ({error.strerror})", remedy="name another file") from error


def _unwritable(path: Path, error: OSError) -> Unwritable:
    return Unwritable(
        f"{path} can't be written ({error.strerror})", remedy="make room or choose another --out; what is done is kept"
    )


def write_json(path: Path, value: BaseModel) -> None:
    """Replace `path` by the JSON of `value`; see `write_bytes`."""
    write_bytes(path, value.model_dump_json(by_alias=True, indent=2).encode() + b"\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` in one step, so that a reader sees the old or the new file, never half."""
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise _unwritable(path, error) from error
