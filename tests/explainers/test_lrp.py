"""LRP: the rule of linear layers by hand, and the way back through BERT, block by block."""

import pytest
import torch

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, LRP
from veridical.explainers.backward_rules import BackwardRules
from veridical.explainers.lrp import FullAttention, epsilon_rule
from veridical.explainers.lrp import alpha_beta as any_alpha
from veridical.masking import Case
from veridical.run.explain import explain
from veridical.testing import black_box, check_explainer, image_classifier, pair_classifier, text_classifier
from veridical.testing.families import SENTENCES, family

SUPPORTED = ["bert", "roberta", "electra", "distilbert", "albert", "xlm-roberta"]
REFUSED = ["deberta-v2", "modernbert", "longformer", "gpt2"]


SPLITS = ["contribution", "weight"]


def alpha_beta(inputs, weight, bias, relevance, alpha=0.5, split="contribution"):
    return any_alpha(inputs, weight, bias, relevance, alpha, epsilon=1e-7, split=split)


def bind(classifier, *texts, **options):
    return Case.bind(classifier, [Example.of(text, str(index)) for index, text in enumerate(texts)], **options)


@pytest.mark.parametrize("split", SPLITS)
def test_one_output(split):
    """W = [3, -1], a = [1, 2], R = 1: the half through each weight, where the epsilon rule gives [3, -2]."""
    inputs, weight, relevance = torch.tensor([[1.0, 2]]), torch.tensor([[3.0, -1]]), torch.ones(1, 1)
    found = alpha_beta(inputs, weight, None, relevance, split=split)
    torch.testing.assert_close(found, torch.tensor([[0.5, 0.5]]))
    torch.testing.assert_close(epsilon_rule(inputs, weight, None, relevance, 1e-7), torch.tensor([[3.0, -2]]))


@pytest.mark.parametrize("split", SPLITS)
def test_two_outputs(split):
    """For positive inputs both ways to split are the same."""
    inputs, weight = torch.tensor([[1.0, 2, 4]]), torch.tensor([[2, -1, 0.5], [-1, 1, 1]])
    found = alpha_beta(inputs, weight, None, torch.tensor([[1.0, 0.5]]), split=split)
    torch.testing.assert_close(found, torch.tensor([[0.5, 7 / 12, 5 / 12]]))
    assert found.sum().item() == pytest.approx(1.5)


def test_alpha_weighs_what_raised_an_output():
    inputs, weight = torch.tensor([[1.0, 2]]), torch.tensor([[3.0, -1]])
    torch.testing.assert_close(alpha_beta(inputs, weight, None, torch.ones(1, 1), 0.8), torch.tensor([[0.8, 0.2]]))
    # A negative input lowers by a positive weight.
    torch.testing.assert_close(alpha_beta(-inputs, weight, None, torch.ones(1, 1), 0.8), torch.tensor([[0.2, 0.8]]))


def test_split_by_weight_is_the_published_rule_for_inputs_of_any_sign():
    """R_in = a (alpha (R / z+) W+ + (1 - alpha) (R / z-) W-) with z+ = a W+ + b+, z- = a W- + b-; then sizes."""
    inputs, weight, bias = torch.tensor([[1.0, -2]]), torch.tensor([[3.0, 1], [-1, 2]]), torch.tensor([0.5, -1])
    # First output: z+ = 3 - 2 + .5 = 1.5, z- = 0, so nothing goes by way of W-. Second: z+ = -4, z- = -1 - 1 = -2.
    first = torch.tensor([0.5 * 3 / 1.5, 0.5 * -2 / 1.5])
    second = 2 * torch.tensor([0.5 * -1 / -2, 0.5 * -4 / -4])
    sizes = (first + second).abs()
    found = alpha_beta(inputs, weight, bias, torch.tensor([[1.0, 2]]), split="weight")
    torch.testing.assert_close(found[0], sizes / sizes.sum() * 3)
    by_contribution = alpha_beta(inputs, weight, bias, torch.tensor([[1.0, 2]]))
    assert (by_contribution - found).abs().max() > 0.1


def test_split_by_weight_is_an_option_of_the_method():
    case = bind(family("bert"), *SENTENCES)
    by_weight, plain = (EXPLAINERS.create(name).scores(case).values for name in ("lrp(split=weight)", "lrp"))
    assert torch.isfinite(by_weight).all()
    assert (by_weight >= 0).all()
    assert (by_weight - plain).abs().max() > 0.01 * plain.max()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("shape", [(3,), (3, 5)])
