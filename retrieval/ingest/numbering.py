"""Settling a document's page labels once all its pages are read."""

from __future__ import annotations

from retrieval.errors import UnreadableDocument
from retrieval.ingest import pdf
from retrieval.ingest.labels import candidates, is_plain_count, printed_labels
from retrieval.ingest.reading import Source
from retrieval.store import Store
from retrieval.types import NO_LABEL


def number_pages(store: Store, doc_id: str, source: Source) -> None:
    """Give every page the label that the file says, else the number printed on it, and mark the document complete.

    Labels that merely count the pages are what many programs write unasked, so printed numbers come before them.
    """
    own = _own_labels(source)
    printed: dict[int, str] = {}
    if not own or is_plain_count(own):
        found = {page: candidates(lines) for page, lines in store.line_extents(doc_id)}
        document = store.document(doc_id)
        printed = printed_labels(found, document.pages if document else len(found))
    labels = {n: label for n, label in enumerate(own, 1) if label}
    if any(label != NO_LABEL for label in printed.values()) or not labels:
        labels = printed
    with store.writing() as db:
        db.executemany(
            "UPDATE pages SET label = ? WHERE doc_id = ? AND page = ? AND label <> ?",
            [(label, doc_id, page, label) for page, label in labels.items()],
        )
    store.mark_complete(doc_id)


def _own_labels(source: Source) -> list[str]:
    if source.kind == "image":
        return []
    try:
        with pdf.open_pdf(source.path, source.passwords) as document:
            return pdf.own_labels(document)
    except UnreadableDocument:
        return []
