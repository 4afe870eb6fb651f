"""Models that read left to right and decide on the last token, and models that cannot be explained at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from transformers import BartConfig, BartForSequenceClassification, FNetConfig, FNetForSequenceClassification

from veridical.core.errors import ModelError, UnsupportedError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking.erasure import Pad
from veridical.models.loader import wrap
from veridical.models.text_classifier import TextClassifier
from veridical.testing.families import family

Make = Callable[..., TextClassifier]


def test_the_padding_token_is_told_to_the_model() -> None:
    made = family("gpt2")
    made.model.config.pad_token_id = None  # as GPT-2 comes
    classifier = wrap(made.model, made.tokenizer)
    rows = classifier.encode([Example.of("dull"), Example.of("a gorgeous movie")]).rows
    alone = classifier.encode([Example.of("dull")]).rows
    torch.testing.assert_close(classifier.run(rows).logits[:1], classifier.run(alone).logits, atol=1e-5, rtol=0)


def test_the_last_position_decides_even_when_its_word_is_padding(make: Make) -> None:
    classifier = make("gpt2")
    batch = classifier.encode([Example.of("the gorgeous movie")])
    rows = Pad()(classifier, batch.rows, torch.tensor([[True, True, False]]))
    gone = batch.rows.unit_of == 2
    embeds = classifier.embed(batch.rows).detach()
    embeds[gone] = classifier.model.get_input_embeddings().weight[classifier.pad_id].detach()
    by_hand = classifier.model(inputs_embeds=embeds).logits  # without ids, the very last position is taken
    torch.testing.assert_close(classifier.run(rows).logits, by_hand, atol=1e-6, rtol=0)
    naive = classifier.model(input_ids=batch.rows.inputs["input_ids"].masked_fill(gone, classifier.pad_id)).logits
    assert (naive - by_hand).abs().max() > 1e-3


def test_attention_methods_are_refused_by_name(make: Make) -> None:
    for method in ("attention", "attention-last-layer", "scaled-attention"):
        needs = EXPLAINERS.create(method).needs
        with pytest.raises(UnsupportedError, match=f"{method} needs .*attention.*, which gpt2 models do not give"):
            make("gpt2").require(*needs, asker=method)


def test_a_tokenizer_without_padding_is_refused() -> None:
    made = family("gpt2")
    made.tokenizer.pad_token = None
    with pytest.raises(ModelError, match="no padding token.*tokenizer.pad_token = tokenizer.eos_token"):
        wrap(made.model, made.tokenizer)


def test_models_that_read_twice_are_refused(make: Make) -> None:
    config = BartConfig(
        vocab_size=400, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=66,
    )  # fmt: skip
    with pytest.raises(ModelError, match="bart models read each text twice"):
        wrap(BartForSequenceClassification(config), make("roberta").tokenizer)


def test_models_that_padding_changes_are_refused(make: Make) -> None:
    config = FNetConfig(vocab_size=400, hidden_size=16, num_hidden_layers=1, intermediate_size=16)
    with pytest.raises(ModelError, match="the answer of fnet models depends on the padding.*Classifier.load"):
        wrap(FNetForSequenceClassification(config), make("bert").tokenizer)
