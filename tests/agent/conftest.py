"""A report with figures, prose and a list, as most scenarios ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from book import Book, page
from fake_server import FakeServer, Replies


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeServer]]:
    """Starts a loopback server: `serve(replies, **options)` of `FakeServer`; it stops with the test."""
    with ExitStack() as running:

        def start(replies: Replies = (), **options: Any) -> FakeServer:
            return running.enter_context(FakeServer(replies, **options))

        yield start


@pytest.fixture
def report() -> Book:
    return Book(
        page(
            1,
            ("heading", "Annual report of Lindale Ferries"),
            ("paragraph", ["Lindale Ferries carries passengers between the two banks of the", "Ouse estuary."]),
            ("paragraph", "The company was founded on 4 May 1931. Its chief executive is Mara Voss."),
            label="i",
        ),
        page(
            2,
            ("heading", "Income statement"),
            ("paragraph", "All amounts in thousands of pounds"),
            (
                "table",
                [
                    "|2020|2021",
                    "Ticket revenue|4,120|5,356",
                    "Freight revenue|1,010|990",
                    "Fuel expenses|(2,200)|(2,640)",
                ],
            ),
            label="12",
        ),
        page(
            3,
            ("heading", "Safety"),
            ("paragraph", "No accident was reported in 2021. All vessels passed the inspection of the coast guard."),
            ("heading", "Vessels in service"),
            ("list_item", "• Heron, built in 1998"),
            ("list_item", "• Kingfisher, built in 2004"),
            ("list_item", "• Teal, built in 2016"),
        ),
    )
