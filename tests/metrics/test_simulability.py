"""Simulability: students that see true reasons do best, values are of test documents only, and what is refused."""

import pytest
import torch

from veridical import Classifier, audit, explain, load_data
from veridical.core.progress import Watch
from veridical.core.values import Explanation, Unit
from veridical.metrics import Simulability
from veridical.testing import text_classifier
from veridical.testing.samples import multi_label_classifier

QUICK = Simulability(seeds=2, rate=0.1, batch_size=16, epochs=5, patience=5)
NAME = "simulability(seeds=2, rate=0.1, epochs=5, patience=5, batch_size=16)"


@pytest.fixture
def documents():
    return load_data("planted(length=8):test[:120]")


def test_students_that_see_the_true_reasons_simulate_best(trained, documents):
    found = audit(trained, documents, ["human", "random(seed=7)"], [QUICK], timed=0)
    right, wrong = (found.values(NAME, name) for name in ("human", "random(seed=7)"))
    known = ~torch.tensor(right).isnan()
    assert known.sum() == 36  # three tenths of the documents test, the others teach
    assert right[known].mean() > wrong[known].mean() + 0.1
    bare = [found.detail(f"without {seed}", NAME, "human") for seed in (0, 1)]
    assert right[known].mean() > max(each[known].mean() for each in bare) + 0.1
    seeds = [found.detail(f"seed {seed}", NAME, "human")[known] for seed in (0, 1)]
    assert sum(seeds) / 2 == pytest.approx(right[known])
    again = [found.detail(f"without {seed}", NAME, "random(seed=7)")[known] for seed in (0, 1)]
    assert all((one[known] == two).all() for one, two in zip(bare, again, strict=True))


def test_the_order_of_documents_does_not_matter(trained, documents):
    classifier = Classifier.load(trained)
    examples = list(documents)[:60]
    made = explain(classifier, examples, method="attention-all-layers")
    metric = Simulability(seeds=1, rate=0.1, batch_size=16, epochs=1)
    one = metric.judge(classifier, Watch()).over(examples, made)
    other = metric.judge(classifier, Watch()).over(examples[::-1], made[::-1])
    torch.testing.assert_close(one.values, other.values.flip(0), equal_nan=True)


def explanation(*scores):
    words = ("fine", "old", "film", "indeed")[: len(scores)]
    text = " ".join(words)
    units, at = [], 0
    for word in words:
        units.append(Unit("text", (at, at + len(word)), word))
        at += len(word) + 1
    return Explanation("0", {"text": text}, "a", tuple(units), scores, {"a": 1.0}, "x", {})


def test_scores_that_are_shares_stay_so_and_others_become_them():
    metric = Simulability()
    assert metric.shares_of(explanation(0.2, 0.3, 0.0)).tolist() == pytest.approx([0.4, 0.6, 0.0])
    one, other = (metric.shares_of(explanation(*each)) for each in ((3.0, -1.0, 0.5), (3000.0, -1000.0, 500.0)))
    torch.testing.assert_close(one, other)  # their unit does not matter
    assert one.sum() == pytest.approx(1)
    assert one.argmax() == 0
    torch.testing.assert_close(metric.shares_of(explanation(0.0, 0.0)), torch.tensor([0.5, 0.5]))
    published = Simulability(shares="softmax", temperature=0.5)
    torch.testing.assert_close(published.shares_of(explanation(1.0, 2.0)), torch.tensor([2.0, 4.0]).softmax(0))


def test_too_few_documents_are_undefined_and_somebody_is_told():
    classifier, examples = text_classifier()
    told = []
    judge = Simulability().judge(classifier, Watch(lambda progress: told.append(progress.note)))
    found = judge.over(examples, explain(classifier, examples, method="attention-all-layers"))
    assert found.values.isnan().all()
    assert any("of 4 documents 3 would teach students, who learn from 32 at a time" in each for each in told)


def test_any_number_of_labels_is_left_out_of_an_audit_with_the_reason():
    classifier, examples = multi_label_classifier()
    found = audit(classifier, examples, ["occlusion"], ["simulability", "sufficiency"], timed=0)
    assert "one class or a number" in found.skipped["simulability"]
