"""PaddleOCR from local folders: what it gives becomes lines, and what is missing is one clear line."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pymupdf
import pytest
from desk import Desk, scan

from retrieval.errors import InputError
from retrieval.ingest.ocr import check_engine, make_engine
from retrieval.ingest.ocr_paddle import PaddleOcr, model_folders
from retrieval.ingest.pipeline import Ingestor
from retrieval.ingest.scan import read_image
from retrieval.progress import Silent
from retrieval.settings import IngestSettings, OcrSettings
from retrieval.store import StoredPage
from retrieval.types import Line


class ScriptedPipeline:
    """Gives results of the shape that `paddleocr.PaddleOCR.predict` of 3.7 has, and keeps the image it was given."""

    def __init__(self, **result: object) -> None:
        self.result = result
        self.image: np.ndarray | None = None

    def predict(self, image: np.ndarray) -> list[dict[str, object]]:
        self.image = image
        return [{"input_path": None, "page_index": None, "dt_polys": [], **self.result}]


def _quad(x1: int, y1: int, x2: int, y2: int) -> np.ndarray:
    return np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]], np.int16)


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Folders that name their models as Paddle's do, without weights."""
    made = {}
    for kind in ("det", "rec"):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "inference.yml").write_text(f"Global:\n  model_name: PP-OCRv5_server_{kind}\n", encoding="utf-8")
        made[f"{kind}_model_dir"] = folder
    return made


def test_results_become_lines_in_pixels_of_the_image():
    pipeline = ScriptedPipeline(
        rec_texts=["Annual report", "學而時習之", " "],
        rec_scores=[0.98, 0.91, 0.2],
        rec_polys=[_quad(40, 30, 400, 60), _quad(900, 100, 940, 500), _quad(0, 0, 9, 9)],
        textline_orientation_angles=[1, 0, 0],
    )
    heading, column = PaddleOcr(OcrSettings(), pipeline=pipeline).read(np.zeros((800, 1000, 3), np.uint8))
    assert (heading.text, heading.box, heading.confidence) == ("Annual report", (40, 30, 400, 60), 0.98)
    assert (heading.tall, heading.flipped, heading.thickness) == (False, True, 30)
    assert (column.text, column.tall, column.flipped) == ("學而時習之", True, False)


def test_a_small_image_is_enlarged_and_its_boxes_are_brought_back():
    pipeline = ScriptedPipeline(
        rec_texts=["small"], rec_scores=[0.9], rec_polys=[_quad(0, 0, 736, 368)], textline_orientation_angles=[]
    )
    (line,) = PaddleOcr(OcrSettings(), pipeline=pipeline).read(np.zeros((368, 368, 3), np.uint8))
    assert pipeline.image is not None
    assert pipeline.image.shape == (736, 736, 3)
    assert line.box == (0, 0, 368, 184)


def test_the_pipeline_sees_blue_first_as_it_expects():
    image = np.zeros((800, 800, 3), np.uint8)
    image[..., 0] = 255  # red
    pipeline = ScriptedPipeline(rec_texts=[], rec_scores=[], rec_polys=[])
    PaddleOcr(OcrSettings(), pipeline=pipeline).read(image)
    assert pipeline.image is not None
    assert pipeline.image[0, 0].tolist() == [0, 0, 255]


def test_a_curved_line_is_placed_in_the_box_around_it():
    points = np.array([[10, 20], [200, 5], [400, 20], [400, 60], [200, 45], [10, 60]])
    pipeline = ScriptedPipeline(rec_texts=["curved"], rec_scores=[0.9], rec_polys=[points])
    (line,) = PaddleOcr(OcrSettings(), pipeline=pipeline).read(np.zeros((800, 800, 3), np.uint8))
    assert line.box == (10, 5, 400, 60)


def test_columns_and_unsure_lines_are_treated_as_those_of_any_engine():
    pipeline = ScriptedPipeline(
        rec_texts=["學而時習之", "??"], rec_scores=[0.9, 0.3], rec_polys=[_quad(700, 80, 740, 480), _quad(9, 9, 50, 20)]
    )
    settings = OcrSettings(engine="paddleocr")
    (column,) = read_image(
        PaddleOcr(settings, pipeline=pipeline), np.zeros((800, 800, 3), np.uint8), (0, 0, 400, 400), settings
    )
    assert (column.text, column.vertical, column.box) == ("學而時習之", True, (350, 40, 370, 240))


def test_the_folders_say_which_models_they_hold(folders):
    found = model_folders(OcrSettings(engine="paddleocr", **folders))
    assert (found.det.name, found.rec.name, found.cls) == ("PP-OCRv5_server_det", "PP-OCRv5_server_rec", None)


@pytest.mark.parametrize("setting", ["det_model_dir", "rec_model_dir"])
def test_a_folder_that_is_not_set_is_named(folders, setting):
    del folders[setting]
    with pytest.raises(InputError, match=f"no {setting}.*set retrieval.ingest.ocr.{setting}"):
        check_engine(OcrSettings(engine="paddleocr", **folders))


