"""The places of selected words: found where they tell the label, and not where they are honest or chance."""

from dataclasses import replace

import numpy as np
import pytest

from veridical.audits.statistics.samples import estimates
from veridical.core.errors import InputError
from veridical.core.values import IMAGE, PAIR, TEXT, Example, Explanation, Image, Unit
from veridical.data import load
from veridical.metrics import METRICS, CorpusMetric, PositionLeak
from veridical.metrics.position_leak import out_of_fold
from veridical.models.text_rows import word_spans
from veridical.testing import check_metric


def explained(example, scores):
    """The explanation of an example by a score for each of its words."""
    fields = [field for field in (TEXT, PAIR) if field in example.inputs]
    units = tuple(
        Unit(field, span, str(example.inputs[field])[slice(*span)])
        for field in fields
        for span in word_spans(str(example.inputs[field]))
    )
    numbers = tuple(float(each) for each in scores(example, units))
    return Explanation(example.id, example.inputs, str(example.label), units, numbers, {}, "mine", {})


def leaking(example, units):
    """1 for the first word of one class and for the last word of the other."""
    place = 0 if example.label == "negative" else len(units) - 1
    return np.eye(len(units))[place]


def honest(example, units):
    """1 for the planted words."""
    return [any(unit.overlaps(reason) for reason in example.evidence) for unit in units]


def by_chance(seed):
    draw = np.random.RandomState(seed)
    return lambda example, units: draw.rand(len(units))


def interval(metric, examples, scores):
    found = metric.over(examples, [explained(example, scores) for example in examples])
    (cell,) = estimates([found.values.numpy()])
    return cell.low, cell.mean, cell.high


@pytest.fixture(scope="module")
def planted():
    return load("planted(test=300, length=12):test").examples


METHODS = [PositionLeak(), PositionLeak(words="top-k", k=1), PositionLeak(words="above")]


@pytest.mark.parametrize("metric", METHODS, ids=METRICS.written)
def test_a_selector_that_leaks_is_found(metric, planted):
    low, mean, high = interval(metric, planted, leaking)
    assert mean == pytest.approx(0.5)  # always right, and half of the documents are of the most frequent class
    assert 0.4 < low < high < 0.6


@pytest.mark.parametrize("metric", METHODS, ids=METRICS.written)
def test_the_true_reasons_do_not_leak(metric, planted):
    low, _, high = interval(metric, planted, honest)
    assert low < 0 < high


@pytest.mark.parametrize("metric", METHODS, ids=METRICS.written)
def test_chance_does_not_leak(metric, planted):
    found = [interval(metric, planted, by_chance(seed)) for seed in range(20)]
    assert np.mean([mean for _, mean, _ in found]) == pytest.approx(0, abs=0.03)
    assert sum(low > 0 for low, _, _ in found) <= 2


def test_a_mask_that_keeps_a_word_for_one_class_only_leaks_by_its_size(planted):
    def absent(example, units):
        return 0.9 * np.array(honest(example, units)) if example.label == "positive" else np.full(len(units), 0.01)

    assert interval(PositionLeak(words="above"), planted, absent)[1] == pytest.approx(0.5)
    assert METRICS.create("position-leak(preset=mask)") == PositionLeak(words="above")


def texts(count, words, labels):
    """Texts of so many words each, with the labels given."""
    return [
        Example(f"{at:04d}", {TEXT: " ".join(["w"] * words(at))}, label)
        for at, label in zip(range(count), labels, strict=True)
    ]


LONG_AND_SHORT = texts(
    400,
    lambda at: (3 + at % 5) if at % 2 else (12 + at % 17),
    ["positive" if at % 2 else "negative" for at in range(400)],
)


@pytest.mark.parametrize("words", ["top", "top-k", "above"])
def test_the_length_of_a_text_is_no_leak_of_its_mask(words):
    metric = PositionLeak(words=words, k=1, limit=0.0)

    def one(example, units):  # a word at a random place, the only one above 0
        return np.eye(len(units))[np.random.RandomState(int(example.id)).randint(len(units))]

    low, _, _ = interval(metric, LONG_AND_SHORT, one)
    assert low <= 0
    found = metric.over(LONG_AND_SHORT, [explained(example, one) for example in LONG_AND_SHORT])
    assert found.details["length"].mean() == 1  # although length tells all


def test_the_value_is_right_less_the_most_frequent_class(planted):
    some = [*planted[:40], *[each for each in planted[40:] if each.label == "positive"][:40]]
    found = PositionLeak().over(some, [explained(example, leaking) for example in some])
    majority = np.array([example.label == "positive" for example in some])
    assert found.details["majority"].tolist() == majority.tolist()
    assert found.details["right"].tolist() == [1.0] * 80
    assert found.values.tolist() == (1.0 - majority).tolist()


def test_one_class_alone_is_always_predicted_where_nothing_is_told(planted):
    some = [*planted[:20], *[each for each in planted[20:] if each.label == "positive"][:40]]
    found = PositionLeak().over(some, [explained(example, lambda *_: [1.0] * 12) for example in some])
    assert found.values.tolist() == [0.0] * 60


