"""What a question asks for: the type of the answer, and the constraints that the evidence must meet."""

from __future__ import annotations

import re
from typing import Literal

from agent.matching import is_chinese, question_terms
from agent.types import AnswerType
from agent.values import han_number, years
from retrieval.text.queries import subject
from retrieval.types import Frozen
from tools.arithmetic import Operation
from tools.characters import normalize

ReferenceKind = Literal["figure", "table", "page", "section", "slide"]


class Reference(Frozen):
    """A part of the document that the question names, such as Figure 3."""

    kind: ReferenceKind
    number: int


class Question(Frozen):
    """A question as analysed. `terms` are the content terms that evidence should cover.

    `compared` are the two subjects of a comparison by numbers; `counter` is what a Chinese question counts or measures in ("多少畝": 畝).
    """

    text: str
    language: Literal["en", "zh"]
    answer_type: AnswerType
    terms: tuple[str, ...]
    years: tuple[str, ...] = ()
    unit: str | None = None
    decimals: int | None = None
    phrases: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    operation: Operation | None = None
    options: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    sub_questions: tuple[str, ...] = ()
    negated: bool = False
    counter: str = ""


_TYPES: tuple[tuple[AnswerType, re.Pattern[str]], ...] = (
    (
        "yes_no",
        re.compile(
            r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b(?!.*\bor\b)|\byes or no\b|\btrue or false\b",
            re.I,
        ),
    ),
    ("yes_no", re.compile(r"[吗嗎][？?]?$|是否|是不是|有没有|有沒有|对不对")),
    (
        "percent",
        re.compile(
            r"\bper\s?cent(?:age)?s?\b|\bwhat (?:share|proportion|fraction)\b|\bgrowth rate\b|百分之|百分比|占比|比例|比率|增长率|增速",
            re.I,
        ),
    ),
    (
        "count",
        re.compile(
            r"\bhow many\b|\bnumber of\b|有几|几[个個条種种次位名座所家卷首篇]|多少[个個条種种次位名座所家卷首篇人]",
            re.I,
        ),
    ),
    (
        "money",
        re.compile(
            r"\bhow much (?:money|did .+ (?:cost|pay|spend|earn)|does .+ cost|is the (?:price|cost|fee))|\bwhat (?:is|was) the (?:price|cost|fee|salary)\b|多少钱|多少[万亿]?元|金额|价格|费用",
            re.I,
        ),
    ),
    (
        "date",
        re.compile(
            r"^when\b|\bwhen (?:did|was|were|is|does)\b|\b(?:what|which) (?:year|date|month|day)\b|\bin what year\b|\bwhat is the date\b|何时|什么时候|哪一?[年天月日]|星期几|周几|什么时间|何年",
            re.I,
        ),
    ),
    (
        "list",
        re.compile(
            r"\blist format\b|\blist (?:all|the)\b|^list\b|\bwhat are the\b|\bwhich (?:two|three|four|five|six)\b|\bwhat (?:two|three|four|five|six)\b|\bname (?:all|the (?:two|three|four|five))\b|哪些|哪几|列出|列举",
            re.I,
        ),
    ),
    (
        "name",
        re.compile(
            r"^who\b|\bwho (?:is|was|are|were|did|has)\b|\bwhose\b|\bwhich\b|^where\b|\bwhat is the (?:name|title)\b|\bwhat (?:company|country|city|organi[sz]ation|person|university|state|colou?r)\b|是谁|^谁|谁[是的在]|何人|什么人|哪[位个里家]|何处|什么地[方点]|地点|名字|名称",
            re.I,
        ),
    ),
    (
        "number",
        re.compile(
            r"\bhow (?:much|long|far|old|large|big|high|tall|fast|often)\b|\b(?:int|integer|float) format\b|\bdecimal|\bin (?:thousands|millions|billions)\b|\bratio\b|\b(?:average|total|amount|value|revenues?|income|liabilit\w+|assets|expenses?|debt|margin|profit|sales|ebitda|earnings|eps|turnover|capex|roa|roe|depth|height|length|width|weight|size|speed|temperature|population|area|distance|duration|capacity|volume)\b(?=.*\?|.*\d{4}|$)|多少|多大|多高|多长|多远|总额|总数",
            re.I,
        ),
    ),
)
_OPERATIONS: tuple[tuple[Operation, re.Pattern[str]], ...] = (
    (
        "growth",
        re.compile(
            r"\bgrowth rate\b|\b(?:percentage?|percent|%) (?:change|increase|decrease|growth|decline)\b|\bgrew by what percent|\bpercentage difference\b|\bchange\b.*\bas a percentage\b|增长率|增长了?百分|增幅|同比",
            re.I,
        ),
    ),
    (
        "difference",
        re.compile(
            r"\bdifference\b|\bhow (?:much|many) (?:more|less|higher|lower|fewer|greater|larger)\b|\b(?:net )?change (?:in|between)\b|\bby how much\b|相差|差额|多多少|少多少|增加了多少|减少了多少",
            re.I,
        ),
    ),
    (
        "ratio",
        re.compile(
            r"\bratio (?:of|between)\b|\bhow many times (?:as|more|larger|higher|greater)\b|比值|几倍|多少倍", re.I
        ),
    ),
    ("average", re.compile(r"\b(?:average|mean) of\b|\bwhat(?: is|'s) the average\b|平均", re.I)),
    (
        "sum",
        re.compile(r"\bsum of\b|\bin total\b|\bcombined\b|\btotal of\b|\baltogether\b|总和|合计|总共|一共|之和", re.I),
    ),
)
_REFERENCE = re.compile(r"\b(figure|fig\.?|table|page|section|slide)\s*(\d{1,4})\b", re.I)
_HAN_REFERENCE = re.compile(
    r"(?:第\s*([\d一二三四五六七八九十百]+)\s*([页頁节節章])|([图圖表])\s*([\d一二三四五六七八九十]+))"
)
_HAN_KINDS: dict[str, ReferenceKind] = {
    "页": "page",
    "頁": "page",
    "节": "section",
    "節": "section",
    "章": "section",
    "图": "figure",
    "圖": "figure",
    "表": "table",
}
_QUOTED = re.compile(r"[\"“‘「『《]([^\"”’」』》]{2,80})[\"”’」』》]")
_UNIT = re.compile(r"\bin (?:USD |US\$ |dollar )?(thousand|million|billion)s?\b|单位[：:]?\s*([万亿百]+)", re.I)
_DECIMALS = re.compile(r"\b(one|two|three|four|1|2|3|4) decimal", re.I)
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4}
_FRAME = re.compile(
    r"^\s*(?:according to|based on|as shown in|as stated in|in|from) (?:the|this|these) (?:report|document|paper|slides?|article|guide|survey|brochure|text|page|table|chart|figure)s?,?\s+",
    re.I,
)
_OPTIONS = re.compile(r"[,:]\s*(?:the\s+)?([^,:?]{2,60}?),?\s+or\s+(?:the\s+)?([^,?]{2,60})\?", re.I)
_HAN_OPTIONS = re.compile(r"([^，,。？?是]{1,20})还是([^，,。？?]{1,20})[？?]?")
_BETWEEN = re.compile(
    r"\bbetween (?:the )?([^,?]{2,50}?) and (?:the )?([^,?]{2,50}?)(?= (?:in|for|during|on|at|as|from)\b|[?,]|$)", re.I
)
_TWO = re.compile(r",?\s+and\s+(?=(?:what|which|who|when|where|how|why)\b)", re.I)
_COUNTER = re.compile(r"(?:多少|[几幾])([一-鿿])(?![一-鿿]*[名额经费])")
_NEGATED = re.compile(
    r"\b(?:not|never|no longer|isn't|aren't|doesn't|don't|didn't|without|except)\b|没有|不是|未|非", re.I
)


