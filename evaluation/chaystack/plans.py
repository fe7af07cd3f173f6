"""Anchor-planned retrieval: what tells a question's page from others, and the sub-queries that look for it.

A model plans where the profile has one, else rules do. The question itself is always a query besides: the reference
code (`planned_rag.py`) drops it when there are four others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from pydantic import BaseModel, Field, ValidationError, field_validator

from agent.loop import run
from agent.models.calls import json_in, schema_of
from agent.models.client import ModelClient
from agent.models.types import Prompt
from agent.prompts import render
from agent.question import Question, analyse, question_body
from agent.types import AnswerType
from evaluation.chaystack.records import AnchorPlan
from tools.terms import extract_terms

MOST_ANCHORS, LEAST_QUERIES, MOST_QUERIES = 8, 2, 4
PLAN_TOKENS = 512
"""What a plan may take of a model's reply: those that say more are of no use."""
_LONGEST = 200
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#/_-]*[A-Za-z0-9+#]|[A-Z]")
_NUMBER = re.compile(r"\d[\d,.]*(?:%|[年月日元万亿号版寸米克])?")
_SLOTS: dict[AnswerType, str] = {
    "number": "value",
    "percent": "value",
    "money": "price",
    "date": "date",
    "name": "name",
    "yes_no": "yes_no",
    "list": "list",
    "count": "count",
    "text": "other",
}
_ASKED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"作者|\bauthors?\b", re.IGNORECASE), "author"),
    (re.compile(r"电话|手机号|热线|\bphone\b", re.IGNORECASE), "phone"),
    (re.compile(r"多少钱|价格|售价|单价|\bprice\b", re.IGNORECASE), "price"),
    (re.compile(r"(?:哪家|什么|哪个)(?:公司|企业|单位|出版社)|\bcompany\b", re.IGNORECASE), "company"),
    (re.compile(r"哪年|哪一年|何时|什么时候|日期|几月|\bwhen\b", re.IGNORECASE), "date"),
    (re.compile(r"哪里|何处|地址|什么地方|\bwhere\b|\baddress\b", re.IGNORECASE), "address"),
    (re.compile(r"谁|何人|\bwho\b", re.IGNORECASE), "person"),
)


class QueryPlanner(Protocol):
    """Plans what a question is searched by."""

    def plan(self, question: str) -> AnchorPlan:
        """The plan of a question; ModelFailed when a model that is to plan can't be asked."""


class RuleQueryPlanner:
    """Plans by rules: the same plan for the same question."""

    def plan(self, question: str) -> AnchorPlan:
        """Anchors are quoted titles, Latin words among Chinese ones, numbers and years, then content words.

        The queries: all anchors; the distinctive ones with the first content word; the first and the second half of
        the words that the anchors are made of.
        """
        analysed = analyse(question)
        body = question_body(analysed.text)
        latin = _LATIN.findall(body) if analysed.language == "zh" else []
        distinctive = _without_parts(_distinct([*analysed.phrases, *latin, *_NUMBER.findall(body)]))
        rest = re.sub("|".join(map(re.escape, distinctive)), " ", body) if distinctive else body
        terms = _distinct(extract_terms(rest))
        anchors = [*distinctive, *terms][:MOST_ANCHORS]
        queries = [" ".join(anchors)]
        if distinctive and terms:
            queries.append(" ".join([*distinctive, terms[0]]))
        words = [*distinctive, *(word for term in terms for word in _words(term))]
        half = (len(words) + 1) // 2
        queries += [" ".join(words[:half]), " ".join(words[half:])]
        return AnchorPlan(
            anchors=tuple(anchors), answer_slot=_slot(analysed), queries=_queries(queries, question)[:MOST_QUERIES]
        )


class AnchorReply(BaseModel):
    """The plan as a model replies it; what has another form than it should costs no more than itself."""

    anchors: Sequence[str] = Field(default_factory=list, json_schema_extra={"maxItems": MOST_ANCHORS})
    answer_slot: str = "other"
    queries: Sequence[str] = Field(default_factory=list, json_schema_extra={"maxItems": MOST_QUERIES})

    @field_validator("anchors", "queries", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        listed = value if isinstance(value, list) else [] if value is None else [value]
        return [str(item)[:_LONGEST] for item in listed if isinstance(item, str | int | float)]

    @field_validator("answer_slot", mode="before")
    @classmethod
    def _word(cls, value: Any) -> str:
        word = re.sub(r"[^a-z0-9]+", "_", str(value or "").lower()).strip("_")
        return word[:40] or "other"


class ModelQueryPlanner:
    """Asks a model for the plan; its rules plan where the reply can't be used, and the plan says why."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self._rules = RuleQueryPlanner()

    def plan(self, question: str) -> AnchorPlan:
        """As the protocol says. Sub-queries that the model left out come from its anchors and from the rules."""
        system, user, version = render("anchors", "anchors", analyse(question).language, question=question)
        prompt = Prompt(
            role="anchors",
            system=system,
            user=user,
            version=version,
            schema=schema_of(AnchorReply, {}),
            brief=PLAN_TOKENS,
        )
        reply = run(self._client.reply(prompt))
        try:
            said = AnchorReply.model_validate(json_in(reply.text))
        except ValidationError:
            return self._by_rules(question, "the model's reply is no plan")
        anchors = _distinct(said.anchors)[:MOST_ANCHORS]
        queries = _queries([*said.queries, " ".join(anchors)], question)
        if not queries:
            return self._by_rules(question, "the model's plan has no query")
        if len(queries) < LEAST_QUERIES:
            queries = _queries([*queries, *self._rules.plan(question).queries], question)[:LEAST_QUERIES]
        return AnchorPlan(
            anchors=tuple(anchors), answer_slot=said.answer_slot, queries=queries[:MOST_QUERIES], origin="model"
        )

    def _by_rules(self, question: str, reason: str) -> AnchorPlan:
        return self._rules.plan(question).model_copy(update={"reason": reason})


def queries_of(question: str, plan: AnchorPlan | None) -> dict[str, str]:
    """What is searched, by name: the question as it stands, always, and the queries of its plan."""
    planned = plan.queries if plan else ()
    return {"question": question, **{f"query {number}": query for number, query in enumerate(planned, 1)}}


def _slot(question: Question) -> str:
    """What is asked, in an English word."""
    for pattern, slot in _ASKED:
        if pattern.search(question.text):
            return slot
    return _SLOTS[question.answer_type]


def _queries(texts: Iterable[str], question: str) -> tuple[str, ...]:
    """Texts as queries: on one line, none twice, and none that is the question."""
    whole = _distinct([question])
    return tuple(text for text in _distinct(texts) if text not in whole)


def _distinct(texts: Iterable[str]) -> list[str]:
    cleaned = (" ".join(text.split()).strip(" ,，。;；、:：?？")[:_LONGEST] for text in texts)
    return list(dict.fromkeys(text for text in cleaned if text))


def _without_parts(texts: Sequence[str]) -> list[str]:
    """The texts that aren't part of another one: an anchor that is there as a whole needn't be there in pieces."""
    return [text for text in texts if not any(text != other and text in other for other in texts)]


def _words(term: str) -> list[str]:
    """The words of a term that are longer than one character; the term itself when there is none."""
    import jieba

    return [word for word in jieba.cut(term) if len(word.strip()) > 1] or [term]
