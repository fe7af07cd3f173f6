"""What each signal of the search is worth on MMLongBench-Doc: recall and all-hit by cutoff, one signal left out a row.

    python benchmarks/retrieval_ablation.py --data DIR --collection DIR

The collection must hold the documents, read and enriched (`docsage eval mmlongbench-doc` or `docsage index` does it).
Rows that leave OCR out search a copy of the collection without those lines, made in a temporary folder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from evaluation.metrics.retrieval import RankedPages, retrieval_scores
from evaluation.mmlongbench.samples import Sample, document_paths, load_samples
from retrieval.embedders.e5 import E5
from retrieval.search import Searcher
from retrieval.settings import SearchSettings
from retrieval.store import Store, StoredPage
from retrieval.types import Page, PageRef, Scope

BM25_ALONE = {"passage_bm25": 0, "vectors": 0, "structure": 0, "statements": 0, "neighbours": 0, "glossary": 0}


def is_page_ocr(page: Page) -> bool:
    """Whether the page has no text layer of its own: all that was read came from its image."""
    return all(line.source == "ocr" for line in page.lines)


def without(store: Store, folder: Path, name: str, drop: Callable[[Page], bool]) -> Store:
    """A copy of the pages in which pages for which `drop` holds lose their OCR lines."""
    copy = Store(folder / f"{name}.sqlite")
    for document in store.documents():
        copy.add_document(document)
        pages = []
        for page in store.pages(document.doc_id):
            kept = tuple(ln for ln in page.lines if ln.source == "pdf") if drop(page) else page.lines
            pages.append(StoredPage(page.model_copy(update={"lines": kept, "blocks": ()})))
        copy.put_pages(pages)
    return copy


def score(store: Store, samples: list[Sample], doc_ids: dict[str, str], settings: SearchSettings) -> str:
    """One row: all-hit@1, 3, 5, 10 and recall@10, in percent."""
    searcher = Searcher(store, settings, E5())
    for doc_id in set(doc_ids.values()):
        searcher.refresh(doc_id)
    items = []
    for sample in samples:
        if sample.pages and sample.document in doc_ids:
            doc_id = doc_ids[sample.document]
            gold = frozenset(PageRef.model_construct(doc_id=doc_id, page=page) for page in sample.pages)
            hits = searcher.search(sample.question, Scope(doc_ids=(doc_id,)), 10).hits
            items.append(RankedPages.model_construct(gold=gold, ranking=tuple(hit.ref for hit in hits)))
    scores = retrieval_scores(items)
    cells = [scores[f"all_hit@{k}"].value for k in (1, 3, 5, 10)] + [scores["recall@10"].value]
    return " | ".join("-" if cell is None else f"{100 * cell:.1f}" for cell in cells) + f" | {len(items)}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collection", type=Path, required=True)
    args = parser.parse_args()
    store = Store(args.collection / "collection.sqlite")
    samples = load_samples(args.data)
    paths = document_paths(args.data, samples)
    doc_ids = {name: known.doc_id for name, path in paths.items() if (known := store.known_file(path)) is not None}
    print("| signals | all-hit@1 | @3 | @5 | @10 | recall@10 | questions |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        raw = without(store, Path(folder), "raw", lambda page: True)
        no_page_ocr = without(store, Path(folder), "no-page-ocr", is_page_ocr)
        no_figures = without(store, Path(folder), "no-figures", lambda page: not is_page_ocr(page))
        rows: list[tuple[str, Store, dict[str, float]]] = [
            ("page BM25, text layer only", raw, BM25_ALONE),
            ("page BM25, with OCR", store, BM25_ALONE),
            ("all signals", store, {}),
            ("without OCR of pages", no_page_ocr, {"vectors": 0}),
            ("without OCR of figures", no_figures, {"vectors": 0}),
            *((f"without {name}", store, {name: 0}) for name in BM25_ALONE),
            ("without vectors, glossary, statements", store, {"vectors": 0, "glossary": 0, "statements": 0}),
        ]
        for label, where, weights in rows:
            print(f"| {label} | {score(where, samples, doc_ids, SearchSettings(**weights))} |", flush=True)


if __name__ == "__main__":
    main()
