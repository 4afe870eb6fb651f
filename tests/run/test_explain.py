"""Explaining from Python and to files: right, resumable, and going on past bad examples."""

import math
from dataclasses import replace

import pytest

from veridical import Classifier, Engine, Example, explain, load_data, predict, read
from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.files import ExplanationWriter, read_all
from veridical.core.progress import Watch
from veridical.explainers import EXPLAINERS
from veridical.explainers.students import Student
from veridical.run.explain import explain_to_file
from veridical.run.handle import ModelHandle
from veridical.testing import black_box

DATA = "planted(train=400, length=8):test[:40]"


@pytest.mark.parametrize(
    "method",
    ["occlusion", "integrated-gradients", "input-x-gradient", "lime", "kernel-shap", "deep-lift"],
)
def test_the_planted_reason_is_on_top(classifier, method):
    examples = load_data(DATA)
    explanations = explain(classifier, examples, method, target="gold")
    hits = [
        any(each.top(1)[0][0].overlaps(unit) for unit in example.evidence)
        for each, example in zip(explanations, examples, strict=True)
    ]
    assert sum(hits) / len(hits) > 0.9


def test_an_explanation_says_how_it_was_made(classifier):
    (made,) = explain(classifier, ["such a good day"], "occlusion(output=prob)")
    assert made.source == "occlusion"
    assert [unit.text for unit in made.units] == ["such", "a", "good", "day"]
    assert made.target in ("negative", "positive")
    assert sum(made.probabilities.values()) == pytest.approx(1)
    assert made.measures["queries"] == 6
    assert made.spec["method"] == {"name": "occlusion", "output": "prob", "eraser": "mask"}
    assert made.spec["model"]["fingerprint"] == classifier.fingerprint
    assert made.spec["versions"]["torch"].startswith("2.")
    assert EXPLAINERS.from_spec(made.spec["method"]) == EXPLAINERS.create("occlusion(output=prob)")


def test_an_explanation_draws_itself_in_a_notebook(classifier):
    html = explain(classifier, ["<b>good</b> & bad"])[0]._repr_html_()
    assert "<b>good" not in html
    assert "good" in html


def test_pairs_images_and_examples_are_all_accepted(classifier):
    example = Example("mine", {"text": "a good day"}, "positive")
    assert [each.example_id for each in explain(classifier, ["one text", example])] == ["0", "mine"]
    assert [each.example_id for each in explain(classifier, (example,))] == ["mine"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "example 1: there are no words to explain"),
        ("  \n\t ", "example 1: there are no words to explain"),
        ("cut \ud83d off", "example 1, field 'text': character 5 is half of a surrogate pair"),
    ],
)
def test_a_text_that_cannot_be_explained_is_named(classifier, text, problem):
    with pytest.raises(InputError, match=problem):
        explain(classifier, ["fine", text])


UNUSUAL = ["😀👍🏽👩‍👩‍👧 good", "e\u0301le\u0300ve", "אבג دهن", "good " * 3, "\u200b good", "x" * 5000]


@pytest.mark.parametrize("text", UNUSUAL)
def test_unusual_texts_are_explained(classifier, text):
    (made,) = explain(classifier, [text], "occlusion")
    assert made.units
    assert all(text[slice(*unit.span)] == unit.text for unit in made.units)


def test_a_very_long_text_is_cut_and_says_so(classifier):
    with pytest.warns(UserWarning, match="1 texts are longer than the model reads and were cut: 0"):
        (made,) = explain(classifier, ["good " * 100_000], "gradient")
    assert made.measures["truncated_units"] + len(made.units) == 100_000
    assert predict(classifier, ["good " * 100_000])[0].truncated_units == made.measures["truncated_units"]


def test_a_very_long_text_is_read_whole_in_windows(trained):
    classifier = Classifier.load(trained, long="window")
    (made,) = explain(classifier, ["good day " * 5_000], "gradient")
    assert len(made.units) == 10_000
    assert made.measures["truncated_units"] == 0


