"""Input files of a pool: JSON lines, JSON, CSV, TSV and plain text, read record by record.

Fields: `keys`, `key`, `terms` or `term`; `text`; `title`, `url`, `file`, `date`, in the record or in its `source`,
which may also be a string; other fields are not read. A JSON file is a list of records, or a dictionary from keys to
records or texts. CSV and TSV have the fields as columns, several keys separated by "|" or ";". A line of plain text is
`key: text`, the keys separated by "|" or "、".
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retrieval.errors import InputError
from retrieval.knowledge.characters import key_form
from retrieval.knowledge.texts import LONGEST_KEY, cleaned
from retrieval.knowledge.types import InputFile, Source

KEY_FIELDS = ("keys", "key", "terms", "term")
SOURCE_FIELDS = ("title", "url", "file", "date")
KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".txt": "text"}
_COLUMN_KEYS = re.compile(r"[|;；]")
_LINE = re.compile(r"^(?P<keys>[^:：\t]{1,200})[:：\t](?P<text>.+)$")
_LINE_KEYS = re.compile(r"[|、]")
_LONGEST_FIELD = 2_000_000


class Record(NamedTuple):
    """One usable record: cleaned keys and text, its source, and its place (`terms.csv, line 7`)."""

    keys: tuple[str, ...]
    text: str
    source: Source
    place: str


class ReadFile(NamedTuple):
    """What a file gave: its records, and one line on each record that can't be used."""

    file: InputFile
    records: tuple[Record, ...]
    refused: tuple[str, ...]


class _Refused(Exception):
    """Why one record can't be used."""


def read_records(path: Path) -> ReadFile:
    """All usable records of a file. InputError when the file itself can't be read or is of no known kind."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path} is of no kind that a pool is built from", remedy=f"name {', '.join(KINDS)} files")
    content = content_of(path)
    records: list[Record] = []
    refused: list[str] = []
    for line, value in _values(content, kind, path):
        place = f"{path.name}, {line}"
        try:
            if isinstance(value, _Refused):
                raise value
            records.append(_record(value, place, path.name))
        except _Refused as error:
            refused.append(f"{place}: {error}")
    file = InputFile(
        name=path.name, sha256=hashlib.sha256(content).hexdigest(), records=len(records), refused=len(refused)
    )
    return ReadFile(file, tuple(records), tuple(refused))


def content_of(path: Path) -> bytes:
    """The bytes of a regular file; InputError says why it can't be read."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is no regular file", remedy="name a file")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} can't be read ({why})", remedy="check the path and its permissions") from error


def lines_of(content: bytes) -> Iterator[tuple[int, str | None]]:
    """The lines that aren't blank, numbered from 1; None for a line that is not UTF-8."""
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError:
                yield number, None


def _values(content: bytes, kind: str, path: Path) -> Iterator[tuple[str, Any]]:
    """(where, record or why there is none) of each record."""
    if kind == "json":
        yield from _json_values(content, path)
    elif kind in ("csv", "tsv"):
        yield from _rows(content, "\t" if kind == "tsv" else ",", path)
    else:
        for number, line in lines_of(content):
            where = f"line {number}"
            if line is None:
                yield where, _Refused("it is not UTF-8; save the file as UTF-8")
            else:
                yield where, (_json_line(line) if kind == "jsonl" else _plain_line(line))


def _json_line(line: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _Refused(f"it is not JSON ({error})")


def _plain_line(line: str) -> Any:
    match = _LINE.match(line.strip())
    if match is None:
        return _Refused("it has no key; write `key: text`")
    return {"keys": _LINE_KEYS.split(match["keys"]), "text": match["text"]}


def _json_values(content: bytes, path: Path) -> Iterator[tuple[str, Any]]:
    try:
        value = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"{path} is not JSON ({error})", remedy="name it .jsonl when it has one record a line"
        ) from error
    if isinstance(value, dict) and isinstance(value.get("snippets"), list):
        value = value["snippets"]
    if isinstance(value, dict) and not set(value) & {*KEY_FIELDS, "text"}:
        # A dictionary: each name is the key of what it stands for.
        named = (
            (key, item) for key, items in value.items() for item in (items if isinstance(items, list) else [items])
        )
        value = [{"key": key, **(item if isinstance(item, dict) else {"text": item})} for key, item in named]
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield f"record {number}", item


