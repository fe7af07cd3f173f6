"""Words that are found as a question words them: one of a list "respectively", full names, dates in a form."""

from __future__ import annotations

import pytest

from agent.question import analyse
from agent.wordings import aligned, asked_acronym, dated, expansion

BOUGHT = (
    "In 2021 and 2020, the line bought back 1,200,000 and 540,000 shares at an average price of $64.10 and $48.20,"
    " totaling approximately $77 and $26 million, respectively."
)
FLEETS = "The fares of Norby, Seaham and Westquay Ferries were $3.1, $4.2 and $5.0 million, respectively."


@pytest.mark.parametrize(
    ("question", "sentence", "answer", "single"),
    [
        ("How many shares did it buy back in 2020?", BOUGHT, "1,200,000 and 540,000 shares", "540,000"),
        ("What was the average price of the shares in 2020?", BOUGHT, "$64.10 and $48.20", "$48.20"),
        ("What was the average price of the shares in 2021?", BOUGHT, "$48.20", "$64.10"),
        ("What was the average price of the shares in 2020?", BOUGHT, BOUGHT, "$48.20"),
        ("What did it pay in total in 2021?", BOUGHT, "$77 and $26 million", "$77 million"),
        ("How much money did it pay for shares in 2020?", BOUGHT, "1,200,000 and 540,000", "$26 million"),
        ("What were the fares of Seaham?", FLEETS, "$3.1, $4.2 and $5.0 million", "$4.2 million"),
        (
            "By what percentage did fares grow in the north?",
            "Fares grew 5% and 3% in the south and the north, respectively.",
            "5% and 3%",
            "3%",
        ),
        (
            "What was the interest in 2021?",
            "Interest for the years ended December 31, 2022, 2021 and 2020 was $12, $15 and $18, respectively.",
            "$12, $15 and $18",
            "$15",
        ),
        ("乙公司的员工有多少人？", "甲公司和乙公司的员工分别为120人和80人。", "120人和80人", "80人"),
        (
            "2020年营业收入是多少？",
            "2021年、2020年和2019年，营业收入分别为3.2亿元、2.8亿元和2.5亿元。",
            "3.2亿元、2.8亿元和2.5亿元",
            "2.8亿元",
        ),
    ],
)
def test_the_value_at_the_place_of_the_year_or_name_is_taken(
    question: str, sentence: str, answer: str, single: str
) -> None:
    assert aligned(analyse(question), sentence, answer) == single


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What were the average prices in 2020 and 2021?", BOUGHT),
        ("What was the average price in 2019?", BOUGHT),
        ("What was the average price?", BOUGHT),
        ("What was the price in 2020?", "In 2021 and 2020 it paid $64.10 and $48.20."),
    ],
)
def test_a_list_is_left_whole_where_nothing_names_one_of_it(question: str, sentence: str) -> None:
    assert aligned(analyse(question), sentence, "$64.10 and $48.20") == "$64.10 and $48.20"


@pytest.mark.parametrize(
    ("question", "text", "name"),
    [
        (
            "What is NCO stand for in this document?",
            "The Norby Coastal Observatory (NCO) is",
            "Norby Coastal Observatory",
        ),
        ("What does LLM stand for?", "We use LLMs (large language models) to", "large language models"),
        (
            "What does the acronym AI mean?",
            "the promise of artificial intelligence, or AI, is",
            "artificial intelligence",
        ),
        ("What does IPO stand for?", "IPO: initial public offering", "initial public offering"),
        ("What is the full name of IoT?", "the Internet of Things (IoT)", "Internet of Things"),
        ("What does HTML stand for?", "HyperText Markup Language (HTML)", "HyperText Markup Language"),
        ("What does CEO stand for?", "she is Chief Executive Officer since May", "Chief Executive Officer"),
        ("GDP的全称是什么？", "去年，国内生产总值（GDP）增长", "国内生产总值"),
        ("NCO是什么的缩写？", "海岸观测站（Norby Coastal Observatory，NCO）", "Norby Coastal Observatory"),
        ("北约的全称是什么？", "加入北大西洋公约组织（以下简称“北约”）", "北大西洋公约组织"),
    ],
)
def test_a_full_name_is_found_by_its_initials(question: str, text: str, name: str) -> None:
    assert expansion(question, text) == name


def test_words_with_other_initials_are_no_full_name() -> None:
    assert expansion("What does NCO stand for?", "The Westquay harbour office (NCO) is open.") is None
    assert expansion("What does NCO stand for?", "The NCO is open to visitors on Sundays.") is None


def test_only_questions_for_full_names_have_an_acronym() -> None:
    assert asked_acronym("What does R&D stand for?") == "R&D"
    assert asked_acronym("What did the CEO say in 2021?") is None
    assert asked_acronym("What does the flag stand for?") is None
    assert expansion("Where is the NCO?", "The Norby Coastal Observatory (NCO)") is None


@pytest.mark.parametrize(
    ("question", "answer", "written"),
    [
        ("Format the date of the storm as YYYY-MM-DD.", "on February 8, 2021", "2021-02-08"),
        ("When was it, in the format MM/DD/YYYY?", "8 February 2021", "02/08/2021"),
        ("When was it? Use DD.MM.YYYY.", "2021-02-08", "08.02.2021"),
        ("When was it, in the form Month D, YYYY?", "2021/2/8", "February 8, 2021"),
        ("请用YYYY年MM月DD日的格式回答。", "2021-2-8", "2021年02月08日"),
        ("List the dates in ISO format.", "May 3, 2020 and June 2, 2021", "2020-05-03 and 2021-06-02"),
        ("When was it, as YYYY-MM-DD?", "May 2020", "May 2020"),
        ("When was it?", "May 3, 2020", "May 3, 2020"),
    ],
)
def test_a_date_is_written_in_the_form_that_is_asked_for(question: str, answer: str, written: str) -> None:
    assert dated(question, answer) == written
