"""Take an answer out of a unit: the value, name, option or sentence that the question wants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.cues import WRITTEN_FORMS
from agent.matching import is_chinese, terms
from agent.question import Question
from agent.ranking import WANTED, Scored, wanted_values
from agent.reading import Unit
from agent.tables.cells import best_cell, cell_picks
from agent.tables.rows import Cell
from agent.types import AnswerType
from agent.values import Value, ValueKind, values
from agent.wordings import expansion
from tools.characters import normalize

_NAME = re.compile(
    r"(?:[A-Z][\w&.’'-]*|\b[A-Z]{2,})(?:\s+(?:(?:of|the|de|van|von|for|&)\s+)*(?:[A-Z0-9][\w&.’'-]*|\b[A-Z]{2,}))*"
)
_PERSON = re.compile(
    r"(?:[A-Z]\.\s*)?[A-Z][a-z’'-]+(?:\s+(?:[A-Z]\.|(?:(?:de|van|von|der|da|la)\s+)*[A-Z][A-Za-z’'-]+)){1,3}"
)
_TITLES = re.compile(
    r"\s*\b(?:Executive|Senior|Vice|President|Chief|Director|Chair\w*|Secretary|Manager|Professor|Officer)\b"
)
_ORGANISATION = re.compile(
    r"\b(?:Corp\w*|Company|Inc|Ltd|LLP|LLC|University|Committee|Board|Department|Institute|Center|Centre|Association"
    r"|Council|Act|Form|Report|Street|Drive|Road|Avenue|States|Securities|Exchange|Commission)\b"
)
_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方"
    "俞任袁柳鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵汪祁毛禹狄米贝明臧计成戴"
    "宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯管卢莫房解丁宣邓单洪包"
    "左石崔吉龚程邢裴陆荣翁荀甄家封储靳段焦巴谷车侯全班秋仲宁仇甘祖武符刘景詹束龙叶司黎白蒲卓池乔闻党谭申冉桑桂温庄晏"
    "柴瞿阎慕连习艾向古易廖终步都耿满欧利越师巩聂辛简饶曾沙丰关查游权盖益"
)
_BEARER = re.compile(rf"([{_SURNAMES}][\u3400-\u9fff]{{1,2}}?)(?:担任|出任|[为是任])")
_REFERRING = re.compile(r"(?:figures?|fig|tables?|sections?|appendix|pages?|chapters?|notes?|items?|the)\b", re.I)
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|without|cannot|can't|isn't|aren't|wasn't|doesn't|don't|didn't|won't)\b"
    r"|(?<![岂豈])不(?!亦)|没有|沒有|未|无|無|非|勿(?!忘我|吉|论|論)"
    r"|莫(?=[知敢能之我吾予见見闻聞得可有善肯及敌敵测測要不无無])"
    r"|弗(?=[知能敢为為如若得可受许許从從听聽信见見闻聞忍胜勝"
    r"去取用肯与與及学學思问問辨有])",
    re.I,
)
"""What negates; a rhetorical question ("不亦樂乎", "豈不美哉") affirms. 莫 and 弗 stand in many names ("莫斯科"), so
they count only before what they negate.
"""
_NOR = re.compile(r"\bnor\b", re.I)
_DENYING = tuple(
    (re.compile(rf"\b(?:{told})\b", re.I), re.compile(rf"\b{asked}", re.I))
    for told, asked in (
        ("refused|refuses|refuse to", "refus"),
        ("rejected|rejects", "reject"),
        ("declined to|declines to", "declin"),
        ("failed to|fails to", "fail"),
        ("denied|denies", "den(?:y|ie)"),
        ("rarely", "rare"),
        ("seldom", "seldom"),
        ("hardly", "hardly"),
    )
)
"""Words that negate what follows, each with how a question shows that it asks for just that ("did it fail to ...?")."""
_MEASURE = re.compile(
    r"[餘余多]?(?:[万萬亿億]?[元人個个條条種种次位名座所家卷首篇畝亩兩两步丈尺寸里斤石匹戶户口歲岁年月日天回件册本页枚间間層层]|小时|分钟|公里|平方米)?"
)
_PREFERRED: dict[AnswerType, tuple[ValueKind, ...]] = {
    "percent": ("percent",),
    "money": ("money",),
    "number": ("number", "money"),
}
_LONGEST = 320
_TRIED = 8
_MATCH, _NEAR, _CLOSE = 0.35, 0.5, 0.85


@dataclass(frozen=True, slots=True)
class Pick:
    """An answer and the unit it was taken from. `head` is the column of a cell."""

    answer: str
    unit: Unit
    head: str = ""


def pick(question: Question, best: Scored, *, strict: bool) -> Pick | None:
    """The answer that one unit gives, None when it holds nothing of the wanted type.

    Where a name is wanted, `strict` takes nothing else; otherwise the sentence is the answer when it has no name.
    """
    unit = best.unit
    if (written := _written(question, unit.text)) is not None:
        return Pick(written, unit)
    if question.options and (option := _option(question, unit)):
        return Pick(option, unit)
    if question.answer_type in WANTED:
        return _cell_pick(question, unit) if unit.cells else _value_pick(question, unit)
    if question.answer_type == "yes_no":
        yes = denied(unit.text, asked=question.text) == question.negated
        words = ("是", "否") if question.language == "zh" else ("Yes", "No")
        return Pick(words[0] if yes else words[1], unit)
    if question.answer_type == "name" and (name := _name(question, unit)):
        return Pick(name, unit)
    if question.answer_type == "name" and (strict or question.person):
        return None
    if unit.cells and (cell := best_cell(question, unit)) is not None and question.answer_type in ("text", "number"):
        return Pick(cell.text.strip(), unit, cell.head)
    return Pick(shortened(unit.text), unit)


def spelt_out(question: Question, ranked: Sequence[Scored]) -> tuple[Scored, Pick] | None:
    """What the letters stand for that a question asks about, where a unit says it."""
    for item in ranked:
        if (full := expansion(question.text, item.unit.text)) is not None:
            return item, Pick(full, item.unit)
    return None


def asks_written_form(question: Question) -> bool:
    """Whether a question names a written form: an e-mail or web address, a telephone number."""
    return any(asked.search(question.text) for asked, _ in WRITTEN_FORMS)


def _written(question: Question, text: str) -> str | None:
    """The e-mail address, number or web address that the question names, the one after most of the question's terms."""
    for asked, form in WRITTEN_FORMS:
        if asked.search(question.text):
            found = [(m.group(m.lastindex or 0).strip(), m.start()) for m in form.finditer(text)]
            if found:
                wanted = set(question.terms)
                return max(found, key=lambda item: (_alike(item[0], wanted), -item[1]))[0]
    return None


