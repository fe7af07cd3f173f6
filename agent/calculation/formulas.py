"""What a question wants computed from accounts: a ratio that has a name, or accounts with arithmetic between them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from agent.calculation.accounts import accounts, ratios
from agent.matching import is_chinese
from agent.question import Question, question_body

_T = r"\{\w+\}"
_SUM = rf"{_T}(?:\s*,?\s*(?:plus|\+|minus|less|-)\s*(?:the |its )?{_T})*"
_QUOTIENT = re.compile(
    rf"(?P<top>{_SUM})\s*(?:ratio )?(?:divided by|/|÷|over|to|relative to"
    rf"|as an? (?:percentage|percent|%|share|multiple) of|占|与|除以)\s*(?:the |its |total |net )*(?P<bottom>{_SUM})"
)
_DEFINED = re.compile(
    rf"\b(?:as|is|equals|=|using|taking|:)\s*(?:the )?(?P<top>{_SUM})"
    rf"\s*(?:divided by|/|÷|over)\s*(?:the )?(?P<bottom>{_SUM})"
)
_COMBINED = re.compile(rf"{_T}(?:\s*,?\s*(?:plus|\+|minus|less|-)\s*(?:the |its )?{_T})+")
_MARGIN = re.compile(rf"(?P<top>{_T})\s*(?:%|percent|percentage)?\s*(?:margin|利润率)")
_MENTION = re.compile(_T)
_DEFINITION = re.compile(
    rf"\b(?:taking|define|defining|where|calculate|calculating)\s+(?:the )?(?P<id>{_T})"
    rf"\s*(?:as|is|using|to be|:|=)\s*(?P<as>[^;.]*)"
)
_INCLUDED = re.compile(
    rf"(?P<id>{_T})[^{{}}.?;]{{0,40}}, including "
    rf"(?P<as>(?:the |its |all )?{_T}(?:(?:,| and|,? plus) (?:the |its |all )?{_T})*)"
)
_MINUS = re.compile(r"\b(?:minus|less|excluding|net of)\b|-\s*$")
_NOT_COMPUTED = re.compile(
    r"\b(?:non-?gaap|adjusted|forma|target|guidance|expected|why|what drove|drivers?)\b", re.IGNORECASE
)
_PERCENT = re.compile(r"%|\bper ?cent|百分", re.IGNORECASE)
_UNADJUSTED = re.compile(r"\bunadjusted\b", re.IGNORECASE)
_SYMBOLS = {"plus": "+", "+": "+", "minus": "-", "less": "-", "-": "-"}


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression over ids of accounts, with `average()` and `optional()`. `percent`: the result is one.

    `lookup` says that it is only an account, which a row may state.
    """

    expression: str
    percent: bool = False
    lookup: bool = False


def formula_of(question: Question) -> Formula | None:
    """The formula that a question wants; None when it names none, or asks for another operation or for reasons."""
    body = _UNADJUSTED.sub("", question_body(question.text))
    if question.operation in ("growth", "difference", "average", "sum") or _NOT_COMPUTED.search(body):
        return None
    text = marked(body)
    percent = _PERCENT.search(body) is not None
    if (found := _DEFINED.search(text) or _QUOTIENT.search(text)) is not None:
        return Formula(f"({_plain(found['top'])}) / ({_plain(found['bottom'])})", percent)
    if (margin := _MARGIN.search(text)) is not None and (top := margin["top"].strip("{}")) in accounts():
        return Formula(f"{top} / revenue", True)
    if (combined := _COMBINED.search(text)) is not None:
        return Formula(_plain(combined.group()), percent)
    ids = [mention.group().strip("{}") for mention in _MENTION.finditer(text)]
    for id_ in ids:
        if id_ in ratios():
            return Formula(ratios()[id_].formula, ratios()[id_].percent or percent)
    if ids and ids[0] in definitions_of(question):
        return Formula(ids[0], percent)
    if len(set(ids)) == 1 and accounts()[ids[0]].formula:
        return Formula(ids[0], percent, lookup=True)
    return None


