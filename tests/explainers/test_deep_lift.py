"""DeepLift: numbers worked out by hand, rules that add up, and agreement with Captum."""

import pytest
import torch
from captum.attr import DeepLift as CaptumDeepLift
from torch import nn
from torch.nn import functional
from transformers import AutoModelForSequenceClassification

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, DeepLift, InputXGradient
from veridical.explainers.backward_rules import COMPLETE, BackwardRules
from veridical.explainers.deep_lift import contributions
from veridical.masking import Case, Engine
from veridical.models.loader import wrap
from veridical.testing import Formula, image_classifier, pair_classifier, text_classifier
from veridical.testing.families import DECODERS, FAMILIES, SENTENCES, family


def bind(classifier, *texts, **options):
    return Case.bind(classifier, [Example.of(text, str(index)) for index, text in enumerate(texts)], **options)


def formula(function, **values):
    return Formula(values, lambda x: torch.stack([torch.zeros_like(x[:, 0]), function(x)], 1))


def test_saturation_does_not_hide_a_cause():
    """f = 1 - relu(1 - x1 - x2) at (1, 1): each word has half, while the gradient is 0."""
    case = bind(formula(lambda x: 1 - functional.relu(1 - x.sum(1)), a=1.0, b=1.0), "a b", target="yes")
    assert DeepLift().scores(case).values.tolist() == [[0.5, 0.5]]
    assert InputXGradient().scores(case).values.tolist() == [[0, 0]]


def test_each_relu_has_its_own_slope():
    """f = relu(x1 - 1) - relu(x2 - 0.5) at (3, 2)."""
    function = formula(lambda x: functional.relu(x[:, 0] - 1) - functional.relu(x[:, 1] - 0.5), a=3.0, b=2.0)
    scores = DeepLift().scores(bind(function, "a b", target="yes"))
    assert scores.values.tolist() == [[2, -1.5]]
    assert scores.measures["residual"].tolist() == [0]


@pytest.mark.parametrize(("complete", "expected"), [(False, [4, 3]), (True, [3, 2])])
def test_a_product(complete, expected):
    """x1 x2 at (3, 2) from (1, 1): the gradient rule gives 7 for a difference of 5, the midpoint rule 5."""
    case = bind(formula(lambda x: x[:, 0] * x[:, 1], a=3.0, b=2.0), "a b", target="yes")
    rows = case.batch.rows
    start = torch.ones_like(case.classifier.embed(rows))
    shares, difference = contributions(case, rows, start, "logit", complete)
    assert shares.flatten().tolist() == expected
    assert difference.tolist() == [5]


@pytest.mark.parametrize("complete", [False, True])
def test_linear_models_are_explained_exactly(complete):
    case = bind(Formula.linear({"good": 2.0, "bad": -1.5}, bias=0.3), "good bad good", "bad", target="yes")
    scores = DeepLift(complete=complete).scores(case)
    torch.testing.assert_close(scores.values, torch.tensor([[2, -1.5, 2], [-1.5, 0, 0]]))
    torch.testing.assert_close(scores.measures["difference"], torch.tensor([2.5, -1.5]).double())


FUNCTIONS = {
    "gelu": functional.gelu,
    "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu-by-hand": lambda x: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * torch.pow(x, 3.0)))),
    "silu": functional.silu,
    "leaky-relu": lambda x: functional.leaky_relu(x, 0.1),
    "powers": lambda x: x**2 - 2**x + 1 / (3 + x),
    "rms-norm": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3),
    "softmax": lambda x: functional.softmax(x, dim=-1),
    "softmax-masked": lambda x: functional.softmax(x + torch.tensor([0.0, 0, -torch.inf, 0]), dim=-1),
    "log-softmax": lambda x: x.log_softmax(-1),
    "layer-norm": lambda x: functional.layer_norm(x, (4,), torch.tensor([1.0, 2, 3, 4]).double(), None),
    "attention": lambda x: functional.softmax(torch.matmul(x, x.transpose(1, 2)) * 0.5, dim=-1) @ x,
    "einsum": lambda x: torch.einsum("bxd,byd->bxy", (x, x)),
    "quotient": lambda x: x / (2 + x.square().sum(-1, keepdim=True).expand_as(x)),
    "gate": lambda x: x[..., :2].sigmoid() * x[..., 2:],
}


