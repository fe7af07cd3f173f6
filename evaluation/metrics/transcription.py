"""How well a text was transcribed: the character error rate, as the text stands and with its variants folded."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from evaluation.types import Score
from retrieval.text.tokens import simplified
from retrieval.types import Frozen


class Transcript(Frozen):
    """A text as read and as it stands on the page. `read` is "" when there is none."""

    read: str
    reference: str


def characters(text: str) -> str:
    """The text without white space: where lines break is layout."""
    return "".join(unicodedata.normalize("NFC", text).split())


def folded(text: str) -> str:
    """Letters and digits alone, simplified and in their plain forms (NFKC).

    Old prints have no punctuation, editions of them have; and variants of a character are no misreadings of it.
    """
    plain = simplified(unicodedata.normalize("NFKC", text))
    return "".join(c for c in plain.casefold() if unicodedata.category(c)[0] in "LN")


def errors(read: str, reference: str) -> int:
    """Levenshtein distance in characters: insertions, deletions and substitutions."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(read, reference))


def transcription_scores(items: Sequence[Transcript], *, missing: int = 0) -> dict[str, Score]:
    """`cer` and `cer_folded` over all characters, and `cer_page`, the mean over the pages. Lower is better.

    CER = edit distance / characters of the reference: 1 for an empty transcript, and above 1 where much was added. A
    page whose reference has nothing left to compare is left out of that measure. `missing` counts the pages without a
    transcript because something failed; they are among `items`, as empty ones.
    """
    plain, bare = _counted(items, characters), _counted(items, folded)
    return {
        "cer": _pooled(plain, missing),
        "cer_page": Score.mean((wrong / length for wrong, length in plain), of="transcribed pages", missing=missing),
        "cer_folded": _pooled(bare, missing),
    }


def _counted(items: Sequence[Transcript], form: Callable[[str], str]) -> list[tuple[int, int]]:
    """(errors, characters of the reference) of each page that has any."""
    forms = [(form(item.read), form(item.reference)) for item in items]
    return [(errors(read, reference), len(reference)) for read, reference in forms if reference]


def _pooled(pages: Sequence[tuple[int, int]], missing: int) -> Score:
    total = sum(length for _, length in pages)
    if not total:
        return Score.nothing("no transcribed pages", missing=missing)
    return Score(value=sum(wrong for wrong, _ in pages) / total, n=len(pages), missing=missing)
