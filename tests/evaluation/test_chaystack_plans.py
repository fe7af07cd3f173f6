"""Plans of anchors: by rules, by a model, and by rules where the model's plan is of no use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.models.client import ModelClient
from agent.models.scripted import ScriptedModel
from agent.models.settings import ModelSettings
from agent.models.types import ModelFailed
from evaluation.chaystack.plans import ModelQueryPlanner, RuleQueryPlanner, queries_of

QUESTION = "由‘娃宝气球’品牌推出的生日主题气球组合包含多少个16寸字母气球？"


def _planner(*replies: Any) -> tuple[ModelQueryPlanner, ScriptedModel]:
    model = ScriptedModel.from_script({"anchors": list(replies)})
    return ModelQueryPlanner(ModelClient(model, ModelSettings(retries=0))), model


def test_rules_take_titles_numbers_and_latin_words_for_anchors_before_other_words() -> None:
    plan = RuleQueryPlanner().plan(QUESTION)
    assert plan.anchors[:2] == ("娃宝气球", "16寸")
    assert (plan.answer_slot, plan.origin) == ("count", "rules")
    assert plan == RuleQueryPlanner().plan(QUESTION)


@pytest.mark.parametrize(
    ("question", "anchor", "slot"),
    [
        ("安徽财经大学会计学院2020年关于区块链技术的论文作者是谁", "2020年", "author"),
        ("深圳市嘉瑞宝科技有限公司销售的DELL笔记本电池多少钱", "DELL", "price"),
        ("《南明史》系列书籍的出版社是哪家公司？", "南明史", "company"),
        ("Who wrote the 2019 report of Acme Corp?", "2019", "person"),
    ],
)
def test_rules_find_what_is_asked_and_two_to_four_queries(question: str, anchor: str, slot: str) -> None:
    plan = RuleQueryPlanner().plan(question)
    assert plan.anchors[0] == anchor
    assert plan.answer_slot == slot
    assert 2 <= len(plan.queries) <= 4
    assert question not in plan.queries


def test_a_run_of_words_without_any_anchor_is_searched_in_halves() -> None:
    assert RuleQueryPlanner().plan("炖大鹅高压锅上汽后炖多久").queries == ("大鹅 高压锅 上汽", "后炖 多久")


def test_a_models_plan_is_taken_and_what_it_repeats_is_dropped() -> None:
    queries = ["娃宝气球 16寸 字母", QUESTION, "娃宝气球 16寸 字母", "生日气球组合", "a", "b", "c"]
    planner, model = _planner({"anchors": ["娃宝气球", "16寸"], "answer_slot": "Number of", "queries": queries})
    plan = planner.plan(QUESTION)
    assert (plan.origin, plan.answer_slot, plan.anchors) == ("model", "number_of", ("娃宝气球", "16寸"))
    assert plan.queries == ("娃宝气球 16寸 字母", "生日气球组合", "a", "b")
    (prompt,) = model.asked
    assert QUESTION in prompt.user
    assert prompt.schema is not None
    assert list(queries_of(QUESTION, plan).values()) == [QUESTION, *plan.queries]
    assert queries_of(QUESTION, None) == {"question": QUESTION}


def test_queries_that_a_model_left_out_come_from_its_anchors_and_the_rules() -> None:
    planner, _ = _planner({"anchors": ["娃宝气球"], "answer_slot": None, "queries": "气球 字母"})
    assert planner.plan(QUESTION).queries == ("气球 字母", "娃宝气球")
    alone, _ = _planner({"anchors": [], "queries": ["气球 字母"]})
    assert len(alone.plan(QUESTION).queries) == 2


@pytest.mark.parametrize("reply", ["先想一想", json.dumps({"anchors": [], "queries": []}), "[]"])
def test_a_plan_that_cant_be_used_is_replaced_by_the_rules_and_says_so(reply: str) -> None:
    planner, _ = _planner(reply)
    plan = planner.plan(QUESTION)
    assert (plan.origin, bool(plan.reason)) == ("rules", True)
    assert plan.queries == RuleQueryPlanner().plan(QUESTION).queries


def test_a_model_that_cant_be_reached_is_no_plan() -> None:
    planner, _ = _planner({"error": "connection"})
    with pytest.raises(ModelFailed):
        planner.plan(QUESTION)
