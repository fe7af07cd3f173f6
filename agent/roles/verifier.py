"""The verifier that asks a model, and believes it only as far as its quotes go."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, field_validator

from agent.matching import terms
from agent.models.types import Picture, Prompt
from agent.prompts import fenced, render
from agent.roles.objections import beside_the_point, cut, misread, shows
from agent.types import Claim, Verdict
from agent.values import values
from agent.verifier import Case, RuleVerifier, Verification, report_on
from tools.characters import normalize
from tools.types import Evidence

_MOST_CLAIMS = 8
_MOST_EVIDENCE = 6000
_AGREED, _BY_MODEL, _BY_RULES, _WEAKLY, _DISPUTED = 0.9, 0.6, 0.5, 0.4, 0.25
"""Confidence in a claim that model and rules support; that the model supports by words that show it, while the rules
can't tell; that rules support, while the model could not be asked; that one supports weakly while the other can't tell;
and that one supports while the other denies it. Those from 0.5 on may end a run, those below are tentative at most.
"""
_LEAST_QUOTE = 2
_SPACE = re.compile(r"[\s\"“”‘’'「」『』]+")


class VerdictReply(BaseModel):
    """The reply of the verifier: the words that decide, the value that the evidence gives, and the verdict."""

    quote: str = Field(default="", json_schema_extra={"maxLength": 300})
    value: str = Field(default="", json_schema_extra={"maxLength": 120})
    verdict: Verdict
    missing: str = Field(default="", json_schema_extra={"maxLength": 200})

    @field_validator("quote", "value", "missing", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return "" if value is None else str(value)

    @field_validator("verdict", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value


class ModelVerifier:
    """Checks each claim by rules and by the model. A verdict of the model counts only with a quote that stands in the
    evidence, and with a value that agrees with it; where the two disagree confidence is low.

    Claims that the model could not be asked about keep the verdict of the rules, with less confidence.
    """

    name = "model"

    def __init__(self) -> None:
        self._rules = RuleVerifier()

    async def verify(self, case: Case) -> Verification:
        """The joined verdicts and their report, with what the model says is missing."""
        ruled = await self._rules.verify(case)
        if case.draft.answer is None or case.calls is None or not ruled.claims or case.task == "ocr":
            return ruled
        asked = ruled.claims[:_MOST_CLAIMS]
        judged = await asyncio.gather(*(self._judged(case, claim) for claim in asked))
        claims = (*(claim for claim, _ in judged), *ruled.claims[_MOST_CLAIMS:])
        missing = tuple(dict.fromkeys(text for _, text in judged if text))
        report = report_on(case, claims)
        return Verification(
            claims=claims, report=report.model_copy(update={"missing": (*missing, *report.missing)[:12]})
        )

    async def _judged(self, case: Case, claim: Claim) -> tuple[Claim, str]:
        """A claim with the joined verdict, and what is missing for it."""
        cited = _cited(case)
        evidence = _shown(cited)
        blind = bool(cited) and all(item.match_basis == "vision" and not item.context for item in cited)
        pictures = await _pictures(case, cited) if any(item.match_basis == "vision" for item in cited) else ()
        if not evidence and not pictures:
            return claim, ""
        calls = case.calls
        if calls is None:
            return claim, ""
        prompt = replace(_prompt(case, claim, evidence), pictures=pictures)
        asked = await calls.record(prompt, VerdictReply, language=case.question.language)
        if asked.value is None:
            return _by_rules_alone(claim, asked.reason), ""
        reply = asked.value
        if case.task == "translation":
            translated = _translation(claim, reply, original=evidence, translation=case.draft.answer or "")
            return translated, reply.missing
        verdict, why = _upheld(reply, claim.text, evidence, blind=blind)
        if blind:
            joined = _seen_only(claim, verdict, why)
        else:
            if verdict == "supported" and (lack := beside_the_point(case, claim.text, reply.quote)):
                verdict, why = "unsupported", lack
            joined = _joined(_reconsidered(case, claim, cited), verdict, why)
            joined = _weighed(case, claim, joined, reply.quote, evidence)
        return joined, "" if joined.verdict == "supported" else reply.missing


def _reconsidered(case: Case, claim: Claim, cited: Sequence[Evidence]) -> Claim:
    """A claim that rules support, unless its value is that of another column, row, currency, scale or unit."""
    if claim.verdict != "supported" or case.draft.calculation is not None or case.draft.origin.startswith("rules"):
        return claim
    if problem := misread(case.question, claim.text, cited):
        return claim.model_copy(update={"verdict": "contradicted", "confidence": 0.0, "reason": problem})
    return claim


def _weighed(case: Case, ruled: Claim, joined: Claim, quote: str, evidence: str) -> Claim:
    """A claim that only the model supports, with the weight that its quote has.

    Operands that stand nowhere are final. A count is as sure as nobody knows whether the facts are all there are.
    """
    if joined.verdict != "supported" or ruled.verdict == "supported":
        return joined
    if case.draft.calculation is not None:
        return joined.model_copy(update={"verdict": ruled.verdict, "confidence": 0.0, "reason": ruled.reason})
    known = f"{evidence} {case.question.text}"
    weak = case.question.answer_type in ("count", "yes_no") or not shows(ruled.text, quote, known)
    return joined.model_copy(update={"confidence": _WEAKLY}) if weak else joined


def _cited(case: Case) -> list[Evidence]:
    """The evidence that the facts cite, in their order; for a knowledge question, background from the pool after it.

    An answer rests on the page, but what it explains may stand in the background.
    """
    wanted = dict.fromkeys(evidence_id for fact in case.facts for evidence_id in fact.evidence_ids)
    by_id = {item.id: item for item in case.evidence}
    cited = [by_id[evidence_id] for evidence_id in wanted if evidence_id in by_id]
    if case.task != "knowledge_qa" or not cited:
        return cited
    return [*cited, *(item for item in case.evidence if item.kind == "snippet")]


def _shown(cited: Sequence[Evidence]) -> str:
    """The evidence as the verifier sees it: what was only seen is shown by its page's own words, not by the claim's."""
    lines = []
    for item in cited:
        text = item.context if item.match_basis == "vision" else item.text
        if item.kind == "snippet":
            lines.append(f"- (background) {text}")
            continue
        context = f"({item.context}) " if item.context and item.match_basis != "vision" else ""
        if text:
            lines.append(f"- {context}{text}")
    return "\n".join(lines)[:_MOST_EVIDENCE]


async def _pictures(case: Case, cited: Sequence[Evidence]) -> tuple[Picture, ...]:
    """The pages of what was only seen, for a model that sees."""
    capabilities = await case.calls.capabilities() if case.calls else None
    if case.picture is None or capabilities is None or not capabilities.vision:
        return ()
    refs = dict.fromkeys(item.region.page_ref for item in cited if item.region and item.match_basis == "vision")
    return tuple([await case.picture(ref) for ref in list(refs)[:2]])


def _prompt(case: Case, claim: Claim, evidence: str) -> Prompt:
    question = case.question
    if case.task == "translation":
        system, user, version = render(
            "verify", "translation", question.language, evidence=fenced(evidence), claim=fenced(case.draft.answer or "")
        )
    else:
        short = question.answer_type != "text"
        chinese = question.language == "zh"
        answer_is = f"答案是：{claim.text}" if chinese else f"The answer is: {claim.text}"
        stated = answer_is if short else claim.text
        if case.draft.calculation:
            stated += f" ({case.draft.calculation})"
        system, user, version = render(
            "verify",
            "claim",
            question.language,
            question=question.text,
            claim=stated,
            criteria="; ".join(case.criteria) or "-",
            evidence=fenced(evidence),
        )
    return Prompt(role="verify", system=system, user=user, version=version)


def _upheld(reply: VerdictReply, claim: str, evidence: str, *, blind: bool) -> tuple[Verdict, str]:
    """What is left of the model's verdict once code has looked at its quote and value.

    A quote that doesn't stand in the evidence proves nothing. A value of the evidence that differs from the claim's
    contradicts it, whatever the model concludes; one that agrees doesn't.
    """
    quoted = len(_folded(reply.quote)) >= _LEAST_QUOTE and _folded(reply.quote) in _folded(evidence)
    if not blind and not quoted:
        if reply.verdict == "unsupported":
            return "unsupported", "the model finds nothing in the evidence that decides"
        return "unsupported", "the model's quote doesn't stand in the evidence"
    agrees = _agrees(reply.value, claim)
    if reply.verdict == "supported" and agrees is False:
        return "contradicted", f"the evidence gives {reply.value!r}"
    if reply.verdict == "contradicted" and agrees:
        return "supported", f"the evidence gives {reply.value!r}, as the claim does"
    given = f", which give {reply.value!r}" if reply.value.strip() else ""
    return reply.verdict, f"the model finds it {reply.verdict} by the words {cut(reply.quote)!r}{given}"


def _agrees(value: str, claim: str) -> bool | None:
    """Whether the value that the evidence gives is the claim's; None where they can't be compared."""
    if not value.strip():
        return None
    given, claimed = values(value), values(claim)
    if given and claimed:
        return any(one.same(other) for one in given for other in claimed)
    words, wanted = set(terms(value)), set(terms(claim))
    if words and wanted and len(wanted) <= 4 and len(words) <= 4:
        return True if words & wanted else None
    return None


def _folded(text: str) -> str:
    return _SPACE.sub("", normalize(text).text.lower())


def _joined(claim: Claim, verdict: Verdict, why: str) -> Claim:
    """The verdict of rules and model together. What contradicts the evidence by rules stays contradicted unless the
    model shows words that support it, and then it is disputed.
    """
    both = f"rules: {claim.reason}; {why}"
    if claim.verdict == verdict == "supported":
        return claim.model_copy(update={"confidence": max(claim.confidence, _AGREED), "reason": both})
    if claim.verdict == "supported" and verdict == "unsupported":
        return claim.model_copy(update={"confidence": min(claim.confidence, _WEAKLY), "reason": both})
    if claim.verdict == "supported":
        return claim.model_copy(update={"confidence": min(claim.confidence, _DISPUTED), "reason": both})
    if verdict == "supported" and claim.verdict == "unsupported":
        return claim.model_copy(update={"verdict": "supported", "confidence": _BY_MODEL, "reason": both})
    if verdict == "supported":
        return claim.model_copy(update={"verdict": "unsupported", "confidence": 0.0, "reason": f"disputed: {both}"})
    worse: Verdict = "contradicted" if "contradicted" in (verdict, claim.verdict) else "unsupported"
    return claim.model_copy(update={"verdict": worse, "confidence": 0.0, "reason": both})


def _seen_only(claim: Claim, verdict: Verdict, why: str) -> Claim:
    """A claim whose evidence has no text of its own: only the model's second look counts."""
    confidence = _BY_MODEL if verdict == "supported" else 0.0
    return claim.model_copy(update={"verdict": verdict, "confidence": confidence, "reason": f"seen on the page; {why}"})


def _by_rules_alone(claim: Claim, reason: str) -> Claim:
    note = f"{claim.reason}; by rules alone: {reason}"
    return claim.model_copy(update={"confidence": min(claim.confidence, _BY_RULES), "reason": note})


def _translation(claim: Claim, reply: VerdictReply, *, original: str, translation: str) -> Claim:
    """A translation: a fault is shown by words of the original (left out, wrong) or of the translation (added).

    Without the model's agreement it has no more confidence than rules give it.
    """
    if claim.verdict != "supported":
        return claim
    if reply.verdict == "supported":
        return claim.model_copy(update={"confidence": _AGREED, "reason": "the model finds it complete"})
    words = _folded(reply.quote)
    shown = len(words) >= _LEAST_QUOTE
    if shown and words in _folded(original):
        fault = f"left out or wrong: {cut(reply.quote)!r}"
    elif shown and words in _folded(translation):
        fault = f"added or wrong: {cut(reply.quote)!r}"
    else:
        return claim.model_copy(update={"reason": f"{claim.reason}; the model's doubts name no words of either text"})
    return claim.model_copy(update={"verdict": reply.verdict, "confidence": 0.0, "reason": fault})
