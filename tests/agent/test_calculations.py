"""Questions that tables answer: one cell, or what is computed from several, with every operand cited."""

from __future__ import annotations

from pathlib import Path

import pytest
from book import SCOPE, Book, agent_over, page

from agent.build import Agent
from agent.question import analyse
from agent.ranking import PageRead, rank_units
from agent.synthesizer import ExtractiveSynthesizer
from agent.tables.cells import cell_picks


def by_rules(book: Book, root: Path) -> Agent:
    """An agent that reads tables only: no reader of running text beside them."""
    return agent_over(book, root, synthesizer=ExtractiveSynthesizer())


INCOME = page(
    1,
    ("heading", "Consolidated statements of income"),
    ("paragraph", "(In millions)"),
    (
        "table",
        [
            "|2021|2020",
            "Net sales|8,000|7,500",
            "Cost of sales|4,600|4,500",
            "Gross profit|3,400|3,000",
            "Operating income|900|750",
            "Net income|640|500",
        ],
    ),
)
BALANCE = page(
    2,
    ("heading", "Consolidated balance sheets"),
    ("paragraph", "(In millions)"),
    (
        "table",
        [
            "|2021|2020",
            "Cash and cash equivalents|500|450",
            "Accounts receivable, net|300|260",
            "Inventories|700|450",
            "Total current assets|1,700|1,400",
            "Total assets|6,400|6,000",
            "Accounts payable|350|330",
            "Total current liabilities|800|750",
            "Total liabilities|3,400|3,300",
            "Total shareholders' equity|3,000|2,700",
        ],
    ),
)
CASH = page(
    3,
    ("heading", "Consolidated statements of cash flows"),
    ("paragraph", "(In millions)"),
    (
        "table",
        [
            "|2021|2020",
            "Net income|640|500",
            "Depreciation and amortization|210|200",
            "Inventories|(250)|20",
            "Net cash provided by operating activities|760|680",
            "Capital expenditures|(320)|(280)",
        ],
    ),
)
REPORT = Book(INCOME, BALANCE, CASH, name="Lindale Ferries.pdf", found=[[1, 2, 3]])


@pytest.mark.parametrize(
    ("question", "answer", "pages"),
    [
        (
            "What is the current ratio of Lindale Ferries in FY2021? Round your answer to two decimal places.",
            "2.12",
            [2],
        ),
        ("What was the return on assets of Lindale Ferries in 2021?", "0.1", [1, 2]),
        ("What is the inventory turnover ratio in 2021? Round your answer to one decimal place.", "8.0", [1, 2]),
        ("What is the days sales outstanding in 2021? Round your answer to one decimal place.", "12.8", [1, 2]),
        ("What is the cash conversion cycle of Lindale Ferries in 2021?", "31.42", [1, 2]),
        ("What is the EBITDA of Lindale Ferries in 2021?", "1110", [1, 3]),
        ("What is EBITDA less capex in 2021?", "790", [1, 3]),
        ("What is the operating cash flow to current liabilities in 2021?", "0.95", [2, 3]),
        ("What is the gross margin percentage in 2020?", "40%", [1]),
        (
            "What is the net sales to equity in 2021? Define it as net sales divided by total shareholders' equity.",
            "2.67",
            [1, 2],
        ),
    ],
)
def test_a_ratio_of_accounts_cites_each_account(tmp_path: Path, question: str, answer: str, pages: list[int]) -> None:
    trajectory = by_rules(REPORT, tmp_path).ask(question, SCOPE)
    assert trajectory.answer == answer
    assert sorted({fact.region.page_ref.page for fact in trajectory.facts}) == pages
    assert all(claim.verdict == "supported" for claim in trajectory.claims)


def test_an_account_that_is_nowhere_is_not_made_up(tmp_path: Path) -> None:
    book = Book(INCOME, name="Lindale Ferries.pdf", found=[[1]])
    trajectory = by_rules(book, tmp_path).ask("What is the current ratio in 2021?", SCOPE)
    assert trajectory.answer is None