def test_a_method_the_model_does_not_support_is_refused_by_name():
    model, examples = black_box()
    with pytest.raises(UnsupportedError, match="integrated-gradients needs gradients, which black-box models do not"):
        explain(model, examples)


def test_an_unknown_method_names_the_nearest(classifier):
    with pytest.raises(UsageError, match="Did you mean 'occlusion'"):
        explain(classifier, ["x"], "oclusion")


def test_regression_is_explained_by_its_output():
    model = Classifier.load(lambda texts: [text.count("o") * 1.0 for text in texts])
    (made,) = explain(model, ["too good"], "occlusion(eraser=delete)")
    assert made.target == "value"
    assert made.probabilities == {}
    assert made.scores == (2.0, 2.0)
    assert made.measures["output"] == 4.0


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_files_hold_what_python_gives(classifier, tmp_path, suffix):
    out = tmp_path / f"why{suffix}"
    examples = load_data(DATA)
    done = explain_to_file(classifier, examples, "occlusion", out)
    assert done.written == 40
    alone = explain(classifier, examples, "occlusion")
    for one, other in zip(read(out), alone, strict=True):
        assert one.example_id == other.example_id
        assert one.scores == pytest.approx(other.scores, abs=1e-5)


def test_bad_examples_do_not_stop_the_others(classifier, tmp_path):
    good = list(load_data(DATA))
    bad = [Example("empty", {"text": ""}), Example("half", {"text": "\udc00"}), Example("none", {})]
    mixed = [*good[:20], bad[0], *good[20:30], bad[1], bad[2], *good[30:]]
    done = explain_to_file(classifier, mixed, "gradient", tmp_path / "why.parquet")
    assert done.written == 40
    assert [failure.example_id for failure in done.failures] == ["empty", "half", "none"]
    assert [each.example_id for each in read(tmp_path / "why.parquet")] == [example.id for example in good]


WITH_A_BLANK = [*load_data(DATA)[:10], Example("blank", {"text": " "}), *load_data(DATA)[10:20]]


def explained(classifier, out, examples=WITH_A_BLANK, method="occlusion"):
    """Explain with an engine that starts at 0: what was done, and what that cost."""
    engine = Engine()
    return explain_to_file(classifier, examples, method, out, engine=engine), engine.cost


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_resumed_job_with_a_failing_example_asks_the_model_nothing(classifier, tmp_path, suffix):
    first, cost = explained(classifier, tmp_path / f"why{suffix}")
    assert (first.written, cost.forwards > 0) == (20, True)
    again, cost = explained(classifier, tmp_path / f"why{suffix}")
    assert (again.written, again.resumed) == (0, 20)
    assert (cost.queries, cost.forwards, cost.backwards) == (0, 0, 0)
    assert [str(each.error) for each in again.failures] == [str(each.error) for each in first.failures]
    assert again.failures[0].example_id == "blank"


def test_what_is_known_to_fail_is_of_one_method_only(classifier, tmp_path):
    explained(classifier, tmp_path / "why.jsonl")
    other, cost = explained(classifier, tmp_path / "why.jsonl", method="gradient")
    assert (other.written, cost.forwards > 0) == (20, True)
    for method in ("occlusion", "gradient"):
        again, cost = explained(classifier, tmp_path / "why.jsonl", method=method)
        assert (len(again.failures), cost.forwards) == (1, 0)


def test_a_text_that_was_filled_is_explained(classifier, tmp_path):
    explained(classifier, tmp_path / "why.jsonl")
    filled = [Example(each.id, {"text": "a good day"}) if each.id == "blank" else each for each in WITH_A_BLANK]
    done, _ = explained(classifier, tmp_path / "why.jsonl", filled)
    assert (done.written, done.resumed, done.failures) == (1, 20, ())
    assert not (tmp_path / "why.jsonl.failures.json").exists()
    assert explained(classifier, tmp_path / "why.jsonl", filled)[1].forwards == 0


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"format": "veridical-failures", "version": 1, "failures": [3]}'])
def test_damaged_failures_are_found_again(classifier, tmp_path, text):
    explained(classifier, tmp_path / "why.jsonl")
    (tmp_path / "why.jsonl.failures.json").write_text(text)
    again, cost = explained(classifier, tmp_path / "why.jsonl")
    assert (again.written, len(again.failures), cost.forwards > 0) == (0, 1, True)
    assert explained(classifier, tmp_path / "why.jsonl")[1].forwards == 0


