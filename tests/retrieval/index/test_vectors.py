"""Passage vectors over the store."""

import time

from retrieval.index.vectors import VectorIndex
from retrieval.progress import Silent
from retrieval.types import PageRef


def refs(doc_id, *pages):
    return [PageRef(doc_id=doc_id, page=p) for p in pages]


def test_the_closest_page_comes_first_with_its_lines(store, add_document, embedder):
    doc = add_document("a", [["zzz zzz"], ["crane winch"], ["mmm mmm"]])
    index = VectorIndex(store, embedder)
    index.embed(refs(doc, 1, 2, 3), progress=Silent())
    best = index.search("winch crane", [doc])[0]
    assert best.ref == PageRef(doc_id=doc, page=2)
    assert best.lines == (0, 1)


def test_pages_without_vectors_are_counted_and_not_found(store, add_document, embedder):
    doc = add_document("a", [["crane"], ["winch"]])
    index = VectorIndex(store, embedder)
    index.embed(refs(doc, 2), progress=Silent())
    assert index.missing(doc) == [1]
    assert index.coverage([doc]) == 0.5
    assert [m.ref.page for m in index.search("crane", [doc])] == [2]


def test_a_page_read_again_needs_its_vectors_again(store, add_document, embedder):
    doc = add_document("a", [["crane"]])
    index = VectorIndex(store, embedder)
    index.embed(refs(doc, 1), progress=Silent())
    assert index.missing(doc) == []
    add_document("a", [["winch"]])
    assert index.missing(doc) == [1]


def test_new_vectors_are_seen_by_the_next_search(store, add_document, embedder):
    doc = add_document("a", [["crane"], ["winch"]])
    index = VectorIndex(store, embedder)
    index.embed(refs(doc, 1), progress=Silent())
    assert len(index.search("crane", [doc])) == 1
    index.embed(refs(doc, 2), progress=Silent())
    assert len(index.search("crane", [doc])) == 2


def test_a_deadline_in_the_past_computes_nothing(store, add_document, embedder):
    doc = add_document("a", [["crane"]])
    assert VectorIndex(store, embedder).embed(refs(doc, 1), progress=Silent(), deadline=time.monotonic()) == 0


def test_an_empty_page_is_done_and_never_found(store, add_document, embedder):
    doc = add_document("a", [[], ["crane"]])
    index = VectorIndex(store, embedder)
    assert index.embed(refs(doc, 1, 2), progress=Silent()) == 2
    assert index.missing(doc) == []
    assert [m.ref.page for m in index.search("crane", [doc])] == [2]


def test_search_without_any_vector_finds_nothing(store, add_document, embedder):
    assert VectorIndex(store, embedder).search("crane", [add_document("a", [["crane"]])]) == []
