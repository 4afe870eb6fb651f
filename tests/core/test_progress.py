"""A watch passes on what a job tells, part by part, and stops it."""

import threading

import pytest

from veridical.core.errors import CancelledError
from veridical.core.progress import Progress, Watch


@pytest.fixture
def told():
    return []


def test_what_is_told_reaches_the_listener(told):
    watch = Watch(told.append)
    watch.tell("reading", 1, 3)
    watch.tell("waiting")
    assert told == [Progress("reading", 1, 3), Progress("waiting", 0, None)]


def test_a_watch_without_a_listener_listens_to_nobody():
    Watch().tell("reading", 1, 3)


def test_a_counter_adds_up(told):
    count = Watch(told.append).counter("judging", 5)
    count(2)
    count(3)
    assert [(each.done, each.total) for each in told] == [(0, 5), (2, 5), (5, 5)]


def test_notes_say_more_of_what_is_being_done(told):
    watch = Watch(told.append)
    count = watch.counter("explaining", 4)
    watch.note("7 model inputs")
    count(4)
    watch.note("dev: loss 0.5", is_result=True)
    assert told[1] == Progress("explaining", 0, 4, "7 model inputs")
    assert told[2] == Progress("explaining", 4, 4, "7 model inputs")
    assert told[3] == Progress("explaining", 4, 4, "dev: loss 0.5", is_result=True)
    count(0)
    assert not told[4].is_result


def test_parts_are_told_with_their_names(told):
    part = Watch(told.append).within("seed 1").within("dev")
    part.tell("training", 2, 9, "loss 0.1")
    part.note("loss 0.2")
    assert told == [
        Progress("seed 1: dev: training", 2, 9, "loss 0.1"),
        Progress("seed 1: dev: training", 2, 9, "loss 0.2"),
    ]


def test_cancelling_stops_the_job_and_all_its_parts(told):
    watch = Watch(told.append)
    part = watch.within("seed 1")
    part.check()
    stopper = threading.Thread(target=watch.cancel)
    stopper.start()
    stopper.join()
    assert watch.is_cancelled
    for each in (watch, part, part.within("deeper")):
        for stopped in (each.check, lambda each=each: each.tell("more"), lambda each=each: each.note("more")):
            with pytest.raises(CancelledError, match="What was finished is kept"):
                stopped()
    assert told == []


def test_cancelling_a_part_stops_the_whole():
    watch = Watch()
    watch.within("seed 1").cancel()
    assert watch.is_cancelled