def test_linear_layers_conserve_relevance(shape, split):
    torch.manual_seed(0)
    inputs, weight, bias, relevance = (torch.randn(*each) for each in ((*shape, 8), (6, 8), (6,), (*shape, 6)))
    found = alpha_beta(inputs, weight, bias, relevance, split=split)
    assert (found >= 0).all()
    torch.testing.assert_close(found.flatten(1).sum(1), relevance.flatten(1).abs().sum(1))
    signed = epsilon_rule(inputs, weight, None, relevance, 1e-7)
    torch.testing.assert_close(signed.sum(-1), relevance.sum(-1), atol=1e-4, rtol=1e-4)


def test_without_relevance_there_is_none():
    assert alpha_beta(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4), torch.zeros(2, 4)).tolist() == [[0] * 3] * 2


def test_inputs_of_nothing_have_no_relevance():
    """Regression: it was not a number."""
    assert not alpha_beta(torch.zeros(2, 3), torch.ones(4, 3), None, torch.ones(2, 4)).any()


class Kept(dict):
    """Inputs and outputs of a model's modules, by name."""

    def __init__(self, model):
        for name, module in model.named_modules():
            module.register_forward_hook(lambda _, inputs, output, name=name: self.update({name: (inputs, output)}))


def attend(query, key, value, mask=0.0):
    """The attention of heads, [B, h, t, d] each."""
    logits = torch.matmul(query, key.transpose(2, 3)) * query.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(logits + mask, dim=-1), value)


def quick_parts(kept, parts, context, relevance):
    """What the gradient hands from the context to queries, keys and values."""
    return torch.autograd.grad(context, [kept[part][1] for part in parts], relevance, retain_graph=True)


def full_parts(kept, parts, context, relevance):
    """The shares of queries, keys and values, of which each head hands on as much as comes to it."""
    split = [relevance, *(kept[part][1].detach() for part in parts)]
    relevance, *inputs = (each.unflatten(-1, (2, -1)).transpose(1, 2) for each in split)  # [B, h, t, d]
    _, z = torch.func.jvp(attend, tuple(inputs), tuple(inputs))
    z = z + 0.25 * z.abs().mean(-1, keepdim=True) * z.sign()
    _, back = torch.func.vjp(attend, *inputs)
    shares = [each * gradient for each, gradient in zip(inputs, back(relevance / z), strict=True)]
    factor = relevance.abs().sum((2, 3), keepdim=True) / sum(each.abs().sum((2, 3), keepdim=True) for each in shares)
    return [(factor * each).transpose(1, 2).flatten(2) for each in shares]


def by_hand(classifier, rows, target, attention=quick_parts):
    """Wu and Ong's way back, sub-block by sub-block: gradients inside a block, the linear rule between blocks."""
    model = classifier.model
    kept = Kept(model)
    output = model(**classifier.model_inputs(rows), output_hidden_states=True)
    relevance = torch.zeros_like(output.logits)
    relevance[:, target] = output.logits[:, target].detach()

    def linear(name, relevance):
        module = model.get_submodule(name)
        return alpha_beta(kept[name][0][0].detach(), module.weight, module.bias, relevance).detach()

    def back(block, start, relevance):
        return torch.autograd.grad(block, start, relevance, retain_graph=True)[0]

    def normed(block):
        """What a block's LayerNorm gives, and the sum that it reads, to which the skipping path adds."""
        (total,), output = kept[f"{block}.output.LayerNorm"]
        return output, total

    pooled = linear("bert.pooler.dense", linear("classifier", relevance))
    relevance = torch.zeros_like(output.hidden_states[-1])
    relevance[:, 0] = pooled
    for index in reversed(range(model.config.num_hidden_layers)):
        layer = f"bert.encoder.layer.{index}"
        beside = back(*normed(layer), relevance)
        onto = back(kept[f"{layer}.output"][1], kept[f"{layer}.output.dense"][1], relevance)
        relevance = beside + linear(f"{layer}.intermediate.dense", linear(f"{layer}.output.dense", onto))
        context = kept[f"{layer}.attention.self"][1][0]
        beside = back(*normed(f"{layer}.attention"), relevance)
        onto = back(kept[f"{layer}.attention.output"][1], kept[f"{layer}.attention.output.dense"][1], relevance)
        with_backward = linear(f"{layer}.attention.output.dense", onto)
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        with_backward = attention(kept, parts, context, with_backward)
        relevance = beside + sum(linear(part, each) for part, each in zip(parts, with_backward, strict=True))
    return relevance.abs().sum(-1)