def constants_of(question: Question) -> frozenset[Decimal]:
    """The numbers that the formula which a question wants has itself, such as the 365 days of a year."""
    formula = formula_of(question)
    if formula is None:
        return frozenset()
    nodes = ast.walk(ast.parse(formula.expression, mode="eval"))
    return frozenset(Decimal(str(node.value)) for node in nodes if isinstance(node, ast.Constant))


def accounts_in(question: Question) -> tuple[str, ...]:
    """The ids of the accounts that a question names, without those that are only part of a ratio's name."""
    ids = (mention.group().strip("{}") for mention in _MENTION.finditer(marked(question_body(question.text))))
    return tuple(dict.fromkeys(ids)) if not _NOT_COMPUTED.search(question.text) else ()


def definitions_of(question: Question) -> dict[str, str]:
    """What the question itself says an account is to be taken as, as expressions by the account's id."""
    found: dict[str, str] = {}
    text = marked(_UNADJUSTED.sub("", question.text))
    for match in _INCLUDED.finditer(text):
        parts = [part.strip("{}") for part in _MENTION.findall(match["as"])]
        if all(id_ in accounts() for id_ in (match["id"].strip("{}"), *parts)):
            found[match["id"].strip("{}")] = " + ".join([match["id"].strip("{}"), *parts])
    for match in _DEFINITION.finditer(text):
        clause = match["as"]
        again = re.search(rf"\band {_T} as\b", clause)
        clause = clause[: again.start()] if again else clause
        if re.search(r"divided by|/|÷|\bover\b", clause):
            continue
        expression, place = "", 0
        for mention in _MENTION.finditer(clause):
            sign = "-" if _MINUS.search(clause[place : mention.start()]) else "+"
            expression += f" {sign} " if expression else ""
            expression += mention.group().strip("{}")
            place = mention.end()
        id_ = match["id"].strip("{}")
        if id_ in accounts() and expression and all(name in accounts() for name in re.findall(r"\w+", expression)):
            found[id_] = expression
    return found


def _plain(expression: str) -> str:
    """An expression as Python writes it: accounts without braces, words as signs, ratios as their formulas."""
    parts = re.findall(rf"{_T}|plus|minus|less|[+-]", expression)
    shown = []
    for part in parts:
        if part in _SYMBOLS:
            shown.append(_SYMBOLS[part])
        else:
            id_ = part.strip("{}")
            shown.append(f"({ratios()[id_].formula})" if id_ in ratios() else id_)
    return " ".join(shown)


def marked(text: str) -> str:
    """A text in lower case with ids in braces where it names accounts and ratios, the longest names first."""
    lowered = re.sub(r"(?<=\w)[-–—](?=\w)", " ", text.lower())
    lowered = re.sub(r"[’'`]|\([^()]*\)|\[[^\]]*\]|_", lambda m: " " if m.group() == "_" else "", lowered)
    lowered = re.sub(r"\s+", " ", re.sub(r"(?<=\w),(?= \w+ and general)", "", lowered))
    return _mentions().sub(lambda match: "{" + _by_name()[match.group()] + "}", lowered)


@lru_cache(maxsize=1)
def _by_name() -> dict[str, str]:
    found: dict[str, str] = {}
    for ratio in ratios().values():
        found |= dict.fromkeys(ratio.names, ratio.id)
    for account in accounts().values():
        found |= {name: account.id for name in account.names if name not in found}
    return found


@lru_cache(maxsize=1)
def _mentions() -> re.Pattern[str]:
    names = sorted(_by_name(), key=lambda name: -len(name))
    return re.compile(
        "|".join(re.escape(n) if is_chinese(n) else rf"(?<![\w{{]){re.escape(n)}(?![\w}}])" for n in names)
    )
