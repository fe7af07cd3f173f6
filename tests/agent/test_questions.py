"""What a question is taken to ask for, and the values that text is taken to hold."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agent.planner import task_of
from agent.question import analyse
from agent.values import han_number, values, years


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("How many ships sailed?", "count"),
        ("What percentage of adults read?", "percent"),
        ("How much did the ticket cost?", "money"),
        ("When was the bridge built?", "date"),
        ("In what year was the bridge built?", "date"),
        ("Who built the bridge?", "name"),
        ("Which company built the bridge?", "name"),
        ("Is the bridge open?", "yes_no"),
        ("List all bridges.", "list"),
        ("What are the advantages of bridges?", "list"),
        ("What is the total revenue in 2021?", "money"),
        ("What is the growth of revenue in 2021?", "number"),
        ("Why was the bridge closed?", "text"),
        ("全县有多少个学校？", "count"),
        ("入学率的百分比是多少？", "percent"),
        ("何时建成？", "date"),
        ("作者是谁？", "name"),
        ("是否包含附件？", "yes_no"),
        ("有哪些优点？", "list"),
        ("這座橋叫什麼名字？", "name"),
        ("为什么关闭？", "text"),
    ],
)
def test_the_type_of_the_answer(text: str, wanted: str) -> None:
    assert analyse(text).answer_type == wanted


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Translate the second paragraph into English.", "translation"),
        ("请把这句话翻译成现代汉语", "translation"),
        ("识别第三列的文字", "ocr"),
        ("“之”的词性是什么？", "linguistic_qa"),
        ("What is the growth rate of sales from 2019 to 2020?", "reasoning_qa"),
        ("What is the colour of the roof?", "document_qa"),
    ],
)
def test_the_task(text: str, task: str) -> None:
    assert task_of(analyse(text)) == task


def test_constraints_are_found() -> None:
    question = analyse('In Table 3, what is the "net margin" in FY2021 and 2020? Round to two decimal places.')
    assert question.years == ("2021", "2020")
    assert question.phrases == ("net margin",)
    assert [(ref.kind, ref.number) for ref in question.references] == [("table", 3)]
    assert question.decimals == 2
    assert "decim" not in question.terms


def test_a_choice_and_a_double_question_are_taken_apart() -> None:
    assert analyse("Which is larger, the north hall or the south hall?").options == ("north hall", "south hall")
    assert analyse("Who built the bridge and when did it open?").sub_questions == (
        "Who built the bridge?",
        "when did it open?",
    )


@pytest.mark.parametrize(
    ("text", "kind", "number", "scale"),
    [
        ("$1,234.5 million", "money", "1234.5", 10**6),
        ("1.5万元", "money", "1.5", 10**4),
        ("12 percent", "percent", "12", 1),
        ("百分之三十五", "percent", "35", 1),
        ("三百二十畝", "number", "320", 1),
        ("共计38家", "number", "38", 1),
        ("-5", "number", "-5", 1),
    ],
)
def test_a_value_is_read(text: str, kind: str, number: str, scale: int) -> None:
    (value,) = values(text)
    assert (value.kind, value.number, value.scale) == (kind, Decimal(number), scale)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("May 4, 2021", (2021, 5, 4)),
        ("4th May 2021", (2021, 5, 4)),
        ("2021-05-04", (2021, 5, 4)),
        ("2021年5月4日", (2021, 5, 4)),
        ("二〇二一年五月四日", (2021, 5, 4)),
        ("May 2021", (2021, 5, None)),
    ],
)
def test_a_date_is_read(text: str, day: tuple[int, int, int | None]) -> None:
    (value,) = values(text)
    assert value.day == day
    assert value.same(values("2021")[0])


def test_a_dash_between_numbers_is_no_sign() -> None:
    assert [value.number for value in values("pages 10-12")] == [10, 12]


def test_years_are_found_in_short_forms() -> None:
    assert sorted(years("Q3'20 against FY21 and 2019")) == ["2019", "2020", "2021"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("十", 10), ("二十三", 23), ("两千", 2000), ("三万五千", 35_000), ("二〇二一", 2021), ("廿四", 24), ("学", None)],
)
def test_chinese_numerals(text: str, number: int | None) -> None:
    assert han_number(text) == number


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who is the president of France?", ("franc",)),
        ("What did the Harbour Trust spend in 2024?", ("harbour", "trust", "2024")),
        ("Which berth is the deepest?", ()),
        ("Revenue grew by how much?", ()),
    ],
)
def test_names_and_years_are_what_evidence_must_speak_of(question, names):
    assert analyse(question).names == names


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("What is the current ratio of Alder?", "ratio"),
        ("What is total debt to total assets for Alder in 2021?", "ratio"),
        ("How did the company respond to total failure?", None),
    ],
)
def test_quotients_of_accounts_are_calculations(question, operation):
    assert analyse(question).operation == operation
