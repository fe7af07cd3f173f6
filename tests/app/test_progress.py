"""Progress: a bar on a terminal, one line a stage elsewhere, and nothing said twice."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.progress import Progress

from app.progress import LeftColumn, RateColumn, TerminalProgress


def _work(console: Console) -> None:
    with TerminalProgress(console) as progress:
        progress.start("reading", 2)
        progress.advance()
        progress.note("a.pdf is\nencrypted \x1b[31m")
        progress.note("a.pdf is\nencrypted \x1b[31m")
        progress.start("OCR", 0)
        progress.start("vectors", 1)
        progress.start("a set of ours", 4)


def test_off_a_terminal_each_stage_is_one_line() -> None:
    written = StringIO()
    _work(Console(file=written, width=80))
    assert written.getvalue().splitlines() == [
        "reading: 2 pages",
        "a.pdf is encrypted [31m",
        "vectors: 1 page",
        "a set of ours: 4",
    ]


def test_on_a_terminal_a_bar_shows_how_far_it_is() -> None:
    written = StringIO()
    with TerminalProgress(Console(file=written, width=100, force_terminal=True, color_system=None)) as progress:
        progress.start("reading", 3)
        progress.advance(2)
    assert "reading" in written.getvalue()
    assert "2/3" in written.getvalue()


def test_time_left_and_rate_are_those_of_the_whole_stage() -> None:
    seconds = [0.0]
    with Progress(get_time=lambda: seconds[0], auto_refresh=False, disable=True) as bars:
        number = bars.add_task("answering", total=64)
        (task,) = bars.tasks
        assert (LeftColumn().render(task).plain, RateColumn().render(task).plain) == ("-:--:--", "")
        seconds[0] = 240.0
        for _ in range(16):  # sixteen questions that were asked together end together
            bars.advance(number)
        assert (LeftColumn().render(task).plain, RateColumn().render(task).plain) == ("0:12:00", "4.0/min")
        seconds[0] = 480.0
        bars.advance(number, 48)
        assert LeftColumn().render(task).plain == "0:00:00"
