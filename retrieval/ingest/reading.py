"""What a worker does with one page: read its text layer, or read its image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.errors import UnreadableDocument
from retrieval.ingest import image as frames
from retrieval.ingest import pdf
from retrieval.ingest.blocks import find_blocks, find_figures, lines_on
from retrieval.ingest.damage import UNREADABLE
from retrieval.ingest.figures import FigureText
from retrieval.ingest.files import shown
from retrieval.ingest.fragments import Draft, Fragment, Rect
from retrieval.ingest.joins import join_columns, join_markers
from retrieval.ingest.ocr import OcrEngine, Pixels, make_engine
from retrieval.ingest.order import reading_rows
from retrieval.ingest.quality import Judgement, judge, plausibility
from retrieval.ingest.scan import read_image, read_tiles
from retrieval.settings import OcrSettings
from retrieval.types import BBox, DocumentKind

_LETTER = (612.0, 792.0)
_STAMP_LETTERS = 40
_PICTURE_SHARE = 0.6
_SOUND = 0.5
_SURE = 0.85
_SHORT_COLUMN = 2


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read pages from, with what is needed to open it. `damaged` ones are kept out of the main process."""

    path: Path
    kind: DocumentKind
    passwords: tuple[str, ...]
    ocr: OcrSettings
    threads: int = 1
    damaged: bool = False


Job = tuple[Source, tuple[int, ...]]
"""A file and some of its pages (1-based)."""
FigureJob = tuple[Source, int, tuple[BBox, ...]]
"""A file, one of its pages, and the boxes of the figures to read."""


def read_text(job: Job) -> list[Draft]:
    """The text layer of some pages; those whose layer is missing or bad come back with `needs_ocr`."""
    source, pages = job
    return [_guarded(_text_draft, source, page) for page in pages]


def read_scan(job: Job) -> list[Draft]:
    """Some pages by OCR."""
    source, pages = job
    return [_guarded(_scan_draft, source, page) for page in pages]


def _guarded(read: Callable[[Source, int], Draft], source: Source, page: int) -> Draft:
    """A page that is damaged costs itself, not the batch."""
    try:
        return read(source, page)
    except UnreadableDocument as error:
        return unreadable(page, error.problem.removeprefix(f"{shown(source.path)}: "))
    except pdf.READ_ERRORS as error:
        return unreadable(page, f"damaged ({str(error).splitlines()[0] if str(error) else type(error).__name__})")


def unreadable(page: int, why: str) -> Draft:
    """A page of which nothing could be read."""
    return Draft(page, *_LETTER, note=f"{UNREADABLE}{why}", failed=True)


def _text_draft(source: Source, number: int) -> Draft:
    if source.kind == "image":
        width, height, _ = frames.frame_size(source.path, number)
        return Draft(number, width, height, needs_ocr=True)
    page = _document(source.path, source.passwords)[number - 1]
    draft = Draft(number, *pdf.page_size(page))
    fragments = join_markers(join_columns(pdf.page_fragments(page)))
    pictures = pdf.page_pictures(page)
    judgement = _judged(fragments, pictures, draft)
    if judgement.verdict != "good":
        draft.needs_ocr = bool(fragments or pictures or page.get_bboxlog())
        draft.note = judgement.reason if fragments else ""
        if judgement.verdict == "garbage":
            fragments = []
    return arrange(draft, fragments, pictures, source.ocr)


def _judged(fragments: list[Fragment], pictures: list[Rect], draft: Draft) -> Judgement:
    """The verdict on a page's text layer; over a picture of the whole page it is looked at more closely."""
    text = "\n".join(f.text for f in fragments)
    judgement = judge(text)
    if judgement.verdict != "good" or not pictures:
        return judgement
    largest = max((p[2] - p[0]) * (p[3] - p[1]) for p in pictures)
    if largest < _PICTURE_SHARE * draft.width * draft.height:
        return judgement
    if len(text) <= _STAMP_LETTERS:
        return Judgement("garbage", "hardly any text over a picture")
    sound = plausibility(text)
    if sound is not None and sound < _SOUND:
        return Judgement("suspicious", "text layer over a scan reads badly")
    return judgement


