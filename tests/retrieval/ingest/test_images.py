"""Image files of every mode and size: shown as people see them, and never more of them in memory than is needed."""

import io
import struct
import zlib

import numpy as np
import pytest
from desk import scan
from PIL import Image, ImageDraw

from retrieval.errors import UnreadableDocument
from retrieval.ingest import image as frames
from retrieval.ingest.image import frame_count, frame_size, read_frame
from retrieval.ingest.reading import Source, read_scan
from retrieval.settings import OcrSettings


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _claimed(path, width, height):
    """A PNG that says in its header how large it is, and holds nothing."""
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(b"")) + _chunk(b"IEND", b"")
    )
    return path


def _halves(mode, size=(600, 400)):
    """An image of `mode`, black on the left and white on the right."""
    grey = Image.new("L", size, 255)
    ImageDraw.Draw(grey).rectangle((0, 0, size[0] // 2 - 1, size[1]), fill=0)
    if mode in ("I;16", "F", "I"):
        kind = {"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode]
        return Image.fromarray((np.asarray(grey).astype(np.float64) * 200).astype(kind))
    return grey.convert(mode)


@pytest.fixture
def small_limits(monkeypatch):
    """Limits at which the tests' images are large."""
    monkeypatch.setattr(frames, "LARGE_PIXELS", 30_000)
    monkeypatch.setattr(frames, "_BAND_PIXELS", 5_000)
    monkeypatch.setattr(frames, "_ENOUGH_SIDE", 100)


@pytest.mark.parametrize(("width", "height"), [(12300, 12300), (20000, 20000), (60000, 60000)])
def test_too_many_pixels_are_said_to_be_that(desk, tmp_path, width, height):
    path = _claimed(tmp_path / "vast.png", width, height)
    (refusal,) = desk.read(path).refused
    assert refusal.reason == (
        f"{path}: {width} x {height} are too many pixels (150 million at most): scale it down or split it"
    )


def test_a_later_frame_that_is_too_large_is_refused_too(tmp_path, monkeypatch):
    path = tmp_path / "frames.tiff"
    Image.new("L", (10, 10)).save(path, save_all=True, append_images=[Image.new("L", (300, 300))])
    monkeypatch.setattr(frames, "MAX_PIXELS", 1000)
    assert frame_count(path) == 2
    with pytest.raises(UnreadableDocument, match="300 x 300 are too many pixels"):
        read_frame(path, 2)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
@pytest.mark.parametrize("large", [False, True])
def test_every_mode_is_shown_as_it_is(tmp_path, request, mode, large):
    path = tmp_path / "halves.tiff"
    _halves(mode).save(path)
    if large:
        request.getfixturevalue("small_limits")
    frame = read_frame(path, 1)
    assert (frame.mode, frame.size) == ("RGB", (200, 134) if large else (600, 400))
    pixels = np.asarray(frame)[:130]
    assert pixels[:, :90].max() < 10
    assert pixels[:, -90:].min() > 245


def test_a_large_jpeg_is_decoded_small_and_stands_upright(tmp_path, small_limits):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    _halves("RGB").save(file, "JPEG", exif=exif, quality=95)
    path = tmp_path / "turned.jpg"
    path.write_bytes(file.getvalue())
    frame = read_frame(path, 1)
    width, height, _ = frame_size(path, 1)
    assert frame.size == (100, 150)
    assert abs(frame.width / frame.height - width / height) < 0.01
    assert np.asarray(frame)[:70].max() < 30
    assert np.asarray(frame)[-70:].min() > 225


def test_a_strip_keeps_the_width_that_its_text_needs(tmp_path, small_limits):
    path = tmp_path / "strip.png"
    _halves("RGBA", (120, 3000)).save(path)
    assert read_frame(path, 1).size == (120, 3000)


@pytest.mark.slow
def test_a_large_image_is_read_where_its_text_stands(tmp_path, monkeypatch):
    path = tmp_path / "large.png"
    scan(["Reduced before it is read"], size=24).convert("RGBA").save(path)
    job = (Source(path, "image", (), OcrSettings()), (1,))
    (whole,) = read_scan(job)
    monkeypatch.setattr(frames, "LARGE_PIXELS", 200_000)
    monkeypatch.setattr(frames, "_ENOUGH_SIDE", 200)
    (reduced,) = read_scan(job)
    assert read_frame(path, 1).width < 500
    assert [f.text for f in reduced.fragments] == [f.text for f in whole.fragments] == ["Reduced before it is read"]
    assert reduced.fragments[0].box == pytest.approx(whole.fragments[0].box, abs=4)
