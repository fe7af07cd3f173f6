"""The form in which keys, texts and questions are compared.

Every character is folded for itself (traditional to simplified, full to half width, upper to lower case), not phrase by
phrase as `retrieval.text.tokens.simplified` does: a key must come out the same alone and in the middle of a question.
"""

from __future__ import annotations

import re
import unicodedata

from retrieval.text.tokens import is_cjk, simplified

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
CJK = f"\u3040-\u30ff\uac00-\ud7af{HAN}"
_UNIT = re.compile(rf"[{CJK}]|[^\W_{CJK}]+(?:[.,]\d+)*")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_SPACE = re.compile(r"\s+")
_PRINTED = """
髙高 㑹会 徳德 黒黑 逺远 畧略 祐佑 厯历 歴历 扵于 竒奇 靣面 淸清 凢凡 冦寇 毎每 曽曾 虗虚 縂总 覩睹 甞尝 徃往 囬回
恊协 宻密 觧解 勅敕 攺改 葢盖 晩晚 寳宝 隂阴 陥陷 戸户 呉吴 郷乡 尅克 氷冰 濵滨 楽乐 気气
"""
_VARIANTS = {pair[0]: pair[1] for pair in _PRINTED.split()}
"""Forms that old prints use and OpenCC leaves as they are."""


class _Table(dict[int, int]):
    """The folded form of each character, worked out when it is first seen."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        single = _VARIANTS.get(character) or simplified(character)
        self[code] = ord(single) if len(single) == 1 else code
        return self[code]


_TABLE = _Table()


def folded(text: str) -> str:
    """`text` in half-width, lower-case, simplified characters, with single spaces."""
    plain = _SPACE.sub(" ", unicodedata.normalize("NFKC", text).lower()).strip()
    return plain if plain.isascii() else plain.translate(_TABLE)


def key_form(text: str) -> str:
    """The form in which keys and terms are equal: folded, without book-title marks and other marks around it."""
    return _EDGES.sub("", folded(text))


def units(text: str) -> list[str]:
    """The Chinese characters and the words of a folded text, in order, punctuation left out."""
    return _UNIT.findall(text)


def stands_alone(text: str, start: int, stop: int) -> bool:
    """False when `text[start:stop]` is cut out of a longer word or number; Chinese has no such borders."""
    return _border(text, start) and _border(text, stop)


def _border(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if is_cjk(before) or is_cjk(after):
        return True
    return not (before.isalnum() and after.isalnum())
