"""The index of page-image vectors: what is found after adding, replacing, removing, merging and opening again."""

import threading

import numpy as np
import pytest
from vector_pages import card, line_pages, plain_maxsim, random_pages, random_query, unit

from retrieval.errors import CollectionBusy, InputError
from retrieval.index import image_vectors
from retrieval.index.image_vectors import ImageVectors
from retrieval.settings import ImageIndexSettings

EXACT = ImageIndexSettings(candidates=0)


def keys_of(matches):
    return [match.key for match in matches]


def ranked(query, pages, count=10):
    return sorted(dict(pages), key=lambda key: -plain_maxsim(query, dict(pages)[key]))[:count]


@pytest.fixture
def index(tmp_path):
    return ImageVectors(tmp_path / "images", card(), EXACT)


def test_pages_come_in_the_order_of_exact_maxsim(index):
    pages, query = random_pages(60), random_query()
    index.add(pages)
    found = index.search(query, 10)
    assert keys_of(found) == ranked(query, pages)
    assert found[0].score == pytest.approx(plain_maxsim(query, dict(pages)[found[0].key]), abs=5e-3)


def test_an_empty_index_finds_nothing_and_makes_no_folder(tmp_path):
    index = ImageVectors(tmp_path / "none", card(), EXACT)
    assert index.search(random_query(), 5) == []
    assert index.keys() == frozenset()
    assert not (tmp_path / "none").exists()


def test_pages_added_at_several_times_rank_as_if_added_at_once(index, tmp_path):
    pages, query = random_pages(300), random_query()
    for start in range(0, 300, 10):
        index.add(pages[start : start + 10])
    assert keys_of(index.search(query, 20)) == ranked(query, pages, 20)
    assert len(list((tmp_path / "images" / "segments").iterdir())) <= 12


def test_removed_pages_are_gone_and_a_replaced_page_has_its_new_vectors(index):
    pages, query = random_pages(30), random_query()
    index.add(pages)
    best = ranked(query, pages, 3)
    index.remove([best[0], "unknown"])
    index.add([(best[1], -query)])
    left = [(key, page) for key, page in pages if key not in best[:2]]
    assert keys_of(index.search(query, 5)) == ranked(query, left, 5)
    assert index.keys() == {key for key, _ in pages} - {best[0]}


def test_a_key_twice_in_one_add_counts_as_it_came_last(index):
    query = random_query()
    index.add([("a", query), ("b", query[:3]), ("a", -query)])
    assert keys_of(index.search(query, 5)) == ["b", "a"]
    assert index.keys() == {"a", "b"}


def test_ties_go_to_the_page_added_first_and_a_replaced_page_is_new(index):
    query = random_query()
    for key in "cab":
        index.add([(key, query)])
    assert keys_of(index.search(query, 3)) == ["c", "a", "b"]
    assert keys_of(index.search(query, 2)) == ["c", "a"]
    index.add([("c", query)])
    assert keys_of(index.search(query, 3)) == ["a", "b", "c"]
    index.compact()
    assert keys_of(index.search(query, 3)) == ["a", "b", "c"]


@pytest.mark.parametrize("storage", ["fp16", "int8", "binary"])
@pytest.mark.parametrize("approximation", ["pooled", "encodings"])
def test_compacting_changes_no_score_and_leaves_one_segment(tmp_path, storage, approximation):
    settings = ImageIndexSettings(storage=storage, approximation=approximation, candidates=0, pooling=2)
    index = ImageVectors(tmp_path, card(), settings)
    pages, query = random_pages(50), random_query()
    for start in range(0, 50, 10):
        index.add(pages[start : start + 10])
    index.remove([f"p{i}" for i in range(0, 50, 7)])
    before = index.search(query, 50)
    index.compact()
    assert keys_of(index.search(query, 50)) == keys_of(before)
    assert [m.score for m in index.search(query, 50)] == pytest.approx([m.score for m in before], abs=1e-5)
    assert len(list((tmp_path / "segments").iterdir())) == 1