@pytest.mark.parametrize(("attention", "parts"), [("quick", quick_parts), ("full", full_parts)])
def test_the_way_back_through_bert_is_that_of_its_blocks(attention, parts):
    classifier = family("bert", units="token")
    case = bind(classifier, SENTENCES[0])
    with classifier.evaluating():
        expected = by_hand(classifier, case.batch.rows, int(case.targets[0]), parts)
    torch.testing.assert_close(LRP(attention=attention).scores(case).values, case.to_units(expected))


def heads():
    """Queries, keys and values of two heads in two rows, and the relevance of their context, [B, h, t, d] each."""
    torch.manual_seed(0)
    return [torch.randn(2, 2, 3, 4, dtype=torch.double) for _ in range(4)]


def shared(rule, inputs, relevance, mask=0.0):
    """The relevance that a rule hands from the context to queries, keys and values."""
    leaves = [each.clone().requires_grad_() for each in inputs]
    with BackwardRules({"matmul": rule}):
        context = attend(*leaves, mask)
    torch.testing.assert_close(context, attend(*inputs, mask))
    return torch.autograd.grad(context, leaves, relevance)


@pytest.mark.parametrize("masked", [0.0, torch.finfo(torch.float).min, -torch.inf])
def test_full_attention_shares_as_the_jacobian_does(masked):
    *inputs, relevance = heads()
    mask = torch.tensor([0.0, 0.0, masked], dtype=torch.double)
    parts = torch.autograd.functional.jacobian(lambda *each: attend(*each, mask), tuple(inputs))
    impacts = [part * each for part, each in zip(parts, inputs, strict=True)]  # [B, h, t, d, B, h, t, d]
    z = sum(impact.sum((4, 5, 6, 7)) for impact in impacts)
    z = z + 0.1 * z.abs().mean(-1, keepdim=True) * z.sign()
    expected = [((relevance / z)[..., None, None, None, None] * impact).sum((0, 1, 2, 3)) for impact in impacts]
    found = shared(FullAttention(0.1, rescaled=False), inputs, relevance, mask)
    torch.testing.assert_close(found, tuple(expected))
    rescaled = shared(FullAttention(0.1, rescaled=True), inputs, relevance, mask)
    for one, other in zip(rescaled, found, strict=True):
        ratio = one / other
        torch.testing.assert_close(ratio.nanmean((2, 3), keepdim=True).expand_as(ratio)[other != 0], ratio[other != 0])


def test_full_attention_conserves_relevance():
    *inputs, relevance = heads()
    signed = sum(each.sum((2, 3)) for each in shared(FullAttention(0.0, rescaled=False), inputs, relevance))
    torch.testing.assert_close(signed, relevance.sum((2, 3)), atol=1e-5, rtol=1e-5)
    sizes = sum(each.abs().sum((2, 3)) for each in shared(FullAttention(0.25, rescaled=True), inputs, relevance))
    torch.testing.assert_close(sizes, relevance.abs().sum((2, 3)))


def test_where_nothing_goes_through_attention_nothing_comes_back():
    relevance = heads()[-1]
    inputs = [torch.zeros_like(relevance)] * 3
    for rescaled in (False, True):
        assert not torch.stack(shared(FullAttention(0.25, rescaled), inputs, relevance)).any()


@pytest.mark.parametrize("rule", ["alpha-beta", "epsilon"])
@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier])
def test_full_attention_keeps_the_contract(sample, rule):
    check_explainer(LRP(rule=rule, attention="full"), sample)


@pytest.mark.parametrize("attention", ["quick", "full"])
@pytest.mark.parametrize("name", SUPPORTED)
def test_neighbours_do_not_matter(name, attention):
    """Families differ in how they mask what pads a short text."""
    classifier = family(name)
    together, alone = (bind(classifier, *texts) for texts in (("dull", *SENTENCES), ("dull",)))
    found, expected = (LRP(attention=attention).scores(case).values[0] for case in (together, alone))
    torch.testing.assert_close(found[: len(expected)], expected)


