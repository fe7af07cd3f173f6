"""PDF files: opening them, and the text and pictures of one page."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymupdf

from retrieval.errors import PasswordNeeded, UnreadableDocument
from retrieval.ingest.files import shown
from retrieval.ingest.fragments import Fragment, Rect, Turn, on_page, shared

_FLAGS = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES & ~pymupdf.TEXT_PRESERVE_LIGATURES
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\t]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff]")
_RADICALS = re.compile("[\u2e80-\u2fdf]")
_BOLD = 16
_ICON = 64
"""Pixels; a picture that is smaller in either direction is no figure."""
_TOO_MANY_PICTURES = 400
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
ERRORS: tuple[type[Exception], ...] = (RuntimeError, ValueError, TypeError, KeyError, pymupdf.mupdf.FzErrorBase)
"""What PyMuPDF raises over a damaged file."""
READ_ERRORS: tuple[type[Exception], ...] = (*ERRORS, UnreadableDocument, OSError, IndexError)
"""Whatever reading one page of a file can raise that is the file's fault."""
LOCK = threading.RLock()
"""MuPDF keeps state for the whole process: threads take turns."""

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def open_pdf(path: Path, passwords: Sequence[str] = ()) -> Any:
    """The file as a PyMuPDF document with at least one page. Raises `UnreadableDocument` or `PasswordNeeded`."""
    try:
        document = pymupdf.open(path, filetype="pdf")
    except READ_ERRORS as error:
        raise UnreadableDocument(
            f"{shown(path)}: not a PDF that can be opened (damaged or truncated)", remedy="get a complete copy"
        ) from error
    try:
        if not document.is_pdf:  # MuPDF goes by the content and opens a web page or a ZIP under any name
            raise UnreadableDocument(f"{shown(path)}: not a PDF, whatever its name says", remedy="print it to a PDF")
        if document.needs_pass and not any(document.authenticate(p) for p in passwords):
            tried = "none of the passwords given opens it" if passwords else "give its password with --password"
            raise PasswordNeeded(
                f"{shown(path)}: encrypted", remedy=tried + ("; give its password with --password" if passwords else "")
            )
        try:
            pages = document.page_count
        except ERRORS as error:
            raise UnreadableDocument(
                f"{shown(path)}: its page tree is damaged", remedy="get a complete copy"
            ) from error
        if pages < 1:
            raise UnreadableDocument(f"{shown(path)}: has no pages", remedy="get a complete copy")
    except UnreadableDocument:
        document.close()
        raise
    return document


def page_size(page: Any) -> tuple[float, float]:
    """Width and height in points as displayed."""
    rect = page.rect
    return max(float(rect.width), 1.0), max(float(rect.height), 1.0)


def page_fragments(page: Any) -> list[Fragment]:
    """The text layer of a page in content order; text off the page as displayed is left out."""
    width, height = page_size(page)
    rotation = int(page.rotation)
    matrix = tuple(page.rotation_matrix) if rotation else None
    out: list[Fragment] = []
    for block in page.get_text("dict", flags=_FLAGS)["blocks"]:
        for line in block["lines"]:
            fragment = _fragment(line, matrix, rotation)
            if fragment is None:
                continue
            box = fragment.box
            if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height or box[0] >= box[2] or box[1] >= box[3]:
                inside = on_page(box, width, height)
                if inside is None or shared(box, inside) < 0.4:
                    continue
                fragment.box = inside
            out.append(fragment)
    return out


def clean(text: str) -> str:
    """Text with plain spaces, no invisible characters, and Han characters where the font names their radicals."""
    text = _INVISIBLE.sub("", _SPACES.sub(" ", text)).replace("\u00ad", "-")
    if _RADICALS.search(text):
        text = _RADICALS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return text.strip()


def _fragment(line: dict[str, Any], matrix: tuple[float, ...] | None, rotation: int) -> Fragment | None:
    spans = line["spans"]
    text = spans[0]["text"] if len(spans) == 1 else "".join([s["text"] for s in spans])
    text = text.strip() if text.isascii() else clean(text)
    if not text:
        return None
    span = spans[0] if len(spans) == 1 else max(spans, key=lambda s: len(s["text"]))
    dx, dy = line["dir"]
    turn: Turn = 0
    if abs(dy) > abs(dx):
        turn = 90 if dy > 0 else 270
    elif dx < 0:
        turn = 180
    box: Rect = line["bbox"]
    upright = line["wmode"] == 1
    if matrix is not None:
        box = _mapped(box, matrix)
        turn = (turn + rotation) % 360  # type: ignore[assignment]
    vertical = upright and turn == 90
    return Fragment(text, box, span["size"], turn if not vertical else 0, vertical, bool(span["flags"] & _BOLD))


def _mapped(box: Rect, matrix: tuple[float, ...]) -> Rect:
    a, b, c, d, e, f = matrix
    xs = (a * box[0] + c * box[1] + e, a * box[2] + c * box[3] + e)
    ys = (b * box[0] + d * box[1] + f, b * box[2] + d * box[3] + f)
    return (min(xs), min(ys), max(xs), max(ys))


def page_pictures(page: Any) -> list[Rect]:
    """Where raster pictures stand on the page as displayed; icons, whose pixels hold no text, are left out."""
    if not any(image[2] >= _ICON and image[3] >= _ICON for image in page.get_images()):
        return []
    width, height = page_size(page)
    matrix = tuple(page.rotation_matrix)
    infos = page.get_image_info()
    if len(infos) > _TOO_MANY_PICTURES:
        return []
    boxes = (on_page(_mapped(tuple(info["bbox"]), matrix), width, height) for info in infos)
    return [box for box in boxes if box is not None]


def render(page: Any, *, dpi: float, clip: Rect | None = None) -> Any:
    """An RGB pixmap of the page as displayed, or of the part `clip` of it (in points)."""
    scale = dpi / 72
    area = None
    if clip is not None:
        area = pymupdf.Rect(clip)
    return page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=area, alpha=False, colorspace=pymupdf.csRGB)


def own_labels(document: Any) -> list[str]:
    """The label that the file itself gives each page; empty when it gives none."""
    try:
        rules = sorted(document.get_page_labels(), key=lambda r: int(r["startpage"]))
        pages = int(document.page_count)
    except ERRORS:
        return []
    if not rules:
        return []
    labels = [""] * pages
    for rule, following in zip(rules, [*rules[1:], None], strict=True):
        start, stop = int(rule["startpage"]), int(following["startpage"]) if following else pages
        first = int(rule.get("firstpagenum") or 1)
        for page in range(max(start, 0), min(stop, pages)):
            labels[page] = rule.get("prefix", "") + numeral(first + page - start, rule.get("style", ""))
    return labels


def numeral(value: int, style: str) -> str:
    """A number in a PDF numbering style: D arabic, R and r roman, A and a letters; any other style writes nothing."""
    if style == "D":
        return str(value)
    if style in ("R", "r"):
        out = ""
        for worth, sign in _ROMAN:
            count, value = divmod(value, worth)
            out += sign * count
        return out if style == "r" else out.upper()
    if style in ("A", "a"):
        letter = chr(ord(style) + (value - 1) % 26)
        return letter * ((value - 1) // 26 + 1)
    return ""


def title(document: Any) -> str:
    """The title in the file's metadata, or ""."""
    found = (document.metadata or {}).get("title") or ""
    return " ".join(str(found).split())
