"""Reciprocal-rank fusion."""

import pytest

from retrieval.fusion import reciprocal_ranks


def test_what_several_retrievers_find_comes_before_what_one_ranks_higher() -> None:
    fused = reciprocal_ranks({"text": ["a", "b", "c"], "images": ["d", "b"]})
    assert [item.key for item in fused] == ["b", "a", "d", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 62)
    assert fused[0].ranks == {"text": 2, "images": 2}
    assert fused[1].ranks == {"text": 1}


def test_weights_count_and_ties_go_to_the_better_rank_then_to_the_first_ranking() -> None:
    assert [item.key for item in reciprocal_ranks({"text": ["a"], "images": ["b"]})] == ["a", "b"]
    weighted = reciprocal_ranks({"text": ["a"], "images": ["b"]}, weights={"images": 2.0})
    assert [item.key for item in weighted] == ["b", "a"]


def test_an_item_that_a_ranking_holds_twice_counts_once() -> None:
    (first, second) = reciprocal_ranks({"text": ["a", "a", "b"]})
    assert (first.score, second.ranks) == (pytest.approx(1 / 61), {"text": 2})


def test_nothing_is_fused_to_nothing() -> None:
    assert reciprocal_ranks({}) == []
    assert reciprocal_ranks({"text": []}) == []
