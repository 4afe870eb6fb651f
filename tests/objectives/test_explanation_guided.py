"""Explanation-guided training: its attributions, what it masks, and that attention comes to agree with them."""

import pytest
import torch

from veridical import Classifier
from veridical.core.values import Example
from veridical.data import load
from veridical.explainers import EXPLAINERS
from veridical.explainers.attention import last_cls
from veridical.masking import Case
from veridical.models.new import start
from veridical.objectives import CrossEntropy, ExplanationGuided
from veridical.objectives.base import forward
from veridical.objectives.explanation_guided import attributions
from veridical.testing import pair_classifier, text_classifier
from veridical.testing.families import FAMILIES, family
from veridical.testing.formula import Formula


def case_of(classifier, examples):
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch, attentions=True))


@pytest.fixture
def case():
    return case_of(*text_classifier(units="token"))


@pytest.mark.parametrize(
    ("attribution", "explainer"),
    [
        ("integrated-gradients", "integrated-gradients(steps=7, aggregate=l2)"),
        ("saliency", "gradient(aggregate=l2)"),
        ("input-x-gradient", "input-x-gradient(preset=regex)"),
        ("deep-lift", "deep-lift(aggregate=l2)"),
    ],
)
def test_shares_are_those_of_the_explainer_for_the_gold_class(case, attribution, explainer):
    scores = EXPLAINERS.create(explainer).scores(case).values  # [B, U], of cases for the gold class
    expected = scores / scores.sum(1, keepdim=True)
    found = case.to_units(ExplanationGuided(attribution=attribution, steps=7).shares(case))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert found.sum(1).tolist() == pytest.approx([1.0] * len(case))


def test_the_gold_class_is_explained_not_the_predicted_one():
    # The logit of `no` depends on the first word only, that of `yes` on the second.
    classifier = Formula({"a": 1.0, "b": 2.0}, lambda x: x[:, :2])
    examples = [Example("0", {"text": "a b"}, "no"), Example("1", {"text": "a b"}, "yes")]
    assert ExplanationGuided().shares(case_of(classifier, examples)).tolist() == [[1, 0], [0, 1]]


def test_signed_means_are_cut_at_zero_or_go_through_a_softmax():
    classifier = Formula({"a": 1.0, "b": 2.0, "c": -3.0}, lambda x: torch.stack([-x.sum(1), x.sum(1)], 1))
    case = case_of(classifier, [Example("0", {"text": "a b c"}, "yes")])
    assert ExplanationGuided(aggregation="mean").shares(case)[0].tolist() == pytest.approx([1 / 3, 2 / 3, 0])
    shared = ExplanationGuided(aggregation="mean", normaliser="softmax").shares(case)[0]
    torch.testing.assert_close(shared, torch.tensor([1.0, 2.0, -3.0]).softmax(0))


@pytest.mark.parametrize(("words", "masked"), [(1, 1), (3, 1), (6, 1), (7, 2), (10, 2), (20, 3), (256, 39)])
def test_how_many_tokens_are_masked(words, masked):
    case = case_of(Formula.linear({"a": 1.0}), [Example("0", {"text": "a " * words}, "yes")])
    shares = torch.arange(words).flip(0)[None] / 1.0  # the last are the least important
    gone = ExplanationGuided().least(case, shares)[0]
    assert gone.tolist() == [False] * (words - masked) + [True] * masked


def test_special_tokens_are_not_masked_and_have_no_share(case):
    shares = ExplanationGuided().shares(case)
    outside = case.batch.rows.unit_of < 0
    assert (shares[outside] == 0).all()
    gone = ExplanationGuided(ratio=1.0).least(case, shares)
    assert torch.equal(gone, ~outside)


@pytest.mark.parametrize("direction", ["att,q", "q,att"])
def test_the_value_is_the_divergence_for_the_text_and_for_the_text_without_some_tokens(case, direction):
    objective = ExplanationGuided(steps=3, direction=direction)
    shares = objective.shares(case)
    rows, gone = case.batch.rows, objective.least(case, shares)
    without = case.classifier.run(case.classifier.substitute(rows, gone, "mask"), attentions=True)
    expected = torch.zeros(len(case))
    for output in (case.output, without):
        attention = last_cls(output, rows)
        logs = (attention.clamp(min=1e-10) / shares.clamp(min=1e-10)).log()
        expected += (attention * logs if direction == "att,q" else -shares * logs).sum(1)
    assert objective.divergence(case).item() == pytest.approx(expected.mean().item(), abs=1e-7)


@pytest.mark.parametrize("instead", ["mask", "zero", "pad_attn", "random"])
def test_what_takes_the_place_of_a_token(case, instead):
    objective = ExplanationGuided(replace=instead, ratio=0.5)
    assert objective.needs <= case.classifier.provides
    value = objective.divergence(case)
    value.backward()
    assert torch.isfinite(value)
    rows = case.batch.rows
    gone = objective.least(case, objective.shares(case))
    other, embeds = objective.replaced(case, rows, gone)
    attention = last_cls(case.run(other, embeds=embeds, attentions=True), rows)
    assert (attention - last_cls(case.output, rows)).abs().max() > 1e-3
    assert (attention[gone] == 0).all() == (instead == "pad_attn")


