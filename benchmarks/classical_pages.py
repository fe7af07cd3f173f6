"""Pages of old books with questions of AncientDoc's five tasks, made from parallel texts; the same ones each time.

    python benchmarks/classical_pages.py CLASSICAL --out DIR [--pages 20] [--notes] [--punctuation] [--simplified]
                                         [--no-rules] [--columns 10] [--rows 20] [--pdf]

CLASSICAL: a folder with `parallel_chapters.jsonl` (`book`, `chapter`, and `classical` and `modern` as lists of
sentences that go together) and, if there, `aclue.jsonl` (`question`, `options`, `answers`). A page is printed as from a
wood block: characters in columns from right to left, the chapter in the first one, no punctuation. `--notes` sets every
third sentence as an annotation of two small columns within the column, `--pdf` writes PDFs with a text layer and no
images. DIR gets the pages and `questions.jsonl` with `id`, `image`, `task`, `question`, `reference`:

- ocr: the text of the page, a line a column
- translation: the modern sentences
- reasoning_qa: the sentence that follows another one
- knowledge_qa: the book, which the page doesn't name
- linguistic_qa: a question of ACLUE on a word in a sentence of the page, else what a sentence of it means
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pymupdf
from opencc import OpenCC

WIDTH, HEIGHT = 600.0, 800.0
FRAME = pymupdf.Rect(40, 60, 560, 750)
_DPI = 144
_NOT_HAN = re.compile(r"[^\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SPACE = re.compile(r"\s")
_BRACKETED = re.compile(r"\[\s*([\u3400-\u9fff])\s*\]")
_WORD_QUESTION = re.compile(r"“[\u3400-\u9fff]”字(.+?)(?:的是)?[（(]?[）)]?$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text; `note` sets it in two small columns."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """How pages are set. The first of `columns` is the title's where there is one."""

    columns: int = 10
    rows: int = 20
    rules: bool = True


@dataclass(slots=True)
class Column:
    """One column as set: characters with their place across and along it, in characters, and their size."""

    glyphs: list[tuple[str, float, float, float]] = field(default_factory=list)
    height: float = 0.0

    @property
    def text(self) -> str:
        """The characters in the order in which they are read."""
        return "".join(glyph[0] for glyph in self.glyphs)


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a page is made from: sentences of one chapter with their modern forms, in the characters of the page."""

    book: str
    chapter: str
    classical: tuple[str, ...]
    modern: tuple[str, ...]


def set_columns(pieces: Sequence[Piece], rows: int) -> list[Column]:
    """Text set into columns of `rows` characters; a note that doesn't fit goes on in the next column."""
    columns = [Column()]
    for piece in pieces:
        rest = piece.text
        while rest:
            room = int((rows - columns[-1].height) * (4 if piece.note else 1))
            if room < (2 if piece.note else 1):
                columns.append(Column())
                continue
            _place(columns[-1], rest[:room], note=piece.note)
            rest = rest[room:]
    return columns


def _place(column: Column, text: str, *, note: bool) -> None:
    """Put text at the end of a column: one character a step, or a note's two halves beside each other, right first."""
    if not note:
        column.glyphs += [(char, 0.0, column.height + n + 0.5, 1.0) for n, char in enumerate(text)]
        column.height += len(text)
        return
    half = (len(text) + 1) // 2
    for side, part in ((0.29, text[:half]), (-0.29, text[half:])):
        column.glyphs += [(char, side, column.height + 0.5 * n + 0.25, 0.52) for n, char in enumerate(part)]
    column.height += 0.5 * half + 0.15


def draw(page: pymupdf.Page, columns: Sequence[Column], look: Look) -> list[pymupdf.Rect]:
    """Draw columns from right to left in a double frame; the box of each column's characters, in points."""
    font = pymupdf.Font("cjk")
    across, down = FRAME.width / look.columns, (FRAME.height - 12) / look.rows
    size = min(0.86 * across, 0.92 * down)
    boxes = []
    for number, column in enumerate(columns):
        middle = FRAME.x1 - across * (number + 0.5)
        box = pymupdf.Rect()
        for char, aside, along, scale in column.glyphs:
            x, y, em = middle + aside * size, FRAME.y0 + 6 + along * down, size * scale
            writer = pymupdf.TextWriter(page.rect)
            writer.append((x - em / 2, y + 0.38 * em), char, font=font, fontsize=em)
            writer.write_text(page)
            box |= pymupdf.Rect(x - em / 2, y - em / 2, x + em / 2, y + em / 2)
        boxes.append(box)
    if look.rules:
        page.draw_rect(pymupdf.Rect(FRAME.x0 - 6, FRAME.y0 - 6, FRAME.x1 + 6, FRAME.y1 + 6), width=3.5)
        page.draw_rect(FRAME, width=0.9)
        for n in range(1, look.columns):
            page.draw_line((FRAME.x1 - across * n, FRAME.y0), (FRAME.x1 - across * n, FRAME.y1), width=0.7)
    return boxes


