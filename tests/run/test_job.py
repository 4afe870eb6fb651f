"""Jobs are values: portions are the same everywhere, failures stay alone, runners may be anywhere, costs come back."""

import pickle
import threading
from dataclasses import replace

import pytest

from veridical import Engine, Example, explain, load_data, predict, read
from veridical.core.errors import CancelledError, InputError, ModelError, UsageError
from veridical.core.progress import Watch
from veridical.run.explain import ExplainJob, explain_to_file
from veridical.run.given import as_examples, data_name
from veridical.run.handle import ModelHandle
from veridical.run.job import (
    Failure,
    Result,
    Size,
    each,
    portions,
    serially,
    while_it_answers,
)
from veridical.run.predict import PredictJob
from veridical.testing import text_classifier

DATA = load_data("planted(train=400, length=8):test[:30]")


def elsewhere(job, portions, watch):
    """Do the portions as another machine would: nothing gets there but what can be pickled."""
    sent = pickle.dumps(job)
    for portion in portions:
        watch.check()
        yield pickle.loads(pickle.dumps(pickle.loads(sent).do(pickle.loads(pickle.dumps(portion)))))


def sizes(examples, inputs=1, seconds=0.0):
    """How many examples are in each portion, when each takes so many model inputs and so long."""
    return [len(each) for each in portions(examples, lambda one: Size(len(one.inputs["text"]), inputs, seconds))]


def test_portions_are_bounded_by_size_number_and_work():
    texts = [Example(str(index), {"text": "x" * 25_000}) for index in range(5)]
    assert sizes(texts) == [2, 2, 1]
    short = [Example(str(index), {"text": "x"}) for index in range(600)]
    assert sizes(short) == [256, 256, 88]
    assert sizes(short[:45], inputs=1000) == [10, 10, 10, 10, 5]
    assert sizes(short[:10], seconds=2.5) == [4, 4, 2]
    assert sizes(short[:2], inputs=10**6, seconds=3600.0) == [1, 1]
    assert sizes([Example("huge", {"text": "x" * 10**6})]) == [1]


def test_the_work_of_an_example_is_told_before_it_is_done():
    model, _ = text_classifier()
    layers, pooler, head = 2 * (4 * 64 * 64 + 2 * 64 * 128), 64 * 64, 2 * 64
    job = ExplainJob.of(model, "occlusion", "predicted", Engine(), None)
    size = job.size(Example("0", {"text": "a good day " * 9}))
    assert size.characters == 99
    assert size.inputs == 1 + 21  # 20 words, as far as bytes tell, each left out once, and all of them
    assert size.seconds == pytest.approx(22 * 20 * 2 * (layers + pooler + head) / 5e10)
    assert job.size(Example("0", {"text": "x" * 10**6})).inputs == 1 + 513  # no more is read than 512 word pieces


def test_a_function_that_may_be_slow_is_asked_little_at_once(service):
    texts = [Example(str(index), {"text": "one of nine words that there are in it"}) for index in range(30)]
    job = ExplainJob.of(service.classifier(), "occlusion", "predicted", Engine(), None)
    assert {len(each) for each in job.portions(texts)} == {2}
    predicted = PredictJob(job.model, "predicted", job.settings)
    assert [len(each) for each in predicted.portions(texts)] == [20, 10]


def test_a_failure_costs_only_its_example():
    def work(some):
        asked.append(len(some))
        if any(example.id == "3" for example in some):
            raise InputError("not this one", example="3")
        return [example.id for example in some]

    asked = []
    found = each(as_examples(["a"] * 8), work)
    assert [one.example_id if isinstance(one, Failure) else one for one in found] == list("01234567")
    assert isinstance(found[3], Failure)
    assert asked == [8, 4, 2, 2, 1, 1, 4]


def tried(outcomes):
    """Do as many examples as there are outcomes, each of which is an error or None: what was found and asked."""

    def work(some):
        asked.extend(example.id for example in some)
        for example in some:
            if (error := outcomes[int(example.id)]) is not None:
                raise error
        return [example.id for example in some]

    asked = []
    found = each(as_examples(["a"] * len(outcomes)), work)
    return [one.error.problem if isinstance(one, Failure) else one for one in found], asked


def test_a_model_that_fails_five_times_in_a_row_is_not_asked_again():
    gone = ModelError("gone")
    found, asked = tried([None, None, *[gone] * 14])
    assert found == ["0", "1", *["gone"] * 5]
    assert set(asked[16:]) <= set("01234567")  # after the first try of all
    assert tried([*[gone] * 4, None, *[gone] * 4])[0] == [*["gone"] * 4, "4", *["gone"] * 4]


def test_wrong_examples_do_not_speak_against_the_model():
    gone, wrong = ModelError("gone"), InputError("wrong")
    assert tried([wrong] * 9)[0] == ["wrong"] * 9
    assert tried([gone, gone, wrong, gone, wrong, gone, gone, gone])[0] == [
        *["gone", "gone", "wrong", "gone", "wrong", "gone", "gone"],
    ]


def test_failures_in_a_row_are_counted_over_portions():
    def results():
        for outcome in outcomes:
            done.append(outcome)
            yield Result((outcome,))

    done, taken = [], []
    gone = [Failure(str(index), ModelError(f"no answer {index}")) for index in range(9)]
    outcomes = ["made", *gone[:4], "made", *gone]
    with pytest.raises(ModelError) as caught:
        taken.extend(while_it_answers(results(), lambda: f"{len(taken)} are safe"))
    assert done == ["made", *gone[:4], "made", *gone[:5]]
    assert [each.outcomes[0] for each in taken] == done  # each was handed on before
    assert str(caught.value).startswith(
        "the model failed for 5 examples in a row (0, 1, 2, 3, 4): no answer 4; 11 are safe. See that the model answers"
    )


