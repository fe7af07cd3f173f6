"""Boxes lie where the text is on the page as displayed."""

import numpy as np
import pymupdf
import pytest
from desk import scan
from PIL import Image

from retrieval.render import crop_region, render_page


def _ink(image):
    return (np.asarray(image.convert("L")) < 128).mean()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_follow_crop_box_and_rotation(desk, draw, rotation):
    def cropped(page):
        page.insert_text((200, 300), "Target", fontsize=20)
        page.set_cropbox(pymupdf.Rect(150, 200, 450, 700))
        page.set_rotation(rotation)

    path = draw("cropped.pdf", cropped)
    page = desk.page(path)
    (line,) = page.lines
    image = render_page([path], page.ref, dpi=72)
    assert image.size == pytest.approx((page.width, page.height), abs=1)
    inside = _ink(crop_region(image, line.bbox)) * line.bbox.area
    assert inside == pytest.approx(_ink(image), rel=0.05)
    assert line.bbox.area < 0.03


def test_text_outside_the_crop_box_is_not_read(desk, draw):
    def cropped(page):
        page.insert_text((200, 300), "shown", fontsize=12)
        page.insert_text((200, 50), "cut away", fontsize=12)
        page.set_cropbox(pymupdf.Rect(100, 200, 500, 700))

    assert desk.page(draw("cropped.pdf", cropped)).text == "shown"


def test_text_on_a_layer_that_is_off_is_not_read(desk, tmp_path):
    document = pymupdf.open()
    page = document.new_page()
    off = document.add_ocg("hidden", on=False)
    page.insert_text((100, 100), "visible text")
    page.insert_text((100, 200), "hidden text", oc=off)
    document.save(tmp_path / "layers.pdf")
    assert desk.page(tmp_path / "layers.pdf").text == "visible text"


@pytest.mark.slow
def test_exif_orientation_is_applied(desk, tmp_path):
    image = scan(["Upright after all"], width=420, height=160)
    exif = Image.Exif()
    exif[0x0112] = 6
    image.rotate(90, expand=True).save(tmp_path / "photo.jpg", exif=exif, quality=95)
    page = desk.page(tmp_path / "photo.jpg")
    assert page.width > page.height
    assert page.lines[0].text == "Upright after all"
    shown = render_page([tmp_path / "photo.jpg"], page.ref, dpi=96)
    assert shown.width > shown.height


@pytest.mark.slow
def test_a_long_strip_is_read_in_pieces_without_repeats(desk, tmp_path):
    document = pymupdf.open()
    page = document.new_page(width=300, height=3000)
    for n in range(28):
        page.insert_text((40, 80 + 100 * n), f"Strip line number {n}", fontsize=16)
    page.get_pixmap(dpi=100).save(tmp_path / "strip.png")
    read = desk.page(tmp_path / "strip.png")
    assert [line.text for line in read.lines] == [f"Strip line number {n}" for n in range(28)]
