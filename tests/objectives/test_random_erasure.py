"""Random erasure: which texts lose which words, and what is asked of what is left."""

import numpy as np
import pytest
import torch

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.masking import ERASERS, Case
from veridical.models.new import start
from veridical.objectives import CrossEntropy, RandomErasure
from veridical.objectives.base import prepare
from veridical.testing import Formula, check_objective, image_classifier, text_classifier
from veridical.testing.families import DECODERS, FAMILIES, SENTENCES, family

WORDS = {"good": 2.0, "bad": -1.0, "so": 0.5}


def case_of(classifier, examples):
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch))


@pytest.fixture
def formula():
    examples = [Example("0", {"text": "good so bad"}, "yes"), Example("1", {"text": "bad"}, "no")]
    return case_of(Formula.linear(WORDS), examples)


def test_chance_takes_texts_and_each_number_of_lost_words_is_equally_likely():
    seen = []

    def watched(x):
        seen.append((x != 0).sum(1))
        return torch.stack([-x.sum(1), x.sum(1)], 1)

    case = case_of(Formula(WORDS, watched), [Example(str(at), {"text": "so so so"}, "yes") for at in range(4000)])
    torch.manual_seed(0)
    RandomErasure(chance=0.75)(case)
    whole, left = seen
    assert (whole == 3).all()
    assert len(left) == pytest.approx(3000, abs=100)
    assert np.allclose(torch.bincount(left) / len(left), 0.25, atol=0.03)


def test_the_loss_is_that_of_what_is_left(formula):
    torch.manual_seed(1)
    found = RandomErasure(weight=3.0, chance=1.0)(formula)
    torch.manual_seed(1)
    torch.rand(2)
    keep = (torch.rand(2, 3) >= torch.rand(2, 1)).double() * formula.live
    values = torch.tensor([[2.0, 0.5, -1.0], [-1.0, 0, 0]], dtype=torch.double)
    logits = torch.stack([torch.zeros(2), (values * keep).sum(1)], 1)
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 0]))
    assert found["erased"].item() == pytest.approx(3 * expected.item())
    assert found["cross_entropy"].item() == CrossEntropy()(formula)["cross_entropy"].item()


def test_an_empty_text_should_say_nothing(formula):
    assert RandomErasure(chance=1.0, empty=1.0)(formula)["empty"].item() == pytest.approx(0, abs=1e-7)
    biased = case_of(Formula.linear(WORDS, bias=1.0), list(formula.batch.examples))
    p = torch.tensor([0.0, 1.0]).softmax(0)
    expected = -(0.5 * (2 * p).log()).sum().item()
    assert RandomErasure(chance=1.0, empty=2.0)(biased)["empty"].item() == pytest.approx(2 * expected, rel=1e-5)


def test_nothing_is_asked_of_examples_that_are_not_taken(formula):
    found = RandomErasure(chance=0.0, empty=1.0)(formula)
    assert found["erased"].item() == found["empty"].item() == 0


def test_towards_its_own_answer_the_whole_text_is_constant():
    classifier, examples = text_classifier()
    case = case_of(classifier, examples)
    case.output.logits.retain_grad()
    torch.manual_seed(0)
    own = RandomErasure(chance=1.0, towards="own")(case)["erased"]
    own.backward()
    assert case.output.logits.grad is None
    torch.manual_seed(0)
    assert own.item() != RandomErasure(chance=1.0)(case)["erased"].item()


@pytest.mark.parametrize("eraser", list(ERASERS))
def test_every_eraser(eraser):
    check_objective(RandomErasure(chance=1.0, eraser=eraser, empty=1.0))


@pytest.mark.parametrize("kind", [*FAMILIES, *DECODERS])
def test_every_family_gives_finite_gradients_also_for_texts_without_words(kind):
    classifier = family(kind)
    examples = [Example(str(at), {"text": text}, "pos") for at, text in enumerate(["", *SENTENCES[:3]])]
    torch.manual_seed(0)
    terms = RandomErasure(chance=1.0, eraser="pad", empty=1.0)(case_of(classifier, examples))
    sum(terms.values()).backward()
    assert all(torch.isfinite(values.grad).all() for values in classifier.model.parameters() if values.grad is not None)


@pytest.mark.parametrize("chosen", [[0], [1], [0, 1]])
def test_windows_stay_with_their_text(chosen):
    examples = [Example("0", {"text": "one two three four five six"}, "neg"), Example("1", {"text": "one two"}, "pos")]
    classifier = start("tiny", examples, ["neg", "pos"], max_length=5, long="window")
    case = case_of(classifier, examples)
    keep = case.live & (torch.arange(case.live.shape[1]) % 2 == 0)
    found = case.with_eraser("mask").ask_with_gradients(torch.tensor(chosen), keep[chosen]).logits
    asked = Case.bind(classifier, examples, eraser="mask").logits(torch.tensor(chosen), keep[chosen])
    torch.testing.assert_close(found.detach(), asked, atol=1e-5, rtol=0)


def test_regression_and_images():
    numbers = [Example(str(number), {"text": "so so"}, number) for number in (0.0, 1.0)]
    classifier = start("tiny", numbers, [])
    for towards in ("gold", "own"):
        found = RandomErasure(chance=1.0, towards=towards)(case_of(classifier, numbers))
        assert found.keys() == {"squared_error", "erased"}
    with pytest.raises(UnsupportedError, match="no equal probabilities"):
        prepare(RandomErasure(empty=1.0), classifier, numbers)
    check_objective(RandomErasure(chance=1.0, empty=1.0), image_classifier)


def test_weight_0_takes_nothing_from_chance():
    classifier, examples = text_classifier()
    case = case_of(classifier, examples)
    state = torch.random.get_rng_state()
    RandomErasure(weight=0.0)(case)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert RandomErasure(weight=0.0).needs == frozenset()