def arrange(draft: Draft, fragments: list[Fragment], pictures: list[Rect], settings: OcrSettings) -> Draft:
    """Put fragments into reading order and find their blocks; text on a figure is read after the rest."""
    extent = (draft.width, draft.height)
    upright = sum(len(f.text) for f in fragments if f.vertical)
    if 2 * upright > sum(len(f.text) for f in fragments):
        draft.writing = "vertical"
        _stand(fragments)
    figures = find_figures(fragments, pictures, extent, settings.figure_min_area)
    on_figure = lines_on(fragments, figures)
    rows = reading_rows(fragments, [i for i in range(len(fragments)) if i not in on_figure], extent)
    for n in range(len(figures)):
        lines = [i for i, figure in on_figure.items() if figure == n]
        rows.extend(reading_rows(fragments, lines, extent, region=rows[-1].region + 1 if rows else 0))
    order = [i for row in rows for i in row.items]
    place = {i: n for n, i in enumerate(order)}
    draft.fragments = [fragments[i] for i in order]
    for row in rows:
        row.items = [place[i] for i in row.items]
    draft.blocks = find_blocks(draft.fragments, rows, figures, {place[i]: n for i, n in on_figure.items()}, extent)
    draft.has_figures = bool(figures)
    return draft


def _stand(fragments: Sequence[Fragment]) -> None:
    """Take columns of a character or two on a vertical page for what they are: alone they show no direction."""
    for fragment in fragments:
        if fragment.turn == 0 and len(fragment.text) <= _SHORT_COLUMN and not fragment.text.isascii():
            fragment.vertical = True


def _scan_draft(source: Source, page: int) -> Draft:
    engine = _engine(source.ocr, source.threads)
    if source.kind == "image":
        width, height, _ = frames.frame_size(source.path, page)
        frame = frames.read_frame(source.path, page)
        density = frame.width / width  # a large frame comes reduced
        draft = Draft(page, width, height)
        fragments = read_tiles(
            engine,
            (width, height),
            source.ocr,
            lambda clip: np.asarray(frames.cut(frame, clip, density, source.ocr.max_side)),
        )
        return arrange(draft, fragments, [], source.ocr)
    opened = _document(source.path, source.passwords)[page - 1]
    draft = Draft(page, *pdf.page_size(opened))
    layer = join_markers(join_columns(pdf.page_fragments(opened)))
    pictures = pdf.page_pictures(opened)
    judgement = _judged(layer, pictures, draft)
    fragments = read_tiles(
        engine, (draft.width, draft.height), source.ocr, lambda clip: _pixels(opened, clip, source.ocr)
    )
    if layer:
        fragments, draft.note = _better(layer, judgement, fragments)
    return arrange(draft, fragments, pictures if fragments is layer else [], source.ocr)


def _better(layer: list[Fragment], judgement: Judgement, read: list[Fragment]) -> tuple[list[Fragment], str]:
    """OCR's lines, unless the text layer is only suspicious and OCR is neither sure nor more plausible."""
    if judgement.verdict == "suspicious":
        letters = sum(len(f.text) for f in read)
        sure = sum(f.confidence * len(f.text) for f in read) / letters if letters else 0.0
        before = plausibility("\n".join(f.text for f in layer))
        after = plausibility("\n".join(f.text for f in read))
        sounder = before is not None and after is not None and after > before + 0.05
        if letters < 0.4 * sum(len(f.text) for f in layer) or (sure < _SURE and not sounder):
            return layer, judgement.reason + "; kept, because OCR is no surer"
    return read, judgement.reason + "; read by OCR"


def read_figures(job: FigureJob) -> FigureText:
    """OCR of some figures of one page."""
    source, page, boxes = job
    try:
        opened = _document(source.path, source.passwords)[page - 1]
        width, height = pdf.page_size(opened)
        read = []
        for box in boxes:
            clip = (box.x1 * width, box.y1 * height, box.x2 * width, box.y2 * height)
            pixels = _pixels(opened, clip, source.ocr)
            fragments = read_image(_engine(source.ocr, source.threads), pixels, clip, source.ocr)
            rows = reading_rows(fragments, range(len(fragments)), (width, height))
            order = [i for row in rows for i in row.items]
            read.append((box, [fragments[i] for i in order]))
    except pdf.READ_ERRORS as error:
        return FigureText(page, 1.0, 1.0, [], problem=str(error) or type(error).__name__)
    return FigureText(page, width, height, read)


def _pixels(page: Any, clip: Rect, settings: OcrSettings) -> Pixels:
    """A part of the page as displayed, rendered with at most `max_side` pixels a side."""
    side = max(clip[2] - clip[0], clip[3] - clip[1])
    pixmap = pdf.render(page, dpi=min(float(settings.dpi), settings.max_side * 72 / side), clip=clip)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


@lru_cache(maxsize=1)
def _document(path: Path, passwords: tuple[str, ...]) -> Any:
    return pdf.open_pdf(path, passwords)


@lru_cache(maxsize=1)
def _engine(settings: OcrSettings, threads: int) -> OcrEngine:
    return make_engine(settings, threads)