def test_everything_removed_leaves_nothing_and_pages_can_be_added_again(index):
    pages = random_pages(5)
    index.add(pages)
    index.remove([key for key, _ in pages])
    index.compact()
    assert index.search(random_query(), 5) == []
    index.add(pages)
    assert len(index.search(random_query(), 10)) == 5


def test_an_index_opened_again_finds_the_same(tmp_path):
    pages, query = random_pages(40), random_query()
    first = ImageVectors(tmp_path, card(), ImageIndexSettings(storage="int8"))
    first.add(pages)
    first.remove(["p3"])
    expected = first.search(query, 10)
    first.close()
    assert ImageVectors(tmp_path, card(), ImageIndexSettings(storage="int8")).search(query, 10) == expected
    with pytest.raises(ValueError, match="closed"):
        first.search(query, 1)


def test_a_reader_sees_what_another_writes(tmp_path):
    reader, writer = ImageVectors(tmp_path, card(), EXACT), ImageVectors(tmp_path, card(), EXACT)
    pages, query = random_pages(20), random_query()
    for start in range(0, 20, 4):
        writer.add(pages[start : start + 4])
        assert keys_of(reader.search(query, 3)) == ranked(query, pages[: start + 4], 3)
    writer.compact()
    assert keys_of(reader.search(query, 3)) == ranked(query, pages, 3)


@pytest.mark.parametrize("approximation", ["pooled", "encodings"])
def test_within_finds_only_those_and_the_right_ones(tmp_path, approximation):
    index = ImageVectors(tmp_path, card(), ImageIndexSettings(approximation=approximation, candidates=20))
    pages, query = random_pages(1300), random_query()
    index.add(pages[:700])
    index.add(pages[700:])
    some = pages[3::7]
    assert keys_of(index.search(query, 10, within={key for key, _ in some} | {"unknown"})) == ranked(query, some)
    assert index.search(query, 10, within=[]) == []
    most = {key for key, _ in pages[:1200]}
    assert set(keys_of(index.search(query, 10, within=most))) <= most


@pytest.mark.slow
def test_candidates_hold_the_exact_top_ten_of_pages_of_real_lines(tmp_path):
    pages, queries = line_pages(1200, 100, 20)
    default = ImageIndexSettings()
    approximate = ImageVectors(tmp_path, card(dimension=128), default)
    approximate.add(pages)
    exact = ImageVectors(tmp_path, card(dimension=128), default.model_copy(update={"candidates": 0}))
    found = sum(len({*keys_of(approximate.search(q, 10))} & {*keys_of(exact.search(q, 10))}) for q in queries)
    assert found >= 0.95 * 10 * len(queries)


@pytest.mark.slow
def test_bytes_take_a_quarter_and_keep_the_top_ten(tmp_path):
    pages, queries = line_pages(500, 60, 20)
    index = ImageVectors(tmp_path, card(dimension=128), ImageIndexSettings(storage="int8", candidates=0))
    index.add(pages)
    size = sum(p.stat().st_size for p in tmp_path.rglob("*.bin") if p.stem in ("tokens", "scales"))
    assert size <= 0.26 * sum(page.nbytes for _, page in pages)
    stacked = np.stack([page for _, page in pages])
    kept = 0
    for query in queries:
        scores = np.einsum("qd,ptd->pqt", query, stacked).max(axis=2).sum(axis=1)
        kept += len({f"p{i}" for i in np.argsort(-scores)[:10]} & {*keys_of(index.search(query, 10))})
    assert kept >= 0.98 * 10 * len(queries)


def test_candidates_can_be_found_otherwise_than_when_the_pages_were_added(tmp_path):
    pages, query = random_pages(1200), unit(random_pages(1200)[700][1][:4])
    ImageVectors(tmp_path, card(), ImageIndexSettings(approximation="pooled", candidates=50)).add(pages)
    other = ImageVectors(tmp_path, card(), ImageIndexSettings(approximation="encodings", candidates=50))
    assert other.search(query, 1)[0].key == "p700"
    other.remove(["p1"])
    other.compact()
    assert list(tmp_path.rglob("encodings.bin"))
    assert other.search(query, 1)[0].key == "p700"