def multipliers(function, x, start):
    stack = torch.cat([x, start]).requires_grad_()
    with BackwardRules(COMPLETE):
        values = function(stack)
    torch.manual_seed(1)
    weights = torch.randn_like(values[: len(x)])
    (found,) = torch.autograd.grad((values[: len(x)] * weights).sum(), stack)
    assert (found[len(x) :] == 0).all()
    difference = function(x) - function(start)
    return found[: len(x)], (difference * weights).sum()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complete_rules_add_up(name):
    torch.manual_seed(0)
    x, start = torch.randn(2, 3, 5, 4).double()
    start[0, 0] = x[0, 0]  # nothing changes here
    found, difference = multipliers(FUNCTIONS[name], x, start)
    torch.testing.assert_close((found * (x - start)).sum(), difference, atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complete_rules_are_the_gradient_where_nothing_changes(name):
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4).double()
    found, _ = multipliers(FUNCTIONS[name], x, x + 1e-12)
    leaf = x.clone().requires_grad_()
    values = FUNCTIONS[name](leaf)
    torch.manual_seed(1)
    (gradient,) = torch.autograd.grad((values * torch.randn_like(values)).sum(), leaf)
    torch.testing.assert_close(found, gradient, atol=1e-8, rtol=1e-8)


def test_slopes_keep_their_digits_in_single_precision():
    x = torch.tensor([[3.0]])
    found, _ = multipliers(torch.tanh, x, x - 2e-6)
    torch.manual_seed(1)
    exact = (1 - torch.tanh(torch.tensor(3.0).double()) ** 2) * torch.randn(1, 1)
    torch.testing.assert_close(found, exact.float(), atol=0, rtol=1e-4)


@pytest.mark.parametrize("output", ["logit", "prob", "logprob"])
@pytest.mark.parametrize("name", [*FAMILIES, *DECODERS])
def test_complete_scores_add_up_on_every_family(name, output):
    case = bind(family(name), *SENTENCES)
    measures = DeepLift(output=output).scores(case).measures
    assert measures["residual"].abs().max() < 1e-5
    assert measures["difference"].abs().max() > 1e-3
    assert DeepLift(complete=False, output=output).scores(case).measures["residual"].abs().max() > 1e-3


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier])
def test_complete_scores_add_up_on_every_kind(sample):
    classifier, examples = sample()
    case = Case.bind(classifier, examples)
    rows = case.batch.rows
    measures = DeepLift().scores(case).measures
    with torch.no_grad(), classifier.evaluating():
        nothing = classifier.run(rows, embeds=torch.zeros_like(classifier.embed(rows))).logits
    difference = (case.output.logits - nothing).gather(1, case.targets[:, None])[:, 0]
    torch.testing.assert_close(measures["difference"].float(), difference, atol=1e-5, rtol=0)
    assert measures["residual"].abs().max() < 1e-5


def test_regression_and_one_word_texts():
    case = bind(family("bert", labels=()), "dull", "a dull dull story")
    scores = DeepLift(output="prob").scores(case)  # regression has only its output
    assert scores.measures["residual"].abs().max() < 1e-5
    assert scores.values[1, 1] != scores.values[1, 2]  # the same word at two places


def test_windows_share_the_difference_and_have_no_probabilities():
    classifier, examples = text_classifier(max_length=8, long="window")
    case = Case.bind(classifier, examples)
    assert len(case.batch.rows) > len(case)
    assert DeepLift().scores(case).measures["residual"].abs().max() < 1e-5
    with pytest.raises(UnsupportedError, match="deep-lift of a prob is not defined window by window"):
        DeepLift(output="prob").scores(case)


