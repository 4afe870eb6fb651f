"""The rationale loss: which words are chosen, the hinges by hand, what learns, and that it learns."""

import itertools
from dataclasses import replace

import pytest
import torch

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS, Case
from veridical.masking.erasure import places
from veridical.models.new import start
from veridical.objectives import OBJECTIVES, CrossEntropy, Rationale
from veridical.objectives.base import forward, prepare
from veridical.testing import Formula, check_objective, image_classifier, pair_classifier, text_classifier
from veridical.testing.families import FAMILIES, SENTENCES, family

GRADIENT = "input-x-gradient"


def case_of(classifier, examples, objective):
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, forward(classifier, batch, objective))


def yes(value):
    return torch.tensor(float(value)).sigmoid().item()


def test_the_hinges_by_hand():
    classifier = Formula.linear({"good": 2.0, "bad": -1.0, "so": 0.5})
    objective = Rationale(1.0, 2.0, ratio=0.3, attribution=GRADIENT, margin=0.4)
    case = case_of(classifier, [Example("0", {"text": "so good bad"}, "yes")], objective)
    assert objective.kept(case).tolist() == [[False, True, False]]
    found = objective(case)
    assert found["sufficiency"].item() == pytest.approx(max(0, yes(1.5) - yes(2.0) + 0.4), rel=1e-5)
    assert found["comprehensiveness"].item() == pytest.approx(2 * max(0, yes(-0.5) - yes(1.5) + 0.4), rel=1e-5)


def test_the_class_is_gold_or_predicted():
    classifier = Formula({"good": 2.0, "bad": -1.0}, lambda x: torch.stack([-x.sum(1), x.sum(1)], 1))
    example = Example("0", {"text": "good bad"}, "no")
    for target, kept, wanted in (("gold", [False, True], yes(-2) - yes(2)), ("predicted", [True, False], 0.0)):
        objective = Rationale(ratio=0.5, attribution=GRADIENT, target=target, margin=0.0)
        case = case_of(classifier, [example], objective)
        assert objective(case)["sufficiency"].item() == pytest.approx(max(0, wanted), abs=1e-6)
        aimed = replace(case, targets=case.output.logits.argmax(-1)) if target == "predicted" else case
        assert objective.kept(aimed).tolist() == [kept]


@pytest.mark.parametrize("attribution", ["attention", GRADIENT])
def test_the_words_are_those_the_explainer_finds(attribution):
    classifier, examples = text_classifier()
    objective = Rationale(attribution=attribution, ratio=0.01)
    kept = objective.kept(case_of(classifier, examples, objective))
    case = Case.bind(classifier, examples, target="gold")
    scores = EXPLAINERS.create("attention" if attribution == "attention" else f"{GRADIENT}(aggregate=sum)").scores(case)
    assert torch.equal(kept, (places(scores.values, case.live) == 0) & case.live)


@pytest.mark.parametrize("attribution", ["attention", GRADIENT])
def test_soft_words_are_more_than_half_in_where_hard_ones_are_in(attribution):
    classifier, examples = text_classifier()
    hard, soft = (Rationale(attribution=attribution, ratio=0.5, keep=keep) for keep in ("hard", "soft"))
    case = case_of(classifier, examples, soft)
    assert torch.equal(soft.kept(case) > 0.5, hard.kept(case))


def test_attention_learns_to_choose_only_where_words_are_soft():
    for keep in ("hard", "soft"):
        classifier, examples = text_classifier()
        objective = Rationale(keep=keep)
        case = case_of(classifier, examples, objective)
        case.output.attentions[-1].retain_grad()
        found = objective(case)
        (found["sufficiency"] + found["comprehensiveness"]).backward()
        assert (case.output.attentions[-1].grad is not None) == (keep == "soft")
        assert case.output.logits.grad_fn is not None


def test_the_answer_for_the_whole_text_is_held_constant():
    classifier, examples = text_classifier()
    objective = Rationale(margin=1.0)
    case = case_of(classifier, examples, objective)
    case.output.logits.retain_grad()
    found = objective(case)
    (found["sufficiency"] + found["comprehensiveness"]).backward()
    assert case.output.logits.grad is None


def trained(objective):
    """How much more probable the class is with the chosen words than without them, after some steps."""
    classifier, examples = text_classifier()
    optimizer = torch.optim.AdamW(classifier.model.parameters(), 1e-3)
    for _ in range(30):
        terms = objective(case_of(classifier, examples, objective))
        optimizer.zero_grad()
        sum(terms.values()).backward()
        optimizer.step()
    judge = Rationale(attribution="attention", ratio=0.3)
    kept = judge.kept(case_of(classifier, examples, judge))
    case = Case.bind(classifier, examples, target="gold")
    return case.value(torch.stack([kept, case.live & ~kept], 1)).diff(dim=1).neg().mean().item()


def test_chosen_words_become_what_decides():
    assert trained(Rationale(ratio=0.3, margin=0.5)) > trained(CrossEntropy()) + 0.3


@pytest.mark.parametrize(
    ("attribution", "keep", "eraser"),
    [
        each
        for each in itertools.product(["attention", GRADIENT], ["hard", "soft"], ERASERS)
        if each[1:] != ("soft", "delete")
    ],
)
def test_every_way_keeps_the_contract(attribution, keep, eraser):
    check_objective(Rationale(attribution=attribution, keep=keep, eraser=eraser))


@pytest.mark.parametrize("sample", [pair_classifier, image_classifier])
def test_pairs_and_images_too(sample):
    check_objective(Rationale(keep="soft"), sample)


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_gives_finite_gradients_also_for_texts_without_words(kind):
    classifier = family(kind)
    examples = [Example(str(at), {"text": text}, "pos") for at, text in enumerate(["", *SENTENCES[:3]])]
    objective = Rationale(keep="soft", margin=1.0)
    terms = objective(case_of(classifier, examples, objective))
    assert terms["sufficiency"].item() > 0
    sum(terms.values()).backward()
    assert all(torch.isfinite(values.grad).all() for values in classifier.model.parameters() if values.grad is not None)


@pytest.mark.parametrize("keep", ["hard", "soft"])
def test_a_text_without_words_adds_0(keep):
    classifier, examples = text_classifier()
    empty = Example("empty", {"text": ""}, "negative")
    objective = Rationale(keep=keep, margin=1.0)
    some = objective(case_of(classifier, examples, objective))
    more = objective(case_of(classifier, [*examples, empty], objective))
    for name in ("sufficiency", "comprehensiveness"):
        assert more[name].item() == pytest.approx(some[name].item() * 4 / 5, rel=1e-4)
    assert objective(case_of(classifier, [empty], objective)).keys() == {"cross_entropy"}


def test_needs_follow_the_settings():
    assert Rationale().needs == {"cls-attentions", "mask"}
    assert Rationale(attribution=GRADIENT, eraser="pad").needs == {"embedding-output", "gradients", "pad"}
    assert Rationale(sufficiency=0.0, comprehensiveness=0.0).needs == frozenset()


def test_what_cannot_be_is_refused():
    with pytest.raises(UsageError, match="cannot be half deleted"):
        OBJECTIVES.create("rationale(keep=soft, eraser=delete)")
    numbers = [Example(str(number), {"text": "so so"}, number) for number in (0.0, 1.0)]
    with pytest.raises(UnsupportedError, match="compares probabilities"):
        prepare(Rationale(), start("tiny", numbers, []), numbers)
