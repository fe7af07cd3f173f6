"""The folder of a run: one process at a time, one configuration for all that it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError

from evaluation.records import JsonLines, write_json
from evaluation.types import Failure
from retrieval.errors import InputError
from retrieval.types import Frozen


class RunConfig(Frozen):
    """What makes two runs the same: answers of different configurations must not end in one file.

    `limit` is kept apart, because a run may be continued with a higher one.
    """

    schema_version: Literal["docsage.run/1"] = Field(default="docsage.run/1", alias="schema")
    benchmark: str
    questions: str
    settings: dict[str, Any]
    limit: int | None = None


class RunFolder:
    """`run.json` and `failures.jsonl`, and what a benchmark adds: `logs` are its files of records."""

    def __init__(self, out: Path, logs: Sequence[JsonLines[Any]]) -> None:
        self.out = out
        self.failures = JsonLines(out / "failures.jsonl", Failure)
        self._logs = (*logs, self.failures)

    @contextmanager
    def opened(self, config: RunConfig, *, resume: bool = False) -> Iterator[None]:
        """Hold the folder for this process; start the run, or go on with it when it was started by the same config.

        `resume` allows another `limit`. A folder that holds anything else is an InputError, and so is a folder that
        another process is running in.
        """
        lock = FileLock(self.out / ".lock")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(f"another process is running in {self.out}", remedy="wait for it, or stop it") from None
        except OSError as error:
            raise InputError(
                f"{self.out} can't be the folder of a run ({error.strerror})", remedy="choose another folder for --out"
            ) from error
        try:
            self._check(config, resume=resume)
            write_json(self.out / "run.json", config)
            for log in self._logs:
                log.repair()
            yield
        finally:
            lock.release()

    def _check(self, config: RunConfig, *, resume: bool) -> None:
        path = self.out / "run.json"
        if not path.exists():
            if any(p.name not in {".lock", "run.json.partial"} for p in self.out.iterdir()):
                raise InputError(f"{self.out} is not empty and holds no run", remedy="choose an empty folder for --out")
            return
        try:
            before = RunConfig.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise InputError(
                f"{path} can't be read as the description of a run", remedy="choose another --out, or put it back"
            ) from error
        if not any(log.path.exists() and log.path.stat().st_size for log in self._logs):
            return  # it was begun with something wrong, and asked nothing
        ignored = {"limit"} if resume else set()
        changed = differences(before.model_dump(exclude=ignored), config.model_dump(exclude=ignored))
        if changed:
            only_limit = all(line.startswith("limit") for line in changed)
            remedy = "add --resume to go on with another --limit" if only_limit else "choose another --out"
            raise InputError(f"{self.out} holds a run with {'; '.join(changed)}", remedy=remedy)


def differences(before: Any, now: Any, at: str = "") -> list[str]:
    """Where two JSON values differ, one line each: `settings.profile "embedded", not "local"`."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [*before, *(key for key in now if key not in before)]
        lines = []
        for key in keys:
            lines += differences(before.get(key), now.get(key), f"{at}.{key}" if at else str(key))
        return lines
    return [] if before == now else [f"{at} {json.dumps(before)}, not {json.dumps(now)}"]
