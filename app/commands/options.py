"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CollectionOption = Annotated[
    Path,
    typer.Option(
        "--collection", "-c", envvar="DOCSAGE_COLLECTION", metavar="DIR", help="Where documents and traces are kept."
    ),
]
ProfileOption = Annotated[
    str, typer.Option("--profile", envvar="DOCSAGE_PROFILE", metavar="NAME|FILE", help="Settings, by name or as YAML.")
]
PasswordOption = Annotated[
    list[str], typer.Option("--password", help="Password to try on encrypted files; may be given again.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs on stdout.")]
DEFAULT_COLLECTION = Path(".docsage")
