"""Judging portions: what was measured is found again, under the name and for the data that it was measured for."""

from collections import Counter
from dataclasses import replace

import pytest

from veridical import Classifier, Engine, Example, explain
from veridical.audits.explanations import AuditExplanations
from veridical.audits.measurement import MeasuringJob, _long, measure_corpus, measure_documents
from veridical.audits.plan import corpus_tasks, document_tasks
from veridical.audits.store import Journal
from veridical.core.files import ExplanationWriter, spec_key
from veridical.core.progress import Watch
from veridical.core.values import Unit
from veridical.metrics import METRICS
from veridical.run.handle import ModelHandle
from veridical.run.job import EngineSettings


def model(name="mine", sure=0.9):
    def answer(texts):
        return [[sure, 1 - sure] if "good" in text else [0.2, 0.8] for text in texts]

    return Classifier.load(answer, labels=["yes", "no"], name=name)


EXAMPLES = [
    Example("0", {"text": "a good day"}, evidence=(Unit("text", (2, 6), "good"),)),
    Example("1", {"text": "the rain again"}, evidence=(Unit("text", (4, 8), "rain"),)),
]
TARGETS = {"0": ("yes",), "1": ("no",)}
FALL = "comprehensiveness(eraser=mask)"


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "audit") as opened:
        yield opened


