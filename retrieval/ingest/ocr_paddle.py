"""PaddleOCR with models from local folders. Nothing is downloaded: a missing folder ends the run in one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import yaml

from retrieval.errors import InputError
from retrieval.ingest.ocr import DETECTION_SIDE, OcrLine, Pixels, enlarged, line_from
from retrieval.settings import OcrSettings

_CONFIG, _ONNX = "inference.yml", "inference.onnx"
_UPSIDE_DOWN = 1
"""The class of PaddleOCR's classifier for lines that are turned by 180 degrees; 0 is upright, -1 not classified."""


class Pipeline(Protocol):
    """What of `paddleocr.PaddleOCR` is used.

    A result maps `rec_texts`, `rec_scores` and `rec_polys` to one item a line, and `textline_orientation_angles` to the
    class of each detected line.
    """

    def predict(self, image: Any) -> Sequence[Mapping[str, Any]]:
        """One result an image; the image in BGR."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a Paddle model, and the name that the model gives itself."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class ModelFolders:
    """The models of detection and recognition, and the one that tells lines that stand upside down, if any."""

    det: ModelFolder
    rec: ModelFolder
    cls: ModelFolder | None


class PaddleOcr:
    """PaddleOCR 3 on the CPU. `pipeline` stands in for the one that is made of the folders in `settings`."""

    def __init__(self, settings: OcrSettings, threads: int = 1, *, pipeline: Pipeline | None = None) -> None:
        self._pipeline = pipeline or _pipeline(model_folders(settings), threads)

    def read(self, image: Pixels) -> list[OcrLine]:
        """All lines of an RGB image (height, width, 3), in no particular order."""
        bgr, factor = enlarged(image[:, :, ::-1])
        return [line for result in self._pipeline.predict(bgr) for line in _lines(result, factor)]


def check_installed() -> None:
    """InputError when PaddleOCR isn't installed."""
    missing = [name for name in ("paddleocr", "paddle") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the OCR engine paddleocr needs the package {missing[0]}, which isn't installed",
            remedy="pip install 'docsage[paddle]', or set retrieval.ingest.ocr.engine to rapidocr",
        )


def model_folders(settings: OcrSettings) -> ModelFolders:
    """The folders in the settings; InputError that names the setting of one that is missing or holds no model."""
    det = _folder("det_model_dir", settings.det_model_dir)
    rec = _folder("rec_model_dir", settings.rec_model_dir)
    return ModelFolders(det, rec, _folder("cls_model_dir", settings.cls_model_dir) if settings.cls_model_dir else None)


def _folder(setting: str, path: Path | None) -> ModelFolder:
    remedy = f"set retrieval.ingest.ocr.{setting} to the folder of a Paddle model (one with {_CONFIG})"
    if path is None:
        raise InputError(f"the OCR engine paddleocr has no {setting}", remedy=remedy)
    folder = path.expanduser()
    if not folder.is_dir():
        raise InputError(f"{setting}: there is no folder {folder}", remedy=remedy)
    try:
        config = yaml.safe_load((folder / _CONFIG).read_text(encoding="utf-8"))
        name = config["Global"]["model_name"]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise InputError(f"{setting}: {folder} holds no {_CONFIG} that names its model", remedy=remedy) from error
    return ModelFolder(folder, str(name))


def _pipeline(folders: ModelFolders, threads: int) -> Pipeline:
    """PaddleOCR over the folders, by ONNX Runtime where all of them hold their models in that form.

    It would fetch a model for each step that is left on without a folder.
    """
    check_installed()
    # PaddleX asks its model hosts whether they can be reached, which isn't needed for models on disk.
    os.environ.setdefault("PADDLE_PDX_DISABLE_MODEL_SOURCE_CHECK", "True")
    engine = import_module("paddleocr").PaddleOCR
    for name in ("paddlex", "paddleocr"):
        logging.getLogger(name).setLevel(logging.ERROR)

    options: dict[str, Any] = {
        "text_detection_model_dir": str(folders.det.path),
        "text_detection_model_name": folders.det.name,
        "text_recognition_model_dir": str(folders.rec.path),
        "text_recognition_model_name": folders.rec.name,
        "use_doc_orientation_classify": False,
        "use_doc_unwarping": False,
        "use_textline_orientation": folders.cls is not None,
        "text_det_limit_type": "max",
        "text_det_limit_side_len": DETECTION_SIDE,
        "text_recognition_batch_size": 1,
        "device": "cpu",
        "cpu_threads": threads,
    }
    if all((folder.path / _ONNX).exists() for folder in (folders.det, folders.rec, folders.cls) if folder):
        options["engine"] = "onnxruntime"
    if folders.cls is not None:
        options["textline_orientation_model_dir"] = str(folders.cls.path)
        options["textline_orientation_model_name"] = folders.cls.name
    try:
        made: Pipeline = engine(**options)
    except (ValueError, RuntimeError, OSError) as error:
        used = ", ".join(str(folder.path) for folder in (folders.det, folders.rec, folders.cls) if folder)
        raise InputError(
            f"PaddleOCR can't load its models ({' '.join(str(error).split())[:200]})",
            remedy=f"check the model files in {used}",
        ) from error
    return made


def _lines(result: Mapping[str, Any], factor: float) -> list[OcrLine]:
    texts, scores, polygons = result["rec_texts"], result["rec_scores"], result["rec_polys"]
    turned = list(result.get("textline_orientation_angles", ()))
    if len(turned) != len(texts):
        turned = [-1] * len(texts)  # lines were dropped for their score, and what is left can't be told apart
    return [
        line_from(_corners(polygon) / factor, text, float(score), int(turn) == _UPSIDE_DOWN)
        for polygon, text, score, turn in zip(polygons, texts, scores, turned, strict=True)
        if text.strip()
    ]


def _corners(polygon: Any) -> Any:
    """The four corners of a line; of a polygon with more points, those of the box around it."""
    points = np.asarray(polygon, dtype=np.float64)
    if len(points) == 4:
        return points
    (x1, y1), (x2, y2) = points.min(axis=0), points.max(axis=0)
    return np.array([(x1, y1), (x2, y1), (x2, y2), (x1, y2)])
