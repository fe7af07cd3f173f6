"""Draw docs/images/architecture.svg: `python docs/images/architecture.py`."""

from __future__ import annotations

from pathlib import Path

import pymupdf

INK, GREY, NAVY = (0.13, 0.14, 0.16), (0.42, 0.45, 0.5), (0.07, 0.2, 0.34)
WIDTH, HEIGHT = 900, 470
LAYERS = (
    ("app", "command line: index, search, ask, trace, eval", (0.89, 0.92, 0.96)),
    ("evaluation", "runs benchmarks, scores trajectories", (0.88, 0.94, 0.93)),
    ("agent", "plan, execute, synthesise, verify, decide; budget; trace", (0.99, 0.94, 0.85)),
    ("tools", "page reader, page retriever, region locator, calculator ...", (0.95, 0.91, 0.96)),
    ("retrieval", "ingest, OCR, layout; BM25, vectors, page images; store", (0.91, 0.95, 0.88)),
)
STEPS = ("plan", "execute", "synthesise", "verify", "decide")


def draw() -> str:
    """The picture as SVG."""
    page = pymupdf.open().new_page(width=WIDTH, height=HEIGHT)
    page.draw_rect(page.rect, color=None, fill=(1, 1, 1))
    _layers(page)
    _run(page)
    return str(page.get_svg_image(text_as_path=True))


def _layers(page: pymupdf.Page) -> None:
    _text(page, (28, 34), "Packages: each imports only what stands below it", 13, bold=True)
    for i, (name, content, fill) in enumerate(LAYERS):
        top = 54 + 70 * i
        box = pymupdf.Rect(28, top, 452, top + 54)
        page.draw_rect(box, color=NAVY, fill=fill, width=0.8, radius=0.08)
        _text(page, (44, top + 23), name, 14, bold=True, colour=NAVY)
        _text(page, (44, top + 42), content, 11)
        if i:
            _arrow(page, (420, top - 16), (420, top - 1))
    page.draw_rect(pymupdf.Rect(28, 412, 452, 448), color=GREY, fill=(0.96, 0.96, 0.96), width=0.8, dashes="[3 2]")
    _text(page, (44, 435), "collection.sqlite: pages, postings, vectors, by content hash", 11)
    _arrow(page, (420, 388), (420, 411))


def _run(page: pymupdf.Page) -> None:
    _text(page, (520, 34), "One run of a question", 13, bold=True)
    for i, step in enumerate(STEPS):
        top = 54 + 58 * i
        page.draw_rect(pymupdf.Rect(560, top, 700, top + 36), color=NAVY, fill=LAYERS[2][2], width=0.8, radius=0.2)
        _text(page, (630, top + 23), step, 13, centre=True)
        if i:
            _arrow(page, (630, top - 22), (630, top - 1))
    page.draw_polyline([(560, 304), (524, 304), (524, 72), (550, 72)], color=GREY, width=1)
    _arrow(page, (540, 72), (559, 72), colour=GREY)
    for i, note in enumerate(("replan: evidence", "is missing and", "budget is left")):
        _text(page, (470, 388 + 15 * i), note, 10, colour=GREY)
    page.draw_line((524, 304), (505, 374), color=GREY, width=0.5, dashes="[2 2]")
    for note, step in (
        ("rules in this profile", 0),
        ("tools: evidence with boxes", 1),
        ("answer and facts", 2),
        ("claims against evidence", 3),
    ):
        _text(page, (712, 76 + 58 * step), note, 11, colour=GREY)
    for x, outcome in ((600, "answer"), (690, "abstain")):
        _arrow(page, (630 if x == 600 else 660, 322), (x, 364))
        page.draw_rect(pymupdf.Rect(x - 38, 365, x + 38, 393), color=NAVY, fill=(1, 1, 1), width=0.8, radius=0.2)
        _text(page, (x, 383), outcome, 12, centre=True)
    _text(page, (580, 418), "Either way: a trajectory (pages, regions,", 11)
    _text(page, (580, 434), "facts, answer) and a trace of every step.", 11)


def _text(
    page: pymupdf.Page,
    at: tuple[float, float],
    text: str,
    size: float,
    *,
    bold: bool = False,
    centre: bool = False,
    colour: tuple[float, float, float] = INK,
) -> None:
    face = "hebo" if bold else "helv"
    x = at[0] - pymupdf.get_text_length(text, fontname=face, fontsize=size) / 2 if centre else at[0]
    page.insert_text((x, at[1]), text, fontname=face, fontsize=size, color=colour)


def _arrow(
    page: pymupdf.Page,
    tail: tuple[float, float],
    head: tuple[float, float],
    *,
    colour: tuple[float, float, float] = NAVY,
) -> None:
    end = pymupdf.Point(head)
    along = (end - pymupdf.Point(tail)).unit
    across = pymupdf.Point(-along.y, along.x)
    page.draw_line(tail, end - along * 6, color=colour, width=1)
    page.draw_polyline(
        [end, end - along * 7 + across * 3.5, end - along * 7 - across * 3.5, end], color=colour, fill=colour
    )


if __name__ == "__main__":
    (Path(__file__).parent / "architecture.svg").write_text(draw(), encoding="utf-8")