def test_errors_that_are_not_of_an_example_stop_everything():
    def work(_some):
        raise UsageError("no such class")

    with pytest.raises(UsageError):
        each(as_examples(["a", "b"]), work)


def test_only_a_data_set_names_its_data():
    assert data_name(DATA) == "planted(train=400, length=8):test[:30]"
    assert data_name(DATA[:2]) == f"{DATA.name}[:2]"
    assert data_name(list(DATA)) is data_name("a text") is None


def test_a_job_can_be_done_elsewhere(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 7)
    mixed = [*DATA[:10], Example("blank", {"text": " "}), *DATA[10:]]
    here, there, counts = tmp_path / "here.parquet", tmp_path / "there.parquet", {}
    for out, runner in ((here, serially), (there, elsewhere)):
        engine = Engine()
        done = explain_to_file(classifier, mixed, "occlusion", out, engine=engine, runner=runner)
        counts[out] = (done.cost, engine.cost, done.written, [str(failure.error) for failure in done.failures])
    assert list(read(here)) == list(read(there))
    assert counts[here] == counts[there]
    assert counts[there][0].forwards > len(DATA)
    assert counts[there][0] == counts[there][1]


def test_predictions_can_be_made_elsewhere(classifier):
    engine = Engine()
    assert predict(classifier, DATA, engine, runner=elsewhere) == predict(classifier, DATA)
    assert engine.cost.queries == len(DATA)


def test_a_model_made_in_python_cannot_be_sent():
    model, examples = text_classifier()
    with pytest.raises(UsageError, match="made in Python and cannot be loaded again. Save it"):
        explain(model, examples, "gradient", runner=elsewhere)


def test_a_job_is_a_value(classifier):
    handle = ModelHandle.of(classifier)
    job = ExplainJob.of(handle, "occlusion", "predicted", Engine(tokens=64), "planted:test[:3]")
    assert job == ExplainJob.of(handle, "occlusion", "predicted", Engine(tokens=64), "planted:test[:9]")
    assert job != ExplainJob.of(handle, "occlusion", "gold", Engine(tokens=64), "planted:test")
    assert job.key != ExplainJob.of(handle, "occlusion", "predicted", Engine(precision="bf16"), "planted:test").key
    first, second = job.do(list(DATA[:4])), job.do(list(DATA[:4]))
    assert (first.outcomes, first.cost) == (second.outcomes, second.cost)
    with pytest.raises(AttributeError):
        job.target = "gold"
    assert replace(job, target="gold").do(list(DATA[:1])).made[0].target == DATA[0].label


def test_progress_counts_examples_and_model_inputs(classifier, monkeypatch):
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 10)
    told = []
    explain(classifier, list(DATA), "occlusion", watch=Watch(told.append))
    assert {progress.what for progress in told} == {"explaining by occlusion"}
    assert list(dict.fromkeys(progress.done for progress in told)) == [0, 10, 20, 30]
    assert {progress.total for progress in told} == {30}
    inputs = [int(progress.note.split()[0].replace(",", "")) for progress in told if progress.note]
    assert inputs == sorted(inputs)  # added up over portions
    assert inputs[-1] > 30


def cancelled_after(batches):
    """A watch that another thread cancels while the model works, and what it was told."""
    told = []

    def listen(progress):
        told.append(progress)
        if sum(bool(each.note) for each in told) == batches:
            other = threading.Thread(target=watch.cancel)
            other.start()
            other.join()

    watch = Watch(listen)
    return watch, told


def test_cancelling_stops_after_a_batch_and_the_same_call_goes_on(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 10)
    whole, out, small = tmp_path / "whole.parquet", tmp_path / "why.parquet", Engine(tokens=64)
    complete = explain_to_file(classifier, DATA, "occlusion", whole, engine=Engine(tokens=64))
    watch, told = cancelled_after(batches=18)
    with pytest.raises(CancelledError, match="cancelled. What was finished is kept"):
        explain_to_file(classifier, DATA, "occlusion", out, engine=small, watch=watch)
    assert len([progress for progress in told if progress.note]) == 18  # not one batch more
    kept = len(list(read(out)))
    assert 0 < kept < 30
    done = explain_to_file(classifier, DATA, "occlusion", out, engine=Engine(tokens=64))
    assert (done.resumed, done.written) == (kept, 30 - kept)
    assert done.cost.forwards < complete.cost.forwards
    assert list(read(out)) == list(read(whole))  # to the last digit


def test_what_was_cancelled_before_it_began_does_nothing(classifier):
    watch = Watch()
    watch.cancel()
    with pytest.raises(CancelledError):
        explain(classifier, list(DATA), watch=watch)
    with pytest.raises(CancelledError):
        predict(classifier, list(DATA), watch=watch)


def test_two_threads_may_use_one_model(classifier):
    methods = ["integrated-gradients", "occlusion"]
    alone = {method: explain(classifier, list(DATA), method) for method in methods}
    found = {}

    def work(method):
        found[method] = explain(classifier, list(DATA), method)

    threads = [threading.Thread(target=work, args=(method,)) for method in methods]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone  # to the last digit
