"""Decision flip: where the decision turns, and what is asked to find out."""

import pytest
import torch

from veridical.core.values import Example
from veridical.masking import Case, Engine
from veridical.metrics import METRICS, DecisionFlip, measure
from veridical.testing import Formula

WORDS = Formula.linear({"a": 2.0, "b": 1.0, "c": -0.5, "d": 0.3}, bias=-1.0)


def bound(formula, *texts, **engine):
    return Case.bind(formula, [Example(str(at), {"text": text}) for at, text in enumerate(texts)], **engine)


def order(words, text):
    return torch.tensor([[float(-words.index(word)) for word in text.split()]])


@pytest.mark.parametrize(("words", "share"), [("abdc", 1 / 4), ("dbac", 3 / 4), ("cdba", 1.0)])
def test_the_share_at_which_the_decision_turns(words, share):
    found = measure(DecisionFlip(), bound(WORDS, "a b c d"), order(words, "a b c d"))
    assert found.values.item() == pytest.approx(share)
    assert (found.details["flipped"].item(), found.details["share"].item()) == (1, pytest.approx(share))


def test_a_constant_model_never_turns():
    constant = Formula.linear(dict.fromkeys("abcd", 0.0), bias=1.0)
    found = measure(DecisionFlip(), bound(constant, "a b c d"), torch.rand(1, 4))
    assert found.values.item() == 1
    assert found.details["flipped"].item() == 0


def many(needed):
    """Forty words; the decision turns when so many of them are gone."""
    return bound(Formula.linear({"w": 1.0}, bias=needed - 40.5), " ".join(["w"] * 40))


@pytest.mark.parametrize(
    ("grid", "needed", "share"),
    [("even", 1, 2 / 40), ("even", 5, 6 / 40), ("reference", 1, 1 / 40), ("reference", 4, 5 / 40), ("even", 40, 1.0)],
)
def test_steps_are_a_share_of_the_text_and_the_published_code_starts_with_one_word(grid, needed, share):
    case = many(needed)
    assert case.output.logits.argmax(1).item() == 1
    assert measure(DecisionFlip(grid=grid), case, torch.zeros(1, 40)).values.item() == pytest.approx(share)


def test_texts_that_are_decided_are_not_asked_about_again():
    engine = Engine()
    formula = Formula.linear({"a": 5.0, "b": 0.1, "c": 0.2}, bias=-1.0)
    case = bound(formula, "a b c a", "a b c", engine=engine)
    before = engine.cost.forwards
    found = measure(DecisionFlip(), case, torch.tensor([[0.0, 3.0, 2.0, 1.0], [3.0, 2.0, 1.0, 0.0]]))
    assert found.values.tolist() == pytest.approx([1.0, 1 / 3])
    assert (case.asked - 1).tolist() == [4, 1]
    assert engine.cost.forwards == before + 5


def test_each_text_has_its_own_step():
    formula = Formula.linear({"w": 1.0}, bias=-0.5)
    case = bound(formula, " ".join(["w"] * 40), "w w")
    measure(DecisionFlip(), case, torch.zeros(2, 40))
    assert (case.asked - 1).tolist() == [20, 2]  # steps of two words, and of one


def test_presets():
    assert METRICS.create("decision-flip(preset=saloss)") == DecisionFlip()
    assert METRICS.create("decision-flip(preset=saloss-text)").eraser == "delete"
    assert METRICS.create("decision-flip(preset=saloss-code)").grid == "reference"