TRADE = Book(
    page(
        1,
        ("heading", "Trade of the Lindale ports in 2021"),
        (
            "table",
            [
                "Port|Ships|Cargo",
                "Seaham|120|3,400",
                "Westquay|95|5,100",
                "Norby|8|260",
                "Elmouth|14|900",
                "Total|237|9,660",
            ],
        ),
    ),
    name="ports.pdf",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the difference in cargo between Westquay and Seaham in 2021?", "1700"),
        ("How many more ships did Seaham have than Norby?", "112"),
        ("How many more ships does Seaham have comparing to Norby?", "112"),
        ("By how many ships did Seaham exceed Norby?", "112"),
        ("What is the gap of cargo between Westquay and Seaham?", "1700"),
        ("How many fewer ships did Norby have than Seaham?", "112"),
        ("Compared to Norby, how many more ships did Seaham have?", "112"),
        ("What is the total number of ships of Seaham, Norby and Elmouth?", "142"),
        ("How many ships did Norby and Elmouth have combined?", "22"),
        ("What is the combined cargo of `Seaham` and `Elmouth`?", "4300"),
        ("What was the average cargo of Seaham and Elmouth in 2021?", "2150"),
        ("What was the total of ships of Norby and Elmouth?", "22"),
        ("How many ports had more than 50 ships in 2021?", "2"),
        ("How many ports had less than 1,000 of cargo in 2021?", "2"),
        ("What was the average number of ships of the ports in 2021?", "59.25"),
        ("What is the sum of the top 2 cargo of the ports in 2021?", "8500"),
        ("What was the ratio of cargo to ships of Seaham in 2021?", "28.33"),
    ],
)
def test_rows_and_columns_of_a_table_are_compared_and_summed_up(tmp_path: Path, question: str, answer: str) -> None:
    trajectory = by_rules(TRADE, tmp_path).ask(question, SCOPE)
    assert trajectory.answer == answer
    assert all(fact.region.page_ref.page == 1 for fact in trajectory.facts)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the net income in 2020 and 2021 respectively?", "500; 640"),
        ("What was the growth rate of net sales in 2021?", "6.67%"),
        ("What is the average operating income for 2020 and 2021?", "825"),
        ("What is the change in net income between 2020 and 2021?", "140"),
        ("By how much did net income grow from 2020 to 2021?", "140"),
        ("By what percentage did net sales rise in 2021?", "6.67%"),
        ("How much did net income increase between 2020 and 2021?", "140"),
    ],
)
def test_one_row_in_several_years(tmp_path: Path, question: str, answer: str) -> None:
    assert by_rules(Book(INCOME, name="Lindale.pdf"), tmp_path).ask(question, SCOPE).answer == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the FY2020 - FY2021 total revenue growth rate for Lindale Ferries?", "6.67%"),
        ("How much did Lindale Ferries generate in net income in 2021? Answer in USD billions.", "0.64"),
        ("What was the total cost of goods sold in 2020 and 2021 respectively?", "4,500; 4,600"),
        ("What percentage of net sales was net income in 2021?", "8%"),
        ("Using the income statement, answer the following question: what was the cost of sales in 2021?", "4,600"),
    ],
)
def test_an_account_is_found_by_any_of_its_names_and_in_the_unit_that_is_asked_for(
    tmp_path: Path, question: str, answer: str
) -> None:
    book = Book(INCOME, name="Lindale Ferries.pdf", found=[[1]])
    assert by_rules(book, tmp_path).ask(question, SCOPE).answer == answer


def test_the_row_that_is_named_comes_before_the_total_that_is_named_beside_it(tmp_path: Path) -> None:
    table = ["|2021|2020", "Cheese|1,140|1,150", "Cream|422|530", "Butter|90|88", "Net sales|1,652|1,768"]
    book = Book(page(1, ("heading", "Sales by product"), ("table", table)))
    question = "What is the change in the net sales from cheese between 2020 and 2021?"
    assert by_rules(book, tmp_path).ask(question, SCOPE).answer == "-10"


def test_a_quarter_is_not_taken_for_a_year(tmp_path: Path) -> None:
    table = [
        "|Three months ended June 30 2021|Twelve months ended June 30 2021",
        "Ticket sales|310|1,204",
        "Freight sales|120|466",
        "Other sales|8|31",
    ]
    book = Book(page(1, ("heading", "Sales"), ("table", table)))
    agent = by_rules(book, tmp_path)
    assert agent.ask("What were the ticket sales in fiscal year 2021?", SCOPE).answer == "1,204"
    assert agent.ask("What were the ticket sales in the quarter that ended in June 2021?", SCOPE).answer == "310"


def test_a_share_is_told_from_an_amount_of_the_same_row(tmp_path: Path) -> None:
    table = ["|2021 $|2021 %", "Cheese|1,140|69%", "Cream|422|26%", "Butter|90|5%"]
    agent = by_rules(Book(page(1, ("heading", "Sales by product in 2021"), ("table", table))), tmp_path)
    assert agent.ask("What percentage of sales came from cream in 2021?", SCOPE).answer == "26%"
    assert agent.ask("How much were the sales of cream in 2021?", SCOPE).answer == "422"


def test_totals_of_two_rows_are_compared_where_the_total_is_asked_for(tmp_path: Path) -> None:
    table = ["Name|Fees|Awards|Total", "Mara Voss|90|178|268", "Jon Marsh|60|178|238", "Ida Brook|75|178|253"]
    book = Book(page(1, ("heading", "Compensation of directors"), ("table", table)), found=[[1]])
    question = "What is the difference between Mara Voss's total compensation as compared to Jon Marsh?"
    assert by_rules(book, tmp_path).ask(question, SCOPE).answer == "30"


