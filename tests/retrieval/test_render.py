"""Page images, and regions cut from them."""

from pathlib import Path

import pytest
from PIL import Image

from retrieval.errors import InputError
from retrieval.ingest.files import content_id
from retrieval.render import crop_region, render_page
from retrieval.types import BBox, PageRef


def test_a_page_is_rendered_at_the_resolution_asked_for(english_pdf):
    ref = PageRef(doc_id=content_id(english_pdf), page=2)
    assert render_page([english_pdf], ref, dpi=72).size == (595, 842)


def test_the_first_path_that_still_holds_the_document_is_used(english_pdf, chinese_pdf):
    ref = PageRef(doc_id=content_id(english_pdf), page=1)
    image = render_page([Path("gone.pdf"), chinese_pdf, english_pdf], ref, dpi=36)
    assert image.mode == "RGB"


def test_a_file_that_has_gone_is_named_with_the_remedy():
    with pytest.raises(InputError, match=r"gone\.pdf has gone or was changed.*put the file back"):
        render_page([Path("gone.pdf")], PageRef(doc_id="0" * 20, page=1), dpi=72)


def test_a_region_has_its_share_of_the_pixels():
    image = Image.new("RGB", (200, 100))
    assert crop_region(image, BBox(x1=0.25, y1=0.5, x2=0.75, y2=1.0)).size == (100, 50)
    assert crop_region(image, BBox(x1=0.5, y1=0.5, x2=0.5001, y2=0.5001)).size == (1, 1)