@pytest.mark.parametrize("kind", ["auto", "flat", "hnsw", "ivf_pq"])
def test_single_vectors_are_found_by_every_structure(tmp_path, kind):
    random = np.random.default_rng(5)
    vectors = unit(random.standard_normal((3000, 16)))
    single = card(multi=False, dimension=16, family="siglip")
    index = ImageVectors(tmp_path, single, ImageIndexSettings(kind=kind))
    index.add((f"p{i}", vectors[i : i + 1]) for i in range(3000))
    index.remove([f"p{i}" for i in range(100)])
    again = ImageVectors(tmp_path, single, ImageIndexSettings(kind=kind))
    for row in (100, 1500, 2999):
        assert again.search(vectors[row : row + 1], 3)[0].key == f"p{row}"
    assert again.search(vectors[5:6], 1)[0].key != "p5"
    few = {f"p{i}" for i in range(50, 400)}
    best = [f"p{100 + i}" for i in np.argsort(-(vectors[100:400] @ vectors[7]))[:5]]
    assert keys_of(again.search(vectors[7:8], 5, within=few)) == best
    many = {f"p{i}" for i in range(2900)}
    assert set(keys_of(again.search(vectors[2950:2951], 10, within=many))) <= many


def test_another_structure_than_the_written_one_is_built_when_it_is_asked_for(tmp_path):
    vectors = unit(np.random.default_rng(6).standard_normal((3000, 16)))
    single = card(multi=False, dimension=16)
    ImageVectors(tmp_path, single, ImageIndexSettings(kind="flat")).add(
        (f"p{i}", vectors[i : i + 1]) for i in range(3000)
    )
    index = ImageVectors(tmp_path, single, ImageIndexSettings(kind="hnsw"))
    assert index.search(vectors[42:43], 1)[0].key == "p42"


def test_vectors_that_no_search_can_use_are_refused_and_nothing_is_added(index):
    index.add(random_pages(2))
    for bad in (np.ones((3, 31)), np.zeros((0, 32)), np.ones(32), np.full((2, 32), np.nan)):
        with pytest.raises(InputError, match="page bad"):
            index.add([("good", np.ones((1, 32))), ("bad", bad.astype(np.float32))])
    assert index.keys() == {"p0", "p1"}
    with pytest.raises(ValueError, match="shape"):
        index.search(np.ones((2, 31), np.float32), 3)
    with pytest.raises(InputError, match="not numbers"):
        index.search(np.full((2, 32), np.nan, np.float32), 3)


def test_pages_are_taken_as_they_come(tmp_path):
    index = ImageVectors(tmp_path, card(), EXACT)
    alive = []

    def stream():
        for number in range(300):
            page = unit(np.random.default_rng(number).standard_normal((4, 32)))
            alive.append(page.shape)
            yield f"p{number}", page
            token = next(tmp_path.rglob("tokens.bin"), None)
            if number > 290:
                assert token is not None

    index.add(stream())
    assert len(alive) == len(index.keys()) == 300


def test_a_second_writer_is_told_who_is_in_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(image_vectors, "_PATIENCE", 0.01)
    index, other = ImageVectors(tmp_path, card(), EXACT), ImageVectors(tmp_path, card(), EXACT)

    def stream():
        yield "a", random_query()
        with pytest.raises(CollectionBusy, match="another process"):
            other.add([("b", random_query())])

    index.add(stream())
    assert other.keys() == {"a"}


def test_threads_search_while_pages_are_added(index):
    pages, query = random_pages(60), random_query()
    index.add(pages[:1])
    done, faults = threading.Event(), []

    def look():
        while not done.is_set():
            found = index.search(query, 5)
            if [m.score for m in found] != sorted((m.score for m in found), reverse=True) or not found:
                faults.append(found)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(1, 60, 3):
        index.add(pages[start : start + 3])
    done.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert keys_of(index.search(query, 5)) == ranked(query, pages, 5)