def test_the_residual_is_of_all_positions_whatever_the_aggregation():
    classifier, examples = text_classifier(units="token")
    case = Case.bind(classifier, examples)
    by_sum, by_length = (DeepLift(aggregate=how).scores(case) for how in ("sum", "l2"))
    torch.testing.assert_close(by_sum.measures["residual"], by_length.measures["residual"])
    assert (by_length.values >= 0).all()
    only_words = by_sum.values.sum(1) - by_sum.measures["difference"]
    assert (only_words - by_sum.measures["residual"]).abs().min() > 1e-4  # special tokens have shares


def test_the_content_baseline_gives_special_tokens_nothing():
    classifier, examples = text_classifier(units="token")
    scores = DeepLift(baseline="content").scores(Case.bind(classifier, examples))
    total = scores.values.sum(1).double()
    torch.testing.assert_close(total, scores.measures["difference"], atol=1e-5, rtol=0)


def test_frozen_models_and_half_precision():
    classifier, examples = text_classifier()
    classifier.model.requires_grad_(False)
    plain = DeepLift().scores(Case.bind(classifier, examples))
    case = Case.bind(classifier, examples, engine=Engine(precision="bf16"))
    torch.testing.assert_close(DeepLift().scores(case).values, plain.values, atol=0.02, rtol=0.1)


def test_two_rows_are_run_for_one():
    classifier, examples = text_classifier()
    engine = Engine()
    case = Case.bind(classifier, examples, engine=engine)
    before = engine.cost.forwards
    DeepLift().scores(case)
    assert engine.cost.forwards - before == 2 * len(examples)
    assert case.asked.tolist() == [3] * len(examples)  # once when bound


class FromEmbeddings(nn.Module):
    """A classifier as a module that Captum can take: from embeddings to logits."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, embeds, mask):
        return self.model(inputs_embeds=embeds, attention_mask=mask).logits


CAPTUM = EXPLAINERS.create("deep-lift(preset=captum)")


def by_captum(classifier, case):
    rows = case.batch.rows
    embeds = classifier.embed(rows).detach().requires_grad_()
    found = CaptumDeepLift(FromEmbeddings(classifier.model)).attribute(
        embeds, torch.zeros_like(embeds), case.targets, (rows.inputs["attention_mask"],)
    )
    return case.to_units(found.sum(-1).detach())


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_the_preset_agrees_with_captum(activation):
    made = family("bert")
    config = made.model.config
    config.hidden_act = activation
    torch.manual_seed(0)
    classifier = wrap(AutoModelForSequenceClassification.from_config(config).eval(), made.tokenizer, units="token")
    if activation == "relu":  # as a module, which is what Captum sees
        for layer in classifier.model.bert.encoder.layer:
            assert isinstance(layer.intermediate.intermediate_act_fn, nn.ReLU)
    case = bind(classifier, *SENTENCES)
    expected = by_captum(classifier, case)
    torch.testing.assert_close(CAPTUM.scores(case).values, expected, atol=1e-4, rtol=0)
    assert expected.abs().max() > 0.01
    assert (InputXGradient().scores(case).values - expected).abs().max() > 1e-3


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
@pytest.mark.parametrize("name", ["roberta", "electra", "distilbert", "albert"])
def test_the_preset_sees_modules_only_as_captum_does(name):
    """RoBERTa's head calls `torch.tanh`, which is no module: Captum takes its gradient."""
    classifier = family(name, units="token")
    case = bind(classifier, *SENTENCES)
    expected = by_captum(classifier, case)
    torch.testing.assert_close(CAPTUM.scores(case).values, expected, atol=1e-4, rtol=0)
    assert (DeepLift().scores(case).values - expected).abs().max() > 0.01


def test_hooks_of_the_preset_are_gone_afterwards():
    classifier = family("bert")
    case = bind(classifier, *SENTENCES)
    before = DeepLift().scores(case).values
    CAPTUM.scores(case)
    assert not any(module._forward_hooks for module in classifier.model.modules())
    assert torch.equal(DeepLift().scores(case).values, before)
