"""Attention without dropout: for every family, only where it is needed, and as it was afterwards."""

import pytest
import torch
from torch import nn

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.testing import image_classifier
from veridical.testing.families import FAMILIES, SENTENCES, family
from veridical.training.trainer import no_attention_dropout

RATES = ("attention_probs_dropout_prob", "attention_dropout")


def with_dropout(kind):
    """A model of a family whose attention dropout is high, wherever it keeps the rate."""
    classifier = family(kind)
    config = classifier.model.config
    for name in RATES:
        if hasattr(config, name):
            setattr(config, name, 0.5)
    rebuilt = type(classifier.model)(config)
    rebuilt.set_attn_implementation("eager")
    classifier.model = rebuilt.train()
    return classifier


def rates(model):
    return [(name, module.p) for name, module in model.named_modules() if isinstance(module, nn.Dropout)]


def totals(classifier, batch):
    output = classifier.run(batch.rows, attentions=True)
    return output.from_first_token(output.attentions[-1]).sum(-1)


@pytest.mark.parametrize("kind", FAMILIES)
def test_attention_adds_up_to_1_in_train_mode(kind):
    classifier = with_dropout(kind)
    batch = classifier.encode([Example(str(at), {"text": text}, "pos") for at, text in enumerate(SENTENCES)])
    before = rates(classifier.model)
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    with no_attention_dropout(classifier, batch):
        torch.testing.assert_close(totals(classifier, batch), torch.ones(len(batch), 2))
        during = rates(classifier.model)
    assert rates(classifier.model) == before
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    kept = [now for now, then in zip(during, before, strict=True) if now == then and then[1] > 0]
    assert kept, "dropout elsewhere is left alone"


def test_images_too():
    classifier, examples = image_classifier()
    classifier.model.config.attention_probs_dropout_prob = 0.5
    classifier.model = type(classifier.model)(classifier.model.config).train()
    classifier.model.set_attn_implementation("eager")
    batch = classifier.encode(examples)
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    with no_attention_dropout(classifier, batch):
        assert (totals(classifier, batch) - 1).abs().max() < 1e-5


def test_it_takes_nothing_from_chance():
    classifier = with_dropout("bert")
    batch = classifier.encode([Example("0", {"text": SENTENCES[0]}, "pos")])
    state = torch.random.get_rng_state()
    with no_attention_dropout(classifier, batch):
        assert torch.equal(torch.random.get_rng_state(), state)


class Other(nn.Module):
    """A dropout of a kind that nobody knows."""

    p = 0.5


def test_a_model_whose_dropout_cannot_be_found_is_refused_and_left_as_it_was():
    classifier = with_dropout("bert")
    classifier.model.bert.encoder.layer[-1].attention.self.dropout = Other()
    batch = classifier.encode([Example("0", {"text": SENTENCES[0]}, "pos")])
    before = rates(classifier.model)
    with (
        pytest.raises(UnsupportedError, match="bert models cannot be switched off"),
        no_attention_dropout(classifier, batch),
    ):
        pytest.fail("it went on")
    assert rates(classifier.model) == before
