"""Two subjects that a question sets side by side: a difference, a quotient or a share of one in the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.matching import terms
from agent.question import Question, question_body
from agent.values import years
from tools.arithmetic import Operation

_TRIMMED = re.compile(
    r"^there (?:are |were )?(?:for|in|of|at|on)? |\s+(?:ha[sd]|have|do|does|did|is|are)$", re.IGNORECASE
)
TAIL = re.compile(r"\s(?:on|in|for|at|during|among|within|across)\s(?!general\b|total\b).+$", re.IGNORECASE)
_WORK = r"(?:survey|report|table|figure|chart|document|paper|slides?|study|project|graph|presentation)"
END = (
    r"(?=\s+(?:in|for|during|on|at|as of|from|of)\s+(?:the )?(?:fiscal |year |19|20|FY)"
    rf"|\s+(?:in|from|on|of|according to|based on)\s+(?:(?:the|this)\s[^?.]*?{_WORK}\b|{_WORK} \d)"
    r"|[?.]|,? (?:in|during) \d|$)"
)
_A = r"(?:the )?(?P<a>(?:(?!\bbetween\b)[^?,;]){2,80}?)"
_FIRST_B = r"(?:the )?(?P<b>[^,?;]{2,80}?)"
_B = rf"(?:the |that of )?(?P<b>[^?,;]{{2,80}}?){END}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The operation, its subjects as the calculator takes them ("b - a", "b / a"), and whether it is a percentage."""

    operation: Operation
    subjects: tuple[str, ...]
    percent: bool = False


_POINTS = r"(?:(?:percent(?:age)? )?points? |percent |% )?"
_GREATER = r"(?:more|higher|greater|larger|longer|bigger|older|taller|faster|heavier)"
_SMALLER = r"(?:less|lower|fewer|smaller|shorter|younger|slower|lighter)"
_MORE = rf"\bhow (?:much|many) {_POINTS}{_GREATER}\b"
_LESS = rf"\bhow (?:much|many) {_POINTS}{_SMALLER}\b"
_VERB = r".*?\b(?:is|was|are|were|did|does|do|has|have)"
_VERSUS = r"(?:(?:as |when )?compar(?:ed|ing) (?:to|with)|in comparison (?:to|with)|relative to|versus|vs\.?|against)"
_THAN = rf"(?:than|{_VERSUS})"
_BY = r"\bby (?:how (?:much|many)|what)\b[^?]{0,40}?\b(?:is|was|are|were|did|does|do|has|have)"
_PART = r"(?:percentage|percent|%|proportion|share|fraction)"
_HAN = r"(?P<a>[^，。？,]{2,20}?)"
_HAN_B = r"(?P<b>[^，。？,]{2,20}?)"


@dataclass(frozen=True, slots=True)
class _Form:
    """A way to compare a with b. `swapped`: a is the minuend or dividend, which the calculator takes last."""

    pattern: re.Pattern[str]
    operation: Operation
    swapped: bool = False
    percent: bool = False


def _form(pattern: str, operation: Operation, *, swapped: bool = False, percent: bool = False) -> _Form:
    return _Form(re.compile(pattern, re.IGNORECASE), operation, swapped, percent)


