"""What a question asks, as the reader needs it: the kind of question word, the noun it asks for, its content."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from agent.reader.tokens import CHINESE_STOP_WORDS, Language, Tokens, cut, tokenise
from retrieval.text.tokens import ENGLISH_STOP_WORDS, simplified

ENGLISH_TYPES = (
    "who",
    "whose",
    "when",
    "where",
    "why",
    "which",
    "what",
    "how",
    "how_many",
    "how_much",
    "how_long",
    "none",
)
_CHINESE_PATTERNS = (
    ("how_many", r"多少|几"),
    ("when", r"何时|什么时候|哪一年|哪年|哪一天|时间|几年|几月|何年|哪个世纪|年份|日期"),
    ("who", r"谁|何人|哪位|什么人|哪个人|人物"),
    ("where", r"哪里|何处|哪个国家|哪个城市|什么地方|哪国|哪儿|位于|地点|哪个地区|何地|哪座|哪一国|哪省"),
    ("why", r"为什么|为何|原因|何因|由于什么"),
    ("how", r"怎么|如何|怎样"),
    ("which", r"哪|何"),
    ("what", r"什么|甚么|啥"),
)
CHINESE_TYPES = (*(name for name, _ in _CHINESE_PATTERNS), "none")
_QUESTION_WORDS = ("who", "whom", "whose", "when", "where", "why", "which", "what", "how")
_TIMES = ("year", "day", "date", "month", "century", "decade", "time")
_MEASURES = ("long", "old", "far", "large", "tall", "high", "big", "deep", "fast", "often")
_AUXILIARIES = frozenset("is was are were be been being has have had do does did can could will would".split())
_CHINESE_FOCUS = re.compile(r"(?:什么|哪[一个位种部座家所支些名项本条]*|多少|几)([\u4e00-\u9fff]{1,4})")
_CHINESE_MARKS = frozenset("，。！？；：、（）《》“”‘’「」『』 ?,.!")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question analysed. `kind` indexes its language's types; `content` are keys (English) or characters (Chinese).

    `focus` is the noun that the answer is an instance of; `verb` and `last` are keys of content words whose neighbours
    often are the answer; `before` and `after` stand on either side of the question word.
    """

    text: str
    language: Language
    kind: int
    content: frozenset[str]
    pairs: frozenset[str]
    focus: str
    verb: str
    last: str
    before: str
    after: str
    starts_with_question_word: bool
    length: int


def analyse(question: str, language: Language) -> Asked:
    """The question as the reader needs it; `language` is that of the paragraph."""
    text = unicodedata.normalize("NFKC", question).strip()
    return _english(text) if language == "english" else _chinese(text)


def _english(text: str) -> Asked:
    tokens = tokenise(text, "english")
    words = tokens.words
    at = next((i for i, word in enumerate(words) if word in _QUESTION_WORDS), None)
    kind = _english_type(words, at)
    place = len(words) if at is None else at
    rest = list(zip(words[place + 1 :], tokens.keys[place + 1 :], strict=True)) or list(
        zip(words, tokens.keys, strict=True)
    )
    focus = _english_focus([word for word, _ in rest], kind)
    content = frozenset(
        key for word, key, mark in zip(words, tokens.keys, tokens.mark, strict=True) if not mark and _tells(word)
    )
    verb = next((key for word, key in rest if _tells(word) and word[0].isalpha() and word != focus), "")
    last = next((key for key in reversed(tokens.keys) if key in content), "")
    return Asked(
        text=text,
        language="english",
        kind=ENGLISH_TYPES.index(kind),
        content=content,
        pairs=frozenset(),
        focus=focus,
        verb=verb,
        last=last,
        before=tokens.keys[place - 1] if 0 < place < len(words) else "",
        after=tokens.keys[place + 1] if place + 1 < len(words) else "",
        starts_with_question_word=at == 0,
        length=len(words),
    )


def _tells(word: str) -> bool:
    return word not in ENGLISH_STOP_WORDS and word not in _QUESTION_WORDS


def _english_type(words: tuple[str, ...], at: int | None) -> str:
    if at is None:
        return "none"
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    if word == "how":
        return f"how_{after}" if after in ("many", "much") else "how_long" if after in _MEASURES else "how"
    if word in ("what", "which") and after in _TIMES:
        return "when"
    return "who" if word == "whom" else word


def _english_focus(rest: list[str], kind: str) -> str:
    if kind not in ("what", "which", "how_many", "how_much", "how_long", "whose", "when"):
        return ""
    for word in rest[1:7] if kind.startswith("how_") else rest[:6]:
        if word in _AUXILIARIES:
            if kind in ("what", "which"):
                continue
            return ""
        if word not in ENGLISH_STOP_WORDS and word[0].isalpha():
            return word
    return ""


def _chinese(text: str) -> Asked:
    folded = simplified(text)
    kind, start, stop = next(
        ((name, *found.span()) for name, pattern in _CHINESE_PATTERNS if (found := re.search(pattern, folded))),
        ("none", len(folded), len(folded)),
    )
    rest = f"{folded[:start]}|{folded[stop:]}"
    skipped = _CHINESE_MARKS | CHINESE_STOP_WORDS | {"|"}
    pairs = {rest[i : i + 2] for i in range(len(rest) - 1) if not set(rest[i : i + 2]) & (_CHINESE_MARKS | {"|"})}
    found = _CHINESE_FOCUS.search(folded)
    focus = next((word for word, _ in cut(found[1])), "") if found else ""
    return Asked(
        text=text,
        language="chinese",
        kind=CHINESE_TYPES.index(kind),
        content=frozenset(character for character in rest if character not in skipped),
        pairs=frozenset(pairs),
        focus="" if focus in CHINESE_STOP_WORDS else focus,
        verb="",
        last="",
        before=folded[max(0, start - 2) : start],
        after=folded[stop : stop + 2],
        starts_with_question_word=start == 0,
        length=len(folded),
    )


def matches(asked: Asked, tokens: Tokens, rarity: dict[str, float], unseen: float) -> list[float]:
    """How much of the question each token says: rarity of its key, or of the characters in shared pairs."""
    if asked.language == "english":
        return [rarity.get(key, unseen) if key in asked.content else 0.0 for key in tokens.keys]
    return [_chinese_match(asked, word, rarity, unseen) for word in tokens.words]


def _chinese_match(asked: Asked, word: str, rarity: dict[str, float], unseen: float) -> float:
    if not word[0].isalnum():
        return 0.0
    if len(word) == 1:
        return 0.6 * rarity.get(word, unseen) if word in asked.content else 0.0
    shared = sum(word[i : i + 2] in asked.pairs for i in range(len(word) - 1)) / (len(word) - 1)
    return shared * sum(rarity.get(c, unseen) for c in word if c in asked.content)