def test_a_model_that_failed_is_asked_again(tmp_path):
    def service(texts):
        if is_down and "bad" in " ".join(texts):
            raise ConnectionError("no answer")
        return [[0.4, 0.6]] * len(texts)

    is_down, model = True, Classifier.load(service, labels=["no", "yes"])
    examples = [Example.of(text, text) for text in ("good", "bad", "fine")]
    assert len(explain_to_file(model, examples, "occlusion", tmp_path / "why.jsonl").failures) == 1
    is_down = False
    done = explain_to_file(model, examples, "occlusion", tmp_path / "why.jsonl")
    assert (done.written, done.failures) == (1, ())


TEXTS = [Example(str(index), {"text": f"this is text {index} of some"}) for index in range(40)]


@pytest.mark.parametrize("error", [ConnectionError("no answer"), TimeoutError(), RuntimeError("out of memory")])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_service_that_dies_loses_nothing_that_is_finished(service, tmp_path, error, suffix):
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"why{suffix}"
    explain_to_file(service.classifier(), TEXTS, "occlusion", whole)
    service.error, service.calls_left, service.asked = error, 30, 0
    with pytest.raises(ModelError) as caught:
        explain_to_file(service.classifier(), TEXTS, "occlusion", out)
    kept = read_all(out)
    assert kept == read_all(whole)[: len(kept)]
    assert len(kept) >= 30 // 3 - 2  # three calls at least: for whole texts, with a word left out, and without any
    assert service.asked <= 30 + 12  # and not once for each text that is left
    failed = ", ".join(str(len(kept) + index) for index in range(6))  # the last two were asked about together
    assert f"failed for 6 examples in a row ({failed}): service failed on " in str(caught.value)
    assert f"{type(error).__name__}: {error}; {len(kept)} of 40 examples are safe in {out}" in str(caught.value)
    assert "run the same command again: it goes on from there" in str(caught.value)
    service.calls_left = 10**9
    done = explain_to_file(service.classifier(), TEXTS, "occlusion", out)
    assert (done.resumed, done.written, done.failures) == (len(kept), 40 - len(kept), ())
    assert read_all(out) == read_all(whole)


def test_a_service_that_was_never_there_is_asked_a_few_times(service, tmp_path):
    service.calls_left = 0
    with pytest.raises(ModelError, match="0 of 40 examples are safe"):
        explain_to_file(service.classifier(), TEXTS, "lime", tmp_path / "why.jsonl")
    assert service.asked <= 10


def test_a_service_that_is_away_for_a_moment_costs_one_example_at_most(service, tmp_path):
    def sometimes(texts):
        service.calls_left = 0 if service.asked == 30 else 1
        return service(texts)

    model = Classifier.load(sometimes, labels=["no", "yes"])
    done = explain_to_file(model, TEXTS, "occlusion", tmp_path / "why.jsonl")
    assert done.written + len(done.failures) == 40
    assert len(done.failures) <= 1
    assert explain_to_file(model, TEXTS, "occlusion", tmp_path / "why.jsonl").failures == ()


@pytest.mark.parametrize("method", list(EXPLAINERS))
def test_every_method_goes_on_past_empty_texts_and_takes_one_word(classifier, tmp_path, method):
    texts = ["", "good", "good good good", " ", "a bad day for a good film"]
    explainer = EXPLAINERS.create(method)
    if isinstance(explainer, Student):
        explainer = replace(explainer, labels=classifier.labels)
    # A learned one that was looked at stands for itself, and not for a model's own.
    assert getattr(explainer, "network", True)
    done = explain_to_file(
        classifier, [Example.of(t, str(i)) for i, t in enumerate(texts)], explainer, tmp_path / "w.jsonl"
    )
    assert [failure.example_id for failure in done.failures] == ["0", "3"]
    assert [len(each.scores) for each in read(tmp_path / "w.jsonl")] == [1, 3, 7]


