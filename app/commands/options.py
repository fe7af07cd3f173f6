"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from agent.settings import Profile


CollectionOption = Annotated[
    Path,
    typer.Option(
        "--collection", "-c", envvar="DOCSAGE_COLLECTION", metavar="DIR", help="Where documents and traces are kept."
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        envvar="DOCSAGE_PROFILE",
        metavar="NAME|FILE",
        help="embedded, endpoint, local, or a YAML file; endpoint if DOCSAGE_BASE_URL is set, else embedded.",
    ),
]
TaskOption = Annotated[
    Literal["ocr", "translation", "reasoning_qa", "knowledge_qa", "linguistic_qa", "document_qa"] | None,
    typer.Option("--task", help="What kind of question it is; otherwise it is told from the question."),
]
PoolOption = Annotated[
    Path | None, typer.Option("--pool", metavar="DIR", help="Evidence pool: background for knowledge questions.")
]
BaselineOption = Annotated[
    Literal["direct", "direct-rag"] | None,
    typer.Option("--baseline", help="The model alone: the whole scope (direct), or the pages found (direct-rag)."),
]
EvidenceOption = Annotated[
    Literal["text", "image", "both"] | None,
    typer.Option("--evidence", help="What a model sees of pages; text only if it has no eyes."),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency", min=1, max=1000, help="Model calls at the same time; one: one question after another."
    ),
]
PasswordOption = Annotated[
    list[str], typer.Option("--password", help="Password to try on encrypted files; may be given again.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs on stdout.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with a run, also with another --limit (the same command does, too).")
]
DEFAULT_COLLECTION = Path(".docsage")


def chosen_profile(name: str | None, *, evidence: str | None = None, concurrency: int | None = None) -> Profile:
    """The profile of a command, with what its options say about the model in place of what it says."""
    from agent.settings import Profile, load_profile

    profile = load_profile(name)
    model = profile.model.model_dump()
    model |= {"evidence": evidence or profile.model.evidence, "concurrency": concurrency or profile.model.concurrency}
    return Profile.model_validate({**dict(profile), "model": model})
