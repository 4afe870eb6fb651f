from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline

from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.models import Classifier
from veridical.models.black_box import BlackBox
from veridical.run.explain import explain

TEXTS = ["a good movie", "good and nice", "a bad movie", "bad and dull"]


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, ["pos", "pos", "neg", "neg"])


def length(texts: list[Any]) -> list[list[float]]:
    """More letters, more sure."""
    sizes = [len("".join(text)) for text in texts]
    return [[1 / (1 + size), size / (1 + size)] for size in sizes]


def read_back(text: str | tuple[str, str], keep: list[bool], eraser: str = "delete", **settings: Any) -> Any:
    """What a function is asked with when only some words are kept."""
    heard: list[Any] = []

    def listen(texts: list[Any]) -> list[list[float]]:
        heard.extend(texts)
        return length(texts)

    case = Case.bind(BlackBox(listen, ["a", "b"], **settings), [Example.of(text)], eraser=eraser)
    assert heard == [text]
    case.value(torch.tensor([[keep]], dtype=torch.bool))
    return heard[-1]


def test_a_pipeline_its_method_and_a_function_are_the_same_model(pipeline: Pipeline) -> None:
    ways = [
        Classifier.load(pipeline),
        Classifier.load(pipeline.predict_proba, labels=["neg", "pos"]),
        Classifier.load(lambda texts: torch.tensor(pipeline.predict_proba(texts)), labels=["neg", "pos"]),
    ]
    expected = torch.tensor(pipeline.predict_proba(TEXTS))
    for classifier in ways:
        assert classifier.labels == ("neg", "pos")
        output = classifier.run(classifier.encode([Example.of(text) for text in TEXTS]).rows)
        torch.testing.assert_close(classifier.probabilities(output.logits), expected.float(), atol=1e-6, rtol=0)
    assert ways[0].describe()["name"] == "Pipeline"
    assert Classifier.load(pipeline, labels=["-", "+"]).labels == ("-", "+")


def test_occlusion_finds_the_word_that_decides(pipeline: Pipeline) -> None:
    (found,) = explain(Classifier.load(pipeline), ["a good movie"], method="occlusion")
    assert max(zip(found.scores, found.units, strict=True), key=lambda pair: pair[0])[1].text == "good"


def test_labels_are_numbered_where_none_are_given() -> None:
    assert Classifier.load(length).labels == ("0", "1")


def test_one_number_is_regression(pipeline: Pipeline) -> None:
    ridge = make_pipeline(CountVectorizer(), Ridge()).fit(TEXTS, [1.0, 2.0, -1.0, -2.0])
    classifier = Classifier.load(ridge.predict)
    assert classifier.is_regression
    found = classifier.run(classifier.encode([Example.of(text) for text in TEXTS]).rows).logits
    torch.testing.assert_close(found[:, 0], torch.tensor(ridge.predict(TEXTS)).float())
    assert Classifier.load(lambda texts: [[len(text)] for text in texts]).is_regression


def test_pairs_come_as_tuples() -> None:
    assert read_back(("a b", "c d"), [True, False, True, True]) == ("a", "c d")
    assert read_back(("a b", "c d"), [False, True], hold="text") == ("a b", "d")
    assert read_back(("a b", "c d"), [False, False], hold="text_pair") == ("", "c d")


@pytest.mark.parametrize(
    ("text", "keep", "left"),
    [
        ("a b c", [1, 0, 1], "a c"),
        ("a b c", [0, 1, 1], "b c"),
        ("a b c", [1, 1, 0], "a b"),
        ("a b c", [0, 0, 0], ""),
        ("a b c", [1, 1, 1], "a b c"),
        ("  a\n b\t", [1, 1], "  a\n b\t"),
        ("  a b\n", [0, 1], "  b\n"),
        ("Hello, world", [1, 0, 1], "Hello world"),
        ("well-known", [1, 0, 1], "well known"),  # not one new word
        ("(good)", [1, 0, 1], "()"),
        ("我爱你", [1, 0, 1], "我你"),
        ("", [], ""),
        ("  ", [], "  "),
    ],
)
def test_deleted_words_leave_sensible_white_space(text: str, keep: list[int], left: str) -> None:
    assert read_back(text, [bool(each) for each in keep]) == left


def test_masked_words_are_replaced_in_place() -> None:
    assert read_back("a b, c", [True, False, True, False], "mask") == "a [MASK], [MASK]"
    assert read_back("a b", [False, True], "mask", mask_text="UNK") == "UNK b"


def test_texts_of_different_lengths_share_a_batch() -> None:
    classifier = BlackBox(length, ["a", "b"])
    batch = classifier.encode([Example.of("one two three"), Example.of(""), Example.of("one")])
    assert [len(units) for units in batch.units] == [3, 0, 1]
    alone = [classifier.run(classifier.encode([example]).rows).logits for example in batch.examples]
    assert torch.equal(classifier.run(batch.rows).logits, torch.cat(alone))