@pytest.mark.parametrize("method", ["occlusion", "lime", "kernel-shap"])
def test_a_model_that_always_says_the_same_has_no_reasons(method):
    constant = Classifier.load(lambda texts: [[0.5, 0.5] for _ in texts])
    (made,) = explain(constant, ["a good film with a rather long title and so many words in it"], method)
    assert made.scores == pytest.approx((0.0,) * 14, abs=1e-9)
    if made.margins:
        assert made.margins == pytest.approx((0.0,) * 14, abs=1e-6)


@pytest.mark.parametrize("target", ["7", "-1", "wonderful"])
def test_a_class_the_model_does_not_have_is_refused(classifier, target):
    with pytest.raises(UsageError, match=f"no class '{target}'.*negative, positive"):
        explain(classifier, ["a good day"], target=target)


def test_an_output_that_is_not_a_number_stops_only_its_example(tmp_path):
    model = Classifier.load(lambda texts: [[math.nan, 1.0] if "bad" in text else [0.4, 0.6] for text in texts])
    examples = [Example.of(text, text) for text in ("good", "bad", "fine")]
    done = explain_to_file(model, examples, "occlusion", tmp_path / "why.jsonl")
    assert [each.example_id for each in read(tmp_path / "why.jsonl")] == ["good", "fine"]
    (failure,) = done.failures
    assert failure.example_id == "bad"
    assert isinstance(failure.error, ModelError)


class Killed(Exception):
    pass


METHODS = ["occlusion", "integrated-gradients", "lime(samples=60)", "kernel-shap(samples=60)"]


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_job_goes_on_and_ends_the_same(classifier, tmp_path, monkeypatch, method):
    examples = load_data(DATA)
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 7)
    whole, everything = tmp_path / "whole.parquet", Engine()
    explain_to_file(classifier, examples, method, whole, engine=everything)

    def kill(progress):
        if progress.done == 21:
            raise Killed

    broken = tmp_path / "broken.parquet"
    with pytest.raises(Killed):
        explain_to_file(classifier, examples, method, broken, watch=Watch(kill))
    assert len(read(broken)) == 21  # readable while incomplete
    engine = Engine()
    done = explain_to_file(classifier, examples, method, broken, engine=engine)
    assert (done.resumed, done.written) == (21, 19)
    before = sum(each.measures["queries"] for each in read_all(whole)[:21])
    assert engine.cost.queries == everything.cost.queries - before  # nothing finished was done again
    assert read_all(broken) == read_all(whole)  # to the last digit


@pytest.mark.parametrize("method", METHODS)
def test_a_job_killed_while_it_wrote_ends_the_same(classifier, tmp_path, monkeypatch, method):
    """The file holds a part of what was done together; the rest of it comes out as if nothing had happened."""
    examples = load_data(DATA)[:20]
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 7)
    whole, broken = tmp_path / "whole.parquet", tmp_path / "broken.parquet"
    explain_to_file(classifier, examples, method, whole)
    with ExplanationWriter(broken) as writer:
        writer.write(read_all(whole)[:10])
    done = explain_to_file(classifier, examples, method, broken)
    assert (done.resumed, done.written) == (10, 10)
    assert read_all(broken) == read_all(whole)


def test_a_second_method_joins_the_same_file(classifier, tmp_path):
    out, examples = tmp_path / "why.parquet", load_data(DATA)[:5]
    explain_to_file(classifier, examples, "gradient", out)
    explain_to_file(classifier, examples, "attention", out)
    assert explain_to_file(classifier, examples, "attention", out).written == 0
    assert [each.source for each in read(out)] == ["gradient"] * 5 + ["attention"] * 5


