"""Answers that stand in tables: how many are right, how many are withheld, and what each question came to.

    python benchmarks/table_answers.py --questions questions.jsonl --documents DIR --collection DIR [--which cells]
    python benchmarks/table_answers.py --mmlongbench DATA --collection DIR

`--questions`: JSON lines with `id`, `question`, `answers`, `pdf` and gold `pages`. `--which cells`: those whose gold
answer is the whole text of a table cell on a gold page (on any page where none is known), as PyMuPDF's words stand:
a rule of its own, so that it doesn't depend on the tables that are read here. `--which numbers` asks all whose gold
answer is a number, calculated ones too. `--mmlongbench`: the questions of MMLongBench-Doc with a table as evidence, by
its own scorer. Each question is asked over its own document.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

import pymupdf

from agent.build import Agent, build_agent
from agent.synthesizer import ExtractiveSynthesizer
from evaluation.metrics.mmlongbench import score_answer
from evaluation.mmlongbench.samples import load_samples
from evaluation.mmlongbench.short_answers import short_answer
from retrieval.collection import Collection
from retrieval.types import Scope

_NUMBER = re.compile(r"[-−–]?\(?[-−–]?\s*[$€£¥]?\s*(\d[\d,]*(?:\.\d+)?|\.\d+)\s*(%|percent)?\s*\)?")
_SCALES = {"thousand": 3, "million": 6, "billion": 9}
_ENOUGH = 0.5
"""From this score on MMLongBench-Doc's scorer counts as right here; it gives shares for lists and similar strings."""
_GAP = 0.6
"""Words further apart than this share of their height belong to different cells."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what counts as right: one of `accepted`, or all of `parts`."""

    id: str
    question: str
    pdf: Path
    pages: tuple[int, ...]
    accepted: tuple[str, ...]
    every: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question came to. `candidate` is what the agent would have said when it abstained."""

    id: str
    question: str
    gold: tuple[str, ...]
    answer: str | None
    candidate: str | None
    right: bool
    candidate_right: bool
    on_gold_page: bool
    reason: str
    facts: tuple[str, ...]


def load(questions: Path, documents: Path) -> list[Asked]:
    """The questions of a file. Several answers of one question are parts of it, except where one is a fraction."""
    found = []
    for line in questions.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        every = len(item["answers"]) > 1 and "FinQA" not in item["source"]
        pdf = documents / Path(item["pdf"]).name
        found.append(
            Asked(item["id"], item["question"], pdf, tuple(item["pages"] or ()), tuple(item["answers"]), every)
        )
    return found


def numbers(text: str) -> list[Decimal]:
    """The numbers of a text; brackets and a leading dash make them negative. Years beside other numbers stay."""
    found = []
    for match in _NUMBER.finditer(text):
        number = Decimal(match.group(1).replace(",", ""))
        negative = match.group().lstrip("$ ")[:1] in "-−–" or (
            match.group().lstrip("$ ")[:1] == "(" and ")" in match.group()
        )
        found.append(-number if negative else number)
    return found


def equal(gold: str, answer: str, *, exact: bool) -> bool:
    """Whether an answer says the gold one: the same number, scaled only where one of them names a scale, or text.

    A calculated answer may be off by half a percent, or by half of the gold one's last decimal.
    """
    wanted, got = numbers(gold), numbers(answer)
    if len(wanted) != 1:
        return _plain(gold) == _plain(answer)
    slack = Decimal(0) if exact else max(abs(wanted[0]) * Decimal("0.005"), _half_digit(wanted[0]))
    given = [got[-1]] if len(got) > 1 and not exact else got
    scale = _scale(gold) - _scale(answer)
    exponents = {0, scale} if scale else {0}
    if not exact and "%" in answer and abs(wanted[0]) < 1:
        exponents.add(2)
    return any(
        abs(abs(number) - abs(wanted[0]) * Decimal(10) ** power) <= slack for number in given for power in exponents
    )


def _half_digit(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    return Decimal(1).scaleb(exponent) / 2 if isinstance(exponent, int) and exponent < 0 else Decimal(0)


def _scale(text: str) -> int:
    return next((power for word, power in _SCALES.items() if word in text.lower()), 0)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


def right(asked: Asked, answer: str | None) -> bool:
    """Whether an answer is right: it says one of the accepted forms, or all parts of it."""
    if not answer:
        return False
    exact = stands_in_cell(asked)
    if asked.every:
        parts = answer.split(";")
        return all(any(equal(gold, part, exact=exact) for part in parts) for gold in asked.accepted)
    return any(equal(gold, answer, exact=exact) for gold in asked.accepted)


def stands_in_cell(asked: Asked) -> bool:
    """Whether each part of the gold answer, or one of its forms, is a whole cell of one gold page."""
    test = all if asked.every else any
    for number, cells in _cells(asked.pdf):
        if asked.pages and number not in asked.pages:
            continue
        if test(_key(gold) in cells for gold in asked.accepted):
            return True
    return False


_known: dict[Path, list[tuple[int, frozenset[str]]]] = {}


def _cells(pdf: Path) -> list[tuple[int, frozenset[str]]]:
    if pdf not in _known:
        with pymupdf.open(pdf) as document:
            _known[pdf] = [(page.number + 1, frozenset(_page_cells(page.get_text("words")))) for page in document]
    return _known[pdf]


def _page_cells(words: Sequence[tuple[float, float, float, float, str, int, int, int]]) -> Iterator[str]:
    """The cells of a page: words of one height that stand together, in rows of two cells at least, with a number."""
    rows: list[list[tuple[float, float, float, float, str]]] = []
    for x1, y1, x2, y2, text, *_ in sorted(words, key=lambda word: (word[1] + word[3]) / 2):
        middle = (y1 + y2) / 2
        if rows and rows[-1][0][1] < middle < rows[-1][0][3]:
            rows[-1].append((x1, y1, x2, y2, text))
        else:
            rows.append([(x1, y1, x2, y2, text)])
    for row in rows:
        cells: list[str] = []
        end = None
        for x1, y1, x2, y2, text in sorted(row):
            if end is not None and x1 - end < _GAP * (y2 - y1):
                cells[-1] += " " + text
            else:
                cells.append(text)
            end = x2
        kept = [cell for cell in cells if re.search(r"\w", cell)]
        if len(kept) >= 2:
            yield from (_key(cell) for cell in kept)


def _key(text: str) -> str:
    """A cell or a gold answer without currency, scale and separators; a number as a plain one."""
    bare = re.sub(r"\b(?:thousand|million|billion|percent)\b|[$€£¥%]", " ", text, flags=re.IGNORECASE).strip()
    found = numbers(bare)
    whole = len(found) == 1 and not re.search(r"[A-Za-z]", bare)
    return f"{abs(found[0]).normalize():f}" if whole else _plain(text)


def ask(asked: Sequence[Asked], collection: Collection, agent: Agent) -> Iterator[Outcome]:
    """Each question over its own document."""
    collection.read(sorted({item.pdf for item in asked}))
    for item in asked:
        known = collection.store.known_file(item.pdf)
        if known is None:
            raise SystemExit(f"{item.pdf} could not be read")
        trajectory = agent.ask(item.question, Scope(doc_ids=(known.doc_id,)))
        yield Outcome(
            id=item.id,
            question=item.question,
            gold=item.accepted,
            answer=trajectory.answer,
            candidate=trajectory.candidate,
            right=right(item, trajectory.answer),
            candidate_right=right(item, trajectory.answer or trajectory.candidate),
            on_gold_page=any(page.ref.page in item.pages for page in trajectory.pages),
            reason=trajectory.reason,
            facts=tuple(fact.text for fact in trajectory.facts),
        )


def ask_mmlongbench(data: Path, collection: Collection, agent: Agent) -> Iterator[Outcome]:
    """The questions of MMLongBench-Doc whose evidence is a table."""
    for sample in load_samples(data):
        if "Table" not in sample.sources:
            continue
        known = collection.store.known_file(data / "documents" / sample.document)
        if known is None:
            raise SystemExit(f"{sample.document} is not in the collection")
        trajectory = agent.ask(sample.question, Scope(doc_ids=(known.doc_id,)))
        given = trajectory.model_copy(update={"answer": trajectory.answer or trajectory.candidate, "abstained": False})
        rights = [score_answer(sample.answer, short_answer(t), sample.answer_format) for t in (trajectory, given)]
        yield Outcome(
            id=sample.id,
            question=sample.question,
            gold=(sample.answer,),
            answer=trajectory.answer,
            candidate=trajectory.candidate,
            right=rights[0] >= _ENOUGH,
            candidate_right=rights[1] >= _ENOUGH,
            on_gold_page=any(page.ref.page in sample.pages for page in trajectory.pages),
            reason=trajectory.reason,
            facts=tuple(fact.text for fact in trajectory.facts),
        )


def main() -> None:
    """Ask, print each outcome as it comes and the sums at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--mmlongbench", type=Path)
    parser.add_argument("--collection", type=Path, required=True)
    parser.add_argument("--which", choices=("cells", "numbers"), default="cells")
    parser.add_argument("--known-pages", action="store_true", help="only questions whose gold page is known")
    parser.add_argument("--rules", action="store_true", help="without the learned reader of running text")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    collection = Collection(args.collection)
    agent = build_agent(collection)
    if args.rules:
        agent = Agent(collection, collection.root, synthesizer=ExtractiveSynthesizer())
    if args.mmlongbench is not None:
        outcomes = ask_mmlongbench(args.mmlongbench, collection, agent)
    elif args.questions is not None and args.documents is not None:
        asked = load(args.questions, args.documents)
        asked = [item for item in asked if _chosen(item, args.which) and (item.pages or not args.known_pages)]
        outcomes = ask(asked, collection, agent)
    else:
        parser.error("give --questions and --documents, or --mmlongbench")
    rows = []
    for outcome in outcomes:
        rows.append(outcome)
        mark = "+" if outcome.right else ("?" if outcome.answer is None and outcome.candidate_right else "-")
        print(
            mark, "" if outcome.on_gold_page else "(other page)", outcome.question[:110], "|", outcome.gold[:2], end=" "
        )
        print("->", repr(outcome.answer or f"[{outcome.candidate}]")[:80], flush=True)
    if args.out is not None:
        args.out.write_text("".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows), "utf-8")
    answered = sum(row.answer is not None for row in rows)
    correct = sum(row.right for row in rows)
    withheld = sum(row.candidate_right and not row.right for row in rows)
    print(
        f"{len(rows)} questions, {correct} right ({100 * correct / max(len(rows), 1):.1f} %), {answered} answered,"
        f" {len(rows) - answered} abstained, of which {withheld} would have been right"
    )


def _chosen(item: Asked, which: str) -> bool:
    if which == "cells":
        return item.accepted[0].lower() not in ("yes", "no") and stands_in_cell(item)
    return any(len(numbers(gold)) == 1 and len(gold) < 40 for gold in item.accepted)


if __name__ == "__main__":
    main()
