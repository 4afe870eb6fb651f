"""Explaining from Python and to files: right, resumable, and going on past bad examples."""

import math

import pytest

from veridical import Classifier, Engine, Example, explain, load_data, predict, read
from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.files import ExplanationWriter, read_all
from veridical.explainers import EXPLAINERS
from veridical.run.explain import explain_to_file
from veridical.run.portions import portions
from veridical.run.predict import predict_each
from veridical.testing import Formula, black_box

DATA = "planted(train=400, length=8):test[:40]"


@pytest.mark.parametrize(
    "method",
    ["occlusion", "integrated-gradients", "input-x-gradient", "lime", "kernel-shap", "deep-lift(complete=true)"],
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


@pytest.mark.parametrize("method", list(EXPLAINERS))
def test_every_method_goes_on_past_empty_texts_and_takes_one_word(classifier, tmp_path, method):
    texts = ["", "good", "good good good", " ", "a bad day for a good film"]
    done = explain_to_file(
        classifier, [Example.of(t, str(i)) for i, t in enumerate(texts)], method, tmp_path / "w.jsonl"
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
    monkeypatch.setattr("veridical.run.portions._EXAMPLES_AT_ONCE", 7)
    whole, everything = tmp_path / "whole.parquet", Engine()
    explain_to_file(classifier, examples, method, whole, engine=everything)

    def kill(done):
        seen.append(done)
        if sum(seen) == 21:
            raise Killed

    seen = []
    broken = tmp_path / "broken.parquet"
    with pytest.raises(Killed):
        explain_to_file(classifier, examples, method, broken, progress=kill)
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
    monkeypatch.setattr("veridical.run.portions._EXAMPLES_AT_ONCE", 7)
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


def test_portions_are_bounded_by_size_and_number():
    texts = [Example(str(index), {"text": "x" * 25_000}) for index in range(5)]
    assert [len(portion) for portion in portions(texts)] == [2, 2, 1]
    short = [Example(str(index), {"text": "x"}) for index in range(600)]
    assert [len(portion) for portion in portions(short)] == [256, 256, 88]
    assert [len(portion) for portion in portions(short[:45], lambda _: 1000)] == [10, 10, 10, 10, 5]
    assert [len(portion) for portion in portions(short[:2], lambda _: 10**6)] == [1, 1]
    assert [len(portion) for portion in portions([Example("huge", {"text": "x" * 10**6})])] == [1]


def test_one_text_alone_is_a_list_of_one(classifier):
    assert [each.example_id for each in explain(classifier, "a good day")] == ["0"]
    assert len(predict(classifier, "a good day")) == 1


def test_predicting_goes_on_past_bad_examples(classifier):
    results = list(
        predict_each(classifier, [Example("a", {"text": "x"}), Example("b", {}), Example("c", {"text": "y"})])
    )
    assert [type(result).__name__ for result in results] == ["Prediction", "Failure", "Prediction"]


def test_predictions():
    formula = Formula.linear({"good": 2.0})
    (made,) = predict(formula, ["good"])
    assert made.label == "yes"
    assert made.probabilities == pytest.approx({"no": 0.119203, "yes": 0.880797}, abs=1e-6)
    assert predict(formula, []) == []
