"""The synthesiser that asks a model: facts tied to pieces of the pages by id, and an answer that rests on them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, field_validator

from agent.answers import shortened
from agent.draft import Draft, Request, Synthesizer, quote_of
from agent.matching import surface_forms
from agent.models.settings import ModelSettings
from agent.models.types import Capabilities, Picture, Prompt
from agent.prompts import render
from agent.ranking import PageRead, Scored, rank_units
from agent.roles.exhibits import Exhibits, exhibits, page_marker
from agent.roles.reader import transcribed
from agent.statements import state
from agent.values import values
from retrieval.types import BBox
from tools.regions import Quote

_LAID_OUT = 3
_PROMPT_TOKENS = 700
_PICTURE_TOKENS = 1200
_MOST_QUOTES = 50
_MEETS = 0.5
_SURE = 0.3
"""From this confidence on an answer by rules is right about as often as not, as measured without a model."""
_NO_ANSWER = re.compile(
    r"(?:not (?:answerable|available|stated|mentioned|provided|given|specified)|unanswerable|unknown|n/?a|none|"
    r"insufficient.{0,40}|no answer|无法回答|无法确定|未提及|没有提到|不详)[.。]?",
    re.IGNORECASE,
)


_IDS = re.compile(r"\s*[\[(（【](?:(?:S|P|K)\s*\d+[,;、\s]*)+[\])）】]|\s*\[page=[^\]]*\](?:\])?")


class FactReply(BaseModel):
    """One fact as a model states it, with the pieces that it stands in."""

    text: str = Field(json_schema_extra={"maxLength": 400})
    sources: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": 4})

    @field_validator("sources", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        values = [] if value is None else value if isinstance(value, list) else [value]
        return [str(item) for item in values]


class SeenFactReply(FactReply):
    """A fact that a model saw. `box` is where, as shares of the page."""

    box: list[float] | None = Field(default=None, json_schema_extra={"maxItems": 4})


def _text(value: Any) -> Any:
    """A field of text that a model left out or wrote as a list."""
    if value is None:
        return ""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


Text = Annotated[str, BeforeValidator(_text)]


class AnswerReply(BaseModel):
    """The reply of the writer. `missing` says what would be needed when `sufficient` is false."""

    facts: Sequence[FactReply] = Field(default_factory=list, json_schema_extra={"maxItems": 8})
    sufficient: bool = True
    answer: Text = ""
    calculation: Text = ""
    missing: Text = ""

    @field_validator("facts", mode="before")
    @classmethod
    def _as_facts(cls, value: Any) -> Any:
        return [{"text": item} if isinstance(item, str) else item for item in value or []]


class SeenAnswerReply(AnswerReply):
    """The reply of a writer that was shown pictures only."""

    facts: Sequence[SeenFactReply] = Field(default_factory=list, json_schema_extra={"maxItems": 8})


class TranslationReply(BaseModel):
    """The reply of the translator, with the pieces that it translated."""

    sources: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": 60})
    sufficient: bool = True
    answer: Text = ""
    missing: Text = ""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A request with what the model is shown of its pages."""

    request: Request
    exhibits: Exhibits
    pictures: tuple[Picture, ...]
    pictured: tuple[PageRead, ...]
    images_only: bool


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
            return await transcribed(request, capabilities, by_ocr) or by_ocr
        shown = await self._shown(request, capabilities)
        if shown is None:
            return await self._by_rules(request, "no page with text was read")
        schema = _schema(shown)
        asked = await calls.record(self._prompt(shown), schema, _unusable, language=request.question.language)
        if asked.value is None:
            return await self._by_rules(request, asked.reason)
        draft = await _draft(shown, asked.value)
        draft = draft.model_copy(update={"origin": "model, repaired" if asked.repaired else "model"})
        return await self._second_opinion(request, draft) or draft

    async def _second_opinion(self, request: Request, draft: Draft) -> Draft | None:
        """What the rules are sure of, where the model finds nothing or insists on what the verifier has refused."""
        insists = draft.answer is not None and any(repr(draft.answer) in doubt for doubt in request.doubts)
        if self._settings.rules != "when_insufficient" or request.task == "translation":
            return None
        if draft.answer is not None and not insists:
            return None
        second = await self._rules.synthesise(request)
        if second.answer is None or (second.confidence or 0.0) < _SURE:
            return None
        reason = "the model insists on what was refused" if insists else f"the model found no answer ({draft.reason})"
        return second.model_copy(update={"origin": f"rules: {reason}"})

    async def _by_rules(self, request: Request, reason: str) -> Draft:
        draft = await self._rules.synthesise(request)
        return draft.model_copy(update={"origin": f"rules: {reason}"})

    async def _shown(self, request: Request, capabilities: Capabilities) -> _Shown | None:
        """The pieces and pictures that fit the context; None when there is nothing to show."""
        ranked = await asyncio.to_thread(rank_units, request.question, request.pages)
        best = list(dict.fromkeys(item.unit.page for item in ranked))[:_LAID_OUT]
        laid_out = await request.lay_out(best) if best else {}
        pages = [replace(read, page=laid_out.get(read.page.ref, read.page)) for read in request.pages]
        known = [item for item in ranked if item.unit.page not in laid_out]
        ranked = await asyncio.to_thread(rank_units, request.question, pages, known)
        form = self._settings.evidence if capabilities.vision else "text"
        pictured = tuple(pages[: self._settings.images]) if form != "text" else ()
        images_only = bool(pictured) and (form == "image" or not ranked)
        if not ranked and not pictured:
            return None
        room = capabilities.context - self._settings.decoding.max_tokens - _PROMPT_TOKENS
        while len(pictured) > 1 and room - len(pictured) * _PICTURE_TOKENS < _PICTURE_TOKENS:
            pictured = pictured[:-1]
        tokens = max(min(self._settings.evidence_tokens, room - len(pictured) * _PICTURE_TOKENS), 200)
        pictures = [await request.picture(read.page.ref) for read in pictured] if request.picture else []
        return _Shown(
            request=replace(request, pages=pages),
            exhibits=exhibits(request.question, pages, ranked, tokens=tokens, snippets=request.snippets),
            pictures=tuple(pictures),
            pictured=pictured,
            images_only=images_only,
        )

    def _prompt(self, shown: _Shown) -> Prompt:
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


