"""Facts that cells make: one sentence with label, section, column, unit and period."""

from __future__ import annotations

import pytest
from book import page

from agent.question import analyse
from agent.reading import units_of
from agent.statements import state

QUESTION = analyse("What was it?")


@pytest.mark.parametrize(
    ("label", "head", "value", "sentence"),
    [
        ("Total debt", "2021", "7,491", "In “Debt of Lindale”, Total debt in 2021 was $7,491 million."),
        ("Interest", "2021", "(171)", "In “Debt of Lindale”, Interest in 2021 was -$171 million."),
        ("Debt per share", "2020", "16.42", "In “Debt of Lindale”, Debt per share in 2020 was 16.42."),
        ("Rate", "2020", "4.1%", "In “Debt of Lindale”, Rate in 2020 was 4.1%."),
    ],
)
def test_a_cell_is_stated_with_its_unit_and_period(label: str, head: str, value: str, sentence: str) -> None:
    table = [
        "|2021|2020",
        "Total debt|7,491|7,609",
        "Interest|(171)|(160)",
        "Debt per share|16.12|16.42",
        "Rate|4.0%|4.1%",
    ]
    units = units_of(
        page(
            1,
            ("heading", "Debt of Lindale"),
            ("paragraph", "(amounts in $ millions, except per share data)"),
            ("table", table),
        )
    )
    unit = next(unit for unit in units if unit.label == label)
    assert state(QUESTION, unit, head, value) == sentence


def test_a_chinese_cell_is_stated_in_chinese() -> None:
    units = units_of(
        page(
            1,
            ("heading", "利润表"),
            ("paragraph", "单位：万元"),
            ("table", ["项目|2021年|2020年", "营业收入|1,200|1,100"]),
        )
    )
    unit = next(unit for unit in units if unit.cells)
    assert state(QUESTION, unit, "2021年", "1,200") == "“利润表”中，营业收入（2021年）为1,200万。"
