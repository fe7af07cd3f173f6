"""Retrieval on other sets than MMLongBench-Doc, and how its time grows.

    python benchmarks/retrieval_sets.py pages --questions questions.jsonl --documents DIR --collection DIR
    python benchmarks/retrieval_sets.py paragraphs squad.json ...
    python benchmarks/retrieval_sets.py scale --collection DIR [--documents-made 1000]

`pages`: JSON lines with `question`, `pdf` (file name) and gold `pages`; each question over its own document, and a hit
is any gold page. `paragraphs`: SQuAD-format files, each paragraph a page of one document (`docsage eval reading --open`
reads what it finds, too). `scale`: the pages of a collection, drawn at random into many documents of 20 pages, searched
as one scope.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from evaluation.reading.corpus import corpus
from evaluation.reading.samples import load_reading_sets
from retrieval.collection import Collection
from retrieval.embedders.e5 import E5
from retrieval.search import Searcher
from retrieval.settings import SearchSettings
from retrieval.store import Store, StoredPage
from retrieval.types import Document, PageRef, Scope

_QUERIES = ("total revenue of the segment", "number of employees", "long-term debt", "risk factors", "net income 2021")


def pages(questions: Path, documents: Path, folder: Path) -> None:
    """Print the share of questions with a gold page within 1, 3, 5 and 10, with and without the finance signals."""
    asked = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    asked = [item for item in asked if item.get("pages")]
    collection = Collection(folder)
    collection.read(sorted({documents / Path(item["pdf"]).name for item in asked}))
    known = {Path(item["pdf"]).name for item in asked}
    doc_ids = {name: found.doc_id for name in known if (found := collection.store.known_file(documents / name))}
    rows: list[tuple[str, dict[str, float]]] = [
        ("all signals", {}),
        ("no statements, no glossary", {"statements": 0, "glossary": 0}),
    ]
    for label, weights in rows:
        searcher = Searcher(collection.store, SearchSettings(**weights), E5())
        ranks = [_first_hit(searcher, item, doc_ids) for item in asked if Path(item["pdf"]).name in doc_ids]
        shares = " ".join(f"@{k} {100 * sum(r <= k for r in ranks) / len(ranks):.1f}" for k in (1, 3, 5, 10))
        print(f"{questions}: {label}: {len(ranks)} questions, {shares}")


def _first_hit(searcher: Searcher, item: dict[str, object], doc_ids: dict[str, str]) -> float:
    scope = Scope(doc_ids=(doc_ids[Path(str(item["pdf"])).name],))
    hits = searcher.search(str(item["question"]), scope, 10).hits
    gold = set(item["pages"])  # type: ignore[call-overload]
    return next((hit.rank for hit in hits if hit.ref.page in gold), float("inf"))


def paragraphs(path: Path) -> None:
    """Print the share of questions whose own paragraph comes first among all of a file."""
    for one in load_reading_sets(path):
        asked = [question for question in one.questions if question.answers]
        with corpus(one.paragraphs) as searched:
            found = [searched.search(question.text, 1) for question in asked]
        right = sum(hits[0].place == q.paragraph for hits, q in zip(found, asked, strict=True) if hits)
        print(
            f"{one.name}: {len(one.paragraphs)} paragraphs, {len(asked)} questions, "
            f"right one first {100 * right / max(len(asked), 1):.1f}"
        )


def scale(folder: Path, made: int) -> None:
    """Print the median time of a search over many documents."""
    source = Store(folder / "collection.sqlite")
    pool = [page for document in source.documents() for page in source.pages(document.doc_id)]
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        store = Store(Path(scratch) / "many.sqlite")
        searcher = Searcher(store, SearchSettings(), E5())
        doc_ids = tuple(f"made{number:06d}" for number in range(made))
        for doc_id in doc_ids:
            store.add_document(Document(doc_id=doc_id, kind="pdf", pages=20))
            drawn = [chance.choice(pool) for _ in range(20)]
            refs = [PageRef(doc_id=doc_id, page=number) for number in range(1, 21)]
            store.put_pages(StoredPage(p.model_copy(update={"ref": r})) for p, r in zip(drawn, refs, strict=True))
            searcher.refresh(doc_id)
        searcher.search(_QUERIES[0], Scope(doc_ids=doc_ids), 10)
        times = []
        for query in _QUERIES * 4:
            begin = time.perf_counter()
            searcher.search(query, Scope(doc_ids=doc_ids), 10)
            times.append(time.perf_counter() - begin)
        store.close()
    print(f"{made} documents, {20 * made} pages: median {1000 * statistics.median(times):.0f} ms a search")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    by_page = modes.add_parser("pages")
    for name in ("--questions", "--documents", "--collection"):
        by_page.add_argument(name, type=Path, required=True)
    modes.add_parser("paragraphs").add_argument("files", type=Path, nargs="+")
    growing = modes.add_parser("scale")
    growing.add_argument("--collection", type=Path, required=True)
    growing.add_argument("--documents-made", type=int, default=1000)
    args = parser.parse_args()
    if args.mode == "pages":
        pages(args.questions, args.documents, args.collection)
    elif args.mode == "paragraphs":
        for path in args.files:
            paragraphs(path)
    else:
        scale(args.collection, args.documents_made)


if __name__ == "__main__":
    main()
