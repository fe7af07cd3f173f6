"""The store: transactions, content addressing, and blocks that change without their lines."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retrieval.errors import InputError
from retrieval.store import KnownFile, Store, StoredPage
from retrieval.types import BBox, Block, Document, Line, Page, PageRef

REF = PageRef(doc_id="a" * 20, page=1)
BOX = BBox(x1=0.1, y1=0.1, x2=0.5, y2=0.2)


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "collection.sqlite")
    yield opened
    opened.close()


def _page(text="Hello", kind="paragraph"):
    line = Line(text=text, bbox=BOX, source="ocr", confidence=0.75)
    return Page(ref=REF, width=595, height=842, lines=(line,), blocks=(Block(kind=kind, bbox=BOX, lines=(0,)),))


def test_a_page_comes_back_as_it_went_in(store):
    store.put_pages([StoredPage(_page(), ocr="due")])
    assert store.page(REF) == _page()
    assert store.page_work(REF) == ("due", "none")
    assert store.pages_due(REF.doc_id, "ocr") == [1]


def test_a_transaction_that_fails_never_was(store):
    with pytest.raises(sqlite3.IntegrityError), store.writing() as db:
        db.executemany("INSERT INTO meta VALUES (?, '1')", [("half",), ("half",)])
    assert store.rows("SELECT 1 FROM meta WHERE key = 'half'") == []


def test_reading_a_page_again_changes_the_state_and_new_blocks_do_not(store):
    store.put_pages([StoredPage(_page(), ocr="done", figures="due")])
    state = store.content_state(REF.doc_id)
    assert store.put_blocks(_page(kind="heading"), store.revision(REF))
    assert store.page(REF).blocks[0].kind == "heading"
    assert store.page_work(REF) == ("done", "due")
    assert store.content_state(REF.doc_id) == state
    store.put_pages([StoredPage(_page("Again"))])
    assert store.content_state(REF.doc_id) != state


def test_blocks_of_a_page_that_was_read_anew_are_not_written(store):
    store.put_pages([StoredPage(_page())])
    revision = store.revision(REF)
    store.put_pages([StoredPage(_page("Again"))])
    assert not store.put_blocks(_page(kind="heading"), revision)
    assert store.page(REF) == _page("Again")


def test_a_name_moves_to_the_content_it_holds_now(store):
    store.add_document(Document(doc_id="a", kind="pdf", pages=1))
    store.add_document(Document(doc_id="b", kind="pdf", pages=1))
    store.record_file(Path("x.pdf"), KnownFile("a", 1, 1))
    store.record_file(Path("x.pdf"), KnownFile("b", 2, 2))
    assert store.document("a").names == ()
    assert store.document("b").names == ("x.pdf",)


def test_a_removed_document_leaves_nothing(store):
    store.add_document(Document(doc_id=REF.doc_id, kind="pdf", pages=1))
    store.record_file(Path("x.pdf"), KnownFile(REF.doc_id, 1, 1))
    store.put_pages([StoredPage(_page())])
    store.remove_document(REF.doc_id)
    assert store.documents() == []
    assert store.page(REF) is None
    assert store.known_file(Path("x.pdf")) is None


def test_a_removed_document_is_not_complete_when_it_comes_back(store):
    document = Document(doc_id=REF.doc_id, kind="pdf", pages=1)
    store.add_document(document)
    store.put_pages([StoredPage(_page())])
    store.mark_complete(REF.doc_id)
    assert store.is_complete(REF.doc_id)
    store.remove_document(REF.doc_id)
    store.add_document(document)
    assert not store.is_complete(REF.doc_id)


def test_a_document_that_lacks_a_page_is_not_complete_whatever_its_mark_says(store):
    store.add_document(Document(doc_id=REF.doc_id, kind="pdf", pages=2))
    store.put_pages([StoredPage(_page())])
    store.mark_complete(REF.doc_id)
    assert not store.is_complete(REF.doc_id)


@pytest.mark.parametrize("version", ["99", "abc", "", "1.0"])
def test_a_store_of_another_format_is_refused(tmp_path, version):
    path = tmp_path / "collection.sqlite"
    store = Store(path)
    with store.writing() as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
    store.close()
    with pytest.raises(InputError, match=f"store format {version}"):
        Store(path)


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "collection.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE meta (name TEXT)")
    with pytest.raises(InputError, match="not a collection of docsage"):
        Store(path)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "collection.sqlite"
    path.write_bytes(b"no database at all, and long enough to be one" * 100)
    with pytest.raises(InputError, match="is damaged"):
        Store(path)


def test_damage_beyond_the_header_is_said_to_be_that(tmp_path):
    path = tmp_path / "collection.sqlite"
    store = Store(path)
    store.add_document(Document(doc_id=REF.doc_id, kind="pdf", pages=400))
    for number in range(1, 401):
        ref = PageRef(doc_id=REF.doc_id, page=number)
        store.put_pages([StoredPage(_page("Some words " * 20).model_copy(update={"ref": ref}))])
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\xa5" * (len(content) - 4096 * 4)
    path.write_bytes(content)
    with pytest.raises(InputError, match="is damaged"):  # noqa: PT012  # where it is found is SQLite's affair
        store = Store(path)
        try:
            list(store.pages(REF.doc_id))
        finally:
            store.close()


def test_a_page_whose_content_was_changed_is_said_to_be_damaged(store):
    store.put_pages([StoredPage(_page())])
    with store.writing() as db:
        db.execute("UPDATE pages SET content = x'00ff'")
    with pytest.raises(InputError, match="is damaged"):
        store.page(REF)


def test_opening_and_reading_wait_for_no_writer(store):
    with store.writing() as db:
        db.execute("DELETE FROM pages")
        reader = Store(store.path)
        assert reader.documents() == []
        reader.close()
