"""placeholder."""

from __future__ import annotations

from retrieval.settings import SearchSettings
from retrieval.store import Store
from retrieval.types import Scope, SearchResult


class Searcher:
    """Ranks pages."""

    def __init__(self, store: Store, settings: SearchSettings) -> None: ...

    def refresh(self, doc_id: str) -> None: ...

    def search(self, query: str, scope: Scope, k: int) -> SearchResult: ...
