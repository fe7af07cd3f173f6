"""Files in, documents out: what is known is not read again, and what is bad costs one line."""

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pymupdf
import pytest
from crashing import crash_on_three, hang
from desk import Desk, scan
from filelock import FileLock
from PIL import Image

from retrieval.errors import CollectionBusy
from retrieval.ingest.image import read_frame
from retrieval.ingest.pool import WorkerPool
from retrieval.progress import Silent
from retrieval.settings import IngestSettings
from retrieval.types import PageRef


def _hello(page):
    page.insert_text((72, 100), "Hello from a page")


def _reasons(report):
    return [r.reason for r in report.refused]


def test_a_file_under_two_names_is_read_once(desk, draw, tmp_path):
    first = draw("one.pdf", _hello)
    second = Path(shutil.copy(first, tmp_path / "two.pdf"))
    report = desk.read(first, second)
    assert report.pages_read == 1
    assert [d.names for d in report.documents] == [("one.pdf", "two.pdf")]


def test_a_renamed_file_is_not_read_again(desk, draw, tmp_path):
    path = draw("old.pdf", _hello)
    desk.read(path)
    report = desk.read(path.rename(tmp_path / "new.pdf"))
    assert (report.pages_read, report.files_reused) == (0, 1)


def test_a_folder_is_walked_and_one_new_file_reads_one_file(desk, draw, tmp_path):
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    for n in range(5):
        draw(f"{n}.pdf", lambda page, n=n: page.insert_text((72, 100), f"Paper {n}")).rename(
            folder / "deep" / f"{n}.pdf"
        )
    (folder / ".hidden.pdf").write_bytes(b"%PDF-")
    (folder / "notes.txt").write_text("not a document")
    assert desk.read(folder).pages_read == 5
    draw("new.pdf", _hello).rename(folder / "new.pdf")
    report = desk.read(folder)
    assert (report.pages_read, report.files_reused, len(report.documents), report.refused) == (1, 5, 6, ())


def test_a_renamed_file_is_known_by_its_new_name_alone(desk, draw, tmp_path):
    path = draw("a.pdf", _hello)
    desk.read(path)
    assert desk.read(path.rename(tmp_path / "b.pdf")).documents[0].names == ("b.pdf",)


def test_a_file_overwritten_with_junk_takes_its_document_along(desk, draw):
    path = draw("draft.pdf", _hello)
    desk.read(path)
    path.write_bytes(b"junk")
    assert len(desk.read(path).refused) == 1
    assert desk.store.documents() == []


def test_a_file_overwritten_with_junk_leaves_a_document_that_another_name_holds(desk, draw, tmp_path):
    path = draw("draft.pdf", _hello)
    kept = Path(shutil.copy(path, tmp_path / "kept.pdf"))
    desk.read(path, kept)
    path.write_bytes(b"junk")
    desk.read(path)
    assert [document.names for document in desk.store.documents()] == [("kept.pdf",)]


def test_a_changed_file_replaces_its_document(desk, draw):
    path = draw("draft.pdf", _hello)
    old = desk.read(path).documents[0]
    draw("draft.pdf", lambda page: page.insert_text((72, 100), "A second and longer draft"))
    new = desk.read(path).documents[0]
    assert new.doc_id != old.doc_id
    assert desk.store.document(old.doc_id) is None
    assert desk.store.page(PageRef(doc_id=old.doc_id, page=1)) is None


def test_a_changed_file_leaves_a_document_that_another_name_holds(desk, draw, tmp_path):
    path = draw("draft.pdf", _hello)
    shutil.copy(path, tmp_path / "kept.pdf")
    old = desk.read(path, tmp_path / "kept.pdf").documents[0]
    draw("draft.pdf", lambda page: page.insert_text((72, 100), "A second and longer draft"))
    desk.read(path)
    assert desk.store.document(old.doc_id) is not None


def test_a_removed_document_is_read_again_when_it_comes_back(desk, draw):
    path = draw("one.pdf", _hello)
    doc_id = desk.read(path).documents[0].doc_id
    desk.ingestor.remove(doc_id)
    assert desk.store.documents() == []
    report = desk.read(path)
    assert (report.pages_read, [d.doc_id for d in report.documents]) == (1, [doc_id])


