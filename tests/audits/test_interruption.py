"""Audits that are killed, and models that die in the middle: nothing finished is lost, and the numbers are the same."""

import json
import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from veridical import Classifier, Engine, Example, load_data
from veridical.audits.job import audit
from veridical.core.errors import ModelError
from veridical.core.progress import Watch

DATA = "planted(train=400, length=8):test[:14]"
METHODS, METRICS = "occlusion, gradient", "comprehensiveness, decision-flip, stability"
TEXTS = [Example(str(index), {"text": f"this is text {index} of some"}) for index in range(12)]


def audited(model, out, examples=None, methods=METHODS, **rest):
    examples = load_data(DATA) if examples is None else examples
    return audit(model, examples, methods, METRICS, out=out, timed=2, **rest)


def files(folder):
    """What an audit's files say, but for the times, which are never the same."""
    told = json.loads((folder / "audit.json").read_text())
    for method in told["methods"]:
        method["costs"].pop("seconds", None)
    return told, pq.read_table(folder / "rows.parquet").to_pylist()


@pytest.fixture
def small_portions(monkeypatch):
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 6)


class Killed(BaseException):
    pass


def killing(what, done):
    """A watch that stops everything when so much of something is done."""

    def listen(progress):
        if progress.what == what and progress.done == done:
            raise Killed

    return Watch(listen)


PLACES = [
    ("explaining by occlusion", 6),
    ("explaining by random", 12),
    ("judging", 0),
    ("judging", 12),
    ("stability of gradient", 0),
    ("timing occlusion", 0),
]


@pytest.mark.usefixtures("small_portions")
def test_an_audit_that_was_interrupted_anywhere_is_the_same_in_the_end(classifier, tmp_path):
    audited(classifier, tmp_path / "whole")
    for index, place in enumerate(PLACES):
        out = tmp_path / str(index)
        with pytest.raises(Killed):
            audited(classifier, out, watch=killing(*place))
        engine = Engine()
        audited(classifier, out, engine=engine)
        assert files(out) == files(tmp_path / "whole"), place  # the count of work is among it
        assert engine.cost.queries < files(out)[0]["work"]["queries"], place


CHILD = """
import os, signal, sys
import veridical.run.job
from veridical import Classifier, Watch, load_data
from veridical.audits.job import audit

veridical.run.job._EXAMPLES_AT_ONCE = 6
model, out, data, methods, metrics, what, done = sys.argv[1:]

def listen(progress):
    if (progress.what, progress.done) == (what, int(done)) and progress.note:  # in the middle of the next portion
        os.kill(os.getpid(), signal.SIGKILL)

audit(Classifier.load(model), load_data(data), methods, metrics, out=out, timed=2, watch=Watch(listen))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("place", [("explaining by occlusion", 12), ("judging", 6)])
def test_an_audit_that_was_killed_is_the_same_in_the_end(classifier, trained, tmp_path, place):
    audited(classifier, tmp_path / "whole")
    told = [str(trained), str(tmp_path / "cut"), DATA, METHODS, METRICS, place[0], str(place[1])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", CHILD, *told], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "cut" / "audit.json").exists()
    audited(classifier, tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def calls_of(service, out):
    """How many calls an audit makes when nothing goes wrong."""
    audited(service.classifier(), out, TEXTS, "occlusion")
    return service.asked


def test_a_service_that_dies_anywhere_stops_the_audit_and_loses_nothing(service, tmp_path):
    calls, told = calls_of(service, tmp_path / "whole"), []
    for left in range(0, calls - 10, calls // 5):  # at the end, a few examples fail one by one
        out = tmp_path / str(left)
        service.calls_left, service.asked = left, 0
        try:
            audited(service.classifier(), out, TEXTS, "occlusion")
        except ModelError as error:
            told.append(str(error))
        assert service.asked <= left + 15, left
        service.calls_left = 10**9
        audited(service.classifier(), out, TEXTS, "occlusion")
        assert files(out) == files(tmp_path / "whole"), left
    assert all("run the same command again: it goes on from there" in each for each in told)
    assert "0 of 12 examples are safe in " in told[0]
    assert any("of 12 are judged, in " in each for each in told)


def test_times_are_taken_of_the_texts_that_the_model_answers(service, tmp_path):
    before = calls_of(service, tmp_path / "whole")

    def sometimes(texts):
        service.calls_left = 0 if service.asked == before - 1 else 1  # the last call is for the times of `random`
        return service(texts)

    service.asked = 0
    found = audited(
        Classifier.load(sometimes, labels=["no", "yes"], name="service"), tmp_path / "out", TEXTS, "occlusion"
    )
    assert found.method("random").costs["seconds"] > 0
    assert files(tmp_path / "out")[1] == files(tmp_path / "whole")[1]


def test_a_service_that_dies_while_times_are_taken_says_what_is_safe(service, tmp_path):
    calls = calls_of(service, tmp_path / "whole")
    audit_of_six = {"out": tmp_path / "out", "timed": 6}
    service.calls_left = calls - 2 * 3  # before the times of `random`, which take a call each, and one to warm up
    with pytest.raises(ModelError, match="all that was measured is safe in .*out"):
        audit(service.classifier(), TEXTS, "occlusion", METRICS, **audit_of_six)
    service.calls_left = 10**9
    audit(service.classifier(), TEXTS, "occlusion", METRICS, **audit_of_six)
    assert files(tmp_path / "out")[1] == files(tmp_path / "whole")[1]
