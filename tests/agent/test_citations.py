"""From what models cite to places on pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from book import SCOPE, Book, page
from modelled import asked, scripted_agent

from agent.planner import Hints
from agent.roles.citations import box_of


@pytest.mark.parametrize(
    ("drawn", "box"),
    [
        ([0.1, 0.2, 0.5, 0.4], [0.1, 0.2, 0.5, 0.4]),
        ([10, 20, 50, 40], [0.1, 0.2, 0.5, 0.4]),
        ([100, 200, 500, 400], [0.1, 0.2, 0.5, 0.4]),
        ([0.5, 0.2, 0.1, 0.4], None),
        ([0.1, 0.2, 0.5], None),
        ([], None),
        (None, None),
        ([float("nan"), 0, 1, 1], None),
        ([float("inf"), 0, 1, 1], None),
        ([-5, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]),
    ],
)
def test_a_drawn_box_is_a_share_of_the_page_in_whatever_unit(
    drawn: list[float] | None, box: list[float] | None
) -> None:
    found = box_of(drawn)
    assert (found.as_list() if found else None) == (pytest.approx(box) if box else None)


def test_ids_and_citations_stay_out_of_the_words_of_a_fact(tmp_path: Path) -> None:
    book = Book(page(1, ("paragraph", "The ferry Heron was built in 1998.")))
    text = 'The ferry Heron was built in 1998 [S1]. (S1, S2)\n[page=1, doc_page="1", bbox=[0, 0, 1, 1]]'
    reply = {"facts": [{"text": text, "sources": "S1"}], "answer": "1998"}
    verdict = {"quote": "built in 1998", "value": "1998", "verdict": "supported"}
    agent, _ = scripted_agent(book, tmp_path, {"plan": [{}], "answer": [reply], "verify": [verdict]})
    trajectory = agent.ask("When was the Heron built?", SCOPE)
    assert trajectory.facts[0].text == "The ferry Heron was built in 1998."


def test_a_fact_in_two_places_is_two_facts(tmp_path: Path) -> None:
    book = Book(
        page(1, ("paragraph", "The ferry Heron was built in 1998.")),
        page(2, ("paragraph", "Launch of the Heron: 1998.")),
    )
    reply = {"facts": [{"text": "The Heron was built in 1998.", "sources": ["S1", "S2"]}], "answer": "1998"}
    verdict = {"quote": "built in 1998", "value": "1998", "verdict": "supported"}
    agent, _ = scripted_agent(book, tmp_path, {"plan": [{}], "answer": [reply], "verify": [verdict]})
    trajectory = agent.ask("When was the Heron built?", SCOPE)
    assert [(fact.text, fact.region.page_ref.page) for fact in trajectory.facts] == [
        ("The Heron was built in 1998.", 1),
        ("Launch of the Heron: 1998.", 2),
    ]


def test_only_what_fits_the_context_is_shown_and_what_meets_the_question_comes_first(tmp_path: Path) -> None:
    def filler(first: int) -> list[tuple[str, str]]:
        long = "speaks of weather, tides and gulls at such length as only a report of a harbour board can"
        return [("paragraph", f"Paragraph {n} {long}.") for n in range(first, first + 20)]

    pages = [page(n, *filler(20 * n)) for n in range(1, 12)]
    book = Book(*pages, page(12, ("paragraph", "The Heron was built in 1998.")), found=[list(range(1, 13))])
    agent, model = scripted_agent(book, tmp_path, {"capabilities": {"context": 2500}, "plan": [{}]})
    agent.ask("When was the Heron built?", SCOPE, hints=Hints(pages=tuple(book.pages)))
    shown = asked(model, "answer")[0].user
    assert "The Heron was built in 1998." in shown
    assert len(shown) < 6000
    assert shown.count("Paragraph ") < 100
