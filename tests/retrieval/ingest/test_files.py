"""Paths of every kind: one that can't be used costs one line, and the rest goes on."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from retrieval.errors import UnreadableDocument
from retrieval.ingest.files import find_files, look_up

BAD_NAME = os.fsdecode(b"caf\xe9")


def _hello(page):
    page.insert_text((72, 100), "Hello from a page")


def _refused(desk, good, *paths):
    """The one line for `paths`, which are read together with a good file."""
    report = desk.read(*paths, good)
    assert [document.name for document in report.documents] == [good.name]
    (refusal,) = report.refused
    assert "\n" not in refusal.reason
    refusal.reason.encode()
    return refusal.reason


@pytest.fixture
def good(draw):
    return draw("good.pdf", _hello)


@pytest.fixture
def for_others():
    """A folder that users without rights can enter; the test runs as one of them when it may become one."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield folder
    os.seteuid(before)
    for entry in folder.iterdir():
        if entry.is_dir():
            entry.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x" * 300 + ".pdf", "can't be reached (File name too long)"),
        ("/".join(["deep"] * 1000) + ".pdf", "can't be reached (File name too long)"),
        ("a\0b.pdf", "not a path (embedded null byte)"),
        ("\ud800.pdf", "its name is not valid UTF-8"),
        ("good.pdf/inside.pdf", "no such file or folder"),
    ],
)
def test_an_impossible_path_costs_one_line(desk, good, tmp_path, name, reason):
    assert reason in _refused(desk, good, tmp_path / name)


def test_a_folder_whose_name_is_not_unicode_costs_one_line(desk, good, tmp_path):
    folder = tmp_path / "papers"
    (folder / BAD_NAME).mkdir(parents=True)
    for name in ("one.pdf", "two.pdf"):
        shutil.copy(good, folder / BAD_NAME / name)
    assert _refused(desk, good, folder).endswith("its name is not valid UTF-8: rename it")


def test_a_file_whose_name_is_not_unicode_costs_one_line(desk, good, tmp_path):
    path = tmp_path / f"{BAD_NAME}.pdf"
    shutil.copy(good, path)
    assert "its name is not valid UTF-8" in _refused(desk, good, path)


def test_links_in_a_circle_cost_one_line(desk, good, tmp_path):
    (tmp_path / "ring.pdf").symlink_to(tmp_path / "ring.pdf")
    assert "ring.pdf: " in _refused(desk, good, tmp_path / "ring.pdf")


def test_pipes_and_devices_are_not_waited_for(desk, good, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    os.mkfifo(folder / "pipe.pdf")
    assert "pipe.pdf: not a file but a device, a pipe" in _refused(desk, good, folder)
    (folder / "pipe.pdf").unlink()
    (folder / "zero.pdf").symlink_to("/dev/zero")
    assert "zero.pdf: not a file but a device, a pipe" in _refused(desk, good, folder)


def test_two_files_of_one_name_are_told_apart(desk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        Path(folder).mkdir()
        Path(folder, "a.pdf").write_bytes(b"")
    reasons = [refusal.reason for refusal in desk.read(Path("one"), Path("two")).refused]
    assert [reason.partition(":")[0] for reason in reasons] == ["one/a.pdf", "two/a.pdf"]


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_without_permission_is_named(for_others, mode):
    closed = for_others / "papers" / "closed"
    closed.mkdir(parents=True)
    (closed / "a.pdf").write_bytes(b"%PDF-")
    (closed.parent / "open.pdf").write_bytes(b"%PDF-")
    closed.chmod(mode)
    try:
        found = find_files([closed.parent])
    finally:
        closed.chmod(0o700)
    assert found.files == [closed.parent / "open.pdf"]
    (refusal,) = found.refused
    assert refusal.reason == f"{closed}: the folder can't be read (Permission denied): check its permissions"


def test_a_file_in_a_folder_that_may_not_be_entered_is_not_called_missing(for_others):
    closed = for_others / "closed"
    closed.mkdir()
    (closed / "a.pdf").write_bytes(b"%PDF-")
    closed.chmod(0o444)
    (found,) = find_files([closed / "a.pdf"]).files
    with pytest.raises(UnreadableDocument, match="can't be reached"):
        look_up(found)
