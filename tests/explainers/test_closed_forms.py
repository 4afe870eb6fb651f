"""Scores that follow with pencil and paper."""

import math

import pytest
import torch

from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, Gradient, InputXGradient, IntegratedGradients, Occlusion, Random
from veridical.explainers.gradients import aggregate
from veridical.masking import Case
from veridical.models import Output, Rows
from veridical.simulation.mixtures import head_logits, shares
from veridical.testing import Formula, text_classifier

WEIGHTS = {"good": 2.0, "bad": -1.5, "film": 0.25, "a": 0.0}


def case_of(formula, *texts, **options):
    return Case.bind(formula, [Example.of(text, str(index)) for index, text in enumerate(texts)], **options)


def test_aggregation_of_vectors():
    gradient = torch.tensor([[3.0, -4.0], [1.0, 1.0]])
    embeds = torch.tensor([[1.0, 2.0], [-1.0, 0.5]])
    assert aggregate(gradient, "l2").tolist() == pytest.approx([5, 1.41421], abs=1e-5)
    assert aggregate(gradient, "mean").tolist() == [-0.5, 1.0]
    assert aggregate(gradient * embeds, "sum").tolist() == [-5.0, -0.5]
    assert aggregate(gradient * embeds, "abs_sum").tolist() == [5.0, 0.5]
    assert aggregate(gradient * embeds, "l2").tolist() == pytest.approx([8.54400, 1.11803], abs=1e-5)
    assert aggregate(gradient * embeds, "mean").tolist() == [-2.5, -0.25]


@pytest.mark.parametrize(
    "explainer",
    [
        InputXGradient(where="word", aggregate="sum"),
        InputXGradient(where="output", aggregate="sum"),
        IntegratedGradients(steps=3),
        Occlusion(output="logit"),
        Occlusion("logit", eraser="delete"),
    ],
    ids=lambda explainer: type(explainer).__name__,
)
def test_linear_models_are_explained_exactly(explainer):
    case = case_of(Formula.linear(WEIGHTS, bias=0.3), "a good good film bad", "bad", target="yes")
    expected = torch.tensor([[0.0, 2.0, 2.0, 0.25, -1.5], [-1.5, 0, 0, 0, 0]])
    torch.testing.assert_close(explainer.scores(case).values, expected)


def test_input_x_gradient_of_a_linear_model_adds_up_to_the_output_without_bias():
    case = case_of(Formula.linear(WEIGHTS, bias=0.3), "a good film", target="yes")
    assert InputXGradient().scores(case).values.sum().item() == pytest.approx(case.output.logits[0, 1].item() - 0.3)


def test_gradient_of_a_linear_model_is_the_same_everywhere():
    assert Gradient().scores(case_of(Formula.linear(WEIGHTS), "a good film", target="yes")).values.tolist() == [
        [1, 1, 1]
    ]


def test_the_class_not_chosen_has_the_opposite_reasons():
    formula = Formula({"x": 1.0}, lambda x: torch.stack([-x.sum(1), x.sum(1)], 1))
    scores = {
        target: InputXGradient().scores(case_of(formula, "x", target=target)).values.item() for target in ("no", "yes")
    }
    assert scores == {"no": -1.0, "yes": 1.0}


@pytest.mark.parametrize("output", ["prob", "logprob"])
def test_gradients_of_probabilities_follow_the_chain_rule(output):
    """Two classes with logits (0, z): dp/dz = p (1 - p), dlogp/dz = 1 - p."""
    case = case_of(Formula.linear(WEIGHTS), "good", target="yes")
    chance = 1 / (1 + math.exp(-2))
    expected = chance * (1 - chance) if output == "prob" else 1 - chance
    assert InputXGradient(output=output).scores(case).values.item() == pytest.approx(2 * expected, rel=1e-6)


def test_occlusion_measures_the_loss_of_log_probability():
    case = case_of(Formula.linear(WEIGHTS), "good bad", target="yes")
    log_odds = lambda z: -math.log(1 + math.exp(-z))  # noqa: E731
    expected = [log_odds(0.5) - log_odds(-1.5), log_odds(0.5) - log_odds(2.0)]
    assert Occlusion().scores(case).values[0].tolist() == pytest.approx(expected, rel=1e-5)


def test_occlusion_asks_once_per_word_once_for_the_whole_and_once_for_nothing():
    case = case_of(Formula.linear(WEIGHTS), "a good film", "bad")
    Occlusion().scores(case)
    assert case.asked.tolist() == [5, 3]


def test_attention_of_a_model_with_set_queries_and_keys():
    """With queries and keys set by hand the first token attends by softmax(q k / sqrt(d)) and nothing else."""
    classifier, examples = text_classifier()
    attention = classifier.model.bert.encoder.layer[-1].attention.self
    with torch.no_grad():
        for linear in (attention.query, attention.key):
            linear.weight.zero_()
            linear.bias.zero_()
    case = Case.bind(classifier, examples)
    scores = EXPLAINERS.create("attention").scores(case).values
    pieces = torch.zeros(case.live.shape).index_put_(
        (
            case.batch.rows.owner[:, None].expand_as(case.batch.rows.unit_of)[case.batch.rows.unit_of >= 0],
            case.batch.rows.unit_of[case.batch.rows.unit_of >= 0],
        ),
        torch.ones(()),
        accumulate=True,
    )
    torch.testing.assert_close(scores, pieces / pieces.sum(1, keepdim=True))


