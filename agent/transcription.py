"""Transcriptions: the text of a page as it stands there, in reading order, one quote for each block or column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.draft import Draft, Request
from agent.matching import is_chinese
from agent.page_rows import line_groups, page_rows, row_text
from agent.question import Question
from agent.ranking import PageRead
from agent.values import han_number
from retrieval.text.references import references
from retrieval.types import Page
from tools.characters import normalize
from tools.types import Quote

MOST_QUOTES = 50
"""Quotes that the region locator takes in one call; columns are grouped where a page has more."""
_GUESSED = 0.6
"""What a transcription is worth of a page that the question doesn't name among several."""
_ABOUT = re.compile(
    r"\b(?:about|regarding|concerning)\b|^(?:how|why|which|who|whom|whose|when|where)\b|关于|有关|如何|怎[么样]|为何|为什么"
    r"|多少|谁|何[时人处地]|哪(?!页)|几[个种次]",
    re.IGNORECASE,
)
"""What asks for something in the text, and not for the text."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PART = re.compile(
    rf"\b(?:({'|'.join(_ORDINALS)}|last|\d{{1,3}}(?:st|nd|rd|th)) (?:column|line|row)"
    r"|(?:column|line|row) (\d{1,3}))\b"
    r"|第\s*([\d一二三四五六七八九十百]+)\s*[列行栏]|([首末]|最后一)[列行栏]",
    re.IGNORECASE,
)
_WITH = re.compile(r"\b(?:column|line|row)\b|[列行栏]", re.IGNORECASE)
_PHRASE = re.compile(r"[\"“‘「『]([^\"”’」』]{1,80})[\"”’」』]")


@dataclass(frozen=True, slots=True)
class Choice:
    """The pages that a question means and how sure that is; none, with the reason, when they can't be told or read."""

    pages: tuple[PageRead, ...]
    certainty: float = 1.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Passage:
    """Rows of a page that are quoted as one, `first` and `last` counted from 1 among its columns or blocks."""

    page: Page
    rows: tuple[tuple[int, ...], ...]
    first: int
    last: int

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(i for row in self.rows for i in row)

    @property
    def text(self) -> str:
        return "\n".join(row_text(self.page, row) for row in self.rows)


