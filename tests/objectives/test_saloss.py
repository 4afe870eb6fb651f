"""SaLoss: the divergence by hand, its published form, what it does to attention, and the texts it must survive."""

import numpy as np
import pytest
import torch
from torch import nn

from veridical.core.errors import UnsupportedError
from veridical.core.stop_words import is_stop_word
from veridical.core.values import Example
from veridical.data import load
from veridical.explainers.attention import last_cls
from veridical.masking import Case
from veridical.models import Output
from veridical.models.new import start
from veridical.objectives import OBJECTIVES, CrossEntropy, SaLoss
from veridical.objectives.base import forward, prepare
from veridical.objectives.salience import SALIENCES
from veridical.objectives.saloss import SaLossOf, shares
from veridical.testing import image_classifier, pair_classifier, text_classifier
from veridical.testing.families import DECODERS, FAMILIES, SENTENCES, family
from veridical.training import Schedule
from veridical.training.fit import fit

ALPHA, SIGMA = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)
LABELS = ("neg", "pos")


def case_of(classifier, examples, objective=SaLoss()):  # noqa: B008
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, forward(classifier, batch, objective))


def three_words(attention):
    """A text of three words whose first token, which sees one word less of itself, attends to them as given."""
    examples = [Example("0", {"text": "a b c"}, "neg")]
    classifier = start("tiny", examples, LABELS)
    batch = classifier.encode(examples)
    weights = torch.zeros(1, 1, 5, 5)
    weights[0, 0, 0] = torch.tensor([0.0, *attention, 0.0])
    return Case.of_output(classifier, batch, Output(torch.zeros(1, 2), (weights.requires_grad_(),)))


def salience(scores, **settings):
    return SaLossOf(SaLoss(lam=1.0, **settings), lambda _: np.array(scores))


def test_the_divergence_of_attention_from_salience():
    found = salience(SIGMA, normaliser="sum")(three_words(ALPHA))
    assert found["salience"].item() == pytest.approx(0.274887, abs=1e-6)
    assert found["cross_entropy"].item() == pytest.approx(np.log(2))


def test_attention_to_special_tokens_does_not_count():
    half = three_words([share / 2 for share in ALPHA])
    assert salience(SIGMA, normaliser="sum")(half)["salience"].item() == pytest.approx(0.274887, abs=1e-6)


def test_nothing_is_lost_where_attention_is_salience():
    assert salience(ALPHA, normaliser="sum")(three_words(ALPHA))["salience"].item() == pytest.approx(0, abs=1e-6)
    assert salience(np.log(ALPHA))(three_words(ALPHA))["salience"].item() == pytest.approx(0, abs=1e-6)


def test_the_published_code_squares_and_takes_another_softmax():
    attention, sigma = torch.tensor([0, *ALPHA, 0]).softmax(0), torch.tensor([0, *SIGMA, 0]).softmax(0)
    by_hand = (attention * (attention / sigma).log()).sum().square()
    found = salience(SIGMA, form="code")(three_words(ALPHA))["salience"]
    assert found.item() == pytest.approx(by_hand.item(), rel=1e-4)
    words = torch.tensor(ALPHA).softmax(0), torch.tensor(SIGMA).softmax(0)
    assert (words[0] * (words[0] / words[1]).log()).sum().item() == pytest.approx(0.030378, abs=1e-6)
    preset = OBJECTIVES.create("saloss(preset=saloss-code)")
    assert preset == SaLoss(salience="textrank(preset=saloss-code)", form="code")


@pytest.mark.parametrize("how", ["softmax", "sum"])
def test_shares_add_up_over_words_and_survive_zeros(how):
    where = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    found = shares(torch.tensor([[0.0, 0, 9], [1, 2, 300], [1, 1, 1]]), where, how)
    assert torch.isfinite(found).all()
    assert found.sum(1).tolist() == pytest.approx([1, 1, 0])
    assert found[0].tolist() == pytest.approx([0.5, 0.5, 0])