def test_a_folder_stands_for_its_model(classifier, trained, tmp_path):
    assert explain(trained, ["a good day"], "gradient") == explain(classifier, ["a good day"], "gradient")
    assert explain(str(trained), "a good day", "gradient")[0].spec["model"]["fingerprint"] == classifier.fingerprint
    assert predict(trained, ["a good day"]) == predict(ModelHandle.of(classifier), ["a good day"])
    with pytest.raises(ModelError, match="there is no folder"):
        predict("./nowhere", ["a good day"])


def test_a_method_is_a_name_an_object_or_a_folder(classifier, tmp_path):
    method = EXPLAINERS.create("occlusion(output=prob)")
    EXPLAINERS.save(method, tmp_path / "mine")
    by_name = explain(classifier, "a good day", "occlusion(output=prob)")
    assert explain(classifier, "a good day", method) == by_name
    assert explain(classifier, "a good day", tmp_path / "mine") == by_name


def test_python_and_files_agree_on_the_name_of_the_data(classifier, tmp_path):
    data = load_data(DATA)[:2]
    explain_to_file(classifier, data, "gradient", tmp_path / "why.jsonl")
    explain_to_file(classifier, list(data), "gradient", tmp_path / "named.jsonl", data=data.name)
    made = explain(classifier, data, "gradient")
    assert made[0].spec["data"] == "planted(train=400, length=8):test"
    assert [each.spec for each in made] == [each.spec for each in read(tmp_path / "why.jsonl")]
    assert [each.spec for each in made] == [each.spec for each in read(tmp_path / "named.jsonl")]
    assert explain(classifier, list(data), "gradient")[0].spec["data"] is None


def test_the_weights_are_read_once(classifier, monkeypatch):
    taken = []
    monkeypatch.setattr(type(classifier), "describe", lambda self: taken.append(self) or {"fingerprint": "x"})
    handle = ModelHandle.of(classifier)
    predict(handle, "a good day")
    assert taken == []
    explain(handle, "a good day", "gradient")
    explain(handle, "a bad day", "occlusion")
    assert len(taken) == 1


def test_one_text_alone_is_a_list_of_one(classifier):
    assert [each.example_id for each in explain(classifier, "a good day")] == ["0"]
    assert len(predict(classifier, "a good day")) == 1


def test_each_chosen_label_has_an_explanation(moods):
    made = explain(moods, ["a happy and furious day", "a day"], "occlusion")
    assert [(each.example_id, each.target) for each in made] == [("0", "anger"), ("0", "joy"), ("1", "anger")]
    assert [each.measures["targets"] for each in made] == [2, 2, 1]
    assert [each.top(1)[0][0].text for each in made[:2]] == ["furious", "happy"]
    assert made[0].probabilities == pytest.approx({"anger": 0.9, "joy": 0.9, "news": 0.2})
    (named,) = explain(moods, ["a happy and furious day"], "occlusion", target="news")
    assert (named.target, named.measures["targets"]) == ("news", 1)
    assert "targets" not in explain(black_box()[0], ["a good day"], "occlusion")[0].measures


def test_a_file_goes_on_between_two_labels_of_an_example(moods, tmp_path):
    texts = ["a happy and furious day", "", "it is today", "a furious one today"]
    whole = explain_to_file(moods, texts, "occlusion", tmp_path / "whole.jsonl")
    made = read_all(tmp_path / "whole.jsonl")
    assert (whole.written, len(made), len(whole.failures)) == (5, 5, 1)
    for done in range(6):
        path = tmp_path / f"{done}.jsonl"
        with ExplanationWriter(path) as writer:
            writer.write(made[:done])
        again = explain_to_file(moods, texts, "occlusion", path)
        assert read_all(path) == made
        assert again.written == 5 - done
        assert again.resumed == [0, 0, 1, 2, 2, 3][done]
    assert explain_to_file(moods, texts, "occlusion", tmp_path / "whole.jsonl").cost.queries == 0
