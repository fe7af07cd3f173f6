"""Questions on words, without a model: what a page itself explains is an answer, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.draft import Draft, Request, quote_of
from agent.question import Question
from agent.quoted import RULES_TRUST
from agent.ranking import Scored
from agent.statements import state
from agent.wordings import asked_acronym
from tools.characters import Normalized, normalize

_NAMED_WORD = re.compile(
    r"[\"“‘「『'《]([^\"”’」』'》]{1,40})[\"”’」』'》]"
    r"|\b(?:word|character|phrase|term|expression)s? ([\w-]+)"
    r"|\bmeaning of (?!(?:the )?(?:word|character|phrase|term|expression)\b)(?:the )?([\w-]+)"
    r"|\bdoes (?:the )?([\w-]+) mean\b"
    r"|([\u3400-\u9fff])(?:字|这个字|一字)"
    r"|(?:^|[中里的，])([\u3400-\u9fff]{1,4})(?:一词|这个词|的意思|的含义|的读音|是什么意思|什么意思)"
)
_SOUND = re.compile(r"读音|古音|反切|怎么读|如何读|\bpronounc|\bpronunciation\b", re.IGNORECASE)
_FORM = re.compile(
    r"修辞|句式|词性|通假|语法|活用|比喻|拟人|排比|对偶|夸张|借代|倒装|宾语前置|判断句|被动|省略"
    r"|\b(?:rhetoric\w*|metaphor|simile|grammar|part of speech|noun|verb|adjective|etymology)\b",
    re.IGNORECASE,
)
_MOST_SHOWN = 80


def gloss_draft(request: Request, ranked: Sequence[Scored]) -> Draft | None:
    """The explanation that a page gives of the word that is asked for; an abstention when none of them explains it.

    None for a question that other ways may answer: on no word at all, on an acronym, or on the form of a sentence (its
    rhetoric, its grammar) where a page speaks of such forms.
    """
    question = request.question
    folded = normalize(question.text).text
    sound = _SOUND.search(folded) is not None
    forms = {match.group().lower() for match in _FORM.finditer(folded)}
    if forms and not sound:
        said = any(form in normalize(item.unit.text).text.lower() for item in ranked for form in forms)
        return (
            None if said else _abstention(request, ranked, "the pages say nothing of it, and judging it needs a model")
        )
    word = asked_word(question)
    if word is None or asked_acronym(question.text) is not None:
        return None
    pattern = _explains(normalize(word).text, sound=sound)
    for item in ranked:
        text = normalize(item.unit.text)
        if (found := pattern.search(text.text)) is not None:
            return _explained(request, item, _clause(text, found))
    return _abstention(request, ranked, f"the pages don't explain “{word}”, and what they don't say needs a model")


def asked_word(question: Question) -> str | None:
    """The word that a question asks about: the one in quotation marks, else the one that it names as a word."""
    match = _NAMED_WORD.search(question.text) or _NAMED_WORD.search(normalize(question.text).text)
    return None if match is None else next(group for group in match.groups() if group).strip()


def _explains(word: str, *, sound: bool) -> re.Pattern[str]:
    """How texts explain a word ("説，悅也", "説謂悅", "X means", "X是指"), or its sound ("説音悅", "説讀若悅")."""
    w = re.escape(word)
    if sound:
        return re.compile(
            rf"{w}[，,]?(?:音|读[若如作曰为]?)|{w}[，,]?\S{{2}}[反切]|\b{w}\b.{{0,20}}\bpronounced\b", re.IGNORECASE
        )
    if word.isascii():
        return re.compile(
            rf"\b{w}\b[\"”’']?,?\s+(?:means?|refers? to|denotes?|stands? for|is defined as|is short for"
            rf"|is the (?:term|word|name) for)\b|\bby [\"“‘']?{w}[\"”’']? (?:we|is) mean|\b{w}\b[\"”’']?\s*[:—–]\s",
            re.IGNORECASE,
        )
    return re.compile(
        rf"(?:^|[。；，、：\s])[“「『]?{w}[”」』]?(?:者?[，,]|者)[^。；，,]{{1,12}}也"
        rf"|{w}[”」』]?者?[，,]?(?:谓|曰|训|犹|即|乃言|通[“「『])"
        rf"|{w}[”」』]?[，,]?(?:的意思是|意思是|是指|指的是|意为|意即|意谓|即指|解作|解释为|表示)"
        rf"|(?:谓之|称为|叫做|称作)[“「『]?{w}|^[“「『]?{w}[”」』]?[：:]"
    )


def _clause(folded: Normalized, found: re.Match[str]) -> str:
    """The words from the word on to the end of its sentence, as they stand on the page."""
    start = found.start() + len(found.group()) - len(found.group().lstrip("。；，、： \n"))
    end = re.compile(r"[。；;!?！？]|\.\s").search(folded.text, found.end())
    stop = end.end() if end else len(folded.text)
    return folded.quote(start, min(stop, start + _MOST_SHOWN)).strip()


def _explained(request: Request, best: Scored, answer: str) -> Draft:
    unit = best.unit
    confidence = RULES_TRUST * max(best.coverage, 0.5)
    return Draft(
        answer=answer if confidence >= request.support else None,
        candidate=answer,
        quotes=(quote_of(unit, best, answer),),
        statements=(state(request.question, unit, "", answer),),
        coverage=best.coverage,
        confidence=confidence,
        way="quote",
    )


def _abstention(request: Request, ranked: Sequence[Scored], reason: str) -> Draft:
    best = ranked[0]
    return Draft(
        answer=None,
        candidate=None,
        quotes=(quote_of(best.unit, best),),
        statements=(state(request.question, best.unit),),
        coverage=best.coverage,
        missing=best.missing,
        reason=reason,
        confidence=0.0,
    )
