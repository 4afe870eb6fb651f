"""What a classifier says is what the Hugging Face model says, alone or in company, from ids or from embeddings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, BertModel, XLMConfig, XLMForSequenceClassification

from veridical.core.errors import ModelError, UnsupportedError
from veridical.core.values import Example
from veridical.masking import ERASERS
from veridical.models.loader import wrap
from veridical.models.text_classifier import TextClassifier
from veridical.testing.families import FAMILIES, LIMIT, family

Make = Callable[..., TextClassifier]


def ask(classifier: TextClassifier, *texts: str) -> Tensor:
    with torch.no_grad():
        return classifier.run(classifier.encode([Example.of(text) for text in texts]).rows).logits


def ask_directly(classifier: TextClassifier, examples: list[Example]) -> Tensor:
    """The model called as its own documentation says."""
    texts = [list(example.inputs.values()) for example in examples]
    inputs = classifier.tokenizer(*zip(*texts, strict=True), padding=True, return_tensors="pt")
    with torch.no_grad():
        logits: Tensor = classifier.model(**inputs).logits
    return logits


@pytest.mark.parametrize("labels", [(), ("neg", "pos"), ("a", "b", "c", "d")], ids=len)
def test_logits_are_the_models_own(
    make: Make, any_name: str, labels: tuple[str, ...], examples: list[Example], pairs: list[Example]
) -> None:
    classifier = make(any_name, labels)
    assert classifier.labels == labels
    assert classifier.is_regression == (not labels)
    for some in (examples, pairs):
        with torch.no_grad():
            output = classifier.run(classifier.encode(some).rows)
        assert output.logits.shape == (len(some), max(1, len(labels)))
        torch.testing.assert_close(output.logits, ask_directly(classifier, some), atol=1e-6, rtol=0)
    if labels:
        torch.testing.assert_close(classifier.probabilities(output.logits).sum(-1), torch.ones(len(pairs)))
    else:
        with pytest.raises(ValueError, match="no probabilities"):
            classifier.probabilities(output.logits)


def test_words_matter(make: Make, any_name: str) -> None:
    """Otherwise nothing that follows could fail."""
    one, other = ask(make(any_name), "a gorgeous movie", "a dreadful movie")
    assert (one - other).abs().max() > 1e-2


def test_padding_changes_nothing(make: Make, any_name: str, examples: list[Example]) -> None:
    classifier = make(any_name)
    long = Example.of(" ".join(["gorgeous"] * LIMIT))
    with torch.no_grad():
        together = classifier.run(classifier.encode([*examples, long]).rows).logits[:-1]
        alone = torch.cat([classifier.run(classifier.encode([example]).rows).logits for example in examples])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_selecting_rows_changes_nothing(make: Make, any_name: str, examples: list[Example]) -> None:
    classifier = make(any_name)
    rows = classifier.encode(examples).rows
    part = rows.select(torch.tensor([2, 1]))
    assert part.unit_of.shape[1] == int(rows.lengths[[2, 1]].max()) < rows.unit_of.shape[1]
    with torch.no_grad():
        found, expected = classifier.run(part).logits, classifier.run(rows).logits[[2, 1]]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_embeddings_fed_back_give_the_same(make: Make, any_name: str, examples: list[Example]) -> None:
    classifier = make(any_name)
    rows = classifier.encode(examples).rows
    with torch.no_grad():
        embeds = classifier.embed(rows)
        assert embeds.shape[:2] == rows.unit_of.shape
        assert torch.equal(classifier.run(rows, embeds=embeds).logits, classifier.run(rows).logits)
        assert not torch.equal(classifier.run(rows, embeds=embeds * 0.5).logits, classifier.run(rows).logits)
        ids_only = classifier.run(rows).logits
        torch.testing.assert_close(classifier.run(rows).logits, ids_only)  # the hook is gone


def test_embeddings_given_take_the_place_of_the_table(examples: list[Example]) -> None:
    classifier = family("bert")
    rows = classifier.encode(examples).rows
    table = classifier.model.get_input_embeddings().weight
    logits = classifier.run(rows, embeds=classifier.embed(rows).detach()).logits
    assert torch.autograd.grad(logits.sum(), table, allow_unused=True) == (None,)


@pytest.mark.parametrize("frozen", [False, True])
def test_gradients_reach_every_word(any_name: str, examples: list[Example], frozen: bool) -> None:
    classifier = family(any_name)
    classifier.model.requires_grad_(not frozen)
    rows = classifier.encode(examples).rows
    leaf = classifier.embed(rows).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(classifier.run(rows, embeds=leaf).logits[:, 0].sum(), leaf)
    assert torch.isfinite(gradient).all()
    sizes = gradient.norm(dim=-1)
    assert (sizes[rows.unit_of >= 0] > 0).all()
    beyond = torch.arange(sizes.shape[1])[None, :] >= rows.lengths[:, None]
    assert (sizes[beyond] == 0).all()  # padding does not matter


def test_the_length_of_a_word_vector_matters(make: Make, any_name: str, examples: list[Example]) -> None:
    """Else input x gradient, and integrated gradients from zero, would be 0 whatever the model does."""
    classifier = make(any_name)
    rows = classifier.encode(examples).rows
    leaf = classifier.embed(rows).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(classifier.run(rows, embeds=leaf).logits[:, 0].sum(), leaf)
    product = (leaf.detach() * gradient).sum(-1)[rows.unit_of >= 0]
    assert product.abs().max() > 1e-2


def test_gradients_can_be_differentiated_again(make: Make, any_name: str, examples: list[Example]) -> None:
    classifier = make(any_name)
    rows = classifier.encode(examples).rows
    leaf = classifier.embed(rows).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(classifier.run(rows, embeds=leaf).logits[:, 0].sum(), leaf, create_graph=True)
    weights = [value for value in classifier.model.parameters() if value.dim() == 2]
    second = torch.autograd.grad(gradient.square().sum(), [leaf, *weights], allow_unused=True)
    assert all(torch.isfinite(part).all() for part in second if part is not None)
    assert second[0] is not None
    assert second[0].abs().max() > 0


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "longformer"])
def test_attentions_are_distributions_over_what_is_there(make: Make, name: str, examples: list[Example]) -> None:
    classifier = make(name)
    rows = classifier.encode(examples).rows
    with torch.no_grad():
        output = classifier.run(rows, attentions=True, hidden=True)
    assert output.attentions is not None
    assert output.hidden is not None
    assert len(output.attentions) == 2
    length = rows.unit_of.shape[1]
    for layer in output.attentions:
        assert layer.shape == (len(rows), 2, length, length)
        there = rows.inputs["attention_mask"].bool()
        real = layer.sum(-1).transpose(1, 2)[there]
        torch.testing.assert_close(real, torch.ones_like(real), atol=1e-5, rtol=0)
        to_padding = (layer * ~there[:, None, None, :]).sum(-1).transpose(1, 2)[there]
        assert to_padding.abs().max() < 1e-6
        assert torch.equal(output.as_read(layer), layer[:, :, 0])
    assert {tuple(layer.shape[:2]) for layer in output.hidden} == {(len(rows), length)}


def test_the_output_can_be_differentiated_by_attentions(make: Make, any_name: str, examples: list[Example]) -> None:
    classifier = make(any_name)
    rows = classifier.encode(examples).rows
    embeds = classifier.embed(rows).detach().requires_grad_()
    output = classifier.run(rows, embeds=embeds, attentions=True)
    assert output.attentions is not None
    found = torch.autograd.grad(output.logits[:, 0].sum(), output.attentions[-1], allow_unused=True)[0]
    if "attention-gradients" in classifier.provides:
        assert found.abs().max() > 0
    else:
        assert any_name in ("longformer", "gpt2")


def test_longformer_gives_the_first_tokens_row_only(make: Make, examples: list[Example]) -> None:
    classifier = make("longformer")
    assert "attentions" not in classifier.provides
    assert "cls-attentions" in classifier.provides
    with pytest.raises(UnsupportedError, match="attention-last-layer needs attentions"):
        classifier.require("attentions", asker="attention-last-layer")
    rows = classifier.encode(examples).rows
    with torch.no_grad():
        output = classifier.run(rows, attentions=True)
    assert output.local
    assert output.attentions is not None
    for layer in output.attentions:
        first = output.as_read(layer)  # [B, H, T]
        torch.testing.assert_close(first.sum(-1), torch.ones(first.shape[:2]), atol=1e-5, rtol=0)
        there = torch.arange(first.shape[-1])[None, :] < rows.lengths[:, None]
        assert (first.transpose(1, 2)[~there] == 0).all()


def test_outputs_of_windows_are_averaged(make: Make, any_name: str) -> None:
    classifier = make(any_name, long="window")
    batch = classifier.encode([Example.of("dull"), Example.of(" ".join(["gorgeous movie"] * LIMIT))])
    with torch.no_grad():
        rows, whole = classifier.run(batch.rows).logits, classifier.forward(batch).logits
    assert len(rows) > 3
    torch.testing.assert_close(whole, torch.stack([rows[0], rows[1:].mean(0)]), atol=1e-6, rtol=0)


def test_evaluating_leaves_everything_as_it_was() -> None:
    classifier = family("bert")
    classifier.model.train()
    classifier.model.classifier.eval()
    before = {name: module.training for name, module in classifier.model.named_modules()}
    with pytest.raises(KeyError), classifier.evaluating():
        assert not any(module.training for module in classifier.model.modules())
        raise KeyError
    assert {name: module.training for name, module in classifier.model.named_modules()} == before


def test_models_without_a_head_are_refused(make: Make) -> None:
    tokenizer = make("bert").tokenizer
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    with pytest.raises(ModelError, match="BertModel has no classification head"):
        wrap(BertModel(config), tokenizer)
    other = wrap(BertForMaskedLM(config), tokenizer)
    with pytest.raises(ModelError, match=r"BertForMaskedLM gave logits of shape \(1, 3, \d+\), not 2 per row"):
        other.run(other.encode([Example.of("a")]).rows)


@pytest.mark.parametrize("eraser", list(ERASERS))
def test_fused_attention_changes_nothing(make: Make, any_name: str, examples: list[Example], eraser: str) -> None:
    classifier = make(any_name)
    if eraser not in classifier.provides:
        pytest.skip(f"no {eraser} here")
    batch = classifier.encode(examples)
    keep = batch.live & (torch.arange(batch.live.shape[1]) % 3 > 0)
    rows = ERASERS.create(eraser)(classifier, batch.rows, keep[batch.rows.owner])
    with torch.no_grad():
        plain = classifier.run(rows).logits
        with classifier.fused():
            fast = classifier.run(rows).logits
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=0)
    assert classifier.model.config._attn_implementation == "eager"


def test_a_shift_acts_on_what_enters_the_first_layer(make: Make, any_name: str, examples: list[Example]) -> None:
    classifier = make(any_name)
    rows = classifier.encode(examples).rows
    nothing = classifier.no_shift(rows)
    assert nothing.shape[:2] == rows.unit_of.shape
    shift = torch.randn(nothing.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain, same, other = (classifier.run(rows, shift=each, hidden=True) for each in (None, nothing, shift))
    assert plain.hidden is not None
    assert other.hidden is not None
    assert torch.equal(same.logits, plain.logits)
    found = (other.hidden[0] - plain.hidden[0])[:, : shift.shape[1]]
    torch.testing.assert_close(found, shift, atol=1e-5, rtol=0)
    assert (other.logits - plain.logits).abs().max() > 1e-3


@pytest.mark.parametrize("frozen", [False, True])
def test_the_gradient_by_no_shift_is_how_the_answer_changes(
    any_name: str, examples: list[Example], frozen: bool
) -> None:
    classifier = family(any_name)
    classifier.model.requires_grad_(not frozen)
    rows = classifier.encode(examples).rows
    leaf = classifier.no_shift(rows).requires_grad_()
    (gradient,) = torch.autograd.grad(classifier.run(rows, shift=leaf).logits[:, 0].sum(), leaf)
    assert gradient.norm() > 1e-2
    step = 1e-2 * gradient / gradient.norm()
    with torch.no_grad():
        up, down = (classifier.run(rows, shift=each).logits[:, 0].sum() for each in (step, -step))
    torch.testing.assert_close((gradient * step).sum(), (up - down) / 2, rtol=1e-2, atol=0)


def test_a_shift_and_other_embeddings_add_up(examples: list[Example]) -> None:
    classifier = family("bert")
    rows = classifier.encode(examples).rows
    embeds, shift = classifier.embed(rows).flip(2), torch.ones_like(classifier.no_shift(rows))
    with torch.no_grad():
        both = classifier.run(rows, embeds=embeds, shift=shift, hidden=True).hidden
        one = classifier.run(rows, embeds=embeds, hidden=True).hidden
    assert both is not None
    assert one is not None
    torch.testing.assert_close(both[0], one[0] + 1)


def test_a_model_that_adds_positions_outside_of_any_module_cannot_be_shifted(examples: list[Example]) -> None:
    config = XLMConfig(vocab_size=200, emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=LIMIT)
    classifier = wrap(XLMForSequenceClassification(config).eval(), family("bert").tokenizer)
    rows = classifier.encode(examples).rows
    with pytest.raises(UnsupportedError, match="needs embedding-output, which xlm models do not give.*where=word"):
        classifier.run(rows, shift=classifier.no_shift(rows))