def analyse(text: str) -> Question:
    """The analysis of one question. Chinese in either script is recognised by its simplified form."""
    text = " ".join(text.split())
    body = question_body(text)
    folded = normalize(body).text
    operation = next((name for name, pattern in _OPERATIONS if pattern.search(folded)), None)
    unit = _UNIT.search(text)
    decimals = _DECIMALS.search(text)
    return Question(
        text=text,
        language="zh" if is_chinese(text) else "en",
        answer_type=_answer_type(normalize(text).text, folded),
        terms=question_terms(body),
        years=years(body),
        unit=(unit.group(1) or unit.group(2)).lower() if unit else None,
        decimals=(_WORDS.get(decimals.group(1).lower()) or int(decimals.group(1))) if decimals else None,
        phrases=tuple(dict.fromkeys(match.group(1).strip() for match in _QUOTED.finditer(text))),
        references=_references(text),
        operation=operation,
        options=_options(body),
        compared=_compared(body),
        sub_questions=_sub_questions(body),
        negated=_NEGATED.search(folded) is not None,
        counter=counted.group(1) if (counted := _COUNTER.search(folded)) else "",
    )


def question_body(text: str) -> str:
    """The question without framing ("According to the report") and format instructions ("Write the answer in ...")."""
    body = subject(text).strip()
    body = _FRAME.sub("", body).strip()
    return body or text


def _answer_type(text: str, body: str) -> AnswerType:
    if _OPTIONS.search(body) or _HAN_OPTIONS.search(body):
        return "name"
    for name, pattern in _TYPES:
        if name == "list" and pattern.search(text):
            return "list"
        if pattern.search(body):
            return name
    return "number" if re.search(r"\b(?:int|integer|float) format\b|\binteger\b", text, re.I) else "text"


def _references(text: str) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for match in _REFERENCE.finditer(text):
        word = match.group(1).lower().rstrip(".")
        kind: ReferenceKind = "figure" if word == "fig" else word  # type: ignore[assignment]
        found.append(Reference(kind=kind, number=int(match.group(2))))
    for match in _HAN_REFERENCE.finditer(text):
        digits, sign = (match.group(1), match.group(2)) if match.group(1) else (match.group(4), match.group(3))
        number = int(digits) if digits.isdigit() else han_number(digits)
        if number is not None:
            found.append(Reference(kind=_HAN_KINDS[sign], number=number))
    return tuple(dict.fromkeys(found))


def _options(body: str) -> tuple[str, ...]:
    match = _OPTIONS.search(body) or _HAN_OPTIONS.search(body)
    return tuple(part.strip() for part in match.groups()) if match else ()


def _compared(body: str) -> tuple[str, ...]:
    """The two subjects of "between A and B"; empty when they are years."""
    match = _BETWEEN.search(body)
    parts = tuple(part.strip() for part in match.groups()) if match else ()
    return () if any(years(part) for part in parts) else parts


def _sub_questions(body: str) -> tuple[str, ...]:
    """The questions that a question is made of; empty when it is one."""
    if options := _options(body):
        stem = re.split(r"[,:，：]", body)[0]
        return tuple(f"{stem} {option}" for option in options)
    parts = [part.strip(" ,?？") for part in _TWO.split(body)]
    if len(parts) == 1:
        parts = [part.strip() for part in re.split(r"[？?]", body) if len(part.strip()) > 3]
    return tuple(f"{part}?" for part in parts) if len(parts) > 1 and all(len(part) > 5 for part in parts) else ()