def _rows(content: bytes, delimiter: str, path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start})", remedy="save it as UTF-8") from error
    # The module's own limit is 131,072 characters; where a longer field makes it stop, the rest of the file is lost.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    # Strict, or a quote that is never closed would make one text of all that follows it, and nobody would know.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] = []
    while True:
        where = f"line {reader.line_num + 1}"
        try:
            row = next(reader, None)
        except csv.Error as error:
            yield where, _Refused(f"it is no {path.suffix[1:].upper()} ({error})")
            continue
        if row is None:
            break
        if columns and any(row):
            yield where, _row(columns, row)
        elif any(row):
            columns = _columns(row, path)


def _columns(row: Sequence[str], path: Path) -> list[str]:
    names = [name.strip().lower() for name in row]
    if "text" not in names or not set(names) & set(KEY_FIELDS):
        raise InputError(
            f"the first line of {path} names the columns {', '.join(filter(None, names)) or 'none'}",
            remedy="it must name key and text, and may name title, url, file, date",
        )
    return names


def _row(columns: Sequence[str], row: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {name: value for name, value in zip(columns, row, strict=False) if value}
    for name in set(values) & set(KEY_FIELDS):
        values[name] = _COLUMN_KEYS.split(values[name])
    return values


def _record(value: Any, place: str, file: str) -> Record:
    if not isinstance(value, dict):
        raise _Refused(f"it is {_named(value)}; a record is an object with key and text")
    text = value.get("text")
    if not isinstance(text, str):
        raise _Refused(f"its text is {_named(text)}; give it as a string in `text`")
    if len(text) > _LONGEST_FIELD:
        raise _Refused(f"its text has {len(text)} characters; {_LONGEST_FIELD} are the most")
    plain = cleaned(text)
    if not plain:
        raise _Refused("its text is empty")
    return Record(_keys(value), plain, _source(value, file), place)


def _keys(value: dict[str, Any]) -> tuple[str, ...]:
    given: list[Any] = []
    for field in KEY_FIELDS:
        item = value.get(field)
        given += item if isinstance(item, list) else [item] if item is not None else []
    if wrong := [item for item in given if not isinstance(item, str)]:
        raise _Refused(f"a key is {_named(wrong[0])}; keys are strings")
    keys = {key_form(key): key for item in reversed(given) if key_form(key := cleaned(item))}
    if given and not keys:
        raise _Refused(f"its key {given[0]!r:.40} has no letter and no digit")
    if not keys:
        raise _Refused(f"it has no key; give one in {', '.join(f'`{field}`' for field in KEY_FIELDS)}")
    if long := [key for key in keys.values() if len(key) > LONGEST_KEY]:
        raise _Refused(f"the key {long[0][:20]!r}… has {len(long[0])} characters; {LONGEST_KEY} are the most")
    return tuple(reversed(keys.values()))


def _source(value: dict[str, Any], file: str) -> Source:
    given = value.get("source")
    fields: dict[str, Any] = {name: value.get(name) for name in SOURCE_FIELDS}
    if isinstance(given, dict):
        fields |= {name: given[name] for name in SOURCE_FIELDS if given.get(name) is not None}
    elif isinstance(given, str) and given.strip():
        fields["url" if given.strip().startswith(("http://", "https://")) else "title"] = given
    elif given is not None and not isinstance(given, str):
        raise _Refused(f"its source is {_named(given)}; give a string, or an object with {', '.join(SOURCE_FIELDS)}")
    plain = {name: _plain(name, item) for name, item in fields.items() if item is not None}
    known = Source(**{name: item for name, item in plain.items() if item})
    return known if str(known) else Source(file=file)


def _plain(name: str, item: Any) -> str:
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise _Refused(f"the {name} of its source is {_named(item)}; give it as a string")
    return cleaned(str(item))[:500]


def _named(value: Any) -> str:
    """What kind of thing a JSON value is, in words."""
    if value is None:
        return "missing"
    names: Iterable[tuple[Any, str]] = (
        (bool, "a truth value"),
        (str, "a string"),
        (list, "a list"),
        (dict, "an object"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a number")
