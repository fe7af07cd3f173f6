"""How fast docsage reads, beside the bare libraries under it: the same pages, in turns, on the same cores.

    python benchmarks/ingest.py FOLDER [--pages 400] [--scans 12] [--rounds 3] [--workers 2]

Prints two ratios: digital ingest (text, reading order, blocks, labels, index; no vectors) over bare PyMuPDF extraction
of the same pages' lines, and OCR over bare RapidOCR in its better arrangement on the same cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
from rich.console import Console
from rich.table import Table

from retrieval.collection import Collection
from retrieval.ingest import pdf
from retrieval.settings import IngestSettings, RetrievalSettings

_ENGINE: Any = None


def main() -> None:
    options = _options()
    digital, scans = _gather(options.folder, options.pages, options.scans)
    table = Table("what", "pages", "docsage pages/s", "bare pages/s", "ratio", "wanted")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if digital:
            table.add_row(*_digital(digital, work, options))
        if scans:
            table.add_row(*_ocr(scans, work, options))
    Console().print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=400, help="at most so many pages with text")
    parser.add_argument("--scans", type=int, default=12, help="at most so many pages to OCR")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _gather(folder: Path, pages: int, scans: int) -> tuple[list[Path], list[tuple[Path, int]]]:
    """Files whose pages all have text, and single pages without text."""
    digital: list[Path] = []
    images: list[tuple[Path, int]] = []
    count = 0
    for path in sorted(folder.rglob("*.pdf")):
        with pdf.open_pdf(path) as document:
            bare = [n for n in range(document.page_count) if not document[n].get_text().strip()]
            images.extend((path, n) for n in bare)
            if not bare and count < pages and not any(_is_stamped(page) for page in document):
                digital.append(path)
                count += document.page_count
    return digital, images[:: max(len(images) // scans, 1)][:scans]


def _is_stamped(page: Any) -> bool:
    """A page that docsage would OCR for all its text layer: hardly any text."""
    return len(page.get_text().strip()) < 60


def _digital(paths: list[Path], work: Path, options: argparse.Namespace) -> list[str]:
    pages = _extract(paths)
    ours, bare = [], []
    for n in range(options.rounds):
        bare.append(_seconds(lambda: _extract(paths)))
        ours.append(_seconds(lambda n=n: _ingest(paths, work / f"digital{n}", options.workers)))
    return _row("digital ingest / PyMuPDF lines", pages, ours, bare, "0.33")


def _extract(paths: list[Path]) -> int:
    """Bare PyMuPDF: every page's lines, pictures left out, in one process."""
    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES
    count = 0
    for path in paths:
        with pymupdf.open(path) as document:
            for page in document:
                page.get_text("dict", flags=flags)
                count += 1
    return count


def _ingest(paths: list[Path], root: Path, workers: int) -> None:
    settings = RetrievalSettings(ingest=IngestSettings(workers=workers))
    collection = Collection(root, settings)
    collection.read(paths)
    collection.close()


def _ocr(scans: list[tuple[Path, int]], work: Path, options: argparse.Namespace) -> list[str]:
    """The scanned pages as one PDF; pages of it go to bare RapidOCR as the images that docsage renders."""
    path = work / "scans.pdf"
    with pymupdf.open() as joined:
        for source, n in scans:
            with pymupdf.open(source) as document:
                joined.insert_pdf(document, from_page=n, to_page=n)
        joined.save(path)
    ours: list[float] = []
    threads: list[float] = []
    processes: list[float] = []
    for n in range(options.rounds):
        threads.append(_seconds(lambda: _bare_threads(path, len(scans), options.workers)))
        ours.append(_seconds(lambda n=n: _ingest([path], work / f"ocr{n}", options.workers)))
        processes.append(_seconds(lambda: _bare_processes(path, len(scans), options.workers)))
    best = min(threads, processes, key=statistics.median)
    return _row("OCR / bare RapidOCR", len(scans), ours, best, "0.9")


def _bare_threads(path: Path, pages: int, threads: int) -> None:
    """One process, RapidOCR's defaults, as many threads as cores."""
    _start(threads)
    for n in range(pages):
        _read((path, n))


def _bare_processes(path: Path, pages: int, workers: int) -> None:
    """One process a core, RapidOCR's defaults but for one thread each."""
    with multiprocessing.get_context("spawn").Pool(workers, _start, (1,)) as pool:
        pool.map(_read, [(path, n) for n in range(pages)], chunksize=1)


def _start(threads: int) -> None:
    global _ENGINE
    from rapidocr import RapidOCR

    _ENGINE = RapidOCR(
        params={"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": threads}
    )


def _read(task: tuple[Path, int]) -> None:
    path, n = task
    with pdf.open_pdf(path) as document:
        side = max(pdf.page_size(document[n]))
        pixmap = pdf.render(document[n], dpi=min(150.0, 2000 * 72 / side))
    image = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
    _ENGINE(np.ascontiguousarray(image[:, :, ::-1]))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _row(what: str, pages: int, ours: list[float], bare: list[float], wanted: str) -> list[str]:
    mine, theirs = pages / statistics.median(ours), pages / statistics.median(bare)
    return [what, str(pages), f"{mine:.2f}", f"{theirs:.2f}", f"{mine / theirs:.2f}", f">= {wanted}"]


if __name__ == "__main__":
    main()
