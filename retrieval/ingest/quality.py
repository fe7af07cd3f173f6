"""Whether a text layer can be trusted, judged from its characters alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["good", "suspicious", "garbage"]

_BROKEN = re.compile(r"[\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef]")
_STUCK = re.compile(r"([\u3400-\u9fff])\1{5,}")
_FEW_WORDS = 20
_PLAUSIBLE = re.compile(
    r"[(\"'“‘\[]*(?:[A-Za-z][a-z]{1,20}|[A-Z]{2,12}|[aAI&]|\$?\d[\d,.]*%?|[A-Za-z]+[-'’][A-Za-z]+)[.,;:!?)\"'”’\]]*"
)
_CID = re.compile(r"\(cid:\d+\)")
_MOJIBAKE = re.compile(
    r"(?:Ã[\x80-\xbf©¨ª«¤¶¼±³]|â€[\u2122œ\u009d\x9d“”˜™]|Â[\xa0-\xbf]|ï¼|å[\x80-\xbf]|æ[\x80-\xbf]|ä¸|锟斤拷|烫烫)"
)
_SYMBOL_BULLETS = str.maketrans("", "", "\uf0b7\uf0a7\uf0d8\uf0fc\uf076\uf0a8\uf06e\uf071\uf0e0")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on a text layer, and why."""

    verdict: Verdict
    reason: str = ""


_GOOD = Judgement("good")


def judge(text: str) -> Judgement:
    """Judge a page's text. Plain ASCII text passes at once; the costly look is for the rest."""
    text = text.translate(_SYMBOL_BULLETS) if not text.isascii() else text
    length = (
        sum(1 for c in text if not c.isspace()) if len(text) < 400 else len(text) - text.count(" ") - text.count("\n")
    )
    if length == 0:
        return Judgement("garbage", "no text")
    broken = len(_BROKEN.findall(text))
    if "(cid:" in text:
        broken += sum(len(m) for m in _CID.findall(text))
    if broken > 0.25 * length or (broken and length < 12):
        return Judgement("garbage", "text layer without usable characters")
    if text.isascii():
        return _latin(text, length)
    mojibake = 2 * len(_MOJIBAKE.findall(text))
    if mojibake > 0.15 * length:
        return Judgement("garbage", "text layer in a wrong encoding")
    if _STUCK.search(text):
        return Judgement("suspicious", "text layer repeats one character")
    mixed = _mixture(text)
    if mixed is not None:
        return mixed
    if broken > 0.04 * length or mojibake > 0.03 * length:
        return Judgement("suspicious", "some characters of the text layer are unusable")
    return _GOOD


def _latin(text: str, length: int) -> Judgement:
    """ASCII text without letters between the symbols is a font with a private encoding."""
    letters = sum(map(str.isalnum, text)) if length < 300 else length - len(re.findall(r"[^\w\s]", text))
    if letters < 0.35 * length and not _ruled(text, length):
        return Judgement("suspicious" if length > 40 else "garbage", "text layer of symbols only")
    return _GOOD


def _ruled(text: str, length: int) -> bool:
    """Dot leaders and rules drawn with characters."""
    return sum(text.count(c) for c in "._-=*|/\\") > 0.4 * length


_COMMON_RANGES = (
    (0x0000, 0x024F, "latin"),
    (0x0250, 0x02FF, "rare-latin"),
    (0x0300, 0x036F, "marks"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0530, 0x05FF, "hebrew-armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0700, 0x0DFF, "south-asian"),
    (0x0E00, 0x0E7F, "thai"),
    (0x0E80, 0x0FFF, "lao-tibetan"),
    (0x1000, 0x109F, "burmese"),
    (0x10A0, 0x10FF, "georgian"),
    (0x1100, 0x11FF, "jamo"),
    (0x1200, 0x1DBF, "rare"),
    (0x1DC0, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"),
    (0x2000, 0x2BFF, "symbols"),
    (0x2C00, 0x2E7F, "rare"),
    (0x2E80, 0x2FFF, "radicals"),
    (0x3000, 0x303F, "symbols"),
    (0x3040, 0x30FF, "kana"),
    (0x3100, 0x33FF, "symbols"),
    (0x3400, 0x4DBF, "han-rare"),
    (0x4DC0, 0x4DFF, "symbols"),
    (0x4E00, 0x9FFF, "han"),
    (0xA000, 0xABFF, "rare"),
    (0xAC00, 0xD7AF, "hangul"),
    (0xF900, 0xFAFF, "han"),
    (0xFB00, 0xFDFF, "arabic"),
    (0xFE00, 0xFE6F, "symbols"),
    (0xFE70, 0xFEFF, "arabic"),
    (0xFF00, 0xFFEF, "symbols"),
    (0x20000, 0x3FFFF, "han-rare"),
)
_PLAIN = {"latin", "symbols", "marks", "greek"}
_RARE = {"rare", "rare-latin", "radicals", "han-rare", "lao-tibetan", "jamo", "burmese", "georgian", "south-asian"}


def _mixture(text: str) -> Judgement | None:
    """Scripts that don't stand on one page together, or rare blocks sprinkled in, betray a wrong character map."""
    counts: Counter[str] = Counter()
    for character, n in Counter(text).items():
        if not character.isspace():
            counts[_script(ord(character))] += n
    total = sum(counts.values())
    foreign = {s: n for s, n in counts.items() if s not in _PLAIN}
    if sum(foreign.values()) < max(8, 0.08 * total):
        return None
    strange = sum(n for s, n in foreign.items() if s in _RARE)
    families = {s for s, n in foreign.items() if n >= 3 and n > 0.02 * total}
    main = families - {"han", "han-rare", "radicals", "kana", "hangul", "jamo"}
    east_asian = families & {"han", "kana", "hangul"}
    if len(foreign) >= 6 and strange > 0.08 * total:
        return Judgement("garbage", "text layer mixes scripts at random")
    if len(main) >= 2 and (strange > 0.05 * total or east_asian):
        return Judgement("garbage", "text layer mixes scripts at random")
    if strange > 0.2 * total and len(main - _RARE) + len(east_asian) > 0:
        return Judgement("suspicious", "text layer has many rare characters")
    return None


def _script(code: int) -> str:
    for first, last, name in _COMMON_RANGES:
        if first <= code <= last:
            return name
    return "rare" if unicodedata.category(chr(code)) != "So" else "symbols"


def plausibility(text: str) -> float | None:
    """Share of the words that look like words or numbers; None for few words or text that isn't mostly Latin.

    Real text of annual reports, papers and slides reaches 0.5 to 0.99, a poor OCR layer 0.3.
    """
    words = text.split()
    if len(words) < _FEW_WORDS or sum(map(str.isascii, words)) < 0.8 * len(words):
        return None
    return sum(_PLAUSIBLE.fullmatch(word) is not None for word in words) / len(words)
