"""Write the three sample documents and their questions: `python samples/make_samples.py [FOLDER]`.

Nothing is random and nothing is read: text, figures and scanner noise come from the modules beside this one, so the
same PyMuPDF and Pillow give the same files. FOLDER defaults to the folder of this script.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import classical
import harbour
import harbour_layout
import notice
import pymupdf
from questions import LEAF, NOTICE, QUESTIONS, REPORT, Question

SIZES = {
    REPORT: (harbour_layout.WIDTH, harbour_layout.HEIGHT),
    NOTICE: (notice.WIDTH, notice.HEIGHT),
    LEAF: (classical.WIDTH, classical.HEIGHT),
}
Regions = dict[str, tuple[int, pymupdf.Rect]]


def write(folder: Path) -> None:
    """Write the documents and `questions.jsonl` into an existing folder."""
    built = {REPORT: harbour.build(), NOTICE: notice.build(), LEAF: classical.build()}
    for name, (content, _) in built.items():
        (folder / name).write_bytes(content)
    rows = [_row(i, question, built[question.document][1]) for i, question in enumerate(QUESTIONS, 1)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "questions.jsonl").write_text(text, encoding="utf-8")


def _row(number: int, question: Question, regions: Regions) -> dict[str, object]:
    """One line of `questions.jsonl`: the region is [x1, y1, x2, y2] in [0, 1] of the page as displayed."""
    page, region = None, None
    if question.region is not None:
        page, box = regions[question.region]
        width, height = SIZES[question.document]
        region = [round(v, 4) for v in (box.x0 / width, box.y0 / height, box.x1 / width, box.y1 / height)]
    return {
        "id": f"s{number:02}",
        "doc": question.document,
        "question": question.text,
        "answer": question.answer,
        "page": page,
        "region": region,
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
