"""The synthesiser that asks a model: facts tied to pieces of the pages by id, and an answer that rests on them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from agent.answers import shortened
from agent.draft import Draft, Request, Synthesizer
from agent.matching import surface_forms, terms
from agent.models.calls import PICTURE_TOKENS
from agent.models.settings import ModelSettings
from agent.models.types import Capabilities, Prompt
from agent.prompts import fenced, render
from agent.question import Question
from agent.ranking import WANTED, rank_units
from agent.roles.citations import Cited, Shown, cited, stands, translated
from agent.roles.exhibits import exhibits, page_marker
from agent.roles.reader import transcribed
from agent.roles.replies import AnswerReply, SeenAnswerReply, TranslationReply
from agent.values import values
from tools.characters import normalize

_LAID_OUT = 3
_FEW_LINES = 600
"""Up to so many lines are ranked in some milliseconds, which is less than a thread costs that competes for the lock."""
_PROMPT_TOKENS = 700
_CONSTANTS = frozenset({1, 2, 3, 4, 5, 12, 100, 365, 1000, 10**6})
"""Numbers that a calculation may bring in: how many are averaged, months, days, percent, scales."""
_NOTES = 1500
_CLASSICAL = ("translation", "reasoning_qa", "knowledge_qa", "linguistic_qa")
_SURE = 0.3
"""From this confidence on an answer by rules is right about as often as not, as measured without a model."""
_NO_ANSWER = re.compile(
    r"(?:not (?:answerable|available|stated|mentioned|provided|given|specified)|unanswerable|unknown|n/?a|none|null|"
    r"insufficient.{0,40}|no answer|无|無|无法回答|无法确定|未提及|没有提到|不详)[.。]?",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"\b(?:do(?:es)?(?: not|n't) (?:say|mention|state|provide|contain|specify|give|include|tell|indicate)"
    r"|(?:is|are|was|were) not (?:mentioned|stated|provided|specified|given|available|included)"
    r"|no (?:information|mention)|cannot be (?:determined|answered))\b"
    r"|(?:没有|沒有|未|并未)(?:提到|提及|说明|說明|写明|记载|記載|给出|提供)|(?:无法|不能|無法)(?:确定|回答|得知|判断|確定)",
    re.IGNORECASE,
)
"""What a model writes as an answer when it means that the pages hold none."""


class ModelSynthesizer:
    """Asks the model for facts and answer. Where its reply is of no use, the rule-based synthesiser writes the draft.

    What the model cites must be among what it was shown; a fact without such a source is left out. With `rules` set to
    "when_insufficient", an answer of which the rules are sure goes before the model's finding that there is none.
    """

    name = "model"

    def __init__(self, settings: ModelSettings, rules: Synthesizer) -> None:
        self._settings = settings
        self._rules = rules

    async def synthesise(self, request: Request) -> Draft:
        """The model's draft, or that of the rules; `origin` says which, and why."""
        calls = request.calls
        capabilities = None if calls is None else await calls.capabilities()
        if calls is None or capabilities is None:
            return await self._by_rules(request, "the model can't be reached")
        if request.task == "ocr":
            by_ocr = await self._by_rules(request, "the page's text as it was read")
            # A transcription that was refused would come out the same again; OCR's is what is left.
            return by_ocr if request.doubts else await transcribed(request, capabilities, by_ocr) or by_ocr
        shown = await self._shown(request, capabilities)
        if shown is None:
            return await self._by_rules(request, "no page with text was read")
        schema = _schema(shown)
        asked = await calls.record(
            self._prompt(shown),
            schema,
            lambda reply: _unusable(reply, shown),
            choices={"sources": shown.ids} if shown.ids else None,
            language=request.question.language,
        )
        if asked.value is None:
            return await self._by_rules(request, asked.reason)
        draft = await _draft(shown, asked.value)
        draft = draft.model_copy(update={"origin": "model, repaired" if asked.repaired else "model"})
        return await self._second_opinion(request, draft) or draft

    async def _second_opinion(self, request: Request, draft: Draft) -> Draft | None:
        """What the rules are sure of, where the model finds nothing or goes on with what the verifier won't have."""
        reason = _weakness(request, draft)
        if not reason or self._settings.rules != "when_insufficient" or request.task == "translation":
            return None
        second = await self._rules.synthesise(request)
        if second.answer is None or (second.confidence or 0.0) < _SURE:
            return None
        return second.model_copy(update={"origin": f"rules: {reason}"})

    async def _by_rules(self, request: Request, reason: str) -> Draft:
        draft = await self._rules.synthesise(request)
        if draft.final:
            # The rules can't do this at all and say that it takes a model; there is one, and this became of it.
            draft = draft.model_copy(update={"final": False, "reason": f"the model gave no usable reply ({reason})"})
        return draft.model_copy(update={"origin": f"rules: {reason}"})

    async def _shown(self, request: Request, capabilities: Capabilities) -> Shown | None:
        """The pieces and pictures that fit the context; None when there is nothing to show."""
        best = [read.page.ref for read in request.pages[:_LAID_OUT]]
        laid_out = await request.lay_out(best) if best else {}
        pages = [replace(read, page=laid_out.get(read.page.ref, read.page)) for read in request.pages]
        few = sum(len(read.page.lines) for read in pages) <= _FEW_LINES
        ranked = (
            rank_units(request.question, pages) if few else await asyncio.to_thread(rank_units, request.question, pages)
        )
        form = self._settings.evidence if capabilities.vision else "text"
        pictured = tuple(pages[: self._settings.images]) if form != "text" else ()
        images_only = bool(pictured) and (form == "image" or not ranked)
        if not ranked and not pictured:
            return None
        room = capabilities.context - self._settings.decoding.max_tokens - _PROMPT_TOKENS
        while len(pictured) > 1 and room - len(pictured) * PICTURE_TOKENS < PICTURE_TOKENS:
            pictured = pictured[:-1]
        tokens = max(min(self._settings.evidence_tokens, room - len(pictured) * PICTURE_TOKENS), 200)
        pictures = [await request.picture(read.page.ref) for read in pictured] if request.picture else []
        return Shown(
            request=replace(request, pages=pages),
            exhibits=exhibits(request.question, pages, ranked, tokens=tokens, snippets=request.snippets),
            pictures=tuple(pictures),
            pictured=pictured,
            images_only=images_only,
        )

    def _prompt(self, shown: Shown) -> Prompt:
        request = shown.request
        pages = shown.exhibits.text
        if shown.images_only:
            pages = "\n".join(page_marker(f"P{number}", read) for number, read in enumerate(shown.pictured, 1))
        variant = "images" if shown.images_only and request.task != "translation" else request.task
        system, user, version = render(
            "answer",
            variant,
            request.question.language,
            pages=pages,
            background=shown.exhibits.background,
            question=request.question.text,
            notes=_notes(request),
        )
        return Prompt(role="answer", system=system, user=user, version=version, pictures=shown.pictures)