def test_attention_learns_to_look_at_the_one_salient_token():
    classifier, examples = text_classifier()

    def first(pieces):
        return np.eye(len(pieces))[0]

    objective = SaLossOf(SaLoss(lam=10.0, normaliser="sum"), first)
    optimizer = torch.optim.AdamW(classifier.model.parameters(), 3e-3)
    for _ in range(60):
        terms = objective(case_of(classifier, examples))
        optimizer.zero_grad()
        sum(terms.values()).backward()
        optimizer.step()
    case = case_of(classifier, examples)
    mass = last_cls(case.output, case.batch.rows)[:, 1]  # after the first special token
    assert mass.min() > 0.9


def test_salience_is_constant_and_attention_is_taught_in_all_layers():
    classifier, examples = text_classifier()
    term = prepare(SaLoss(lam=1.0), classifier, examples)(case_of(classifier, examples))["salience"]
    term.backward()
    layers = classifier.model.bert.encoder.layer
    for layer in layers:
        assert layer.attention.self.query.weight.grad.abs().max() > 0
    assert layers[-1].attention.self.value.weight.grad is None  # it comes after the attention that is taught


@pytest.mark.parametrize("form", ["text", "code"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_gives_a_finite_loss_and_gradients(kind, form):
    classifier = family(kind, labels=LABELS)
    texts = ["", *SENTENCES[:3]]
    examples = [Example(str(at), {"text": text}, LABELS[at % 2]) for at, text in enumerate(texts)]
    objective = prepare(SaLoss(lam=1.0, form=form), classifier, examples)
    term = objective(case_of(classifier, examples))["salience"]
    assert term.item() > 0
    term.backward()
    gradients = [values.grad for values in classifier.model.parameters() if values.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    assert max(gradient.abs().max() for gradient in gradients) > 0


def test_a_text_without_words_adds_0():
    classifier, examples = text_classifier()
    empty = Example("empty", {"text": ""}, "negative")
    objective = SaLoss(lam=1.0)
    some = objective(case_of(classifier, examples))["salience"].item()
    more = objective(case_of(classifier, [*examples, empty]))["salience"].item()
    assert more == pytest.approx(some * len(examples) / (len(examples) + 1), rel=1e-5)
    assert objective(case_of(classifier, [empty]))["salience"].item() == 0


def test_padding_and_neighbours_change_nothing():
    classifier, examples = text_classifier()
    together = SaLoss(lam=1.0)(case_of(classifier, examples))["salience"].item()
    alone = [SaLoss(lam=1.0)(case_of(classifier, [example]))["salience"].item() for example in examples]
    assert together == pytest.approx(np.mean(alone), rel=1e-5)


def test_windows_count_as_their_text():
    examples = [Example("0", {"text": "one two three four five six"}, "neg"), Example("1", {"text": "one"}, "pos")]
    classifier = start("tiny", examples, LABELS, max_length=5, long="window")
    case = case_of(classifier, examples)
    assert len(case.batch.rows) == 3
    alone = [SaLoss(lam=1.0)(case_of(classifier, [example]))["salience"].item() for example in examples]
    assert SaLoss(lam=1.0)(case)["salience"].item() == pytest.approx(np.mean(alone), rel=1e-5)


def test_a_held_field_is_not_taught():
    classifier, examples = pair_classifier(hold="text_pair")
    case = case_of(classifier, examples)
    attention = last_cls(case.output, case.batch.rows)
    assert (attention[case.batch.rows.unit_of < 0] == 0).all()
    assert torch.isfinite(SaLoss(lam=1.0)(case)["salience"])


@pytest.mark.parametrize("normaliser", ["softmax", "sum"])
@pytest.mark.parametrize("name", list(SALIENCES))
def test_with_content_words_stop_words_and_punctuation_have_the_least_salience(name, normaliser):
    """And the others have what they would have if these were not there."""
    texts = ["The plot of the film is, well, a dull one.", "It was not the best, but a delight!"]
    examples = [Example(text, {"text": text}, label) for text, label in zip(texts, LABELS, strict=True)]
    classifier = start("tiny", examples, LABELS)
    objective = SaLoss(salience=f"{name}(words=content)", normaliser=normaliser)
    batch = classifier.encode(examples)
    found = prepare(objective, classifier, examples)._salience(batch, batch.rows.unit_of >= 0)
    assert found.sum(1).tolist() == pytest.approx([1, 1])
    for row, unit_of, units in zip(found, batch.rows.unit_of, batch.units, strict=True):
        words = [(row[unit_of == at], is_stop_word(unit)) for at, unit in enumerate(units)]
        lowest = max(shares.max() for shares, stops in words if stops)
        assert lowest == row[unit_of >= 0].min()
        assert lowest < max(shares.max() for shares, stops in words if not stops)


def test_the_graph_of_content_words_has_no_others():
    text = [Example("0", {"text": "The film, and the plot of it, is dull."}, "neg")]
    bare = [Example("0", {"text": "film plot dull"}, "neg")]
    classifier = start("tiny", text, LABELS)

    def shares_of(examples, words):
        objective = prepare(SaLoss(salience=f"textrank(words={words}, window=2)", normaliser="sum"), classifier, text)
        batch = classifier.encode(examples)
        found = objective._salience(batch, batch.rows.unit_of >= 0)
        return found[found > 1e-6]

    torch.testing.assert_close(shares_of(text, "content"), shares_of(bare, "all"))
    assert len(shares_of(text, "all")) > 3


def test_weight_0_asks_for_nothing():
    assert SaLoss(lam=0.0).needs == frozenset()
    classifier, examples = text_classifier()
    case = case_of(classifier, examples, SaLoss(lam=0.0))
    assert case.output.attentions is None
    assert SaLoss(lam=0.0)(case).keys() == CrossEntropy()(case).keys()
    assert prepare(SaLoss(lam=0.0), *image_classifier()) == SaLoss(lam=0.0)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_model_without_attentions_is_named_at_once(kind, tmp_path):
    classifier = family(kind, labels=LABELS)
    examples = [Example(label, {"text": "so so"}, label) for label in LABELS]
    for objective in ("saloss", "random-erasure(eraser=pad) + saloss"):
        with pytest.raises(UnsupportedError, match="saloss needs cls-attentions, which gpt2 models do not give"):
            fit(classifier, OBJECTIVES.create(objective), examples, examples, tmp_path)
    assert not list(tmp_path.iterdir())


def test_images_have_no_pieces(tmp_path):
    classifier, examples = image_classifier()
    with pytest.raises(UnsupportedError, match="word pieces, which images do not have"):
        fit(classifier, SaLoss(), examples, examples, tmp_path)


def weights_after(objective, out):
    """The weights of a small model after training with dropout everywhere, attention included."""
    data = load("planted(train=64, length=6):train")
    classifier = start("tiny", data, data.labels)
    for module in classifier.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.1
    fit(classifier, objective, data, data[:16], out, Schedule(epochs=2, checks=1, batch_size=16))
    return {name: values.detach() for name, values in classifier.model.named_parameters()}


def test_weight_0_is_plain_training_bit_for_bit(tmp_path):
    plain = weights_after(CrossEntropy(), tmp_path / "plain")
    zero = weights_after(SaLoss(lam=0.0), tmp_path / "zero")
    assert all(torch.equal(zero[name], plain[name]) for name in plain)


def test_a_control_of_next_to_no_weight_is_plain_training_but_for_rounding(tmp_path):
    """What looks at attention leaves the model alone: its dropout, its order of examples, its draws from chance."""
    plain = weights_after(CrossEntropy(), tmp_path / "plain")
    control = weights_after(SaLoss(lam=1e-9), tmp_path / "control")
    taught = weights_after(SaLoss(lam=1.0), tmp_path / "taught")
    # A bias of keys adds the same to all attention logits of a query, which changes nothing: its gradient is rounding.
    names = [name for name in plain if not name.endswith("key.bias")]
    assert max((control[name] - plain[name]).abs().max().item() for name in names) < 1e-6
    assert max((taught[name] - plain[name]).abs().max().item() for name in names) > 1e-3
