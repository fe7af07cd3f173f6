"""Hybrid search: which page comes first, and what the result says about its signals."""

import pytest

from retrieval.progress import Silent
from retrieval.search import Searcher
from retrieval.settings import SearchSettings
from retrieval.types import PageRef, Scope


@pytest.fixture
def search(store, embedder):
    def run(query, *doc_ids, k=10, **weights):
        searcher = Searcher(store, SearchSettings(**weights), embedder)
        for doc_id in doc_ids:
            searcher.refresh(doc_id)
        return searcher.search(query, Scope(doc_ids=doc_ids), k)

    return run


def pages(result):
    return [hit.ref.page for hit in result.hits]


def test_a_named_page_comes_first(search, add_document):
    doc = add_document("a", [["crane crane"], ["winch"], ["crane"]])
    assert pages(search("What is on page 2 about the crane?", doc))[0] == 2


def test_a_printed_page_label_counts_as_the_page(search, add_document):
    doc = add_document("a", [["i"], ["ii"], ["crane"], ["winch"]], labels=["i", "ii", "41", "42"])
    assert pages(search("What is on page 42?", doc))[0] == 4


def test_the_last_page_is_counted_from_the_end(search, add_document):
    doc = add_document("a", [["crane"], ["crane"], ["winch"]])
    assert pages(search("What does the last page say about the crane?", doc))[0] == 3


def test_a_caption_beats_a_mention(search, add_document):
    doc = add_document("a", [["as figure 2 shows, the crane, figure 2"], ["Figure 2: the crane"], ["crane"]])
    assert pages(search("What does Figure 2 show?", doc))[0] == 2


def test_a_page_without_text_is_found_when_it_is_named(search, add_document):
    doc = add_document("a", [["crane"], [], ["winch"]])
    assert pages(search("Who is in the picture on page 2?", doc))[0] == 2


def test_traditional_and_simplified_forms_match(search, add_document):
    doc = add_document("a", [["天氣晴朗"], ["嵩陽書院在登封縣"]])
    assert pages(search("嵩阳书院在哪里？", doc))[0] == 2


def test_every_signal_tells_its_rank(search, add_document):
    doc = add_document("a", [["crane"], ["winch"]])
    top = search("Is there a crane on page 1?", doc).hits[0]
    assert top.ranks["page_bm25"] == 1
    assert top.ranks["structure"] == 1
    assert top.lines == (0, 1)


def test_the_result_says_how_much_each_signal_saw(search, add_document, store, embedder):
    doc = add_document("a", [["crane"], ["winch"]])
    searcher = Searcher(store, SearchSettings(), embedder)
    searcher.refresh(doc)
    searcher.vectors.embed([PageRef(doc_id=doc, page=1)], progress=Silent())
    ready = {s.name: s.ready for s in searcher.search("crane", Scope(doc_ids=(doc,)), 5).signals}
    assert ready["page_bm25"] == 1
    assert ready["vectors"] == 0.5


def test_a_signal_of_weight_zero_is_not_used(search, add_document):
    doc = add_document("a", [["crane crane"], ["winch"]])
    top = search("crane on page 2", doc, structure=0).hits[0]
    assert top.ref.page == 1
    assert "structure" not in top.ranks


def test_nothing_in_common_finds_nothing(search, add_document):
    doc = add_document("a", [["crane"], ["winch"]])
    assert search("鲸鱼", doc).hits == ()


def test_k_bounds_the_hits_and_ranks_count_from_one(search, add_document):
    doc = add_document("a", [["crane"]] * 7)
    hits = search("crane", doc, k=3).hits
    assert [h.rank for h in hits] == [1, 2, 3]


@pytest.mark.parametrize("query", ["", "   ", "???", "the of and"])
def test_a_query_without_terms_finds_nothing(search, add_document, query):
    assert search(query, add_document("a", [["crane"]])).hits == ()


def test_a_ratio_finds_the_statement_it_is_computed_from(search, add_document):
    figures = [f"item {i} {i},{i}00" for i in range(1, 10)] * 2
    doc = add_document(
        "a",
        [
            ["the current ratio of Alder is discussed with the current ratio"],
            ["CONSOLIDATED BALANCE SHEETS", "see page 3"],
            ["CONSOLIDATED BALANCE SHEETS", *figures],
        ],
    )
    assert 3 in pages(search("What is the current ratio of Alder?", doc))[:2]
    assert "statements" not in search("What is the current ratio of Alder?", doc, statements=0).hits[0].ranks


def test_a_section_reaches_to_the_next_heading(search, add_document):
    doc = add_document(
        "a",
        [
            ["3 Harbour works"],
            ["3.1 Cranes", "text"],
            ["3.2 Winches", "text"],
            ["continued"],
            ["continued", "4 Budget"],
            ["more budget"],
        ],
    )
    named = {h.ref.page for h in search("What is in Section 3.2?", doc).hits if "structure" in h.ranks}
    assert named == {3, 4, 5}


def test_the_appendix_reaches_to_the_end(search, add_document):
    doc = add_document("a", [["text, see the appendix"], ["text"], ["Appendix", "text"], ["text"]])
    named = {h.ref.page for h in search("What is listed in the appendix?", doc).hits if "structure" in h.ranks}
    assert named == {3, 4}


def test_front_matter_is_on_the_first_page(search, add_document):
    doc = add_document("a", [["Harbour review", "R. Alder"], ["crane", "winch"], ["crane", "index"]])
    assert 1 in pages(search("Who is the author of the crane report?", doc))


def test_coverage_is_the_best_page_s_share_of_the_words(store, embedder, add_document):
    doc = add_document("a", [["crane winch"], ["mole"]])
    searcher = Searcher(store, SearchSettings(), embedder)
    searcher.refresh(doc)
    scope = Scope(doc_ids=(doc,))
    assert searcher.coverage("crane winch", scope) == pytest.approx(1)
    assert 0 < searcher.coverage("crane whale", scope) < 0.5
    assert searcher.coverage("鲸鱼", scope) == 0
    assert searcher.coverage("", scope) == 0
