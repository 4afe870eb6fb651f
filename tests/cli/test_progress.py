"""What is seen of a job: a bar on a terminal, plain lines elsewhere."""

import io

import pytest
from rich.console import Console

from veridical.cli import progress
from veridical.cli.progress import Lines, shown
from veridical.core.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """A terminal that keeps what was written to it."""
    written = Terminal()
    terminal = Console(file=written, force_terminal=True, width=100, color_system=None, markup=False, soft_wrap=True)
    monkeypatch.setattr(progress, "Console", lambda **_: terminal)
    return written


@pytest.fixture
def bars(monkeypatch):
    """The bars that are made."""
    made, make = [], progress._columns
    monkeypatch.setattr(progress, "_columns", lambda console: made.append(make(console)) or made[-1])
    return made


class Job:
    """A job that tells something at any time, and the lines that come of it."""

    def __init__(self):
        self.now, self.written = 0.0, []
        self.lines = Lines(self.written.append, clock=lambda: self.now)

    def tell(self, second, *what):
        self.now = second
        self.lines.listen(Progress(*what))

    def end(self, second):
        self.now = second
        self.lines.end()


@pytest.fixture
def job():
    return Job()


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


def test_each_thing_is_counted_anew(screen, bars):
    with shown() as watch:
        watch.tell("explaining", 12, 12, "40 model inputs")
        watch.tell("judging", 1, 30)
        (task,) = bars[0].tasks
        assert (task.description, task.completed, task.total, task.fields["note"]) == ("judging", 1, 30, "")
        watch.tell("writing the card")
        (task,) = bars[0].tasks
        assert (task.completed, task.total) == (0, None)


def test_a_job_that_ends_early_leaves_no_bar(screen, bars):
    with pytest.raises(KeyboardInterrupt), shown() as watch:
        watch.tell("training", 1, 3)
        assert bars[0].live.is_started
        raise KeyboardInterrupt
    assert not bars[0].live.is_started


def test_answers_that_go_elsewhere_pass_by_the_bar(screen, capsys):
    with shown(is_printing=True) as watch:
        watch.tell("predicting", 1, 3)
        print("positive")
    assert capsys.readouterr().out == "positive\n"
    assert "positive" not in screen.getvalue()
    assert "predicting" in screen.getvalue()


def test_answers_on_the_terminal_are_progress_enough(screen, bars, monkeypatch):
    monkeypatch.setattr("sys.stdout", Terminal())
    with shown(is_printing=True) as watch:
        watch.tell("predicting", 1, 3)
    assert not bars
    assert screen.getvalue() == ""


def test_outside_a_terminal_there_are_no_control_characters(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    with shown() as watch:
        watch.tell("explaining [by] mask", 3, 12, "40 model inputs")
        watch.note("dev: loss 0.5", is_result=True)
    said = capsys.readouterr().err
    assert said.splitlines()[:2] == [
        "explaining [by] mask, 3/12  40 model inputs",
        "explaining [by] mask, 3/12  dev: loss 0.5",
    ]
    assert "\x1b" not in said
    assert "\r" not in said


def test_a_line_now_and_then_says_how_much_is_left(job):
    for second in range(31):
        job.tell(float(second), "training", second, 90, "loss 0.5")
    assert job.written == [
        "training, 10/90, about 1:20 left  loss 0.5",
        "training, 20/90, about 1:10 left  loss 0.5",
        "training, 30/90, about 1:00 left  loss 0.5",
    ]
    job.end(4000.0)
    assert job.written[3:] == ["training, 30/90, after 1:06:40  loss 0.5"]


def test_the_time_that_is_left_is_that_of_what_is_done_now(job):
    job.tell(0.0, "explaining", 0, 2)
    job.tell(5.0, "judging", 60, 100)  # a job that goes on: 60 were judged before
    job.tell(10.0, "judging", 70, 100)
    assert job.written == ["judging, 70/100, about 0:15 left"]


def test_nobody_guesses_without_a_total_or_before_the_first_is_done(job):
    job.tell(0.0, "reading")
    job.tell(10.0, "reading", 7)
    job.tell(20.0, "judging", 0, 5)
    job.tell(30.0, "writing the card")
    assert job.written == ["reading, 7", "judging, 0/5", "writing the card"]


def test_a_short_job_and_one_that_tells_nothing_need_no_line(job):
    job.end(100.0)
    assert job.written == []
    quick = Job()
    quick.tell(0.5, "predicting", 1, 1)
    quick.end(1.0)
    assert quick.written == []