def test_the_classifier_is_ridge_regression_of_the_other_folds():
    draw = np.random.RandomState(0)
    labels = np.array([0, 1, 2] * 8)
    features = draw.randn(24, 2) + labels[:, None]
    ones = np.ones((24, 1))
    found = out_of_fold(features, labels, ones, folds=4)
    fold = np.empty(24, dtype=int)
    fold[np.argsort(labels, kind="stable")] = np.arange(24) % 4
    for each in range(4):
        seen = fold != each
        mean, spread = features[seen].mean(0), features[seen].std(0)
        x, y = (features - mean) / spread, np.eye(3)[labels]
        weights = np.linalg.inv(x[seen].T @ x[seen] + np.eye(2)) @ x[seen].T @ (y[seen] - y[seen].mean(0))
        expected = (x @ weights + y[seen].mean(0)).argmax(1)
        assert found[~seen].tolist() == expected[~seen].tolist()


def test_no_document_is_predicted_by_itself():
    labels = np.array([0, 1] * 30)
    noise = np.random.RandomState(0).randn(60, 50)  # enough numbers to learn all labels by heart
    right = (out_of_fold(noise, labels, np.ones((60, 1)), 5) == labels).mean()
    assert 0.3 < right < 0.7


def test_each_fold_has_its_share_of_each_class(monkeypatch):
    seen = []

    def held_out(features, labels, beside, held):
        seen.append(np.bincount(labels[held], minlength=2).tolist())
        return labels[held]

    monkeypatch.setattr("veridical.metrics.position_leak._predicted", held_out)
    labels = np.array([0] * 20 + [1] * 10)
    out_of_fold(np.zeros((30, 1)), labels, np.ones((30, 1)), 5)
    assert seen == [[4, 2]] * 5


def undefined(metric, examples):
    found = metric.over(examples, [explained(example, leaking) for example in examples])
    return found.values.isnan().tolist()


def test_without_labels_with_one_class_or_with_few_documents_it_is_undefined(planted):
    assert all(undefined(PositionLeak(), [replace(each, label=None) for each in planted]))
    assert all(undefined(PositionLeak(), [replace(each, label="positive") for each in planted]))
    assert all(undefined(PositionLeak(folds=10), planted[:9]))
    assert not any(undefined(PositionLeak(folds=10), planted[:10]))
    assert PositionLeak().over([], []).values.shape == (0,)


def test_only_documents_without_a_label_or_with_one_word_are_left_out(planted):
    some = [replace(planted[0], label=None), replace(planted[1], inputs={TEXT: "one"}), *planted[2:50]]
    assert undefined(PositionLeak(), some) == [True, True, *[False] * 48]


@pytest.mark.parametrize("label", [0.5, ("a", "b")])
def test_numbers_and_several_labels_are_refused(planted, label):
    some = [*planted[:9], replace(planted[9], label=label)]
    with pytest.raises(InputError, match="example planted-test-9, field 'label': the label is .* and not a class"):
        undefined(PositionLeak(), some)
    assert "one class per example" in PositionLeak.needs


def test_explanations_of_other_examples_are_refused(planted):
    with pytest.raises(InputError, match="its explanation is of example planted-test-1"):
        PositionLeak().over(planted[:1], [explained(planted[1], leaking)])


def test_the_words_are_not_read(planted):
    other = [replace(each, inputs={TEXT: " ".join("abcdefghijkl")}) for each in planted]
    same = [explained(each, by_chance(0)) for each in planted], [explained(each, by_chance(0)) for each in other]
    one, two = (
        PositionLeak().over(examples, made).values for examples, made in zip((planted, other), same, strict=True)
    )
    assert one.tolist() == two.tolist()


def test_the_texts_of_a_pair_have_places_of_their_own(planted):
    def side(example, units):
        """The middle word of one of the texts."""
        return np.eye(len(units))[6 if example.label == "negative" else 18]

    pairs = [replace(each, inputs={TEXT: each.inputs[TEXT], PAIR: each.inputs[TEXT]}) for each in planted]
    assert interval(PositionLeak(words="top-k", k=1), pairs, side)[1] == pytest.approx(0.5)


def test_patches_have_places_on_both_sides_of_an_image():
    boxes = [Unit(IMAGE, (x, y, x + 4, y + 4), "") for y in range(0, 16, 4) for x in range(0, 16, 4)]
    images = [Example(f"{at:03d}", {IMAGE: Image(np.zeros((16, 16, 3)))}, "ab"[at % 2]) for at in range(60)]
    draw = np.random.RandomState(0)

    def made(example):  # the left side for one class, the right for the other, at any height
        scores = np.eye(16)[4 * draw.randint(4) + (0 if example.label == "a" else 3)]
        return Explanation(example.id, example.inputs, "a", tuple(boxes), tuple(scores.tolist()), {}, "mine", {})

    found = PositionLeak(words="top-k", k=1).over(images, [made(each) for each in images])
    assert found.details["right"].tolist() == [1.0] * 60


@pytest.mark.parametrize("preset", ["mask"])
def test_presets_and_contract(preset):
    metric = METRICS.create(f"position-leak(preset={preset}, folds=2)")
    assert isinstance(metric, CorpusMetric)
    check_metric(metric)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_limit_that_selects_nothing_or_everything_says_nothing(planted, score):
    """Scores of another kind may all lie below the limit: that is no proof of honesty."""
    found = PositionLeak(words="above").over(
        planted, [explained(example, lambda _, units: [score] * len(units)) for example in planted]
    )
    assert np.isnan(found.values.numpy()).all()