def test_the_model_gets_no_gradient_through_the_attribution(case):
    assert not ExplanationGuided().shares(case).requires_grad
    ExplanationGuided().divergence(case).backward()
    model = case.classifier.model
    # What comes after the last attention acts on the attribution only.
    for late in (model.classifier.weight, model.bert.pooler.dense.weight):
        assert late.grad is None or (late.grad == 0).all()
    assert model.bert.encoder.layer[-1].attention.self.query.weight.grad.abs().max() > 0


def test_attributions_leave_no_trace(case):
    model, state = case.classifier.model, torch.get_rng_state()
    model.train()
    attributions(case, "integrated-gradients", 2)
    assert all(module.training for module in model.modules())
    assert all(values.grad is None for values in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_is_off_for_attributions(case):
    before = ExplanationGuided().shares(case)
    for module in case.classifier.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    case.classifier.model.train()
    assert torch.equal(ExplanationGuided().shares(case), before)


@pytest.mark.parametrize("instead", ["mask", "random"])
def test_texts_without_words_count_zero(instead):
    classifier, examples = text_classifier()
    empty = [Example("empty", {"text": " "}, "negative")]
    objective = ExplanationGuided(replace=instead)
    alone = objective.divergence(case_of(classifier, empty))
    assert alone.item() == 0
    alone.backward()
    assert all(values.grad is None or torch.isfinite(values.grad).all() for values in classifier.model.parameters())
    if instead == "mask":
        with_empty = objective.divergence(case_of(classifier, examples + empty)).item()
        without = objective.divergence(case_of(classifier, examples)).item()
        assert with_empty == pytest.approx(without * len(examples) / (len(examples) + 1), rel=1e-4)


def test_attributions_without_a_positive_one_count_zero():
    classifier, examples = text_classifier()
    objective = ExplanationGuided(aggregation="mean", attribution="saliency")
    found = {}
    for sign in (1, -1):  # with the head turned round, so are all gradients
        with torch.no_grad():
            classifier.model.classifier.weight.mul_(sign)
        case = case_of(classifier, examples[1:2])  # one word
        (share,) = objective.shares(case).sum(1).tolist()
        found[share] = objective.divergence(case)
    assert set(found) == {0.0, 1.0}
    assert found[0.0].item() == 0
    assert torch.isfinite(found[1.0])


def test_weight_zero_is_plain_training(case):
    objective = ExplanationGuided(weight=0)
    assert objective.needs == frozenset()
    assert set(objective(case)) == {"cross_entropy"}


def test_no_weights_of_its_own_and_a_weighted_term(case):
    terms = ExplanationGuided(weight=3.0)(case)
    assert set(terms) == {"cross_entropy", "explanation_guided"}
    assert terms["explanation_guided"].item() == pytest.approx(3 * ExplanationGuided().divergence(case).item())


def windows():
    return text_classifier(max_length=8, long="window")


def held():
    return pair_classifier(hold="text_pair")


def regression():
    examples = [Example(str(index), {"text": f"say {index} now"}, float(index)) for index in range(4)]
    return start("tiny", examples, []), examples


@pytest.mark.parametrize("sample", [windows, pair_classifier, held, regression], ids=lambda sample: sample.__name__)
def test_windows_pairs_and_regression(sample):
    case = case_of(*sample())
    objective = ExplanationGuided()
    shares = objective.shares(case)
    assert (shares[case.batch.rows.unit_of < 0] == 0).all()
    assert shares.sum(1).tolist() == pytest.approx([1.0] * len(case.batch.rows))
    terms = objective(case)
    torch.stack(list(terms.values())).sum().backward()
    gradients = [values.grad for values in case.classifier.model.parameters() if values.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_learns_from_it(name):
    classifier = family(name)
    texts = ["A gorgeous, witty movie; don't miss it!", "dull", "", "The plot is dreadful..."]
    examples = [Example(str(index), {"text": text}, ("neg", "pos")[index % 2]) for index, text in enumerate(texts)]
    value = ExplanationGuided().divergence(case_of(classifier, examples))
    assert value > 0
    value.backward()
    gradients = [values.grad for values in classifier.model.parameters() if values.grad is not None]
    assert max(gradient.abs().max() for gradient in gradients) > 1e-6
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("every", [1, 8])
def test_training_on_it_draws_attention_to_what_matters(trained, every):
    examples = load("planted(train=400, length=8):train[:32]").examples

    def correlation(objective):
        torch.manual_seed(0)
        classifier = Classifier.load(trained)
        batch = classifier.encode(examples)
        optimiser = torch.optim.AdamW(classifier.model.parameters(), lr=1e-3)
        for _ in range(10):
            optimiser.zero_grad()
            terms = objective(Case.of_output(classifier, batch, forward(classifier, batch, objective)))
            torch.stack(list(terms.values())).sum().backward()
            optimiser.step()
        case = case_of(classifier, examples)
        pairs = torch.stack([last_cls(case.output, batch.rows).detach(), ExplanationGuided(steps=20).shares(case)], 1)
        words = batch.rows.unit_of >= 0
        found = [torch.corrcoef(pair[:, own])[0, 1] for pair, own in zip(pairs, words, strict=True)]
        return torch.stack(found).mean().item()

    assert correlation(ExplanationGuided(weight=1.0, every=every)) > correlation(CrossEntropy()) + 0.15