def test_pooled_attention_logits():
    """Row means [1, 2/3, 0] and [0, 1, 2] of two heads, averaged with equal weight, then one softmax."""
    first = torch.tensor([[1.0, 0, 0], [0, 1, 0], [2, 1, 0]])
    second = torch.tensor([[0.0, 2, 1], [0, 0, 3], [0, 1, 2]])
    weights = torch.stack([first, second]).softmax(-1)[None]
    rows = Rows(
        {"attention_mask": torch.ones(1, 3)}, torch.zeros(1, 3).long(), torch.zeros(1).long(), torch.tensor([3])
    )
    expected = torch.tensor([[0.5, 5 / 6, 1.0]]).softmax(-1)
    torch.testing.assert_close(shares(head_logits([weights], rows).mean(1), rows), expected)


@pytest.mark.parametrize("heads", ["product-of-means", "mean-of-products"])
def test_scaled_attention_on_a_transformer_is_attention_times_its_derivative(heads):
    classifier, examples = text_classifier(units="token")
    case = Case.bind(classifier, examples[:1])
    scores = EXPLAINERS.create(f"scaled-attention(heads={heads})").scores(case).values
    with classifier.evaluating():
        output = classifier.run(case.batch.rows, attentions=True)
        last = output.attentions[-1]
        (gradient,) = torch.autograd.grad(output.logits[0, case.targets[0]], last)
    weights, slopes = last[0, :, 0], gradient[0, :, 0]
    expected = weights.mean(0) * slopes.mean(0) if heads == "product-of-means" else (weights * slopes).mean(0)
    torch.testing.assert_close(scores[0], expected[1:-1].detach())
    assert (gradient[0, :, 1:] == 0).all()  # pooling reads the first token, so only its row has a gradient


def test_random_scores_have_the_expected_overlap():
    """Two random top-25% sets of 20 share a Jaccard index of 0.1546 on average."""
    text = " ".join(f"w{index}" for index in range(20))
    words = {f"w{index}": 0.0 for index in range(20)}
    case = case_of(Formula.linear(words), text)

    def top(seed):
        return set(Random(seed=seed).scores(case).values[0].topk(5).indices.tolist())

    pairs = [(top(2 * seed), top(2 * seed + 1)) for seed in range(400)]
    assert sum(len(a & b) / len(a | b) for a, b in pairs) / 400 == pytest.approx(0.1546, abs=0.02)


def test_random_scores_depend_on_seed_and_text_only():
    case = case_of(Formula.linear(WEIGHTS), "a good film", "a bad film")
    assert Random(seed=1).scores(case).values.tolist() == Random(seed=1).scores(case).values.tolist()
    assert Random(seed=1).scores(case).values.tolist() != Random(seed=2).scores(case).values.tolist()
    first, second = Random().scores(case).values.tolist()
    assert first != second
    assert (Random(draw="uniform").scores(case).values >= 0).all()


def test_pieces_of_words():
    classifier, _ = text_classifier()
    case = Case.bind(classifier, [Example.of("tales film")])  # tales is not in the vocabulary and is spelt in letters
    unit_of = case.batch.rows.unit_of[0].tolist()
    assert unit_of == [-1, 0, 0, 0, 0, 0, 1, -1]
    tokens = torch.tensor([[9.0, 1, 5, 2, 3, 4, 7, 9]])
    found = {how: case.to_units(tokens, how)[0].tolist() for how in ("sum", "mean", "max", "first")}
    assert found == {"sum": [15, 7], "mean": [3, 7], "max": [5, 7], "first": [1, 7]}


class Attentive(Formula):
    """A model whose one layer has one head that attends by the words' numbers and sums up their values."""

    provides = Formula.provides | {"cls-attentions", "attention-gradients"}
    values = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)

    def run(self, rows, *, embeds=None, shift=None, attentions=False, hidden=False):
        share = (self.embed(rows) if embeds is None else embeds)[..., 0].log().softmax(-1)  # [R, T]
        matrix = share[:, None, None, :].expand(-1, 1, 3, -1).clone()
        found = (matrix[:, 0, 0] * self.values).sum(-1)
        return Output(torch.stack([torch.zeros_like(found), found], 1), (matrix,))


@pytest.mark.parametrize("heads", ["product-of-means", "mean-of-products"])
def test_scaled_attention_of_a_weighted_sum(heads):
    """y = sum a_i v_i with a = (.5, .3, .2) and v = (1, -2, 3)."""
    case = case_of(Attentive({"half": 0.5, "third": 0.3, "fifth": 0.2}, None), "half third fifth", target="yes")
    scores = EXPLAINERS.create(f"scaled-attention(heads={heads})").scores(case).values
    assert scores[0].tolist() == pytest.approx([0.5, -0.6, 0.6], abs=1e-6)