def test_an_encrypted_file_is_refused_by_name_with_the_remedy(desk, draw):
    path = draw("secret.pdf", _hello, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="sesame", owner_pw="boss")
    report = desk.read(path)
    assert report.documents == ()
    assert _reasons(report) == [f"{path}: encrypted: give its password with --password"]


def test_passwords_are_tried_in_turn_and_an_owner_password_alone_locks_nothing(tmp_path, draw):
    desk = Desk(tmp_path, passwords=("wrong", "sesame"))
    locked = draw("user.pdf", _hello, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="sesame", owner_pw="boss")
    owned = draw("owner.pdf", _hello, encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="boss")
    report = desk.read(locked, owned)
    assert (len(report.documents), report.refused) == (2, ())
    desk.store.close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b"%PDF-1.7\n%%EOF\n", "not a PDF that can be opened"),
        (b"just some words", "not a PDF that can be opened"),
        (b"<html><head><title>x</title></head><body><p>A web page</p></body></html>", "not a PDF, whatever its name"),
        (b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
         b"trailer<</Root 1 0 R>>", "has no pages"),
    ],
)  # fmt: skip
def test_a_bad_pdf_costs_one_line_and_the_rest_goes_on(desk, draw, tmp_path, capfd, content, reason):
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(content)
    report = desk.read(bad, draw("good.pdf", _hello))
    assert [d.name for d in report.documents] == ["good.pdf"]
    (line,) = _reasons(report)
    assert line.startswith(f"{bad}: ")
    assert reason in line
    assert "\n" not in line
    assert capfd.readouterr() == ("", "")


def test_a_truncated_image_and_a_missing_file_are_refused(desk, tmp_path):
    whole = tmp_path / "whole.png"
    scan(["Some text"]).save(whole)
    (tmp_path / "half.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing more")
    report = desk.read(tmp_path / "half.jpg", tmp_path / "absent.pdf")
    assert [line.split(": ")[1] for line in _reasons(report)] == [
        "not an image that can be opened (damaged or truncated)",
        "no such file or folder",
    ]


@pytest.mark.slow
def test_a_mislabelled_image_is_read_as_what_it_is(desk, tmp_path):
    scan(["Labelled wrongly"]).save(tmp_path / "image.png")
    path = (tmp_path / "image.png").rename(tmp_path / "image.pdf")
    report = desk.read(path)
    assert report.documents[0].kind == "image"
    assert desk.page(path).text == "Labelled wrongly"


@pytest.mark.slow
def test_every_frame_of_a_tiff_is_a_page(desk, tmp_path):
    frames = [scan([f"This is frame {word}"]) for word in ("one", "two", "three")]
    frames[0].save(tmp_path / "fax.tiff", save_all=True, append_images=frames[1:])
    report = desk.read(tmp_path / "fax.tiff")
    assert (report.pages_read, report.pages_ocred) == (3, 3)
    texts = [page.text for page in desk.store.pages(report.documents[0].doc_id)]
    assert texts == ["This is frame one", "This is frame two", "This is frame three"]


def test_transparent_and_grey_images_are_shown_as_people_see_them(tmp_path):
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert read_frame(tmp_path / "clear.png", 1).getpixel((0, 0)) == (255, 255, 255)
    deep = Image.new("I;16", (8, 8), 40000)
    deep.putpixel((0, 0), 0)
    deep.save(tmp_path / "deep.tiff")
    frame = read_frame(tmp_path / "deep.tiff", 1)
    assert (frame.getpixel((0, 0)), frame.getpixel((4, 4))) == ((0, 0, 0), (255, 255, 255))


class Heard(Silent):
    """A progress that remembers the notes, and does something when the first one comes."""

    def __init__(self, then=lambda: None):
        self.notes = []
        self._then = then

    def note(self, message):
        self.notes.append(message)
        self._then()


def test_a_process_that_takes_too_long_makes_the_collection_busy(desk, draw, monkeypatch):
    monkeypatch.setattr("retrieval.ingest.pipeline._LOCK_SECONDS", 0.05)
    with FileLock(desk.store.path.with_suffix(".lock")), pytest.raises(CollectionBusy, match="another docsage"):
        desk.read(draw("one.pdf", _hello))


