"""A haystack of page images in CHaystack's layout, made from paragraphs that people asked questions about.

    python benchmarks/haystack.py READING OUT [--pages 500] [--kinds scan,photo,web,advert] [--mix 1,1,1,1]
                                  [--questions 1] [--gold cmrc,drcd] [--distractors cmrc,drcd] [--seed 0] [--workers 2]

READING: a folder with `dev` and `train`, which hold SQuAD-format JSON files named after their set and language
(`cmrc_zh.json`, `drcd_zh_hant.json`, `squad_v2_en.json`). OUT gets `data/eval/{paper,camera,webpage,advertise}.jsonl`
with `query`, `answer`, `image_id` (and `answers`, all that were accepted), `data/image/{category}/{image_id}.jpg`, and
`pages.jsonl`, which says what each page shows.

A development paragraph of the gold sets is one gold page with `--questions` of its questions. If there are more of
them than 70 % of the pages, that many are drawn; training paragraphs fill up the rest. Kinds are dealt in turn, to gold
pages and to distractors each. The recipe is fixed:

- scan (paper): 150 dpi, grey, rotation within 1 degree, blur 0.6 pixels, noise of sigma 8, JPEG 60
- photo (camera): 120 dpi, on a desk, corners off by up to 3 %, uneven light, blur 1 pixel, JPEG 50
- web (webpage): 96 dpi, two columns, navigation all around, JPEG 85
- advert (advertise): the title and the sentence that answers, in large type over a picture, JPEG 85

The same choice gives the same bytes on the same machine. An image that is there is kept if recipe, seed and libraries
are the same, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import get_args

import cv2
import numpy as np
from haystack_pages.advertisement import advert
from haystack_pages.paper import photo, scan
from haystack_pages.paragraphs import CATEGORIES, KINDS, Choice, Kind, Leaf, plan
from haystack_pages.webpage import web
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

# A change of what pages look like is a new recipe: images of the old one are made again.
RECIPE = 1
QUALITIES: dict[Kind, int] = {"scan": 60, "photo": 50, "web": 85, "advert": 85}
MAKERS: dict[Kind, Callable[[Leaf, np.random.Generator], Image.Image]] = {
    "scan": scan,
    "photo": photo,
    "web": web,
    "advert": advert,
}
_MANIFEST = "haystack.json"
_CHUNK = 8


class _Rate(ProgressColumn):
    """Pages a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f} pages/s" if task.speed else "")


def main() -> None:
    options = _options()
    choice = Choice(
        options.pages, options.gold, options.distractors or options.gold, options.kinds, options.mix, options.questions,
        options.seed,
    )  # fmt: skip
    leaves = plan(options.reading, choice)
    make(leaves, options.out, seed=options.seed, workers=options.workers)
    _report(leaves, options.out, options.pages)


def make(leaves: Sequence[Leaf], out: Path, *, seed: int = 0, workers: int = 1) -> None:
    """Write pages and their questions under `out`; images of the same recipe that are there are kept, others deleted.

    The questions come last: a folder that has them is complete.
    """
    prepare(leaves, out, seed)
    missing = [leaf for leaf in leaves if not image_path(out, leaf).exists()]
    columns = (TextColumn("pages"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("pages", total=len(leaves), completed=len(leaves) - len(missing))
        for count in _written(missing, out, seed, workers):
            progress.advance(task, count)
    _write_lines(out / "pages.jsonl", map(_described, leaves))
    for kind, category in CATEGORIES.items():
        chosen = [leaf for leaf in leaves if leaf.kind == kind]
        _write_lines(out / "data" / "eval" / f"{category}.jsonl", (row for leaf in chosen for row in _asked(leaf)))


def prepare(leaves: Sequence[Leaf], out: Path, seed: int) -> None:
    """Make the folders, and delete what an earlier run left that isn't part of these pages; refuse other folders."""
    manifest, current = out / _MANIFEST, fingerprint(seed)
    if not manifest.exists() and out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out} holds other files and no {_MANIFEST}: name a new or empty folder")
    same = manifest.exists() and json.loads(manifest.read_text(encoding="utf-8"))["fingerprint"] == current
    wanted = {image_path(out, leaf) for leaf in leaves} if same else set()
    for path in [*out.glob("data/image/*/*"), *out.glob("data/eval/*.jsonl"), *out.glob("pages.jsonl")]:
        if path not in wanted:
            path.unlink()
    for category in CATEGORIES.values():
        (out / "data" / "image" / category).mkdir(parents=True, exist_ok=True)
    (out / "data" / "eval").mkdir(exist_ok=True)
    manifest.write_text(json.dumps({"recipe": RECIPE, "seed": seed, "fingerprint": current}) + "\n", encoding="utf-8")


def fingerprint(seed: int) -> str:
    """What the bytes of a page depend on beside its text: recipe, seed, and the libraries that draw it."""
    libraries = {name: version(name) for name in ("numpy", "pillow", "pymupdf")} | {"opencv": cv2.__version__}
    return hashlib.sha256(json.dumps([RECIPE, seed, libraries, QUALITIES], sort_keys=True).encode()).hexdigest()[:16]


def image_path(out: Path, leaf: Leaf) -> Path:
    """Where a page's image is."""
    return out / "data" / "image" / CATEGORIES[leaf.kind] / f"{leaf.image_id}.jpg"


def render(leaf: Leaf, seed: int = 0) -> bytes:
    """A page as JPEG; the same bytes for the same page and seed."""
    cv2.setNumThreads(1)
    digest = hashlib.sha256(f"{seed} {leaf.image_id}".encode()).digest()
    image = MAKERS[leaf.kind](leaf, np.random.default_rng(int.from_bytes(digest[:8], "big")))
    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=QUALITIES[leaf.kind], dpi=(96, 96) if leaf.kind == "web" else (150, 150))
    return buffer.getvalue()


