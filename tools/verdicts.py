"""What a reply to a YES/NO question says, in English or Chinese, and how sure the model was of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tools.characters import normalize
from tools.judgments import PageVerdict

_END = r"(?=$|[\s,.;:!?、。，；：！？)\]}|/])"
_ANSWER = "answer|verdict|judge?ment|conclusion|答案|回答|判断|判定|结论|结果|输出|回复"
_FRAME = rf"(?:the |my |最终|最后)?(?:final )?(?:{_ANSWER})"
_OPENING = re.compile(rf"(?:{_FRAME}\s*(?:should be|would be|is|应该是|应为|是|为)?\s*[:：,，]?\s*)+", re.IGNORECASE)
_DECORATION = re.compile(r"[*_`#>\"'“”‘’「」『』【】\[\]()<|~-]+")
_ECHO = re.compile(r"(?:yes|no|是|否)\s*(?:/|or|或者?|还是)\s*(?:yes|no|是|否)", re.IGNORECASE)
_LEADING: tuple[tuple[PageVerdict, re.Pattern[str]], ...] = (
    ("yes", re.compile(r"yes(?![a-z0-9])|yeah\b|y(?=$|[.,!])|true\b", re.IGNORECASE)),
    (
        "no",
        re.compile(
            r"no(?![a-z0-9])(?!\.?\s*\d|\s+(?:doubt|problem|idea|one)\b)|n(?=$|[.,!])|nope\b|false\b"
            r"|not (?:relevant|related|sufficient|enough|found)\b",
            re.IGNORECASE,
        ),
    ),
    ("yes", re.compile(rf"(?:是|有|对|能|可以|能够|包含|含有|存在|相关|足够|正确)的?{_END}")),
    (
        "no",
        re.compile(
            rf"否(?![则认定决])|不{_END}|不(?:是(?!不)|对|行|够|包?含|存在|相关|足(?:以|够)|可以|提供|涉及|符合|具备)"
            r"|不能(?!够?(?:确定|判断|确认|肯定))|没(?!有?(?:问题|错|疑问))|无关|无(?:证据|相关|此)|无法(?:回答|找到|得出|提供)"
            rf"|无{_END}|[未并](?:未|不|没有)?(?:包?含|提供|提及|提到|找到|发现|显示|涉及)|错误?{_END}"
        ),
    ),
)
_SHOUTED: tuple[tuple[PageVerdict, re.Pattern[str]], ...] = (
    ("yes", re.compile(r"(?<![A-Za-z0-9])YES(?![A-Za-z0-9])")),
    ("no", re.compile(r"(?<![A-Za-z0-9])NO(?![A-Za-z0-9])(?!\.?\s*\d)")),
)
_SAID: tuple[tuple[PageVerdict, re.Pattern[str]], ...] = (
    ("yes", re.compile(rf"{_FRAME}\s*(?:is|是|为)?\s*[:：]?\s*(?:yes(?![a-z0-9])|是的?{_END})", re.IGNORECASE)),
    ("no", re.compile(rf"{_FRAME}\s*(?:is|是|为)?\s*[:：]?\s*(?:no(?![a-z0-9])|否|不是|没有)", re.IGNORECASE)),
)
_THING, _HAN_THING = "(?:page|image|document|text|it)", "(?:页面?|图片?|图像|文档|文本|内容)[中上里]?"
_STATED: tuple[tuple[PageVerdict, re.Pattern[str]], ...] = (
    (
        "no",
        re.compile(
            rf"{_THING}\s+(?:does not|doesn't|do not|did not|cannot|can't)\s+(?:actually )?"
            r"(?:contain|hold|provide|have|include|show|mention|give|answer)"
            rf"|{_HAN_THING}(?:并|均|都)?(?:不|没有|未|没|无)",
            re.IGNORECASE,
        ),
    ),
    (
        "yes",
        re.compile(
            rf"{_THING}\s+(?:does |clearly |explicitly )*(?:contains?|holds?|provides?|includes?)\s+"
            r"(?:\w+ ){0,3}(?:evidence|answer|information)"
            rf"|{_HAN_THING}(?:明确|确实|直接|已经?)*(?:包含|含有|提供|给出|有)[^不没无未]{{0,12}}(?:证据|答案|依据|信息)",
            re.IGNORECASE,
        ),
    ),
)
_YES_TOKENS, _NO_TOKENS = frozenset(("yes", "ye", "y", "true")), frozenset(("no", "n", "not", "false"))
_HAN_YES, _HAN_NO = frozenset(("是", "是的", "有", "对", "包含")), frozenset(("否", "不", "不是", "没有", "没", "无"))
_SEPARATORS = " \n\t:,.，。："
_PLAIN = 0.5
"""What YES and NO must make up of all at a place for the place to be the verdict's."""