async def _draft(shown: _Shown, reply: AnswerReply | TranslationReply) -> Draft:
    """The reply as a draft: its facts with their quotes, its answer when it has one that rests on any."""
    request, question = shown.request, shown.request.question
    answer = reply.answer.strip()
    given = reply.sufficient and bool(answer) and not _NO_ANSWER.fullmatch(answer)
    calculation = None
    if isinstance(reply, TranslationReply):
        cited = _translated(shown, reply)
    else:
        cited = _cited(shown, reply, answer)
        if given and reply.calculation.strip():
            answer, calculation = await _calculated(request, reply.calculation.strip(), answer)
    quotes = tuple(quote for quote, _, _ in cited)
    best = max((item for _, _, item in cited if item is not None), key=lambda item: item.coverage, default=None)
    missing = surface_forms(question.text, best.missing) if best else ()
    wanted = (reply.missing.strip(),) if reply.missing.strip() and not given else ()
    reason = ""
    if not given:
        reason = reply.missing.strip() or "the model finds no answer on these pages"
    elif not cited:
        reason = "nothing that the model cites stands on the pages"
    return Draft(
        answer=answer if given and cited else None,
        candidate=shortened(answer) if answer and not _NO_ANSWER.fullmatch(answer) else None,
        quotes=quotes,
        statements=tuple(statement for _, statement, _ in cited),
        coverage=best.coverage if best else 0.0,
        missing=(*wanted, *missing),
        calculation=calculation,
        reason=reason,
        way="model",
    )


def _schema(shown: _Shown) -> type[AnswerReply] | type[TranslationReply]:
    """The form of the reply: a translation names what it translates, and what was only seen has boxes."""
    if shown.request.task == "translation":
        return TranslationReply
    return SeenAnswerReply if shown.images_only else AnswerReply


def _unusable(reply: AnswerReply | TranslationReply) -> str:
    """What makes a reply useless although it has the right form."""
    if reply.sufficient and not reply.answer.strip():
        return '"answer" is empty; if the pages don\'t hold the answer, set "sufficient" to false'
    return ""


def _notes(request: Request) -> str:
    """What else the model is told: the verifier's doubts about its last draft, the simplified text of the page."""
    chinese = request.question.language == "zh"
    parts = []
    if request.doubts:
        head = "上一稿未通过核查，请改正或说明缺少什么：" if chinese else "The checker refused the last draft; mend it:"
        parts.append(f"{head}\n" + "\n".join(f"- {doubt}" for doubt in request.doubts))
    return "\n".join(parts)


_Cited = tuple[Quote, str, Scored | None]