def _weakness(request: Request, draft: Draft) -> str:
    """Why the rules are heard beside a draft; "" when it is good as it is.

    It has no answer, the same one after a refusal, or one that no quote holds although a value is wanted or the last
    answer was refused.
    """
    if draft.answer is None:
        return f"the model found no answer ({draft.reason})"
    if any(doubt.startswith(f"{draft.answer!r}:") for doubt in request.doubts):
        return "the model insists on what was refused"
    held = draft.calculation is not None or any(stands(quote.text, draft.answer) for quote in draft.quotes)
    wanted = bool(request.doubts) or request.question.answer_type in WANTED
    return "the model's quotes don't hold its answer" if wanted and not held else ""


async def _draft(shown: Shown, reply: AnswerReply | TranslationReply) -> Draft:
    """The reply as a draft: its facts with their quotes, its answer when it has one that rests on any."""
    request, question = shown.request, shown.request.question
    answer = reply.answer.strip()
    given = reply.sufficient and bool(answer) and not _declines(question, answer)
    calculation = None
    if isinstance(reply, TranslationReply):
        quoted = translated(shown, reply)
    else:
        quoted = cited(shown, reply, answer)
        if given and _operands_stand(reply.calculation, quoted):
            answer, calculation = await _calculated(request, reply.calculation.strip(), answer)
    quotes = tuple(quote for quote, _, _ in quoted)
    best = max((item for _, _, item in quoted if item is not None), key=lambda item: item.coverage, default=None)
    missing = surface_forms(question.text, best.missing) if best else ()
    wanted = (reply.missing.strip(),) if reply.missing.strip() and not given else ()
    reason = ""
    if not given:
        reason = reply.missing.strip() or "the model finds no answer on these pages"
    elif not quoted:
        reason = "nothing that the model cites stands on the pages"
    return Draft(
        answer=answer if given and quoted else None,
        candidate=shortened(answer) if answer and not _declines(question, answer) else None,
        quotes=quotes,
        statements=tuple(statement for _, statement, _ in quoted),
        coverage=best.coverage if best else 0.0,
        missing=(*wanted, *missing),
        calculation=calculation,
        reason=reason,
        way="model",
    )