def write_page(columns: Sequence[Column], look: Look, path: Path) -> list[pymupdf.Rect]:
    """Write a page as PNG or, for a path that ends so, as a PDF with a text layer; the boxes of its columns."""
    with pymupdf.open() as document:
        page = document.new_page(width=WIDTH, height=HEIGHT)
        boxes = draw(page, columns, look)
        if path.suffix == ".pdf":
            document.subset_fonts()
            document.save(path, garbage=3, deflate=True, no_new_id=True)
        else:
            page.get_pixmap(dpi=_DPI, colorspace=pymupdf.csGRAY).save(path)
    return boxes


def leaves(folder: Path, *, room: int, punctuation: bool, simplified: bool) -> Iterator[Leaf]:
    """Sentences for pages of `room` characters: the first page of each chapter, then the second of each, and so on."""
    convert = (lambda text: text) if simplified else OpenCC("s2t").convert
    drop = _SPACE if punctuation else _NOT_HAN
    queues = []
    for chapter in _lines(folder / "parallel_chapters.jsonl"):
        sentences = [drop.sub("", convert(text)) for text in chapter["classical"]]
        queues.append(_cut(chapter, sentences, room))
    while queues:
        queues = [queue for queue in queues if queue]
        for queue in queues:
            yield queue.pop(0)


def _cut(chapter: dict, sentences: Sequence[str], room: int) -> list[Leaf]:
    """The pages of a chapter, whole sentences each; those that are too short for questions are left out."""
    found, start = [], 0
    while start < len(sentences):
        stop, used = start, 0
        while stop < len(sentences) and used + len(sentences[stop]) <= room:
            used += len(sentences[stop])
            stop += 1
        if stop - start >= 3:
            title = chapter["chapter"].split("/")[-1]
            modern = tuple(chapter["modern"][start:stop])
            found.append(Leaf(chapter["book"], title, tuple(sentences[start:stop]), modern))
        start = max(stop, start + 1)
    return found


def questions(
    leaf: Leaf, columns: Sequence[Column], exam: Sequence[tuple[str, str, str]]
) -> dict[str, tuple[str, str]]:
    """Question and reference by task."""
    known = [
        n for n, text in enumerate(leaf.classical[:-1]) if 4 <= len(text) <= 24 and leaf.classical.count(text) == 1
    ]
    at = known[len(known) // 2] if known else 0
    return {
        "ocr": ("请按从右到左、从上到下的顺序抄录这一页的文字。", "\n".join(column.text for column in columns)),
        "translation": ("请把这一页翻译成现代汉语。", "".join(leaf.modern)),
        "reasoning_qa": (f"这一页中“{leaf.classical[at]}”之后紧接着的是哪一句？", leaf.classical[at + 1]),
        "knowledge_qa": ("这一页的文字出自哪部书？", leaf.book),
        "linguistic_qa": _word_question(leaf, exam)
        or (f"这一页中“{leaf.classical[at]}”一句是什么意思？", leaf.modern[at]),
    }


def _word_question(leaf: Leaf, exam: Sequence[tuple[str, str, str]]) -> tuple[str, str] | None:
    text = OpenCC("t2s").convert(_NOT_HAN.sub("", "".join(leaf.classical)))
    return next(((asked, answer) for sentence, asked, answer in exam if sentence in text), None)


def exam_questions(folder: Path) -> list[tuple[str, str, str]]:
    """(sentence, question on a word in it, whether it is so), from the options of ACLUE's multiple choices."""
    path = folder / "aclue.jsonl"
    found = []
    for entry in _lines(path) if path.exists() else ():
        asked = _WORD_QUESTION.search(entry["question"])
        for option in entry["options"] if asked else ():
            sentence, word = _NOT_HAN.sub("", option), _BRACKETED.search(option)
            if word and len(sentence) >= 5:
                text = f"这一页的“{sentence}”中，“{word.group(1)}”字是不是{asked.group(1).removeprefix('是')}？"
                found.append((sentence, text, "是" if option in entry["answers"] else "不是"))
    return found


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _pieces(leaf: Leaf, *, notes: bool) -> list[Piece]:
    return [Piece(text, notes and n % 3 == 2) for n, text in enumerate(leaf.classical)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--rows", type=int, default=20)
    for flag in ("--notes", "--punctuation", "--simplified", "--no-rules", "--pdf"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    look = Look(options.columns, options.rows, not options.no_rules)
    options.out.mkdir(parents=True, exist_ok=True)
    # A note leaves a gap below it, and what is left of a column at its end stays empty.
    room = (look.columns - 1) * look.rows - (2 * look.columns if options.notes else 0)
    exam = exam_questions(options.folder)
    made = leaves(options.folder, room=room, punctuation=options.punctuation, simplified=options.simplified)
    with (options.out / "questions.jsonl").open("w", encoding="utf-8") as file:
        for number, leaf in enumerate(islice(made, options.pages), 1):
            title = leaf.chapter if options.simplified else OpenCC("s2t").convert(leaf.chapter)
            columns = [
                *set_columns([Piece(title)], look.rows),
                *set_columns(_pieces(leaf, notes=options.notes), look.rows),
            ]
            name = f"page-{number:03d}.{'pdf' if options.pdf else 'png'}"
            write_page(columns, look, options.out / name)
            for task, (question, reference) in questions(leaf, columns, exam).items():
                row = {"id": f"{number:03d}-{task}", "image": name, "task": task}
                file.write(json.dumps({**row, "question": question, "reference": reference}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