_FORMS: tuple[_Form, ...] = (
    _form(rf"\bpercent(?:age)? (?:difference|change)\b.*?\bbetween {_A} and {_B}", "growth"),
    _form(rf"\bratio (?:of|between) {_A} (?:to|and) {_B}", "ratio", swapped=True),
    _form(
        rf"\b(?:difference|gap|spread)\b.*?\bbetween {_A} (?:and|{_VERSUS}) {_B}",
        "difference",
        swapped=True,
    ),
    _form(rf"\bgap (?:of|in|for|from) {_A} (?:and|to|{_VERSUS}) {_B}", "difference", swapped=True),
    _form(
        rf"\bdifference (?:in|of) [^,?]{{2,60}}? (?:of|for|from) {_A} (?:and|to|{_VERSUS}) {_B}",
        "difference",
        swapped=True,
    ),
    _form(rf"{_BY} {_A} (?:exceed|surpass|outperform|outnumber|beat)(?:s|ed|es)? {_B}", "difference", swapped=True),
    _form(rf"{_BY} {_A} {_GREATER} {_THAN} {_B}", "difference", swapped=True),
    _form(rf"{_BY} {_A} {_SMALLER} {_THAN} {_B}", "difference"),
    _form(
        rf"\bcompar(?:ed|ing) (?:to|with) {_FIRST_B}, {_MORE}{_VERB} {_A} (?:have|has|had|get|got)?\s*[?.]",
        "difference",
        swapped=True,
    ),
    _form(
        rf"\bcompar(?:ed|ing) (?:to|with) {_FIRST_B}, {_LESS}{_VERB} {_A} (?:have|has|had|get|got)?\s*[?.]",
        "difference",
    ),
    _form(rf"^what (?:is|was|are|were) {_A} minus {_B}", "difference", swapped=True),
    _form(rf"{_MORE}{_VERB} {_A} {_THAN} {_B}", "difference", swapped=True),
    _form(rf"{_LESS}{_VERB} {_A} {_THAN} {_B}", "difference"),
    _form(rf"{_MORE}(?! than) {_A} {_THAN} {_B}", "difference", swapped=True),
    _form(
        rf"\b{_PART}(?: constitution)? (?:of|did|does|do) {_A} (?:among|out of|within|relative to|make up of|in)"
        rf" (?:the )?(?=total|all|overall){_B}",
        "ratio",
        swapped=True,
        percent=True,
    ),
    _form(
        rf"\bwhat {_PART} of {_A} (?:comes? from|came from|(?:is|are|was|were)(?: due to| made up of)?) {_B}",
        "ratio",
        percent=True,
    ),
    _form(rf"\b(?:is|was|are|were) {_A} as an? {_PART} of {_B}", "ratio", swapped=True, percent=True),
    _form(rf"{_HAN}[与和跟同]{_HAN_B}(?:之间)?的?(?:相差|差额?|差距|差异|差值)", "difference", swapped=True),
    _form(rf"{_HAN}比{_HAN_B}(?:要|共)?[多高大长](?:了|出)?(?:多少|几|出|$|？)", "difference", swapped=True),
    _form(rf"{_HAN}比{_HAN_B}(?:要|共)?[少低小短](?:了)?(?:多少|几|$|？)", "difference"),
    _form(rf"{_HAN}占{_HAN_B}的?(?:比例|比重|百分比|百分之)", "ratio", swapped=True, percent=True),
    _form(rf"{_HAN}是{_HAN_B}的?(?:几倍|多少倍)", "ratio", swapped=True),
)


def comparison_of(question: Question) -> Comparison | None:
    """The two subjects that a question compares, None when it compares none, or one in two years."""
    body = question_body(question.text)
    for form in _FORMS:
        for match in form.pattern.finditer(body):
            a, b = (_TRIMMED.sub("", re.sub(r"[’']s\b", "", match[name])).strip() for name in ("a", "b"))
            if not (is_subject(a) and is_subject(b)):
                continue
            if not TAIL.search(a) and (tail := TAIL.search(b)) is not None and is_subject(b[: tail.start()]):
                # "How much higher is A than B on X": X holds for both.
                b = b[: tail.start()].strip()
            percent = form.percent or (form.operation == "ratio" and question.answer_type == "percent")
            return Comparison(form.operation, (b, a) if form.swapped else (a, b), percent)
    return None


def is_subject(text: str) -> bool:
    """Whether a text names more than a time."""
    dated = set(years(text)) | {term for term in terms(text) if term.isdigit()}
    return bool(set(terms(text)) - dated - set(terms("year fiscal period quarter month december january")))