def _written(leaves: Sequence[Leaf], out: Path, seed: int, workers: int) -> Iterable[int]:
    """Write images, in processes of their own if there are many; yields how many more are there."""
    chunks = [leaves[start : start + _CHUNK] for start in range(0, len(leaves), _CHUNK)]
    write = partial(_write_images, out=out, seed=seed)
    if workers == 1 or len(chunks) < 2:
        yield from map(write, chunks)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(write, chunk) for chunk in chunks]):
            yield future.result()


def _write_images(leaves: Sequence[Leaf], out: Path, seed: int) -> int:
    for leaf in leaves:
        path = image_path(out, leaf)
        part = path.with_suffix(f".part{os.getpid()}")
        part.write_bytes(render(leaf, seed))
        part.replace(path)
    return len(leaves)


def _asked(leaf: Leaf) -> list[dict[str, object]]:
    return [
        {"query": asked.text, "answer": asked.answers[0], "image_id": leaf.image_id, "answers": asked.answers}
        for asked in leaf.questions
    ]


def _described(leaf: Leaf) -> dict[str, object]:
    row = asdict(leaf)
    row["questions"] = len(leaf.questions)
    return {**row, "category": CATEGORIES[leaf.kind], "gold": bool(leaf.questions)}


def _write_lines(path: Path, rows: Iterable[dict[str, object]]) -> None:
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    part.replace(path)


def _report(leaves: Sequence[Leaf], out: Path, wanted: int) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[str] = Counter()
    for leaf in leaves:
        counts[leaf.kind, "gold" if leaf.questions else "distractors"] += 1
        counts[leaf.kind, "questions"] += len(leaf.questions)
        counts[leaf.kind, leaf.source] += 1
        sizes[leaf.kind] += image_path(out, leaf).stat().st_size
    names = ["gold", "distractors", "questions", *sorted({leaf.source for leaf in leaves})]
    table = Table("kind", *names, "MB")
    for kind in (kind for kind in KINDS if sizes[kind]):
        table.add_row(kind, *(str(counts[kind, name]) for name in names), f"{sizes[kind] / 1e6:.1f}")
    totals = [str(sum(counts[kind, name] for kind in KINDS)) for name in names]
    table.add_row("all", *totals, f"{sizes.total() / 1e6:.1f}")
    Console().print(table)
    if len(leaves) != wanted:
        print(f"{len(leaves)} pages, not {wanted}: there are no more paragraphs")


def _kinds(text: str) -> tuple[Kind, ...]:
    kinds: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in _names(text))
    if len(kinds) != len(_names(text)):
        raise argparse.ArgumentTypeError(f"{text!r}: name some of {', '.join(get_args(Kind))}, each once")
    return kinds


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reading", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--kinds", type=_kinds, default=KINDS)
    parser.add_argument(
        "--mix", type=lambda text: tuple(map(float, _names(text))), help="shares of scan, photo, web, advert"
    )
    parser.add_argument("--questions", type=int, default=1, help="at most so many a gold page")
    parser.add_argument("--gold", type=_names, default=("cmrc", "drcd"))
    parser.add_argument("--distractors", type=_names, help="sets whose training paragraphs are distractors; as --gold")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.mix = options.mix or (1.0,) * len(options.kinds)
    if len(options.mix) != len(options.kinds) or min(options.mix) <= 0:
        parser.error(f"--mix takes {len(options.kinds)} shares above 0, one for each kind of --kinds")
    if min(options.pages, options.questions, options.workers) < 1:
        parser.error("--pages, --questions and --workers are 1 or more")
    return options


if __name__ == "__main__":
    main()
