"""Attention as it is before dropout, for every family; the model itself drops out as ever, where that is possible."""

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn
from transformers import EuroBertConfig, EuroBertForSequenceClassification

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.masking import Case
from veridical.models.architecture import quietly
from veridical.models.loader import wrap
from veridical.models.undropped_attention import attention_before_dropout
from veridical.objectives import ExplanationGuided, InputGradient
from veridical.testing import image_classifier
from veridical.testing.families import FAMILIES, SENTENCES, family
from veridical.training import Schedule
from veridical.training.fit import fit

RATES = ("attention_probs_dropout_prob", "attention_dropout")
BY_THEMSELVES = {"deberta-v2", "longformer"}
"""Families that do not use the library's interface for attention."""
WITH_INTERFACE = [name for name in FAMILIES if name not in BY_THEMSELVES]


def with_dropout(kind, rate=0.5):
    """A model of a family whose attention dropout has a rate, wherever it keeps it."""
    classifier = family(kind)
    config = classifier.model.config
    for name in RATES:
        if hasattr(config, name):
            setattr(config, name, rate)
    with quietly():
        rebuilt = type(classifier.model)(config)
        rebuilt.load_state_dict(classifier.model.state_dict())
        rebuilt.set_attn_implementation("eager")
    classifier.model = rebuilt.train()
    return classifier


def batch_of(classifier, count=3):
    return classifier.encode(
        [Example(str(at), {"text": text}, classifier.labels[at % 2]) for at, text in enumerate(SENTENCES[:count])]
    )


def rates(model):
    return [(name, module.p) for name, module in model.named_modules() if isinstance(module, nn.Dropout)]


def totals(classifier, batch):
    output = classifier.run(batch.rows, attentions=True)
    return output.as_read(output.attentions[-1]).sum(-1)


def logits(classifier, batch):
    torch.manual_seed(0)
    return classifier.run(batch.rows, attentions=True).logits


@pytest.mark.parametrize("kind", WITH_INTERFACE)
def test_what_is_shown_adds_up_and_what_is_read_is_dropped_out_as_ever(kind):
    classifier = with_dropout(kind)
    batch, before = batch_of(classifier), rates(classifier.model)
    plain = logits(classifier, batch)
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    with attention_before_dropout(classifier, batch):
        torch.testing.assert_close(totals(classifier, batch), torch.ones(len(batch), 2))
        assert rates(classifier.model) == before
        assert torch.equal(logits(classifier, batch), plain)
    assert classifier.model.config._attn_implementation == "eager"
    assert (totals(classifier, batch) - 1).abs().max() > 0.1


@pytest.mark.parametrize("kind", sorted(BY_THEMSELVES))
def test_the_others_are_trained_without_attention_dropout_and_it_is_said(kind):
    classifier = with_dropout(kind)
    batch, before = batch_of(classifier), rates(classifier.model)
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    with ExitStack() as stack:
        with pytest.warns(UserWarning, match=f"{kind} models show their attention after dropout only"):
            stack.enter_context(attention_before_dropout(classifier, batch))
        torch.testing.assert_close(totals(classifier, batch), torch.ones(len(batch), 2))
        during = rates(classifier.model)
    assert rates(classifier.model) == before
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    kept = [now for now, then in zip(during, before, strict=True) if now == then and then[1] > 0]
    assert kept, "dropout elsewhere is left alone"


@pytest.mark.parametrize("kind", WITH_INTERFACE)
def test_outside_of_training_it_is_eager_attention(kind):
    classifier = family(kind)
    batch = batch_of(classifier)

    def found():
        """Outputs, attentions and second derivatives."""
        classifier.model.eval()
        output = classifier.forward(batch, attentions=True)
        length = InputGradient().lengths(Case.of_output(classifier, batch, output)).sum()
        weights = [values for values in classifier.model.parameters() if values.dim() == 2]
        second = torch.autograd.grad(length, weights, allow_unused=True)
        return [output.logits, *output.attentions, *(each for each in second if each is not None)]

    eager = found()
    with attention_before_dropout(classifier, batch):
        ours = found()
    assert len(ours) > 5
    for mine, theirs in zip(ours, eager, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=0)


def test_a_look_at_the_dev_split_in_between_changes_nothing():
    classifier = with_dropout("bert")
    batch = batch_of(classifier)
    with attention_before_dropout(classifier, batch):
        with classifier.fused():
            classifier.run(batch.rows)
        torch.testing.assert_close(totals(classifier, batch), torch.ones(len(batch), 2))


@dataclass(frozen=True)
class Looking(ExplanationGuided):
    """Notes what the rows of attention add up to, for the text and for it without some tokens."""

    seen: ClassVar[list] = []

    def apart(self, case, shares, without):
        self.seen.extend(output.attentions[-1].sum(-1).detach() for output in (case.output, without))
        return super().apart(case, shares, without)


def test_all_passes_of_a_training_show_it(tmp_path):
    classifier = with_dropout("bert")
    examples = batch_of(classifier, 6).examples
    fit(classifier, Looking(weight=1.0), examples, examples, tmp_path, Schedule(epochs=1, checks=1, batch_size=3))
    assert len(Looking.seen) == 2 * 2
    for totals in Looking.seen:
        torch.testing.assert_close(totals, torch.ones_like(totals))
    assert classifier.model.config._attn_implementation == "eager"


def test_images_too():
    classifier, examples = image_classifier()
    classifier.model.config.attention_probs_dropout_prob = 0.5
    classifier.model = type(classifier.model)(classifier.model.config).train()
    classifier.model.set_attn_implementation("eager")
    batch = classifier.encode(examples)
    plain = logits(classifier, batch)
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    with attention_before_dropout(classifier, batch):
        assert (totals(classifier, batch) - 1).abs().max() < 1e-5
        assert torch.equal(logits(classifier, batch), plain)


def test_heads_may_share_their_values():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokenizer = family("bert").tokenizer
    ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "max_position_embeddings": 64}
    config = EuroBertConfig(**sizes, **ids, num_key_value_heads=2, attention_dropout=0.5, num_labels=2)
    classifier = wrap(EuroBertForSequenceClassification(config), tokenizer)
    classifier.model.train()
    batch = batch_of(classifier)
    plain = logits(classifier, batch)
    assert (totals(classifier, batch) - 1).abs().max() > 0.1
    with attention_before_dropout(classifier, batch):
        torch.testing.assert_close(totals(classifier, batch), torch.ones(len(batch), 4))
        assert torch.equal(logits(classifier, batch), plain)


def test_it_takes_nothing_from_chance():
    classifier = with_dropout("bert")
    batch = batch_of(classifier, 1)
    state = torch.random.get_rng_state()
    with attention_before_dropout(classifier, batch):
        assert torch.equal(torch.random.get_rng_state(), state)


def test_without_dropout_nobody_is_warned():
    classifier = with_dropout("longformer", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with attention_before_dropout(classifier, batch_of(classifier)):
            pass


class Other(nn.Module):
    """A dropout of a kind that nobody knows."""

    def forward(self, values):
        return nn.functional.dropout(values, 0.5)


def test_a_model_whose_dropout_cannot_be_found_is_refused_and_left_as_it_was():
    classifier = with_dropout("deberta-v2")
    classifier.model.deberta.encoder.layer[-1].attention.self.dropout = Other()
    batch, before = batch_of(classifier, 1), rates(classifier.model)
    with (
        pytest.raises(UnsupportedError, match="deberta-v2 models cannot be seen without dropout"),
        attention_before_dropout(classifier, batch),
    ):
        pytest.fail("it went on")
    assert rates(classifier.model) == before
