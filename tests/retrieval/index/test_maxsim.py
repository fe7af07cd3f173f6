"""MaxSim over stored token vectors, joining of alike vectors, encodings."""

import numpy as np
import pytest
from vector_pages import line_pages, plain_maxsim, random_pages, random_query, unit

from retrieval.index.encodings import PageEncoder
from retrieval.index.maxsim import TokenTable, float_table, maxsim
from retrieval.index.pooling import centres, join_alike
from retrieval.index.token_codes import code_of


def table_of(pages, storage=None):
    vectors = np.concatenate([page for _, page in pages])
    offsets = np.cumsum([0, *(len(page) for _, page in pages)])
    if storage is None:
        return float_table(vectors, offsets)
    code = code_of(storage, vectors[:100].mean(axis=0))
    codes, scales = code.encode(vectors)
    return TokenTable(code, vectors.shape[1], codes, scales, offsets)


@pytest.mark.parametrize(("storage", "gap"), [(None, 1e-5), ("fp16", 5e-3), ("int8", 3e-2)])
def test_scores_are_those_of_the_definition(storage, gap):
    pages, query = random_pages(40), random_query()
    expected = [plain_maxsim(query, page) for _, page in pages]
    assert maxsim(query, table_of(pages, storage)) == pytest.approx(expected, abs=gap)


@pytest.mark.parametrize("storage", ["fp16", "int8", "binary"])
def test_stored_vectors_score_as_the_vectors_they_stand_for(storage):
    pages, query = random_pages(40), random_query()
    table = table_of(pages, storage)
    expected = [plain_maxsim(query, table.page(row)) for row in range(len(pages))]
    assert maxsim(query, table) == pytest.approx(expected, abs=1e-4)


def test_halves_keep_signs_zeros_and_sizes_far_from_one():
    vectors = np.array([[-0.0, 1.0, -1.5, 1e-6], [-60000.0, 3e-4, 0.333, -7e-5]], np.float32)
    table = table_of([("a", vectors)], "fp16")
    scores = [maxsim(axis[None], table)[0] for axis in np.eye(4, dtype=np.float32)]
    assert scores == pytest.approx([0.0, 1.0, 0.333, 0.0], abs=3e-4)
    assert maxsim(-np.eye(4, dtype=np.float32)[:1], table)[0] == pytest.approx(60000, rel=1e-3)


def test_chosen_pages_score_as_among_all_across_chunks():
    pages, query = random_pages(300, dimension=128, shortest=50, longest=90), random_query(dimension=128)
    table = table_of(pages, "int8")
    every = maxsim(query, table)
    at = np.array([0, 1, 2, 7, 150, 151, 299])
    assert maxsim(query, table, at) == pytest.approx(every[at], abs=1e-5)


def test_a_page_longer_than_a_chunk_is_scored():
    pages = [("a", unit(np.random.default_rng(1).standard_normal((9000, 64))))]
    query = random_query(2, dimension=64)
    expected = float((pages[0][1] @ query.T).max(axis=0).sum())
    assert maxsim(query, table_of(pages))[0] == pytest.approx(expected, abs=1e-4)
    assert maxsim(query, table_of(pages, "fp16"))[0] == pytest.approx(expected, abs=5e-3)


@pytest.mark.local
def test_scores_are_those_of_colpali_engine():
    import torch
    from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor

    pages, queries = line_pages(60, 50, 5)
    peer = BaseVisualRetrieverProcessor.score_multi_vector(
        [torch.from_numpy(q) for q in queries], [torch.from_numpy(page) for _, page in pages], device="cpu"
    )
    table = table_of(pages)
    for query, expected in zip(queries, peer.numpy(), strict=True):
        assert maxsim(query, table) == pytest.approx(expected, abs=1e-3)


def test_alike_vectors_are_joined_first():
    random = np.random.default_rng(2)
    groups = unit(random.standard_normal((4, 32)))
    vectors = unit(np.repeat(groups, 3, axis=0) + 0.01 * random.standard_normal((12, 32)))
    joined = join_alike(vectors, 3)
    assert joined == pytest.approx(groups, abs=0.02)
    assert np.linalg.norm(joined, axis=1) == pytest.approx(np.ones(4), abs=1e-5)


def test_joining_stops_at_one_vector_and_leaves_factor_one_alone():
    vectors = random_pages(1, shortest=5, longest=5)[0][1]
    assert join_alike(vectors, 1) is vectors
    assert join_alike(vectors, 100).shape == (1, 32)


@pytest.mark.local
def test_joined_pages_rank_as_well_as_those_of_colpali_engine():
    import torch
    from colpali_engine.compression.token_pooling import HierarchicalTokenPooler

    pages, queries = line_pages(120, 60, 60)
    peer = HierarchicalTokenPooler().pool_embeddings([torch.from_numpy(page) for _, page in pages], pool_factor=3)
    theirs = table_of([("", np.asarray(page, np.float32)) for page in peer])
    ours = table_of([("", join_alike(page, 3)) for _, page in pages])
    exact = table_of(pages)
    kept = {"ours": 0, "theirs": 0}
    for query in queries:
        best = set(np.argsort(-maxsim(query, exact))[:10].tolist())
        for name, table in (("ours", ours), ("theirs", theirs)):
            kept[name] += len(best & set(np.argsort(-maxsim(query, table))[:10].tolist()))
    assert kept["ours"] >= kept["theirs"] - 0.05 * 10 * len(queries)  # three standard errors of the difference


def test_centres_of_a_short_page_are_its_vectors():
    page = random_pages(1, shortest=3, longest=3)[0][1]
    found = centres(page, 8)
    assert found.shape == (8, 32)
    assert {tuple(row) for row in found.round(5).tolist()} == {tuple(row) for row in page.round(5).tolist()}


def test_an_encoding_tells_the_page_that_holds_the_query():
    pages = random_pages(50)
    encoder = PageEncoder(32, np.zeros(32, np.float32))
    encoded = np.stack([encoder.page(page) for _, page in pages])
    best = [int((encoded @ encoder.query(page[:3])).argmax()) for _, page in pages]
    assert sum(a == b for a, b in enumerate(best)) >= 40