@pytest.mark.parametrize("name", SUPPORTED)
def test_full_attention_is_found_in_every_layer(name, monkeypatch):
    """A model that multiplied by other functions, or more often, would silently have other rules."""
    seen = []

    def shares(self, context, weights, copies, relevance):
        torch.testing.assert_close(attend(copies[0], copies[1].transpose(2, 3), copies[2]), context)
        seen.append(shares_of(self, context, weights, copies, relevance))
        return seen[-1]

    shares_of = FullAttention._shares
    monkeypatch.setattr(FullAttention, "_shares", shares)
    classifier = family(name)
    LRP(attention="full").scores(bind(classifier, SENTENCES[0]))
    assert len(seen) == classifier.model.config.num_hidden_layers


@pytest.mark.parametrize("attention", ["quick", "full"])
@pytest.mark.parametrize("rule", ["alpha-beta", "epsilon"])
@pytest.mark.parametrize("name", SUPPORTED)
def test_models_of_berts_kind(name, rule, attention):
    classifier = family(name)
    case = bind(classifier, *SENTENCES, "dull")
    scores = LRP(rule=rule, attention=attention).scores(case).values
    assert (scores[case.live] > 0).all()
    hooks = [len(module._forward_hooks) for module in classifier.model.modules()]
    twice = bind(classifier, "a dull dull story")
    assert LRP(rule=rule, attention=attention).scores(twice).values[0, 1:3].unique().numel() == 2
    assert [len(module._forward_hooks) for module in classifier.model.modules()] == hooks


@pytest.mark.parametrize("name", REFUSED)
def test_other_models_are_refused_by_name(name):
    with pytest.raises(UnsupportedError, match=f"lrp needs bert-layers, which {name} models do not give"):
        explain(family(name), [SENTENCES[0]], "lrp")


def test_black_boxes_are_refused():
    classifier, examples = black_box()
    with pytest.raises(UnsupportedError, match="lrp needs .*bert-layers.*, which black-box models do not give"):
        explain(classifier, examples, "lrp")


def test_activations_of_several_functions_hand_relevance_on():
    """The gradient of the function does not matter, only its value."""
    classifier = family("albert")
    case = bind(classifier, SENTENCES[0])
    found = LRP().scores(case).values
    activation = classifier.model.albert.encoder.albert_layer_groups[0].albert_layers[0].activation
    assert type(activation).__name__ == "NewGELUActivation"
    plain = activation.forward
    activation.forward = lambda values: plain(values.detach()) + 7 * (values - values.detach())
    torch.testing.assert_close(LRP().scores(case).values, found)


def test_relevance_grows_with_the_output_and_has_no_sign():
    """Regression: minus twice the output has twice the relevance."""
    classifier = family("bert", labels=())
    case = bind(classifier, SENTENCES[0])
    before = LRP().scores(case).values
    with torch.no_grad():
        classifier.model.classifier.weight.mul_(-2)
        classifier.model.classifier.bias.mul_(-2)
    after = LRP(alpha=0.5).scores(bind(classifier, SENTENCES[0])).values
    torch.testing.assert_close(after, 2 * before)


@pytest.mark.parametrize("attention", ["quick", "full"])
def test_images_and_frozen_models(attention):
    classifier, examples = image_classifier()
    found = LRP(attention=attention).scores(Case.bind(classifier, examples)).values
    assert (found > 0).all()
    classifier.model.requires_grad_(False)
    torch.testing.assert_close(LRP(attention=attention).scores(Case.bind(classifier, examples)).values, found)


def test_windows_have_their_share_of_the_output():
    classifier, examples = text_classifier(max_length=8, long="window")
    case = Case.bind(classifier, examples)
    assert len(case.batch.rows) > len(case)
    assert (LRP().scores(case).values[case.live] > 0).all()


def test_the_options_are_read():
    assert EXPLAINERS.create("lrp(rule=epsilon, epsilon=0.5)") == LRP(rule="epsilon", epsilon=0.5)
    assert EXPLAINERS.create("lrp(attention=full)") == LRP(attention="full")
    case = bind(family("bert"), SENTENCES[0])
    small, large = (LRP(rule="epsilon", epsilon=epsilon).scores(case).values.sum() for epsilon in (0.25, 25.0))
    assert large < small
    torch.testing.assert_close(LRP(rule="epsilon").scores(case).values.sum(), small)