SCORES = Book(
    page(
        1,
        (
            "table",
            [
                "Method|MedQuiz|TimeQuiz",
                "Base|35.5%|41.5%",
                "Base + Search|39.6%|57.4%",
                "Base + Search + Plan|42.8%|68.7%",
                "Large|38.5%|45.6%",
            ],
        ),
    ),
    name="scores.pdf",
    found=[[1]],
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much higher is the accuracy of Base + Search compared to Base on TimeQuiz?", "15.9%"),
        ("How much lower is the accuracy of Large on MedQuiz compared to TimeQuiz?", "7.1%"),
        ("By how many percentage points is Large higher than Base on MedQuiz?", "3%"),
    ],
)
def test_what_is_said_after_the_second_subject_holds_for_both(tmp_path: Path, question: str, answer: str) -> None:
    assert by_rules(SCORES, tmp_path).ask(question, SCOPE).answer == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the total percentage of ferry users aged 50 or older in 2021?", "14%"),
        ("What percentage of ferry users were over 65 in 2021?", "5%"),
        ("What percentage of ferry users were under 30 in 2020?", "31%"),
        ("What is the total percentage of ferry users below 50 in 2021?", "62%"),
    ],
)
def test_ranges_beyond_a_bound_are_added_up(tmp_path: Path, question: str, answer: str) -> None:
    table = ["Age|2020|2021", "18-29|31%|37%", "30-49|19%|25%", "50-64|6%|9%", "65+|3%|5%"]
    book = Book(page(1, ("heading", "Ferry users by age"), ("table", table)), found=[[1]])
    assert by_rules(book, tmp_path).ask(question, SCOPE).answer == answer


def test_rows_are_addressed_by_their_rank(tmp_path: Path) -> None:
    table = ["Rank|Singer|Volume|Share"]
    singers = (
        "Mara Voss|1,608|67%",
        "Jon Marsh|1,250|71%",
        "Ida Brook|1,178|52%",
        "Lena Quay|940|40%",
    )
    table += [f"{number}|{singer}" for number, singer in enumerate(singers, 1)]
    book = Book(page(1, ("heading", "The top albums"), ("table", table)), found=[[1]])
    question = "What is the difference in volume between the rank 1 and rank 4 top albums?"
    assert by_rules(book, tmp_path).ask(question, SCOPE).answer == "668"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("海港市和北岸市的船舶数量差距是多少？", "112"),
        ("海港市的船舶比北岸市多多少？", "112"),
        ("北岸市的船舶比海港市少了多少？", "112"),
        ("海港市与北岸市的船舶相差多少？", "112"),
        ("海港市、西码头市和北岸市的船舶一共有多少？", "223"),
    ],
)
def test_chinese_wordings_of_differences_and_sums(tmp_path: Path, question: str, answer: str) -> None:
    table = ["城市|船舶|货物", "海港市|120|3,400", "西码头市|95|5,100", "北岸市|8|260"]
    book = Book(page(1, ("heading", "各城市港口统计"), ("table", table)), found=[[1]])
    assert by_rules(book, tmp_path).ask(question, SCOPE).answer == answer


def test_the_year_of_the_larger_value_is_named(tmp_path: Path) -> None:
    agent = by_rules(Book(INCOME, name="Lindale.pdf", found=[[1]]), tmp_path)
    assert agent.ask("Which year has a higher net income?", SCOPE).answer == "2021"
    assert agent.ask("In which year was the gross profit lower?", SCOPE).answer == "2020"


def test_a_question_may_say_what_an_account_includes(tmp_path: Path) -> None:
    table = [
        "|2021|2020",
        "Current portion of long-term debt|80|70",
        "Long-term debt, excluding current portion|900|950",
        "Long-term operating lease liabilities|250|240",
        "Total liabilities|2,460|2,500",
    ]
    book = Book(page(1, ("heading", "Consolidated balance sheets"), ("table", table)), found=[[1]])
    agent = by_rules(book, tmp_path)
    question = "What is long-term debt to total liabilities in 2021, taking long-term debt as long-term debt plus"
    assert agent.ask(f"{question} long-term operating lease liabilities?", SCOPE).answer == "0.467"
    question = "What was the long-term debt in 2021, including its current portion?"
    assert agent.ask(question, SCOPE).answer == "980"


def test_chinese_accounts_are_computed(tmp_path: Path) -> None:
    book = Book(
        page(
            1,
            ("heading", "合并资产负债表"),
            ("paragraph", "单位：万元"),
            ("table", ["项目|2021年|2020年", "流动资产合计|900|800", "资产总计|2,000|1,900", "流动负债合计|450|500"]),
        ),
        name="年报.pdf",
    )
    assert by_rules(book, tmp_path).ask("公司2021年的流动比率是多少？", SCOPE).answer == "2"


def test_a_cell_that_fits_in_row_and_column_scores_above_one_that_fits_in_one_of_them() -> None:
    question = analyse("What was the operating income in 2020?")
    ranked = rank_units(question, [PageRead(page=INCOME, rank=1)])
    picks = cell_picks(question, ranked)
    assert picks[0].answer == "750"
    assert picks[0].row_match > 0.9
    assert picks[0].column_match == 1
    assert picks[0].margin > 0.1
    assert all(pick.cell.head != "2021" for pick in picks)


def test_a_question_without_a_year_is_about_the_latest_one() -> None:
    question = analyse("What was the operating income?")
    picks = cell_picks(question, rank_units(question, [PageRead(page=INCOME, rank=1)]))
    assert picks[0].answer == "900"
    assert picks[0].match > next(pick.match for pick in picks if pick.answer == "750")
