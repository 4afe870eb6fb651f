"""Bars on a terminal: one listener for every job."""

import io

import pytest
from rich.console import Console

from veridical.cli import common
from veridical.cli.common import shown


@pytest.fixture
def screen(monkeypatch):
    """A terminal that keeps what was written to it."""
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(common, "Console", lambda **_: terminal)
    return written


def test_a_bar_shows_what_is_done_and_how_much_of_it(screen):
    with shown() as watch:
        watch.tell("explaining [by] mask", 3, 12, "40 model inputs")
    assert "explaining [by] mask" in screen.getvalue()
    assert "3/12" in screen.getvalue()
    assert "40 model inputs" in screen.getvalue()


def test_results_stay_as_lines(screen):
    with shown() as watch:
        watch.tell("training", 2, 8)
        watch.note("dev: loss 0.5000", is_result=True)
        watch.note("loss 0.1")
    assert "training, 2/8  dev: loss 0.5000\n" in screen.getvalue()
    assert screen.getvalue().count("dev: loss") == 1


def test_each_thing_is_counted_anew(screen, monkeypatch):
    bars, make = [], common._bar
    monkeypatch.setattr(common, "_bar", lambda: bars.append(make()) or bars[-1])
    with shown() as watch:
        watch.tell("explaining", 12, 12, "40 model inputs")
        watch.tell("judging", 1, 30)
        (task,) = bars[0].tasks
        assert (task.description, task.completed, task.total, task.fields["note"]) == ("judging", 1, 30, "")
        watch.tell("writing the card")
        (task,) = bars[0].tasks
        assert (task.completed, task.total) == (0, None)


def test_a_job_that_ends_early_leaves_no_bar(screen, monkeypatch):
    bars, make = [], common._bar
    monkeypatch.setattr(common, "_bar", lambda: bars.append(make()) or bars[-1])
    with pytest.raises(KeyboardInterrupt), shown() as watch:
        watch.tell("training", 1, 3)
        assert bars[0].live.is_started
        raise KeyboardInterrupt
    assert not bars[0].live.is_started
