"""Building and freezing a pool: records in, `pool.json`, `snippets.jsonl` and `excluded.jsonl` out.

The same files give the same bytes, in whatever order they are named: snippets stand in the order of their ids, which
are hashes of their texts, and nothing of the machine or the hour is written.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from retrieval.errors import InputError
from retrieval.knowledge.characters import folded, key_form, units
from retrieval.knowledge.exclusion import Exclusions, read_held_out
from retrieval.knowledge.records import Record, read_records
from retrieval.knowledge.texts import pieces
from retrieval.knowledge.types import Exclusion, Manifest, Snippet, Source
from retrieval.knowledge.years import years_in, years_of_term
from retrieval.progress import Progress, Silent
from retrieval.types import Frozen

MANIFEST, SNIPPETS, EXCLUDED = "pool.json", "snippets.jsonl", "excluded.jsonl"
_PARTIAL = ".partial"


class BuildReport(NamedTuple):
    """What was built: the manifest, the snippets that were left out, one line on each record that can't be used."""

    manifest: Manifest
    excluded: tuple[Exclusion, ...]
    refused: tuple[str, ...]
    unchanged: bool


class _Piece(NamedTuple):
    text: str
    record: Record


def build_pool(
    files: Sequence[Path], out: Path, *, exclude: Sequence[Path] = (), progress: Progress | None = None
) -> BuildReport:
    """Build a pool from files and freeze it in the folder `out`, which must be new, empty, or hold this very pool.

    Records that can't be used are reported and the rest goes on; InputError when a file can't be read, nothing is left,
    or `out` holds anything else.
    """
    if not files:
        raise InputError("a pool needs at least one file", remedy="name JSONL, JSON, CSV, TSV or text files")
    _check_folder(out)
    inputs = sorted((read_records(path) for path in files), key=lambda read: (read.file.name, read.file.sha256))
    tests = sorted((read_held_out(path) for path in exclude), key=lambda read: (read.file.name, read.file.sha256))
    refused = tuple(line for read in inputs for line in read.refused)
    refused += tuple(line for read in tests for line in read.refused)
    groups = _grouped([record for read in inputs for record in read.records])
    kept, excluded = _sifted(groups, Exclusions(t for read in tests for t in read.tests), progress or Silent())
    if not kept:
        raise InputError(
            f"nothing is left to put into the pool ({len(refused)} refused, {len(excluded)} excluded)",
            remedy=refused[0] if refused else "check the input and the excluded tests",
        )
    snippets = sorted((_snippet(group) for group in kept), key=lambda snippet: snippet.id)
    content = _lines(snippets)
    left_out = _lines(excluded)
    manifest = Manifest(
        sha256=hashlib.sha256(content).hexdigest(),
        snippets=len(snippets),
        keys=len({key_form(key) for snippet in snippets for key in snippet.keys}),
        duplicates=sum(len(group) - 1 for group in groups),
        inputs=tuple(read.file for read in inputs),
        tests=tuple(read.file for read in tests),
        excluded=dict(sorted(Counter(one.reason for one in excluded).items())),
        excluded_sha256=hashlib.sha256(left_out).hexdigest(),
    )
    described = manifest.model_dump_json(by_alias=True, indent=2).encode() + b"\n"
    unchanged = _freeze(out, {SNIPPETS: content, EXCLUDED: left_out, MANIFEST: described})
    return BuildReport(manifest, tuple(excluded), refused, unchanged)


def _grouped(records: Sequence[Record]) -> list[list[_Piece]]:
    """Pieces of texts, those that say the same put together; each group in an order that depends on its texts alone."""
    groups: dict[str, list[_Piece]] = defaultdict(list)
    for record in records:
        for text in pieces(record.text):
            groups[" ".join(units(folded(text))) or text].append(_Piece(text, record))
    return [
        sorted(group, key=lambda p: (p.text, p.record.source.model_dump_json(), p.record.keys, p.record.place))
        for group in groups.values()
    ]


def _sifted(
    groups: Sequence[list[_Piece]], exclusions: Exclusions, progress: Progress
) -> tuple[list[list[_Piece]], list[Exclusion]]:
    kept: list[list[_Piece]] = []
    excluded: list[Exclusion] = []
    progress.start("snippets", len(groups))
    for group in groups:
        if (overlap := exclusions.overlap(group[0].text)) is None:
            kept.append(group)
        else:
            excluded.append(
                Exclusion(keys=_keys(group), source=group[0].record.place, reason=overlap.reason, test=overlap.place)
            )
        progress.advance()
    return kept, sorted(excluded, key=lambda one: (one.source, one.keys, one.test))


def _snippet(group: Sequence[_Piece]) -> Snippet:
    """One snippet of all pieces that say the same, with all their keys and sources."""
    text, keys = group[0].text, _keys(group)
    sources: dict[Source, None] = dict.fromkeys(piece.record.source for piece in group)
    return Snippet(
        id=hashlib.sha256(text.encode()).hexdigest()[:16],
        keys=keys,
        text=text,
        sources=tuple(sources),
        key_years=tuple(sorted({year for key in keys for year in years_of_term(key)})),
        text_years=years_in(text),
    )


def _keys(group: Sequence[_Piece]) -> tuple[str, ...]:
    return tuple({key_form(key): key for piece in reversed(group) for key in reversed(piece.record.keys)}.values())[
        ::-1
    ]


def _lines(values: Sequence[Frozen]) -> bytes:
    return b"".join(orjson.dumps(value.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE) for value in values)


def _check_folder(out: Path) -> None:
    """InputError when `out` is anything else than a folder that a pool may be written into."""
    try:
        names = {path.name.removesuffix(_PARTIAL) for path in out.iterdir()} if out.exists() else set()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{out} can't be the folder of a pool ({why})", remedy="choose another --out") from error
    if names - {MANIFEST, SNIPPETS, EXCLUDED}:
        raise InputError(f"{out} is not empty and holds no pool", remedy="choose a new or empty folder for --out")


def _freeze(out: Path, files: dict[str, bytes]) -> bool:
    """Write the files, the manifest last; True when they stood there already. Another pool is never replaced."""
    try:
        if (out / MANIFEST).exists():
            if any(not (out / name).exists() or (out / name).read_bytes() != new for name, new in files.items()):
                raise InputError(f"{out} holds another pool, and pools are frozen", remedy="choose another --out")
            return True
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            partial = out / (name + _PARTIAL)
            with open(partial, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, out / name)
    except OSError as error:
        raise InputError(
            f"{out} can't be written ({error.strerror})", remedy="make room or choose another --out"
        ) from error
    return False
