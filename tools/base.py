"""The protocol that every tool satisfies, and what a tool sees and returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from PIL.Image import Image
from pydantic import BaseModel, ConfigDict

from retrieval.errors import DocsageError
from retrieval.knowledge.types import PoolHit
from retrieval.types import Document, Frozen, Page, PageHit, PageRef, Scope, SearchResult, SignalStatus
from tools.judgments import Judging, PageRecord
from tools.types import Evidence, Quote


class ToolRetry(DocsageError):
    """The call was wrong and the caller can repair it: bad arguments, a page that doesn't exist."""


class ToolFailed(DocsageError):
    """The call can't succeed; it is recorded and the run goes on without it."""


class Pages(Protocol):
    """What tools may ask of documents. All methods block, so tools call them in a worker thread."""

    def search(self, query: str, scope: Scope, k: int = 10) -> SearchResult:
        """The `k` best pages for a query within the scope."""

    def document(self, doc_id: str) -> Document:
        """The document of this content hash."""

    def page(self, ref: PageRef) -> Page:
        """A page as read, with fast blocks."""

    def laid_out(self, ref: PageRef) -> Page:
        """A page whose blocks come from the layout model where it can be run."""

    def image(self, ref: PageRef, *, dpi: int = 144) -> Image:
        """A page as displayed."""


class Pool(Protocol):
    """What tools may ask of an evidence pool; `retrieval.knowledge.pool.Pool` is one. It blocks."""

    def match(self, terms: Sequence[str], question: str = "", *, limit: int = 8) -> tuple[PoolHit, ...]:
        """The snippets that terms and a question match, best first, at most `limit`."""


class Arguments(BaseModel):
    """Base of all argument schemas: unknown arguments are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool sees of the run. Nothing in it can be changed by a tool."""

    pages: Pages
    scope: Scope
    question: str
    hits: tuple[PageHit, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    snippets: int = 8
    pool: Pool | None = None
    judging: Judging | None = None


class ToolResult(Frozen):
    """What a call found. An empty result means "no match", which is an answer and no error.

    `value` is the result of tools that compute, convert or count; `terms` that of the term extractor; `quotes` are what
    was counted, still to be placed; `confidence` is the probability that a count is right; `kept` are the pages that
    passed a filter, `rejected` those that didn't, `judged` what was made of each one. There is no field for steps,
    tools or budget: what a tool reads in a document can't steer the run.
    """

    evidence: tuple[Evidence, ...] = ()
    hits: tuple[PageHit, ...] = ()
    read: tuple[PageRef, ...] = ()
    signals: tuple[SignalStatus, ...] = ()
    value: str | None = None
    terms: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    confidence: float | None = None
    kept: tuple[PageRef, ...] = ()
    rejected: tuple[PageRef, ...] = ()
    judged: tuple[PageRecord, ...] = ()
    notes: tuple[str, ...] = ()


class Tool(Protocol):
    """A named capability with typed arguments."""

    name: str
    description: str
    arguments: type[Arguments]

    async def run(self, context: ToolContext, arguments: Any) -> ToolResult:
        """Run one call. Raises ToolRetry or ToolFailed; anything else is a bug."""


def check_page(context: ToolContext, ref: PageRef) -> None:
    """ToolRetry for a page outside the scope or the document."""
    if ref.doc_id not in context.scope.doc_ids:
        raise ToolRetry(f"document {ref.doc_id} is outside the scope", remedy="name pages of the scope's documents")
    pages = context.pages.document(ref.doc_id).pages
    if ref.page > pages:
        raise ToolRetry(f"there is no page {ref.page}", remedy=f"the document has pages 1 to {pages}")


def evidence_id(ref: PageRef, lines: tuple[int, ...], kind: str) -> str:
    """A stable id for evidence on a page, so that the same lines found twice are the same evidence."""
    span = f"{lines[0]}-{lines[-1]}" if lines else "page"
    return f"{ref.doc_id[:8]}.p{ref.page}.{span}.{kind}"