def test_a_folder_that_is_not_there_or_holds_no_model_is_named(folders, tmp_path):
    with pytest.raises(InputError, match=r"det_model_dir: there is no folder .*nowhere"):
        check_engine(OcrSettings(engine="paddleocr", **{**folders, "det_model_dir": tmp_path / "nowhere"}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"cls_model_dir: .*empty holds no inference\.yml"):
        check_engine(OcrSettings(engine="paddleocr", **folders, cls_model_dir=tmp_path / "empty"))


def test_a_missing_package_is_answered_with_how_to_install_it(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "paddleocr", None)
    monkeypatch.setattr("retrieval.ingest.ocr_paddle.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"paddleocr, which isn't installed: pip install 'docsage\[paddle\]'"):
        make_engine(OcrSettings(engine="paddleocr", **folders))


@pytest.fixture
def installed(monkeypatch) -> list[dict[str, object]]:
    """A package `paddleocr` that keeps what its pipelines are made with; one without model files it refuses."""
    made: list[dict[str, object]] = []

    def pipeline(**options: object) -> ScriptedPipeline:
        made.append(options)
        if not list(Path(str(options["text_detection_model_dir"])).glob("inference.[!y]*")):
            raise ValueError("No Paddle model files were found in 'det'.")
        return ScriptedPipeline(rec_texts=[], rec_scores=[], rec_polys=[])

    package = ModuleType("paddleocr")
    package.PaddleOCR = pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "paddleocr", package)
    monkeypatch.setattr("retrieval.ingest.ocr_paddle.find_spec", lambda name: name)
    return made


@pytest.mark.parametrize(("form", "runtime"), [("inference.pdiparams", None), ("inference.onnx", "onnxruntime")])
def test_only_steps_whose_models_are_on_disk_are_on(folders, installed, form, runtime):
    for folder in folders.values():
        (folder / form).touch()
    make_engine(OcrSettings(engine="paddleocr", **folders), threads=2)
    (options,) = installed
    assert (options["text_detection_model_name"], options["cpu_threads"]) == ("PP-OCRv5_server_det", 2)
    assert options.get("engine") == runtime
    steps = ("use_doc_orientation_classify", "use_doc_unwarping", "use_textline_orientation")
    assert not any(options[step] for step in steps)


def test_a_folder_without_weights_is_answered_with_where_to_look(folders, installed):
    with pytest.raises(InputError, match=r"can't load its models \(No Paddle model.*check the model files in .*det, "):
        make_engine(OcrSettings(engine="paddleocr", **folders))


def test_reading_a_scan_ends_in_that_line_and_digital_text_needs_no_engine(tmp_path, draw):
    desk = Desk(tmp_path, IngestSettings(workers=1, ocr=OcrSettings(engine="paddleocr")))
    path = tmp_path / "scan.png"
    scan(["Harbour dues"]).save(path)
    with pytest.raises(InputError, match="no det_model_dir"):
        desk.read(path)
    assert desk.page(draw("digital.pdf", lambda page: page.insert_text((72, 100), "Harbour dues"))).text
    desk.store.close()


@pytest.mark.slow
def test_text_that_one_engine_read_is_not_given_out_as_that_of_another(desk, draw, tmp_path):
    path = tmp_path / "scan.png"
    scan(["Harbour dues of the year"]).save(path)
    digital = draw("digital.pdf", lambda page: page.insert_text((72, 100), "Harbour dues"))
    page = desk.page(path)
    desk.read(digital)
    misread = Line(text="Harb0ur dves", bbox=page.lines[0].bbox, source="ocr")
    desk.store.put_pages([StoredPage(page.model_copy(update={"lines": (misread,)}), "done")])
    desk.store.note_reader(page.ref.doc_id, "paddleocr /models/det /models/rec")
    report = desk.read(path, digital)
    assert (report.pages_ocred, report.files_reused) == (1, 1)
    assert "Harbour dues of the year" in desk.page(path).text
    assert desk.read(path, digital).files_reused == 2


def test_nothing_is_lost_to_an_engine_that_cannot_run(desk, tmp_path):
    path = tmp_path / "scan.png"
    scan(["Harbour dues of the year"]).save(path)
    ref = desk.page(path).ref
    other = Ingestor(desk.store, IngestSettings(workers=1, ocr=OcrSettings(engine="paddleocr")))
    with pytest.raises(InputError, match="no det_model_dir"):
        other.read([path], progress=Silent())
    kept = desk.store.page(ref)
    assert kept is not None
    assert "Harbour dues" in kept.text


def test_a_pdf_page_without_ocr_belongs_to_every_engine(desk, draw):
    path = draw("digital.pdf", lambda page: page.insert_text(pymupdf.Point(72, 100), "Harbour dues"))
    doc_id = desk.page(path).ref.doc_id
    assert not desk.store.is_read_by_other(doc_id, OcrSettings(engine="paddleocr").reader)
