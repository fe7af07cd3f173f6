"""The command line: `docsage index | search | ask | trace | pool | eval | score`.

Machine output goes to stdout alone, progress and messages to stderr. Exit codes: 0 done or answered, 3 abstained,
2 bad usage or input, 1 our fault, 130 interrupted. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import errno
import io
import os
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from app.commands import ask, evaluate, index, pool, search, trace
from app.quiet import silence_libraries, silence_stdout
from retrieval.errors import DocsageError

_PATH_PROBLEMS = frozenset(
    {
        errno.EACCES,
        errno.EBADF,
        errno.EDQUOT,
        errno.EIO,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
_DATABASE_PROBLEMS = (
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_NOTADB",
    "SQLITE_READONLY",
)
EXIT_OURS, EXIT_INPUT, EXIT_INTERRUPTED = 1, 2, 130

app = typer.Typer(
    name="docsage",
    help="Answers questions over PDFs and page images, and proves each answer with pages, boxes and a trace.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("index")(index.index)
app.command("search")(search.search)
app.command("ask")(ask.ask)
app.command("trace")(trace.trace)
app.command("score")(evaluate.score)
app.add_typer(pool.pools, name="pool")
app.add_typer(evaluate.benchmarks, name="eval")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"docsage {version('docsage')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback when docsage fails.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Answers questions over PDFs and page images, and proves each answer with pages, boxes and a trace."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no exception leaves here."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    # It is an option of every command, wherever it stands, because one adds it to the command that has just failed.
    words = [word for word in words if word != "--debug"]
    silence_libraries(debug=debug)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # it stays open to the end
    if sys.stdout is None:
        return _complain("stdout is closed: send it to a file or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the letters of a document is no reason to fail
    try:
        code = _run(words)
    except DocsageError as error:
        return _complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except Exception as error:
        # Usage errors are recognised by what they can do: their class lives in click or in typer, by typer's version.
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            error.show()
            return int(error.exit_code)
        if (problem := _problem_of_the_machine(error)) is not None and not debug:
            return _complain(problem)
        return _confess(error, debug=debug)
    if code == EXIT_INTERRUPTED:
        print("Interrupted. The same command goes on where this one stopped.", file=sys.stderr)
    return code


def _run(words: Sequence[str]) -> int:
    """The exit code of a command, which a reader that has had enough of its output doesn't change."""
    code = 0
    try:
        code = int(app(words, prog_name="docsage", standalone_mode=False) or 0)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and not isinstance(stop.__context__, BrokenPipeError):
            return int(stop.code or 0)  # shell completion ends like this
        silence_stdout()
    return code


def _problem_of_the_machine(error: Exception) -> str | None:
    """What to say when the disk is full, a path can't be used or a collection is damaged; None for our own faults."""
    if isinstance(error, sqlite3.Error):
        if getattr(error, "sqlite_errorname", "").startswith(_DATABASE_PROBLEMS):
            return f"the collection can't be used ({error}): check its disk, or index into another --collection"
        return None
    if not isinstance(error, OSError) or error.errno not in _PATH_PROBLEMS:
        return None
    if error.filename is not None:
        return f"{error.filename} can't be used ({error.strerror}): check the path, its permissions and its disk"
    # What writes files names them; only stdout has no name.
    silence_stdout()
    return f"stdout can't be written ({error.strerror}): send it to another file"


def _complain(message: str) -> int:
    """One red line about the user's input."""
    from app.display import stderr

    stderr().print(_one_line(message), style="bold red", markup=False, highlight=False, emoji=False, soft_wrap=True)
    return EXIT_INPUT


def _confess(error: Exception, *, debug: bool) -> int:
    """Say that it is our fault and where the traceback stands; with --debug, show it."""
    if debug:
        traceback.print_exc()
        return EXIT_OURS
    with tempfile.NamedTemporaryFile("w", prefix="docsage-", suffix=".log", delete=False, encoding="utf-8") as log:
        traceback.print_exc(file=log)
    print(
        f"docsage failed: {type(error).__name__}: {_one_line(str(error))}\n"
        f"This is a bug. The traceback is in {log.name}; --debug shows it.",
        file=sys.stderr,
    )
    return EXIT_OURS


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
