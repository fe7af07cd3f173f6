"""The facade over reading and ranking: what is read, what is paid for, and when."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from retrieval.collection import Collection
from retrieval.errors import InputError
from retrieval.settings import RetrievalSettings
from retrieval.types import PageRef, Scope

ENGLISH_QUESTION = "How many apple trees does the orchard at Linden Hill hold?"


@pytest.fixture
def collection(tmp_path: Path):
    opened = Collection(tmp_path / "collection")
    yield opened
    opened.close()


def scope_of(collection, *paths):
    return Scope(doc_ids=tuple(d.doc_id for d in collection.read(list(paths)).documents))


def vectors_ready(collection, scope):
    return next(s.ready for s in collection.search("trees", scope).signals if s.name == "vectors")


def test_what_is_read_can_be_searched_at_once(collection, english_pdf):
    scope = scope_of(collection, english_pdf)
    top = collection.search(ENGLISH_QUESTION, scope).hits[0]
    assert top.ref.page == 1
    assert "312" in collection.page(top.ref).text


def test_a_question_in_the_document_s_words_needs_no_vectors(collection, english_pdf):
    scope = scope_of(collection, english_pdf)
    collection.enrich(scope, query=ENGLISH_QUESTION, seconds=30)
    assert vectors_ready(collection, scope) == 0


def test_a_question_in_another_language_gets_vectors_and_finds_its_page(collection, english_pdf):
    scope = scope_of(collection, english_pdf)
    question = "水井有多深？"
    assert collection.search(question, scope).hits == ()
    collection.enrich(scope, query=question, seconds=60)
    assert vectors_ready(collection, scope) == 1
    assert collection.search(question, scope).hits[0].ref.page == 3


def test_no_time_buys_no_vectors(collection, english_pdf):
    scope = scope_of(collection, english_pdf)
    collection.enrich(scope, query="水井有多深？", seconds=0)
    assert vectors_ready(collection, scope) == 0


@pytest.mark.parametrize(("policy", "ready"), [("always", 1), ("never", 0)])
def test_the_policy_on_vectors_is_kept(tmp_path, english_pdf, policy, ready):
    collection = Collection(tmp_path / "collection", RetrievalSettings(vectors=policy))
    scope = scope_of(collection, english_pdf)
    collection.enrich(scope, query="水井有多深？")
    assert vectors_ready(collection, scope) == ready
    collection.close()


def test_a_removed_document_is_gone_and_can_be_read_again(collection, english_pdf, chinese_pdf):
    scope = scope_of(collection, english_pdf, chinese_pdf)
    collection.remove(scope.doc_ids[0])
    assert [d.name for d in collection.documents()] == [chinese_pdf.name]
    with pytest.raises(InputError):
        collection.document(scope.doc_ids[0])
    assert collection.read([english_pdf]).pages_read == 3


@pytest.fixture
def shelf():
    """A folder that users without rights can read and not write; the test runs as one of them once it calls `lock`."""
    folder = Path(tempfile.mkdtemp())
    before = os.geteuid()

    def lock():
        for path in (*folder.rglob("*"), folder):
            path.chmod(0o555 if path.is_dir() else 0o444)
        if before == 0:
            os.seteuid(65534)

    yield folder, lock
    os.seteuid(before)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(folder)


def test_a_collection_that_cannot_be_written_can_be_searched(shelf, english_pdf, chinese_pdf):
    folder, lock = shelf
    known, new = (Path(shutil.copy(path, folder)) for path in (english_pdf, chinese_pdf))
    made = Collection(folder / "collection")
    made.read([known])
    made.close()
    lock()
    collection = Collection(folder / "collection")
    scope = scope_of(collection, known)
    collection.enrich(scope, query="水井有多深？")
    hit = collection.search(ENGLISH_QUESTION, scope).hits[0]
    assert hit.ref.page == 1
    assert collection.laid_out(hit.ref).lines == collection.page(hit.ref).lines
    assert [document.name for document in collection.documents()] == [known.name]
    with pytest.raises(InputError, match="can't be written"):
        collection.read([new])
    with pytest.raises(InputError, match="can't be written"):
        collection.remove(scope.doc_ids[0])
    collection.close()


def test_a_collection_that_cannot_be_made_is_bad_input(shelf):
    folder, lock = shelf
    lock()
    with pytest.raises(InputError, match=r"can't be opened .*--collection"):
        Collection(folder / "collection")


def test_a_page_that_is_not_there_is_named(collection, english_pdf):
    scope = scope_of(collection, english_pdf)
    with pytest.raises(InputError, match="page 9"):
        collection.page(PageRef(doc_id=scope.doc_ids[0], page=9))