def test_who_finds_the_collection_busy_waits_for_its_turn_and_says_for_whom(desk, draw):
    lock = FileLock(desk.store.path.with_suffix(".lock"))
    lock.acquire()
    desk.store.note_writer(4711)
    heard = Heard(lock.release)
    report = desk.ingestor.read([draw("one.pdf", _hello)], progress=heard)
    assert report.pages_read == 1
    assert heard.notes == [f"waiting for another docsage (process 4711), which is writing to {desk.store.path.parent}"]


def test_what_another_process_has_read_meanwhile_is_not_read_again(desk, draw):
    path = draw("one.pdf", _hello)
    lock = FileLock(desk.store.path.with_suffix(".lock"))
    lock.acquire()
    other = Desk(desk.root)

    def finish():
        lock.release()
        assert other.read(path).pages_read == 1

    report = desk.ingestor.read([path], progress=Heard(finish))
    other.store.close()
    assert (report.pages_read, report.files_reused) == (0, 1)


def test_known_files_are_found_while_another_process_writes(desk, draw, tmp_path):
    path = draw("one.pdf", _hello)
    desk.read(path)
    copy = Path(shutil.copy(path, tmp_path / "copy.pdf"))
    (tmp_path / "bad.pdf").write_bytes(b"")
    heard = Heard()
    with FileLock(desk.store.path.with_suffix(".lock")):
        report = desk.ingestor.read([path, copy, tmp_path / "bad.pdf"], progress=heard)
    assert (report.files_reused, len(report.documents), len(report.refused), heard.notes) == (2, 1, 1, [])


_CHILD = """
import os, signal, sys
from pathlib import Path
from retrieval.ingest.pipeline import Ingestor
from retrieval.progress import Silent
from retrieval.settings import IngestSettings
from retrieval.store import Store

class Dying(Store):
    landed = 0
    def put_rows(self, rows):
        rows = list(rows)
        super().put_rows(rows)
        Dying.landed += len(rows)
        if Dying.landed >= int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    store = Dying(Path(sys.argv[1]))
    Ingestor(store, IngestSettings(workers=2)).read([Path(sys.argv[2])], progress=Silent())
"""


@pytest.mark.slow
@pytest.mark.parametrize("landed", [16, 20, 23])
def test_killed_while_indexing_then_again_loses_nothing_and_reads_nothing_twice(desk, draw, tmp_path, landed):
    """Twenty digital pages and four scanned ones: killed while reading, when all is read, and within OCR."""

    def scanned(page):
        page.insert_image(page.rect, stream=_png(f"Scanned page {page.number}"))

    digital = [lambda page, n=n: page.insert_text((72, 100), f"Digital page {n}") for n in range(16)]
    path = draw("long.pdf", *digital, *[scanned] * 4, width=420, height=300)
    script = tmp_path / "child.py"
    script.write_text(_CHILD)
    command = [sys.executable, str(script), str(desk.store.path), str(path), str(landed)]
    child = subprocess.run(command, cwd=Path(__file__).parents[3], env=_environment(), check=False)
    assert child.returncode == -9
    document = desk.store.documents()[0]
    before = {n: desk.store.revision(PageRef(doc_id=document.doc_id, page=n)) for n in range(1, 21)}
    due = set(desk.store.pages_due(document.doc_id, "ocr"))
    report = desk.read(path)
    assert report.documents == (desk.store.document(document.doc_id),)
    assert desk.store.pages_read(document.doc_id) == list(range(1, 21))
    texts = [page.text for page in desk.store.pages(document.doc_id)]
    assert texts == [f"Digital page {n}" for n in range(16)] + [f"Scanned page {n}" for n in range(16, 20)]
    for n, revision in before.items():
        again = n in due
        expected = None if revision is None else revision + again
        if expected is not None:
            assert desk.store.revision(PageRef(doc_id=document.doc_id, page=n)) == expected
    assert desk.read(path).files_reused == 1


def _png(text):
    file = io.BytesIO()
    scan([text]).save(file, "PNG")
    return file.getvalue()


def _environment():
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


