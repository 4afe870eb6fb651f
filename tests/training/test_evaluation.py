"""Figures of predictions, against scikit-learn and by hand."""

import pytest
import torch
from sklearn.metrics import f1_score

from veridical import Example
from veridical.masking import Engine
from veridical.models.new import start
from veridical.training.evaluation import evaluate, macro_f1, main_figure, pearson

LABELS = ("a", "b", "c")


def examples(labels):
    return [Example(str(index), {"text": f"text {index}"}, label) for index, label in enumerate(labels)]


@pytest.fixture
def say(monkeypatch):
    """Let every model give these logits."""
    return lambda logits: monkeypatch.setattr(Engine, "predict", lambda *_: logits)


def test_sets_of_labels(say):
    generator = torch.Generator().manual_seed(0)
    held = torch.rand(40, 3, generator=generator) < 0.4
    data = examples([tuple(name for name, has in zip(LABELS, row, strict=True) if has) for row in held.tolist()])
    logits = torch.randn(40, 3, generator=generator)
    say(logits)
    found = evaluate(start("tiny", data, LABELS), data)
    chosen = (logits.sigmoid() >= 0.5).numpy()
    assert found["micro_f1"] == pytest.approx(f1_score(held.numpy(), chosen, average="micro"))
    assert found["macro_f1"] == pytest.approx(f1_score(held.numpy(), chosen, average="macro"))
    assert found["accuracy"] == pytest.approx(float((chosen == held.numpy()).all(1).mean()))
    own = torch.nn.functional.binary_cross_entropy_with_logits(logits, held.float())
    assert found["loss"] == pytest.approx(float(own))


def test_labels_that_never_occur_do_not_count(say):
    data = examples([("a",), ()])
    say(torch.tensor([[2.0, -2.0, -2.0], [2.0, -2.0, -2.0]]))
    found = evaluate(start("tiny", data, LABELS), data)
    assert found["macro_f1"] == found["micro_f1"] == pytest.approx(2 / 3)
    say(torch.full((1, 3), -1.0))
    nothing = evaluate(start("tiny", data, LABELS), data[1:])
    assert (nothing["micro_f1"], nothing["macro_f1"], nothing["accuracy"]) == (0.0, 0.0, 1.0)


def test_classes(say):
    data = examples(["a", "b", "b", "c"])
    say(torch.eye(3)[[0, 1, 2, 2]])
    found = evaluate(start("tiny", data, LABELS), data)
    assert found["accuracy"] == 0.75
    assert found["macro_f1"] == pytest.approx(f1_score([0, 1, 1, 2], [0, 1, 2, 2], average="macro"))


def test_the_main_figure_is_that_of_the_task():
    assert main_figure(start("tiny", examples([("a",)]), LABELS)) == "micro_f1"
    assert main_figure(start("tiny", examples(["a"]), LABELS)) == "accuracy"
    assert main_figure(start("tiny", examples([1.0]), ())) == "pearson"


def test_correlation_of_a_constant_is_0():
    assert pearson(torch.ones(3), torch.tensor([1.0, 2.0, 3.0])) == 0.0
    assert pearson(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0])) == pytest.approx(1.0)


def test_macro_f1_leaves_absent_classes_out():
    assert macro_f1(torch.tensor([0, 0]), torch.tensor([0, 0])) == 1.0
