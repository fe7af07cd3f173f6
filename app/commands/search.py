"""`docsage search`: the pages that match a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import DEFAULT_COLLECTION, CollectionOption, JsonOption, PasswordOption, ProfileOption

if TYPE_CHECKING:
    from app.session import Session
    from retrieval.types import PageHit, SearchResult

_SNIPPET = 160
_SNIPPET_LINES = 3


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    paths: Annotated[list[Path] | None, typer.Argument(metavar="[PATH]...", help="Search these only.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many pages.")] = 10,
    as_json: JsonOption = False,
    collection: CollectionOption = DEFAULT_COLLECTION,
    profile: ProfileOption = None,
    password: PasswordOption = [],  # noqa: B006  # typer copies it
) -> None:
    """Rank pages for a query, without answering."""
    from agent.question import check_question
    from app.display import print_json, stdout
    from app.scope import check_collection, read_scope
    from app.session import opened
    from retrieval.errors import InputError

    if not query.strip():
        raise InputError("the query is empty", remedy="give some words to look for")
    check_question(query)
    check_collection(collection, paths or [])
    with opened(collection, profile=profile, passwords=password) as session:
        scope = read_scope(session, paths or [])
        session.enrich(scope, query)
        result = session.collection.search(query, scope, k=k)
        if as_json:
            print_json(_json(result, session))
            return
        console = stdout()
        for hit in result.hits:
            console.print(_line(hit, session))
        if not result.hits:
            console.print("No page matches.")


def _json(result: SearchResult, session: Session) -> str:
    """The search result with each page's document name and printed label beside its reference."""
    import orjson

    data = result.model_dump(mode="json", by_alias=True)
    for hit, row in zip(result.hits, data["hits"], strict=True):
        page = session.page_of(hit.ref)
        row |= {"document": page.document, "doc_page": page.doc_page}
    return orjson.dumps(data).decode()


def _line(hit: PageHit, session: Session) -> str:
    """Rank, place, the signals that found the page, and the beginning of the lines that matched."""
    from app.display import harmless, page_name

    first, last = hit.lines or (0, _SNIPPET_LINES)
    lines = session.collection.page(hit.ref).lines[first:last]
    snippet = " ".join(harmless(" ".join(line.text for line in lines)).split())[:_SNIPPET]
    ranks = ", ".join(f"{signal} {rank}" for signal, rank in hit.ranks.items())
    return f"{hit.rank:>3}. {page_name(session.page_of(hit.ref))}  ({ranks})\n     {snippet}"