def _operands_stand(expression: str, quoted: Sequence[Cited]) -> bool:
    """Whether the numbers of a calculation stand in the quotes, constants aside; small models copy examples."""
    text = " ".join(f"{quote.context} {quote.text}" for quote, _, _ in quoted)
    there = values(text.replace("(", " ").replace(")", " "))
    operands = values(expression.replace(",", "").replace("(", " ").replace(")", " "))
    found = [any(operand.same(other) for other in there) for operand in operands]
    given = zip(operands, found, strict=True)
    return any(found) and all(held or (o.number is not None and o.number in _CONSTANTS) for o, held in given)


def _schema(shown: Shown) -> type[AnswerReply] | type[TranslationReply]:
    """The form of the reply: a translation names what it translates, and what was only seen has boxes."""
    if shown.request.task == "translation":
        return TranslationReply
    return SeenAnswerReply if shown.images_only else AnswerReply


def _unusable(reply: AnswerReply | TranslationReply, shown: Shown) -> str:
    """What makes a reply useless although it has the right form."""
    answer, question = reply.answer.strip(), shown.request.question
    if reply.sufficient and not answer:
        return '"answer" is empty; if the pages don\'t hold the answer, set "sufficient" to false'
    if reply.sufficient and not any(char.isalnum() for char in answer):
        return f'"answer" has no letters and no digits: {answer[:40]}'
    if reply.sufficient and isinstance(reply, AnswerReply) and _repeats(question, answer):
        return f'"answer" only repeats the question ({answer}); say what is asked for'
    named = [source for fact in reply.facts for source in fact.sources] if isinstance(reply, AnswerReply) else []
    if reply.sufficient and named and shown.ids and not any(shown.knows(source) for source in named):
        return f'{named[0]!r} is no id of what was shown; "sources" are ids such as {shown.ids[0]} or {shown.ids[-1]}'
    return ""


def _declines(question: Question, answer: str) -> bool:
    """Whether an answer says that there is none. What a document doesn't say may be asked for, too."""
    if _NO_ANSWER.fullmatch(answer):
        return True
    return question.answer_type != "yes_no" and not question.negated and _SAYS_NOTHING.search(answer) is not None


def _repeats(question: Question, answer: str) -> bool:
    """Whether an answer says nothing that the question doesn't say; a choice between options says enough."""
    if question.options or question.answer_type == "yes_no" or question.compared:
        return False
    said = set(terms(answer))
    return bool(said) and said <= set(terms(question.text)) and _within(answer, question.text)


def _within(part: str, whole: str) -> bool:
    """Whether a text stands in another one, case, width and Chinese script aside."""
    return normalize(part).text.lower().strip(" .。") in normalize(whole).text.lower()


def _notes(request: Request) -> str:
    """What else the model is told: facts of earlier drafts, the page's simplified text, doubts about the last draft."""
    chinese = request.question.language == "zh"
    parts = []
    if request.known:
        head = "已查明的事实：" if chinese else "Facts found so far:"
        parts.append(f"{head}\n{fenced(chr(10).join(request.known))}")
    if request.notes and request.task in _CLASSICAL:
        head = "页面文字的简体转写：" if chinese else "The text of the page in simplified characters:"
        parts.append(f"{head}\n{fenced(request.notes[:_NOTES])}")
    if request.doubts:
        head = "上一稿未通过核查，请改正或说明缺少什么：" if chinese else "The checker refused the last draft; mend it:"
        parts.append(f"{head}\n" + "\n".join(f"- {doubt}" for doubt in request.doubts))
    return "\n".join(parts)


async def _calculated(request: Request, expression: str, answer: str) -> tuple[str, str | None]:
    """The answer with the number that the calculator gives for the model's expression, and the calculation."""
    clean = expression.split("=")[0].replace(",", "").replace("%", "").replace("×", "*").replace("÷", "/").strip()
    result = await request.call("calculator", {"expression": clean[:500]}) if clean else None
    if result is None or result.value is None:
        return answer, None
    calculation = result.evidence[0].text if result.evidence else None
    claimed = [value for value in values(answer) if value.number is not None]
    exact = float(result.value)
    for value in claimed:
        if value.number is not None and abs(abs(float(value.number)) - abs(exact)) <= max(abs(exact) / 100, 0.005):
            return answer, calculation
    if len(claimed) == 1:
        places = request.question.decimals if request.question.decimals is not None else 2
        shown = f"{exact:.{places}f}".rstrip("0").rstrip(".") if places else f"{exact:.0f}"
        only = claimed[0]
        digits = re.search(r"-?\d[\d,]*(?:\.\d+)?", answer[only.start : only.stop])
        if digits:
            start = only.start + digits.start()
            return answer[:start] + shown + answer[only.start + digits.end() :], calculation
    return answer, None