async def transcribed(request: Request) -> Draft | None:
    """The text that is asked for, as it stands on its page; None when something in the text is asked for instead.

    Original characters are kept and nothing is added. Each column of a vertical page is a line of the answer, and so is
    each line of a horizontal page, whose blocks are set apart by an empty line.
    """
    if asks_about(request.question):
        return None
    choice = chosen_pages(request.question, request.pages)
    if not choice.pages:
        return Draft(answer=None, candidate=None, missing=_named_terms(request.question), reason=choice.reason)
    laid_out = await request.lay_out([read.page.ref for read in choice.pages])
    passages: list[_Passage] = []
    for read in choice.pages:
        page = laid_out.get(read.page.ref, read.page)
        passages += _passages(page, asked_lines(request.question, page), MOST_QUOTES // len(choice.pages))
    if not passages:
        return Draft(answer=None, candidate=None, reason=_nothing(choice.pages))
    return _draft(request, passages, choice.certainty)


def asks_about(question: Question) -> bool:
    """Whether a question asks for something in the text ("what does it say about ...") and not for the text itself."""
    return _ABOUT.search(normalize(question.text).text) is not None


def chosen_pages(question: Question, pages: Sequence[PageRead]) -> Choice:
    """The page that the question names, by its number in the document or else the number printed on it; else the only
    page; else the best one that has text. Of two documents that have the page it is that of the better one.
    """
    if not pages:
        return Choice((), reason="no page was read")
    numbers = named_pages(question)
    if not numbers:
        return _unnamed(pages)
    found = []
    for number in numbers:
        read = _numbered(number, pages)
        if read is None:
            return Choice((), reason=f"page {number} was not read, or there is none")
        found.append(read)
    return Choice(tuple({read.page.ref: read for read in found[:MOST_QUOTES]}.values()))


def named_pages(question: Question) -> tuple[int, ...]:
    """The page numbers that a question names; negative ones count from the end."""
    numbers = [r.number for r in question.references if r.kind in ("page", "slide")]
    return tuple(dict.fromkeys([*references(question.text).pages, *numbers]))


def asked_lines(question: Question, page: Page) -> tuple[int, ...]:
    """The lines of a page that a question wants transcribed: those of the named column or line, else all with text."""
    rows = page_rows(page)
    text = normalize(question.text).text
    if (part := _PART.search(text)) is not None:
        at = _ordinal(part)
        return rows[at] if -len(rows) <= at < len(rows) else ()
    if _WITH.search(text) and (quoted := _PHRASE.search(question.text)):
        wanted = normalize(quoted.group(1)).text
        found = [row for row in rows if wanted in normalize(row_text(page, row)).text]
        if found:
            return tuple(i for row in found for i in row)
    return tuple(i for row in rows for i in row)


def confidence_of(page: Page, lines: Iterable[int]) -> float:
    """How sure the reader was of some lines: the mean over their characters; 1 for digital text."""
    found = [(len(page.lines[i].text), page.lines[i].confidence) for i in lines]
    return sum(length * sure for length, sure in found) / max(sum(length for length, _ in found), 1)


def _unnamed(pages: Sequence[PageRead]) -> Choice:
    if len(pages) == 1:
        return Choice((pages[0],))
    best = next((read for read in pages if any(line.text.strip() for line in read.page.lines)), pages[0])
    return Choice((best,), certainty=_GUESSED)


def _numbered(number: int, pages: Sequence[PageRead]) -> PageRead | None:
    """The best page of this number; of one that counts from the end, what the search put first.

    How many pages a document has isn't known here.
    """
    if number < 0:
        return pages[0]
    by_place = (read for read in pages if read.page.ref.page == number)
    by_label = (read for read in pages if read.page.label == str(number))
    return next(by_place, None) or next(by_label, None)


def _named_terms(question: Question) -> tuple[str, ...]:
    chinese = question.language == "zh"
    return tuple(f"第{number}页" if chinese else f"page {number}" for number in named_pages(question) if number > 0)


def _nothing(pages: Sequence[PageRead]) -> str:
    read = pages[0].page
    note = f" ({read.note})" if read.note else ""
    what = "the part that is asked for" if any(line.text.strip() for line in read.lines) else "text"
    return f"page {read.ref.page} has no {what}{note}" if what == "text" else f"page {read.ref.page} lacks {what}"


def _ordinal(part: re.Match[str]) -> int:
    """The index of a row from its ordinal; -1 for the last one."""
    word, number, han, edge = part.groups()
    if edge:
        return 0 if edge == "首" else -1
    if han:
        return (int(han) if han.isdigit() else han_number(han) or 0) - 1
    if number:
        return int(number) - 1
    word = word.lower()
    if word == "last":
        return -1
    return _ORDINALS.index(word) if word in _ORDINALS else int(re.sub(r"\D", "", word)) - 1


def _passages(page: Page, lines: Sequence[int], most: int) -> list[_Passage]:
    """At most `most` passages: the columns of a vertical page, the blocks of a horizontal one, neighbours joined."""
    wanted = set(lines)
    place = {i: number for number, group in enumerate(line_groups(page)) for i in group}
    pieces: dict[int, list[tuple[int, ...]]] = {}
    for number, row in enumerate(page_rows(page), 1):
        if wanted & set(row):
            pieces.setdefault(number if page.writing == "vertical" else place[row[0]] + 1, []).append(row)
    numbers = list(pieces)
    size = -(-len(pieces) // max(most, 1)) or 1
    chunks = [numbers[at : at + size] for at in range(0, len(numbers), size)]
    return [_Passage(page, tuple(row for n in chunk for row in pieces[n]), chunk[0], chunk[-1]) for chunk in chunks]


def _draft(request: Request, passages: Sequence[_Passage], certainty: float) -> Draft:
    text = _joined(passages)
    letters = [len(passage.text) for passage in passages]
    sure = [confidence_of(passage.page, passage.lines) for passage in passages]
    confidence = certainty * sum(n * share for n, share in zip(letters, sure, strict=True)) / max(sum(letters), 1)
    supported = confidence >= request.support
    return Draft(
        answer=text if supported else None,
        candidate=text,
        quotes=tuple(
            Quote(
                page=passage.page.ref,
                lines=passage.lines,
                text=passage.text,
                kind="line" if passage.page.writing == "vertical" else "block",
                score=round(share, 4),
                basis="transcription",
            )
            for passage, share in zip(passages, sure, strict=True)
        ),
        statements=tuple(_statement(request.question, passage) for passage in passages),
        coverage=1.0,
        reason="" if supported else f"the page was read with a confidence of {confidence:.0%} only",
        confidence=round(confidence, 4),
        way="transcription",
    )


def _joined(passages: Sequence[_Passage]) -> str:
    text = ""
    for before, passage in zip((None, *passages), passages, strict=False):
        same = before is not None and before.page.ref == passage.page.ref and passage.page.writing == "vertical"
        text += ("" if before is None else "\n" if same else "\n\n") + passage.text
    return text


def _statement(question: Question, passage: _Passage) -> str:
    """What the page says there, as one sentence."""
    page, vertical = passage.page.ref.page, passage.page.writing == "vertical"
    chinese = question.language == "zh"
    text = ("" if is_chinese(passage.text) else " ").join(passage.text.split("\n"))
    span = f"{passage.first}" if passage.first == passage.last else f"{passage.first}–{passage.last}"
    if chinese:
        return f"第{page}页第{span}{'列' if vertical else '段'}作「{text}」。"
    part = ("column" if vertical else "block") + ("s" if passage.first != passage.last else "")
    reads = "read" if passage.first != passage.last else "reads"
    return f"Page {page}, {part} {span} {reads} “{text}”."