def broken(texts: list[Any]) -> Any:
    raise OSError("the service is down")


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (broken, "broken failed on 'some text': OSError: the service is down"),
        (
            lambda texts: [[0.5, float("nan")]] * len(texts),
            r"gave \[0.5, nan\], which are not all numbers, for 'some text'",
        ),
        (lambda texts: [[0.2, 0.2]] * len(texts), r"gave \[0.2, 0.2\], which are no probabilities.*softmax"),
        (lambda texts: [[1.5, -0.5]] * len(texts), r"gave \[1.5, -0.5\], which are no probabilities"),
        (lambda texts: [[0.5, 0.5]] * (len(texts) + 1), r"an array of shape \(2, 2\) for 'some text'"),
        (lambda texts: np.zeros((len(texts), 2, 2)), r"an array of shape \(1, 2, 2\)"),
        (lambda texts: 0.5, r"an array of shape \(\)"),
        (lambda texts: [[0.5, 0.5], [1.0]], "failed on 'some text': ValueError"),
        (lambda texts: ["pos"] * len(texts), "failed on 'some text': ValueError.*'pos'"),
        (lambda texts: None, r"failed on|shape \(\)"),
        (lambda texts: [[0.2, 0.3, 0.5]] * len(texts), "gave 3 outputs for 2 labels"),
        (lambda texts: [0.7] * len(texts), r"gave 1 outputs for 2 labels.*\[1 - p, p\]"),
    ],
)
def test_wrong_answers_are_told(function: Any, complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint):
        Case.bind(BlackBox(function, ["a", "b"]), [Example.of("some text")])


def test_the_cause_of_a_failure_is_kept() -> None:
    with pytest.raises(ModelError) as caught:
        Classifier.load(broken)
    assert isinstance(caught.value.__cause__, OSError)


def test_rounded_probabilities_are_fine() -> None:
    classifier = BlackBox(lambda texts: np.full((len(texts), 3), 0.3333, dtype=np.float16), ["a", "b", "c"])
    output = classifier.run(classifier.encode([Example.of("x")]).rows)
    torch.testing.assert_close(classifier.probabilities(output.logits), torch.full((1, 3), 1 / 3), atol=1e-3, rtol=0)


def test_a_certain_answer_stays_finite() -> None:
    classifier = BlackBox(lambda texts: [[0.0, 1.0]] * len(texts), ["a", "b"])
    output = classifier.run(classifier.encode([Example.of("x")]).rows)
    assert torch.isfinite(output.logits).all()
    assert classifier.probabilities(output.logits).tolist() == [[pytest.approx(0, abs=1e-30), 1.0]]


@pytest.mark.parametrize("method", ["gradient", "integrated-gradients", "attention", "scaled-attention"])
def test_methods_that_look_inside_are_refused_by_name(method: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{method} needs .*, which black-box models do not give.*delete, mask"):
        explain(BlackBox(length, ["a", "b"]), ["some text"], method=EXPLAINERS.create(method))


def test_nothing_is_silently_left_out() -> None:
    classifier = BlackBox(length, ["a", "b"])
    rows = classifier.encode([Example.of("some text")]).rows
    vectors = torch.zeros(1, 2, 4)
    for options in ({"embeds": vectors}, {"shift": vectors}, {"attentions": True}, {"hidden": True}):
        with pytest.raises(UnsupportedError, match="black-box model cannot"):
            classifier.run(rows, **options)  # type: ignore[arg-type]
    for eraser in ("mask", "zero", "pad"):
        with pytest.raises(UnsupportedError):
            Case.bind(classifier, [Example.of("some text")], eraser=eraser).value(torch.full((1, 1, 2), 0.5))
    with pytest.raises(UnsupportedError, match="cannot be saved"):
        classifier.save("anywhere")


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="hold cannot be 'premise'"):
        BlackBox(length, ["a", "b"], hold="premise")
    with pytest.raises(UsageError, match="cannot be told apart: a, a"):
        BlackBox(length, ["a", "a"])
    with pytest.raises(UsageError, match="unknown setting of black-box models 'label'. Did you mean 'labels'"):
        Classifier.load(length, label=["a", "b"])
    for labels in (3, "ab"):
        with pytest.raises(UsageError, match=f"labels cannot be {labels!r}. Give a list of names"):
            Classifier.load(length, labels=labels)
    with pytest.raises(UsageError, match="cannot make a classifier of int"):
        Classifier.load(3)


def test_a_module_that_reads_numbers_is_told_what_is_missing() -> None:
    with pytest.raises(ModelError, match="Linear failed on 'a text': .*A module that reads numbers needs a tokenizer"):
        Classifier.load(torch.nn.Linear(2, 2))