@pytest.fixture
def methods_of(tmp_path):
    """A function from explanations to what an audit keeps of them in memory."""

    def gathered(explanations, examples=EXAMPLES, classifier=None):
        with ExplanationWriter(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl") as writer:
            kept = AuditExplanations(writer, examples, ModelHandle.of(classifier or model()))
            kept.write(explanations)
        return kept.methods(dict.fromkeys(spec_key(each.spec) for each in explanations))

    return gathered


@pytest.fixture
def explained(methods_of):
    return lambda examples=EXAMPLES: methods_of(explain(model(), examples, "occlusion"), examples)


def job_of(journal, methods, metric=FALL, classifier=None, engine=None):
    metrics = {metric: METRICS.create(metric)}
    engine = engine or Engine()
    tasks = tuple(document_tasks(metrics, methods, True, engine.precision))
    known = {*journal.rows, *journal.failures}
    handle = ModelHandle.of(classifier or model())
    return MeasuringJob(handle, "predicted", EngineSettings.of(engine), tasks, TARGETS, known)


def measured(journal, methods, metric=FALL, classifier=None, examples=EXAMPLES, engine=None):
    """The rows of a metric by method and order, and how many model inputs were run for them."""
    engine, reasons = engine or Engine(), {}
    job = job_of(journal, methods, metric, classifier, engine)
    rows = measure_documents(job, examples, journal, engine=engine, watch=Watch(), reasons=reasons)
    assert not reasons
    return rows, engine.cost.forwards


def test_what_was_measured_is_not_measured_again(journal, explained):
    first, work = measured(journal, explained())
    again, nothing = measured(journal, explained())
    assert again == first
    assert (work > 0, nothing) == (True, 0)
    assert {(row.document, row.order) for row in first} == {
        (document, order) for document in "01" for order in ("given", "reversed")
    }


def test_a_method_keeps_its_own_name(journal, explained):
    (method,) = explained()
    measured(journal, [replace(method, name="occlusion 123abc")])
    rows, _ = measured(journal, [method])
    assert {row.method for row in rows} == {"occlusion"}


def test_other_evidence_is_measured_anew(journal, explained):
    marked = [replace(each, evidence=(Unit("text", (0, 1), "a"),)) for each in EXAMPLES]
    before, _ = measured(journal, explained(), "reasons-on-top")
    after, _ = measured(journal, explained(examples=marked), "reasons-on-top", examples=marked)
    assert [row.value for row in before if row.document == "0"] != [row.value for row in after if row.document == "0"]


def test_rationales_are_judged_anew_with_another_model(journal, methods_of):
    spec = {"method": {"name": "human"}}
    human = [replace(each, source="human", spec=spec) for each in explain(model(), EXAMPLES, "occlusion")]
    values = []
    for classifier in (model(), model("surer", sure=0.99)):
        rows, _ = measured(journal, methods_of(human, classifier=classifier), "log-odds", classifier)
        values.append([row.value for row in rows])
    assert values[0] != values[1]


def test_another_precision_is_measured_anew(journal, explained):
    _, first = measured(journal, explained(), engine=Engine(precision="fp32"))
    _, second = measured(journal, explained(), engine=Engine(precision="bf16"))
    assert second == first > 0


def test_questions_are_those_of_all_methods_and_orders(journal, explained, methods_of):
    metric = METRICS.create(FALL)
    random = methods_of(explain(model(), EXAMPLES, "random"))
    # Given and reversed order of one method, and five draws of the floor.
    assert job_of(journal, [*explained(), *random]).passes(3) == (2 + 5) * metric.questions(3)


def test_the_floor_is_the_mean_of_five_draws(journal, methods_of):
    random = methods_of(explain(model(), EXAMPLES, "random"))
    rows, _ = measured(journal, random)
    alone = []
    for seed in range(5):
        # Under another name it is a method like others, and has one draw.
        (method,) = methods_of(explain(model(), EXAMPLES, f"random(seed={seed})"))
        found, _ = measured(journal, [replace(method, name=f"draw {seed}")])
        alone.append({row.document: row.value for row in found if row.order == "given"})
    for row in rows:
        draws = [each[row.document] for each in alone]
        assert row.value == pytest.approx(sum(draws) / 5)
    assert any(len(set(each.values())) > 1 for each in alone)


def test_a_floor_of_five_draws_is_found_again(journal, methods_of):
    random = methods_of(explain(model(), EXAMPLES, "random"))
    first, work = measured(journal, random)
    assert (measured(journal, random), work > 0) == ((first, 0), True)


def test_all_methods_of_a_document_have_the_same_ends(journal, methods_of):
    """A search that misses the ends must not divide one method by another range than the next."""
    text = Example("0", {"text": "a b c d e f g h"})
    worth = {"a": 0.3, "b": -0.1, "c": 0.2, "d": -0.2, "e": 0.1, "f": -0.3, "g": 0.05, "h": -0.05}

    def answer(texts):
        sums = [
            sum(worth.get(word, 0) for word in each.split()) + 0.4 * ("a" in each) * ("f" in each) for each in texts
        ]
        return [[0.5 + each / 4, 0.5 - each / 4] for each in sums]

    classifier = Classifier.load(answer, labels=["yes", "no"], name="mine")
    some = [explain(classifier, [text], method, target="yes") for method in ("occlusion", "random", "lime(samples=40)")]
    methods = [each for made in some for each in methods_of(made, [text], classifier)]
    metric = "normalised-aopc(exact=0, beam=1, tried=1)"
    alone = {}
    for each in methods:
        alone |= {(row.method, row.order): row for row in measured(journal, [each], metric, classifier, [text])[0]}
    rows, asked = measured(journal, methods, metric, classifier, [text])
    assert asked == 0  # what was measured alone is found again, and only put in relation
    best, worst = (pick(row.details[end] for row in alone.values()) for pick, end in ((max, "best"), (min, "worst")))
    for row in rows:
        fall = alone[row.method, row.order].details["aopc"]
        assert (row.details["best"], row.details["worst"], row.details["aopc"]) == (best, worst, fall)
        assert row.value == pytest.approx((fall - worst) / (best - worst))
    assert len({(row.details["best"], row.details["worst"]) for row in alone.values()}) > 1  # or this shows nothing


@pytest.mark.parametrize(("documents", "told"), [(1, False), (100_000, True)])
def test_a_long_time_is_said_before(documents, told, journal, explained):
    said = []
    job = job_of(journal, explained())
    expected = job.expected(EXAMPLES)
    assert list(expected) == [FALL]
    assert bool(_long(Counter({FALL: documents * expected[FALL]}))) == told
    measure_documents(
        job, EXAMPLES, journal, engine=Engine(), watch=Watch(lambda each: said.append(each.note)), reasons={}
    )
    assert not any("minutes" in note for note in said)


def test_the_metric_that_takes_longest_is_named():
    assert _long(Counter({"quick": 60.0, "slow": 540.0})) == "at most about 10 minutes, 90% of it slow"


def test_an_error_of_the_model_is_reported_and_tried_again(journal, explained):
    """A model that answers NaN today may answer tomorrow."""
    silent = Classifier.load(
        lambda texts: [[float("nan")] * 2 if "rain" in text else [0.9, 0.1] for text in texts],
        labels=["yes", "no"],
        name="mine",
    )
    reasons = {}
    job = job_of(journal, explained(), classifier=silent)
    rows = measure_documents(job, EXAMPLES, journal, engine=Engine(), watch=Watch(), reasons=reasons)
    assert {row.document for row in rows} == {"0"}
    assert list(reasons) == ["1"]
    assert reasons["1"]["occlusion"].startswith(f"{FALL}: mine gave [nan, nan], which are not all numbers")
    assert reasons["1"]["occlusion"].count(FALL) == 1  # and not once for each order
    assert not journal.failures
    rows, _ = measured(journal, explained())
    assert {row.document for row in rows} == {"0", "1"}


def test_values_over_all_explanations_depend_on_each_of_them(journal, methods_of):
    made = explain(model(), EXAMPLES, "occlusion")
    metrics = {"stability": METRICS.create("stability")}
    for explanations in (made, made, made[:1]):
        (task,) = corpus_tasks(metrics, methods_of(explanations))
        before = len(journal.rows)
        rows = measure_corpus(task, EXAMPLES, TARGETS, journal, None, Watch())  # it asks no model
        assert [row.document for row in rows] == [each.example_id for each in explanations]
        told = len(journal.rows) - before
        assert told == {0: 2, 2: 1 if len(explanations) == 1 else 0}[before]
