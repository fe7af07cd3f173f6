"""`docsage index`: add, refresh, list and remove documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import DEFAULT_COLLECTION, CollectionOption, PasswordOption, ProfileOption

if TYPE_CHECKING:
    from app.session import Session
    from retrieval.types import Document


def index(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="PDFs, images, folders; names or ids with --remove.")
    ] = None,
    collection: CollectionOption = DEFAULT_COLLECTION,
    list_: Annotated[bool, typer.Option("--list", help="List the documents of the collection.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the named documents; files stay.")] = False,
    profile: ProfileOption = None,
    password: PasswordOption = [],  # noqa: B006  # typer copies it
) -> None:
    """Add documents to the collection, or read again what has changed."""
    from app.session import opened
    from retrieval.errors import InputError

    if list_ and remove:
        raise InputError("--list and --remove exclude each other", remedy="give one of them")
    if not paths and not list_:
        raise InputError("no PATH was given", remedy="name files or folders, or use --list")
    with opened(collection, profile=profile, passwords=password, create=not (list_ or remove)) as session:
        if list_:
            _list(session)
        elif remove:
            _remove(session, paths or [])
        else:
            _add(session, [Path(p) for p in paths or []])


def _add(session: Session, paths: list[Path]) -> None:
    from app.display import stdout
    from retrieval.types import Scope

    documents = session.documents(paths)
    session.collection.enrich(Scope(doc_ids=tuple(d.doc_id for d in documents)), progress=session.progress)
    pages = sum(document.pages for document in documents)
    stdout().print(f"documents: {len(documents)}, pages: {pages}, ready in {session.collection.root}")


def _list(session: Session) -> None:
    from app.display import harmless, stdout

    console = stdout()
    documents = session.collection.documents()
    for document in documents:
        pages = f"{document.pages:>5} page{' ' if document.pages == 1 else 's'}"
        console.print(harmless(f"{document.doc_id[:12]}  {pages}  {document.kind:<5}  {_names(document)}"))
    if not documents:
        session.progress.note(f"the collection {session.collection.root} is empty")


def _names(document: Document) -> str:
    """All names of a document in one line."""
    return ", ".join(" ".join(name.split()) for name in document.names) or f"(no file) {document.doc_id[:12]}"


def _remove(session: Session, wanted: list[str]) -> None:
    from app.display import harmless, stdout

    # All names are looked up first, so that a typing error in the last one doesn't leave half of the work done.
    found = {document.doc_id: document for name in wanted for document in _named(session, name)}
    for document in found.values():
        session.collection.remove(document.doc_id, progress=session.progress)
        stdout().print(harmless(f"removed {_names(document)}"))


def _named(session: Session, name: str) -> list[Document]:
    """The documents that a path, a folder, a file name or the beginning of an id (8 characters or more) stands for."""
    from retrieval.errors import InputError

    store = session.collection.store
    try:
        path = Path(name).resolve()
    except (ValueError, RuntimeError) as error:  # a null byte; links in a circle
        raise InputError(f"{name!r} is not a path ({error})", remedy="see `docsage index --list`") from error
    found = [
        document
        for document in session.collection.documents()
        if name in document.names
        or (len(name) >= 8 and document.doc_id.startswith(name))
        or any(known == path or path in known.parents for known in store.paths_of(document.doc_id))
    ]
    if not found:
        raise InputError(f"{name} is not in {session.collection.root}", remedy="see `docsage index --list`")
    return found
