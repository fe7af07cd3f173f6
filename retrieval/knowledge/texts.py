"""Cleaning of collected texts, and their division into snippets."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

LONGEST = 600
"""Characters of a snippet; a longer text becomes several with the same keys."""
LONGEST_KEY = 60
_HIDDEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
_BLOCK = re.compile(r"</?(?:p|br|div|li|tr|h[1-6]|ul|ol|table|blockquote)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][\w:-]*(?:\s[^<>]*)?/?>")
_NOTE = re.compile(
    r"\[(?:\d{1,3}|注 ?\d{1,3}|编辑|編輯|edit|citation needed|来源请求|來源請求|來源請求|原文如此)\]", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_SPACE = re.compile(r"\s+")
_BETWEEN_HAN = re.compile(
    r"(?<=[\u3000-\u303f\u3400-\u9fff\uff00-\uff60]) (?=[\u3000-\u303f\u3400-\u9fff\uff00-\uff60])"
)
_SENTENCE = re.compile(r".+?(?:[。！？!?；;]+[”’」』）)》\"']*|\.(?=\s)|$)", re.DOTALL)


def cleaned(text: str) -> str:
    """`text` without markup, footnote marks, control and direction characters, in one line of single spaces.

    Nothing in it is followed or run; what looks like a tag is taken out, whatever it says.
    """
    plain = _TAG.sub("", _BLOCK.sub(" ", _HIDDEN.sub(" ", text))) if "<" in text else text
    plain = html.unescape(plain) if "&" in plain else plain
    plain = _CONTROL.sub("", unicodedata.normalize("NFC", _SPACE.sub(" ", plain)))
    plain = _NOTE.sub("", plain) if "[" in plain else plain
    return _BETWEEN_HAN.sub("", _SPACE.sub(" ", plain)).strip()


def pieces(text: str) -> Iterator[str]:
    """A cleaned text in pieces of at most `LONGEST` characters that end with a sentence where they can."""
    if len(text) <= LONGEST:
        yield text
        return
    piece = ""
    for sentence in _SENTENCE.findall(text):
        if piece and len(piece) + len(sentence) > LONGEST:
            yield piece.strip()
            piece = ""
        piece += sentence
        while len(piece) > LONGEST:
            yield piece[:LONGEST].strip()
            piece = piece[LONGEST:]
    if piece.strip():
        yield piece.strip()
