"""Whether a transcription is valid (it has the page's characters, in its order) and complete (none are left out)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from agent.draft import Draft
from agent.page_rows import page_rows, row_text
from agent.question import Question
from agent.row_matches import PageMatch, match_rows
from agent.transcription import asked_lines
from agent.types import Claim, Fact
from retrieval.types import Page

VALID = 0.7
"""Share of the answer's characters that must stand on the page, in its order. Readers differ on worn characters."""
COMPLETE = 0.8
"""Share of the page's characters that must stand in the answer. Seals and fore-edges may be left out."""
INVENTED = 0.15
"""From more than this share on of letters in runs that stand nowhere on the page, a text is none of it."""
_SEEN_ONLY = 0.3
"""Confidence in a transcription that nothing else can confirm."""


def transcript_claims(
    question: Question, draft: Draft, facts: Sequence[Fact], pages: Sequence[Page]
) -> tuple[Claim, ...]:
    """One claim that the answer is what stands on the quoted pages, and one that it is all of it.

    White space and punctuation don't count, for transcribers set their own; characters must be those of the page, so
    that a simplified text is no transcription. What is measured against is the part of the pages that the question asks
    for, not what the draft quotes. Confidence is the share met times that of the draft.
    """
    answer = _letters(draft.answer or "")
    rows = [(_letters(text), text, page.writing == "vertical") for page in pages for text in _wanted(question, page)]
    there = "".join(letters for letters, _, _ in rows)
    if not there and facts and draft.origin == "model":
        return _seen_only(question, draft, tuple(fact.id for fact in facts))
    common = LCSseq.similarity(answer, there)
    trust = draft.coverage if draft.confidence is None else draft.confidence
    valid = common / len(answer) if answer else 0.0
    complete = common / len(there) if there else 0.0
    ids = tuple(fact.id for fact in facts)
    which = ", ".join(str(page.ref.page) for page in pages) or "?"
    chinese = question.language == "zh"
    match = match_rows([(letters, vertical) for letters, _, vertical in rows], answer)
    fault = _fault(match, rows, answer)
    valid_reason = fault or f"{valid:.0%} of its characters stand on the page, in the page's order"
    if not there:
        valid_reason = "no text was read on the page that it could be compared with"
    lost = match.left_out if match.left_out is not None else _first_left_out(rows, answer, complete)
    left_out = "" if lost is None else f"; “{rows[lost][1][:40]}” is left out"
    complete_reason = f"it has {complete:.0%} of the page's characters{left_out}"
    is_valid = valid >= VALID and not fault and bool(ids)
    is_complete = complete >= COMPLETE and match.left_out is None and bool(ids)
    texts = (
        (f"所录文字与第{which}页相符", f"第{which}页的文字录全")
        if chinese
        else (f"the transcription is what stands on page {which}", f"the transcription has all of page {which}")
    )
    return (
        _claim("c1", texts[0], valid if is_valid else None, trust, (valid_reason, ids)),
        _claim("c2", texts[1], complete if is_complete else None, trust, (complete_reason, ids)),
    )


def _seen_only(question: Question, draft: Draft, ids: tuple[str, ...]) -> tuple[Claim, ...]:
    """A model's transcription of a page on which OCR found nothing: it is valid, and can be compared with nothing."""
    chinese = question.language == "zh"
    text = "所录文字是页面上的文字" if chinese else "the transcription is what stands on the page"
    claim = _claim("c1", text, _SEEN_ONLY, 1.0, ("only the model could read the page", ids))
    return (claim,) if _letters(draft.answer or "") else (_claim("c1", text, None, 1.0, ("it has no letters", ids)),)


def _claim(name: str, text: str, share: float | None, trust: float, why: tuple[str, tuple[str, ...]]) -> Claim:
    """A claim with its reason and the facts that support it; unsupported without a share."""
    reason, fact_ids = why
    return Claim(
        id=name,
        text=text,
        verdict="unsupported" if share is None else "supported",
        fact_ids=() if share is None else fact_ids,
        confidence=0.0 if share is None else round(min(share, 1.0) * trust, 3),
        reason=reason,
    )


def _wanted(question: Question, page: Page) -> list[str]:
    """The rows of a page that the question asks for."""
    lines = set(asked_lines(question, page))
    return [row_text(page, row) for row in page_rows(page) if lines & set(row)]


def _fault(match: PageMatch, rows: Sequence[tuple[str, str, bool]], answer: str) -> str:
    """What shows that the text isn't the page's though most of its characters are; "" when nothing does."""
    if match.invented > INVENTED:
        start, stop = match.longest
        return f"{match.invented:.0%} of it stands nowhere on the page: “{answer[start:stop][:40]}”"
    if match.moved is not None:
        return f"“{rows[match.moved][1][:40]}” doesn't stand where the page has it"
    return ""


def _first_left_out(rows: Sequence[tuple[str, str, bool]], answer: str, complete: float) -> int | None:
    if complete >= COMPLETE:
        return None
    return next((n for n, (found, _, _) in enumerate(rows) if len(found) > 1 and found not in answer), None)


def _letters(text: str) -> str:
    """A text without white space, punctuation, lines between cells, and boxes that stand for what can't be read."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(c for c in plain if unicodedata.category(c)[0] not in "PZC" and c not in "|□")