def _alike(form: str, wanted: set[str]) -> int:
    """How many letters of the longest of the question's words an address has ("lnahmiash@" and "Nahmiash")."""
    return max((len(term) for term in wanted if len(term) > 3 and term in form.lower()), default=0)


def denied(text: str, *, asked: str = "") -> bool:
    """Whether a sentence negates: an odd number of negations. "Nor" goes on with one, and is one only on its own.

    A verb of refusal that the question `asked` has itself doesn't negate what is asked.
    """
    count = len(_DENIAL.findall(text))
    count += sum(len(told.findall(text)) for told, known in _DENYING if not known.search(asked))
    return (count or int(_NOR.search(text) is not None)) % 2 == 1


def shortened(text: str) -> str:
    """A quote of readable length, cut at a word with an ellipsis."""
    if len(text) <= _LONGEST:
        return text
    cut = text[:_LONGEST]
    return (cut if is_chinese(cut) else cut.rsplit(" ", 1)[0]) + " …"


def cell_answer(question: Question, ranked: Sequence[Scored]) -> tuple[Scored, Pick] | None:
    """The cell that answers a question for an amount best, None when no row near the top of the ranking does."""
    if question.answer_type not in WANTED or question.answer_type == "date":
        return None
    for found in cell_picks(question, ranked)[:_TRIED]:
        near = _NEAR if ranked[0].unit.cells else _CLOSE
        if found.match < _MATCH or found.scored.score < near * ranked[0].score:
            continue
        if _fits(question, found.unit, found.cell):
            return found.scored, Pick(found.answer, found.unit, found.cell.head)
    return None


def _cell_pick(question: Question, unit: Unit) -> Pick | None:
    cell = best_cell(question, unit)
    fits = cell is not None and _fits(question, unit, cell)
    return Pick(cell.text.strip(), unit, cell.head) if cell is not None and fits else None


def _fits(question: Question, unit: Unit, cell: Cell) -> bool:
    """Whether a cell has a value of the wanted kind, in a table about what is counted."""
    around = terms(f"{unit.label} {unit.context}")
    if question.answer_type == "count" and question.counted and question.counted[-1] not in around:
        return False
    dated = question.answer_type == "date"
    return any((v.kind in ("date", "year")) == dated for v in values(cell.text.strip()))


