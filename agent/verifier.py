"""The verifier protocol, and the one by rules: it checks an answer claim by claim against the evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.checks import Check, check_claim
from agent.draft import Draft, Show
from agent.models.calls import ModelCalls
from agent.question import Question
from agent.settings import TaskSettings
from agent.transcript_check import transcript_claims
from agent.translation_check import translation_claims
from agent.types import Claim, EvidenceReport, Fact, Task
from retrieval.types import Frozen, Page
from tools.types import Evidence

_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z\u3400-\u9fff])|(?<=[。！？])")


class Verification(Frozen):
    """The verdict on one draft."""

    claims: tuple[Claim, ...]
    report: EvidenceReport


@dataclass(frozen=True, slots=True)
class Case:
    """What a verifier judges: a draft, the facts it rests on and their evidence, and the pages that it quotes.

    The rest is for models: `calls` asks one, `picture` shows a page, `criteria` are what the plan wants to be checked.
    """

    question: Question
    draft: Draft
    facts: Sequence[Fact]
    evidence: Sequence[Evidence]
    needed: TaskSettings
    task: Task = "document_qa"
    pages: Sequence[Page] = ()
    calls: ModelCalls | None = None
    picture: Show | None = None
    criteria: Sequence[str] = ()


class Verifier(Protocol):
    """Checks answers; never writes one."""

    name: str

    async def verify(self, case: Case) -> Verification:
        """Claims with verdicts and the summary. What can't be checked is unsupported."""


class RuleVerifier:
    """Compares numbers, dates, names, negation and words of each claim with the evidence that it cites."""

    name = "rules"

    async def verify(self, case: Case) -> Verification:
        """Verdicts by rules. The confidence of a supported claim is that of the draft, less the words it lacks."""
        answer = case.draft.answer
        if answer is None:
            return Verification(claims=(), report=report_on(case, ()))
        if case.task == "translation":
            translated = translation_claims(case.question, case.draft, case.facts)
            return Verification(claims=translated, report=report_on(case, translated))
        if case.draft.way == "transcription":
            checked = transcript_claims(case.question, case.draft, case.facts, case.pages)
            return Verification(claims=checked, report=report_on(case, checked))
        parts = split_claims(case.question, answer)
        claims = tuple(_claim(case, f"c{number}", part) for number, part in enumerate(parts, 1))
        return Verification(claims=claims, report=report_on(case, claims))


class Unchecked:
    """Believes every answer as far as its writer does, for runs that leave the verifier out. It judges no claims."""

    name = "none"

    async def verify(self, case: Case) -> Verification:
        """No claims. An answer is taken as it is, and what is missing is not sought."""
        report = _nothing_judged(case.draft, case.draft.missing)
        if case.draft.answer is None:
            return Verification(claims=(), report=report)
        believed = {"confidence": round(_trust(case.draft), 3), "needs_more_evidence": False, "abstain": False}
        return Verification(claims=(), report=report.model_copy(update=believed))


def unverified(draft: Draft) -> Verification:
    """The verdict when no verification is left in the budget: nothing counts as supported."""
    return Verification(claims=(), report=_nothing_judged(draft, ("a verification: none was left in the budget",)))


def split_claims(question: Question, answer: str) -> tuple[str, ...]:
    """The assertions of an answer: the items of a list, the sentences of a text, else the answer itself."""
    if question.answer_type == "list":
        parts = answer.split("; ")
    elif question.answer_type == "text":
        parts = _SENTENCES.split(answer)
    else:
        parts = [answer]
    return tuple(part.strip() for part in parts if part.strip())


def _claim(case: Case, claim_id: str, text: str) -> Claim:
    """The verdict on one claim: that of the fact that supports it best; contradiction only when none supports it."""
    by_id = {item.id: item for item in case.evidence}
    if case.draft.calculation is not None and case.facts:
        return _calculated_claim(case, claim_id, text, by_id)
    checks: list[tuple[Check, Fact]] = []
    for fact in case.facts:
        sources = [by_id[i] for i in fact.evidence_ids if i in by_id]
        if sources:
            checks.append((check_claim(case.question, text, fact, sources, case.draft.calculation), fact))
    order = {"supported": 2, "contradicted": 1, "unsupported": 0}
    if not checks:
        return Claim(
            id=claim_id, text=text, verdict="unsupported", fact_ids=(), confidence=0.0, reason="no evidence is cited"
        )
    check, fact = max(checks, key=lambda pair: (order[pair[0].verdict], pair[0].strength))
    return _judged(case, claim_id, text, check, () if check.verdict == "unsupported" else (fact.id,))


def _calculated_claim(case: Case, claim_id: str, text: str, by_id: Mapping[str, Evidence]) -> Claim:
    """The verdict on a result: its operands may stand in the evidence of several facts."""
    sources = [by_id[i] for fact in case.facts for i in fact.evidence_ids if i in by_id]
    check = check_claim(case.question, text, case.facts[0], sources, case.draft.calculation)
    return _judged(
        case, claim_id, text, check, tuple(fact.id for fact in case.facts) if check.verdict == "supported" else ()
    )


def _judged(case: Case, claim_id: str, text: str, check: Check, fact_ids: tuple[str, ...]) -> Claim:
    """The claim of a check; only a supported one has confidence."""
    supported = check.verdict == "supported"
    return Claim(
        id=claim_id,
        text=text,
        verdict=check.verdict,
        fact_ids=fact_ids,
        confidence=round(check.strength * _trust(case.draft), 3) if supported else 0.0,
        reason=check.reason,
    )


def _trust(draft: Draft) -> float:
    """The probability that the draft is right where its writer can tell, else how much of the question it meets."""
    return draft.coverage if draft.confidence is None else draft.confidence


def report_on(case: Case, claims: Sequence[Claim]) -> EvidenceReport:
    """The summary of the verdicts on a draft's claims."""
    draft = case.draft
    if not claims:
        return _nothing_judged(draft, draft.missing)
    shares = {
        verdict: sum(claim.verdict == verdict for claim in claims) / len(claims)
        for verdict in ("supported", "unsupported", "contradicted")
    }
    confidence = sum(claim.confidence for claim in claims) / len(claims)
    if shares["contradicted"]:
        confidence = 0.0
    return EvidenceReport(
        coverage=draft.coverage,
        support_rate=shares["supported"],
        unsupported_rate=shares["unsupported"],
        contradicted_rate=shares["contradicted"],
        confidence=round(confidence, 3),
        needs_more_evidence=shares["supported"] < 1 or confidence < case.needed.support,
        abstain=confidence < case.needed.tentative,
        missing=draft.missing,
    )


def _nothing_judged(draft: Draft, missing: tuple[str, ...]) -> EvidenceReport:
    """The report when no claim was judged: no rates, no confidence."""
    return EvidenceReport(
        coverage=draft.coverage,
        support_rate=None,
        unsupported_rate=None,
        contradicted_rate=None,
        confidence=0.0,
        needs_more_evidence=True,
        abstain=True,
        missing=missing,
    )