def _cited(shown: _Shown, reply: AnswerReply, answer: str) -> list[_Cited]:
    """The facts with the pieces that they name. A second piece of a fact is a fact of its own, in its own words."""
    question = shown.request.question
    found: dict[object, _Cited] = {}
    for fact in reply.facts:
        text = _sentence(fact.text)
        pieces = [item for source in fact.sources if (item := _piece(shown, source)) is not None]
        for number, item in enumerate(pieces):
            statement = text if number == 0 and text else state(question, item.unit)
            key = (item.unit.page, item.unit.lines)
            found.setdefault(key, (quote_of(item.unit, item, answer), statement, item))
        if not pieces and text and (quote := _seen(shown, fact)) is not None:
            found.setdefault((quote.page, str(quote.box)), (quote, text, None))
    stands = any(_stands(quote.text, answer) for quote, _, _ in found.values())
    if answer and not reply.calculation and not stands and (item := _standing(shown.exhibits, answer)) is not None:
        # Small models leave ids out or name others. Where the answer stands word for word, its piece is what they mean.
        found.setdefault(
            (item.unit.page, item.unit.lines), (quote_of(item.unit, item, answer), state(question, item.unit), item)
        )
    return list(found.values())[:_MOST_QUOTES]


def _sentence(text: str) -> str:
    """A fact as one line of words: without the ids and citations that models put into it."""
    return " ".join(_IDS.sub("", text).split())


def _piece(shown: _Shown, source: str) -> Scored | None:
    match = re.search(r"S\s*(\d+)", source) or re.fullmatch(r"\s*\[?(\d+)\]?\s*", source)
    return shown.exhibits.pieces.get(f"S{match.group(1)}") if match else None


def _seen(shown: _Shown, fact: FactReply) -> Quote | None:
    """What a vision model saw on a page that it was shown: the box that it gives, else the whole page."""
    for source in fact.sources:
        match = re.search(r"P\s*(\d+)", source) or re.fullmatch(r"\s*(\d+)\s*", source)
        number = int(match.group(1)) if match else 0
        if 1 <= number <= len(shown.pictured):
            box = box_of(fact.box if isinstance(fact, SeenFactReply) else None) or BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
            page = shown.pictured[number - 1].page
            inside = [i for i, line in enumerate(page.lines) if line.bbox.coverage_by(box) >= 0.5]
            text = " ".join(page.lines[i].text.strip() for i in inside)
            context = text if values(text) or len(text) > 20 else ""
            return Quote(page=page.ref, lines=(), text=fact.text, kind="page", basis="vision", context=context, box=box)
    return None


def box_of(numbers: Sequence[float] | None) -> BBox | None:
    """The box that a model drew, as shares of the page; percentages and thousandths are scaled; None for no box."""
    if numbers is None or len(numbers) != 4:
        return None
    largest = max(numbers)
    scale = 1.0 if largest <= 1.0 else 100.0 if largest <= 100 else 1000.0
    x1, y1, x2, y2 = (min(max(value / scale, 0.0), 1.0) for value in numbers)
    return BBox(x1=x1, y1=y1, x2=x2, y2=y2) if x1 < x2 and y1 < y2 else None


def _standing(shown: Exhibits, answer: str) -> Scored | None:
    """The best piece in which an answer stands, of those that meet the question; a lone digit stands anywhere."""
    if len(answer.strip()) < 2:
        return None
    near = [item for item in shown.pieces.values() if item.coverage >= _MEETS]
    found = [item for item in near if _stands(item.unit.text, answer)]
    return max(found, key=lambda item: item.score, default=None)


def _stands(text: str, answer: str) -> bool:
    """Whether a text holds an answer word for word, or the one value that it states."""
    if re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE):
        return True
    claimed = values(answer)
    return len(claimed) == 1 and any(claimed[0].same(other) for other in values(text))


def _translated(shown: _Shown, reply: TranslationReply) -> Sequence[_Cited]:
    """The pieces that were translated, each one stated as it stands; all of the best page's when none is named."""
    items = [item for source in reply.sources if (item := _piece(shown, source)) is not None]
    if not items and shown.exhibits.pieces:
        first = next(iter(shown.exhibits.pieces.values())).unit.page
        items = [item for item in shown.exhibits.pieces.values() if item.unit.page == first]
    if not items and shown.pictured:
        page = shown.pictured[0].page
        whole = BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
        return [(Quote(page=page.ref, lines=(), text=page.text, kind="page", basis="vision", box=whole), "", None)]
    unique = {(item.unit.page, item.unit.lines): item for item in items}
    return [(quote_of(item.unit, item), item.unit.text, item) for item in unique.values()][:_MOST_QUOTES]


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