def _value_pick(question: Question, unit: Unit) -> Pick | None:
    found = [value for value in wanted_values(question, unit.text) if not _referring(unit.text, value)]
    if question.counter:
        counted = [value for value in found if question.counter in normalize(_counter(unit.text, value)).text]
        found = counted or ([] if question.answer_type == "count" else found)
    if question.counted and question.answer_type == "count":
        found = [value for value in found if _counts(question, unit, value)]
    if not found:
        return None
    kinds = [v for v in found if v.kind in _PREFERRED.get(question.answer_type, ())] or found
    reach = 8 if is_chinese(unit.text) else 30
    best = min(kinds, key=lambda v: (_distance(question, unit.text, v, reach), v.start))
    return Pick(best.text.strip(" ,.") + _counter(unit.text, best), unit)


def _counts(question: Question, unit: Unit, value: Value) -> bool:
    """Whether a number counts what the question counts: the noun stands right after it, or just before it."""
    noun = question.counted[-1]
    after = terms(unit.text[value.stop : value.stop + 60])[:5]
    before = terms(unit.text[max(value.start - 40, 0) : value.start])[-4:]
    return noun in after or noun in before


def _counter(text: str, value: Value) -> str:
    """The Chinese measure word after a value ("餘人", "畝"), which belongs to it; empty when there is none."""
    match = _MEASURE.match(text, value.stop)
    return match.group() if match and value.kind in ("number", "money") else ""


def _distance(question: Question, text: str, value: Value, reach: int) -> float:
    """How far a value stands from the question's terms; words right after a count weigh more, and so do those that are
    no more than `reach` characters away.
    """
    after = set(terms(text[value.stop : value.stop + 40])[:3])
    near = set(terms(text[max(value.start - 80, 0) : value.stop + 80]))
    before = set(terms(text[max(value.start - reach, 0) : value.start]))
    behind = set(terms(text[value.stop : value.stop + reach]))
    wanted = set(question.terms)
    counted = 0.5 * len(after & wanted) if question.answer_type == "count" else 0.0
    close = 0.6 * len(before & wanted) + 0.25 * len(behind & wanted)
    return -(len(near & wanted) + close) / (len(wanted) or 1) - counted


def _referring(text: str, value: Value) -> bool:
    """Whether a number only names a place, like the 3 of "Table 3" or "(3)" or "[3]", or opens a list item."""
    before = text[max(value.start - 9, 0) : value.start]
    if not before.strip() and text[value.stop : value.stop + 1] in ("、", "．", ")", "）"):
        return True
    return bool(re.search(r"(?:table|figure|fig\.?|page|note|item|section|step|chapter|[(\[第])\s*$", before, re.I))


def _option(question: Question, unit: Unit) -> str | None:
    """The one option that the unit names; None when it names none or several."""
    own = set(terms(unit.text))
    named = [option for option in question.options if set(terms(option)) and set(terms(option)) <= own]
    return named[0] if len(named) == 1 else None


def _name(question: Question, unit: Unit) -> str | None:
    """A name in the unit that the question doesn't give, nearest to the question's terms."""
    if unit.cells:
        named = unit.label and not set(terms(unit.label)) <= set(question.terms)
        cell = None if named else best_cell(question, unit)
        text = unit.label if named else cell.text.strip() if cell else None
        # Nobody's name has digits.
        return None if text and question.person and re.search(r"\d", text) else text
    return _han_name(question, unit.text) if is_chinese(unit.text) else _english_name(question, unit.text)


def _english_name(question: Question, text: str) -> str | None:
    asked = question.text.lower()
    found: list[tuple[int, int, str]] = []
    for match in (_PERSON if question.person else _NAME).finditer(text):
        name = match.group().strip(" .,’'")
        if question.person:
            name = _TITLES.split(name)[0].strip()
            if " " not in name or _ORGANISATION.search(name) or set(terms(name)) & set(question.terms):
                continue
        opener = match.start() == 0 and " " not in name
        if opener or len(name) < 2 or name.lower() in asked or not set(terms(name)) - set(question.terms):
            continue
        near = set(terms(text[max(match.start() - 60, 0) : match.end() + 60])) & set(question.terms)
        if not near or _REFERRING.match(name):
            continue
        found.append((-len(near), match.start(), name))
    return min(found)[2] if found else None


def _han_name(question: Question, text: str) -> str | None:
    """Who bears a role: the name before 為, 是, 任 or the name after the role; else a text as short as a name."""
    folded = normalize(text)
    for match in _BEARER.finditer(folded.text):
        role = folded.text[match.end() : match.end() + 8]
        if set(terms(role)) & set(question.terms):
            return folded.quote(*match.span(1))
    return None
