"""BM25 over the scope that is asked about."""

import pytest

from retrieval.index.bm25 import Postings


def ranked(postings, query, doc_ids):
    units = postings.units(doc_ids)
    _, pages = postings.scores(dict.fromkeys(query, 1.0), units)
    return [units.pages[i] for i in sorted(range(len(pages)), key=lambda i: -pages[i]) if pages[i] > 0]


@pytest.fixture
def postings(store):
    return Postings(store)


def test_the_page_with_the_rare_word_comes_first(postings, add_document):
    postings.refresh(add_document("a", [["the harbour is old"], ["the harbour has a crane"], ["the harbour is deep"]]))
    assert ranked(postings, ["harbour", "crane"], ["a"])[0] == ("a", 2)


def test_document_frequency_is_that_of_the_scope(postings, add_document):
    """ "alder" is on each page of one document and nowhere else: inside that document it says little."""
    postings.refresh(add_document("alder", [["alder alder alder debt"], ["alder alder alder cash"]]))
    for i in range(5):
        postings.refresh(add_document(f"other{i}", [["debt of others"], ["more debt"]]))
    own = postings.scores({"alder": 1.0}, postings.units(["alder"]))[1].max()
    everywhere = ["alder", *(f"other{i}" for i in range(5))]
    across = postings.scores({"alder": 1.0}, postings.units(everywhere))[1].max()
    assert across > 3 * own


def test_a_scope_sees_only_its_documents(postings, add_document):
    postings.refresh(add_document("a", [["crane"]]))
    postings.refresh(add_document("b", [["crane"]]))
    assert ranked(postings, ["crane"], ["b"]) == [("b", 1)]


def test_refresh_follows_the_pages(postings, add_document, store):
    postings.refresh(add_document("a", [["crane"]]))
    assert postings.refresh("a") is False
    add_document("a", [["winch"]])
    assert postings.refresh("a") is True
    assert ranked(postings, ["crane"], ["a"]) == []
    assert ranked(postings, ["winch"], ["a"]) == [("a", 1)]


def test_a_removed_document_leaves_nothing(postings, add_document, store):
    postings.refresh(add_document("a", [["crane"]]))
    store.remove_document("a")
    assert store.rows("SELECT count(*) FROM postings")[0][0] == 0
    assert postings.units(["a"]).pages == ()


def test_pages_without_text_are_units_too(postings, add_document):
    postings.refresh(add_document("a", [["crane"], [], ["winch"]]))
    assert postings.units(["a"]).pages == (("a", 1), ("a", 2), ("a", 3))


def test_an_empty_scope_scores_nothing(postings):
    passages, pages = postings.scores({"crane": 1.0}, postings.units([]))
    assert len(passages) == 0
    assert len(pages) == 0
