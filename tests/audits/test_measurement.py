"""Judging portions: what was measured is found again, under the name and for the data that it was measured for."""

from dataclasses import replace

import pytest

from veridical import Classifier, Engine, Example, explain
from veridical.core.example import Unit
from veridical.metrics import METRICS
from veridical.audits.journal import Journal
from veridical.audits.measurement import Measurer
from veridical.audits.method_scores import gather


def model(name="mine", sure=0.9):
    def answer(texts):
        return [[sure, 1 - sure] if "good" in text else [0.2, 0.8] for text in texts]

    return Classifier.load(answer, labels=["yes", "no"], name=name)


EXAMPLES = [
    Example("0", {"text": "a good day"}, evidence=(Unit("text", (2, 6), "good"),)),
    Example("1", {"text": "the rain again"}, evidence=(Unit("text", (4, 8), "rain"),)),
]
FALL = "comprehensiveness(eraser=mask)"


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path) as opened:
        yield opened


def measured(journal, methods, metric=FALL, classifier=None, examples=EXAMPLES, engine=None):
    """The rows of a bench by method and order, and how many model inputs were run for them."""
    engine = engine or Engine()
    bench = Measurer(classifier or model(), methods, [METRICS.create(metric)], "predicted", True, engine, journal)
    keys = [key for found in bench(examples) for key in found]
    return [journal.rows[key] for key in keys], engine.cost.forwards


def explained(examples=EXAMPLES):
    return gather(explain(model(), examples, "occlusion"), examples, model())


def test_what_was_measured_is_not_measured_again(journal):
    first, work = measured(journal, explained())
    again, nothing = measured(journal, explained())
    assert again == first
    assert (work > 0, nothing) == (True, 0)
    assert {(row.document, row.order) for row in first} == {
        (document, order) for document in "01" for order in ("given", "reversed")
    }


def test_a_method_keeps_its_own_name(journal):
    (method,) = explained()
    measured(journal, [replace(method, name="occlusion 123abc")])
    rows, _ = measured(journal, [method])
    assert {row.method for row in rows} == {"occlusion"}


def test_other_evidence_is_measured_anew(journal):
    marked = [replace(each, evidence=(Unit("text", (0, 1), "a"),)) for each in EXAMPLES]
    before, _ = measured(journal, explained(), "reasons-on-top")
    after, _ = measured(journal, explained(examples=marked), "reasons-on-top", examples=marked)
    assert [row.value for row in before if row.document == "0"] != [row.value for row in after if row.document == "0"]


def test_rationales_are_judged_anew_with_another_model(journal):
    spec = {"method": {"name": "human"}}
    human = [replace(each, source="human", spec=spec) for each in explain(model(), EXAMPLES, "occlusion")]
    values = []
    for classifier in (model(), model("surer", sure=0.99)):
        rows, _ = measured(journal, gather(human, EXAMPLES, classifier), "log-odds", classifier)
        values.append([row.value for row in rows])
    assert values[0] != values[1]


def test_another_precision_is_measured_anew(journal):
    _, first = measured(journal, explained(), engine=Engine(precision="fp32"))
    _, second = measured(journal, explained(), engine=Engine(precision="bf16"))
    assert second == first > 0


def test_questions_are_those_of_all_methods_and_orders(journal):
    metric = METRICS.create(FALL)
    random = gather(explain(model(), EXAMPLES, "random"), EXAMPLES, model())
    bench = Measurer(model(), [*explained(), *random], [metric], "predicted", True, Engine(), journal)
    assert bench.questions(3) == 3 * metric.questions(3)