@pytest.mark.slow
def test_figures_are_read_later_within_their_time_and_once(desk, draw):
    def illustrated(page):
        for n in range(12):
            page.insert_text((60, 80 + 14 * n), f"Line {n} of the text that this page has of its own")
        page.insert_image(pymupdf.Rect(60, 300, 480, 600), stream=_png(f"Chart number {page.number}"))
        page.insert_image(pymupdf.Rect(500, 780, 590, 840), stream=_png("LOGO"))

    path = draw("charts.pdf", *[illustrated] * 2)
    doc_id = desk.read(path).documents[0].doc_id
    assert desk.store.pages_due(doc_id, "figures") == [1, 2]
    assert desk.ingestor.read_figures([doc_id], progress=Silent(), deadline=time.monotonic() - 1).total() == 0
    assert desk.ingestor.read_figures([doc_id], progress=Silent(), deadline=None).total() == 2
    page = desk.store.page(PageRef(doc_id=doc_id, page=2))
    (chart,) = [b for b in page.blocks if "Chart number 1" in page.block_text(b)]
    assert chart.kind == "figure"
    assert [page.lines[i].source for i in chart.lines] == ["ocr"]
    assert [line.source for line in page.lines[:12]] == ["pdf"] * 12
    assert desk.ingestor.read_figures([doc_id], progress=Silent(), deadline=None).total() == 0


@pytest.mark.slow
def test_a_page_whose_ocr_takes_too_long_is_given_up_once_and_for_all(tmp_path, make_scan):
    desk = Desk(tmp_path, settings=IngestSettings(workers=1, page_timeout=0.02))
    path = make_scan("slow.pdf", ["Some text"])
    page = desk.page(path)
    assert desk.store.page_work(page.ref) == ("failed", "none")
    assert page.note == "unreadable: took longer than 0.02 s"
    assert (page.width, page.height) == (595, 842)
    assert desk.read(path).files_reused == 1
    desk.store.close()


@pytest.mark.slow
def test_a_page_that_crashes_its_reader_costs_itself_alone(tmp_path):
    with WorkerPool(2) as pool:
        outcomes = {o.task: o for o in pool.run(crash_on_three, range(6), seconds=20)}
    assert {n: o.result for n, o in outcomes.items() if n != 3 and not o.problem}.keys() >= {0, 5}
    assert outcomes[3].problem == "crashed its reader"


@pytest.mark.slow
def test_a_task_that_hangs_is_stopped():
    with WorkerPool(1) as pool:
        (outcome,) = pool.run(hang, [0], seconds=0.5)
    assert outcome.problem == "took longer than 0.5 s"


@pytest.mark.slow
def test_a_truncated_image_is_refused_when_its_pixels_are_read(desk, tmp_path):
    file = io.BytesIO()
    scan(["Some text that is cut off"]).save(file, "JPEG")
    path = tmp_path / "cut.jpg"
    path.write_bytes(file.getvalue()[: len(file.getvalue()) // 2])
    report = desk.read(path)
    (line,) = _reasons(report)
    assert line.startswith(f"{path}: no page can be read (page 1 is damaged (")
    assert line.endswith("): get a complete copy")
    assert (report.documents, desk.store.documents()) == ((), [])


def test_pages_that_a_document_lacks_are_named(desk, draw):
    path = draw("book.pdf", *[_hello] * 3)
    with pymupdf.open(path) as document:
        tree = document.xref_get_key(document.pdf_catalog(), "Pages")[1]
        document.update_object(document[1].xref, f"<</Type/Pages/Kids[{tree}]/Count 1/Parent {tree}>>")
        document.save(path.with_name("torn.pdf"))
    heard = Heard()
    report = desk.ingestor.read([path.with_name("torn.pdf")], progress=heard)
    assert len(report.documents) == 1
    assert heard.notes == [refusal.reason for refusal in report.incomplete]
    assert "torn.pdf: page 2 of 3 can't be read (damaged" in heard.notes[0]


_INTERRUPTED = """
import os, signal
from retrieval.ingest.pool import WorkerPool

if __name__ == "__mp_main__":  # as the processes import it that start for the pool
    os.kill(os.getpid(), signal.SIGINT)

def double(n):
    return 2 * n

if __name__ == "__main__":
    with WorkerPool(1) as pool:
        print([outcome.result for outcome in pool.run(double, [21], seconds=60)])
"""


@pytest.mark.slow
def test_ctrl_c_does_not_reach_workers_that_are_starting(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(_INTERRUPTED)
    run = subprocess.run(
        [sys.executable, str(script)], env=_environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.stdout, run.stderr) == ("[42]\n", "")