def verdict_of(text: str) -> PageVerdict | None:
    """What a reply says; None where it says nothing, something else, or both without beginning with one of them.

    Words glued to Chinese count ("答案是NO"), those inside other words don't ("NOTE", "know").
    """
    folded = normalize(text).text.strip()
    if (fields := _json_in(folded)) is not None:
        found = {verdict for verdict in map(_plain, fields.values()) if verdict}
        return found.pop() if len(found) == 1 else None
    said = _DECORATION.sub(" ", folded).lstrip(_SEPARATORS)
    if opening := _OPENING.match(said):
        said = said[opening.end() :].lstrip(_SEPARATORS)
    if not said or _ECHO.match(said):
        return None
    leading = next((verdict for verdict, pattern in _LEADING if pattern.match(said)), None)
    if leading is not None:
        return leading
    shouted = {verdict for verdict, pattern in _SHOUTED if pattern.search(said)}
    if shouted:
        return shouted.pop() if len(shouted) == 1 else None
    framed = {verdict for verdict, pattern in _SAID if pattern.search(said)}
    if framed:
        return framed.pop() if len(framed) == 1 else None
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if len(lines) > 1 and len(lines[-1]) <= len("答案是：YES。") and (last := verdict_of(lines[-1])) is not None:
        return last
    stated = {verdict for verdict, pattern in _STATED if pattern.search(said)}
    return stated.pop() if len(stated) == 1 else None


def yes_probability(chances: Sequence[Mapping[str, float]]) -> float | None:
    """P(YES) / (P(YES) + P(NO)) at the place of a reply where the verdict stands; None where none is found.

    `chances` are the likeliest tokens at each place, the one that was taken first. Chinese verdicts are looked for at
    the first place only: further on, 是 is a word like others ("答案是NO").
    """
    begun = False
    for place in chances:
        yes = _mass(place, _YES_TOKENS if begun else _YES_TOKENS | _HAN_YES)
        no = _mass(place, _NO_TOKENS if begun else _NO_TOKENS | _HAN_NO)
        if yes + no >= _PLAIN:
            return min(max(yes / (yes + no), 0.0), 1.0)
        begun = begun or bool(_bare(next(iter(place), "")))
    return None


def _mass(place: Mapping[str, float], words: frozenset[str]) -> float:
    return sum(chance for token, chance in place.items() if _bare(token) in words)


def _bare(token: str) -> str:
    """A token without what tokenizers and models put around a word."""
    return "".join(char for char in normalize(token.replace("Ġ", "")).text.lower() if char.isalnum())


def _json_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a reply is, or has in a fence; None when it has none."""
    start, stop = text.find("{"), text.rfind("}")
    if not 0 <= start < stop:
        return None
    try:
        value = orjson.loads(text[start : stop + 1])
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _plain(value: Any) -> PageVerdict | None:
    """The verdict that a value of JSON is; sentences that explain one are none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    word = _bare(value) if isinstance(value, str) else ""
    return "yes" if word in _YES_TOKENS | _HAN_YES else "no" if word in _NO_TOKENS | _HAN_NO else None
