"""What the head reads: the first token or the mean of all, with every eraser, saved and loaded, and refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForSequenceClassification, CamembertConfig, CamembertForSequenceClassification

from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS, Case
from veridical.models import Classifier, Rows
from veridical.models.loader import wrap
from veridical.models.new import start
from veridical.models.text_classifier import TextClassifier
from veridical.testing import image_classifier
from veridical.testing.families import LIMIT, family

HEADS: dict[str, Callable[..., Tensor]] = {
    "bert": lambda model, mean: model.classifier(model.bert.pooler(mean[:, None])),
    "albert": lambda model, mean: model.classifier(model.albert.pooler_activation(model.albert.pooler(mean))),
    "distilbert": lambda model, mean: model.classifier(model.pre_classifier(mean).relu()),
    "roberta": lambda model, mean: model.classifier(mean[:, None]),
    "xlm-roberta": lambda model, mean: model.classifier(mean[:, None]),
    "electra": lambda model, mean: model.classifier(mean[:, None]),
    "deberta-v2": lambda model, mean: model.classifier(model.pooler(mean[:, None])),
    "modernbert": lambda model, mean: model.classifier(model.head(mean)),
}
HALF = [name for name in HEADS if name not in ("deberta-v2", "modernbert")]  # those that can hide a word in part


def by_hand(classifier: TextClassifier, rows: Rows, weight: Tensor | None = None) -> Tensor:
    """The head of a model on the mean of the states that the model itself gives, weighted by what is attended to."""
    weight = rows.inputs["attention_mask"] if weight is None else weight
    with torch.no_grad():
        inputs = classifier.model_inputs(rows)
        states = classifier.model(**inputs, output_hidden_states=True).hidden_states[-1]
        mean = (states * weight[..., None]).sum(1) / weight.sum(1, keepdim=True)
        return HEADS[classifier.family](classifier.model, mean)


def ask(classifier: Classifier, rows: Rows) -> Tensor:
    with torch.no_grad():
        return classifier.run(rows).logits


@pytest.fixture(params=HEADS)
def pooled(request: pytest.FixtureRequest) -> TextClassifier:
    return family(str(request.param), pooling="mean")


def test_the_head_reads_the_mean_of_what_is_attended_to(pooled: TextClassifier, examples: list[Example]) -> None:
    rows = pooled.encode(examples).rows
    torch.testing.assert_close(ask(pooled, rows), by_hand(pooled, rows), atol=1e-6, rtol=0)
    first = ask(family(pooled.family, pooling="cls"), rows)
    assert (ask(pooled, rows) - first).abs().max() > 1e-2
    torch.testing.assert_close(first, ask(family(pooled.family), rows), atol=0, rtol=0)


def test_it_reads_the_mean_with_fused_attention_too(pooled: TextClassifier, examples: list[Example]) -> None:
    rows = pooled.encode(examples).rows
    with pooled.fused():
        fused = ask(pooled, rows)
    torch.testing.assert_close(fused, ask(pooled, rows), atol=1e-5, rtol=0)


def test_nothing_stays_on_the_model(pooled: TextClassifier, examples: list[Example]) -> None:
    rows = pooled.encode(examples).rows
    before = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in pooled.model.modules()]
    config = pooled.model.config.to_dict()
    with pytest.raises(RuntimeError):
        pooled.run(rows, embeds=torch.zeros(1, 1, 1))
    ask(pooled, rows)
    assert before == [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in pooled.model.modules()]
    assert pooled.model.config.to_dict() == config


def test_two_classifiers_around_one_model_read_what_each_should(
    pooled: TextClassifier, examples: list[Example]
) -> None:
    other = wrap(pooled.model, pooled.tokenizer, pooling="cls")
    rows = pooled.encode(examples).rows
    mean, first = ask(pooled, rows), ask(other, rows)
    assert (mean - first).abs().max() > 1e-2
    assert torch.equal(ask(pooled, rows), mean)


def test_padding_and_company_change_nothing(pooled: TextClassifier, examples: list[Example]) -> None:
    long = Example.of(" ".join(["gorgeous"] * LIMIT))
    together = ask(pooled, pooled.encode([*examples, long]).rows)[:-1]
    alone = torch.cat([ask(pooled, pooled.encode([example]).rows) for example in examples])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_each_window_has_its_own_mean(examples: list[Example]) -> None:
    classifier = family("bert", pooling="mean", long="window", max_length=8)
    batch = classifier.encode(examples)
    assert len(batch.rows) > len(batch)
    rows = by_hand(classifier, batch.rows)
    expected = torch.stack([rows[batch.rows.owner == index].mean(0) for index in range(len(batch))])
    with torch.no_grad():
        torch.testing.assert_close(classifier.forward(batch).logits, expected, atol=1e-6, rtol=0)


def erased(classifier: TextClassifier, examples: list[Example], eraser: str, keep: Tensor | None = None) -> Rows:
    """Rows without every second word, or with soft keeps."""
    batch = classifier.encode(examples)
    every_second = (torch.arange(batch.live.shape[1]) % 2 == 0).expand(len(batch), -1)
    return ERASERS.create(eraser)(classifier, batch.rows, every_second if keep is None else keep)


@pytest.mark.parametrize("eraser", ERASERS)
def test_what_is_erased_counts_as_far_as_it_is_attended_to(
    pooled: TextClassifier, examples: list[Example], eraser: str
) -> None:
    """A word that is hidden or deleted is no part of the mean; one that is replaced is, as what stands in its place."""
    rows = erased(pooled, examples, eraser)
    if rows.gate is None:
        torch.testing.assert_close(ask(pooled, rows), by_hand(pooled, rows), atol=1e-6, rtol=0)
    attended = rows.inputs["attention_mask"].sum()
    whole = pooled.encode(examples).rows.inputs["attention_mask"].sum()
    assert (attended < whole) == (eraser in ("delete", "pad_attn"))


@pytest.mark.parametrize("eraser", ERASERS)
def test_nothing_kept_tells_nothing_of_the_words(pooled: TextClassifier, eraser: str) -> None:
    one, other = (pooled.encode([Example.of(text)]) for text in ("gorgeous a movie", "gorgeous b movie"))
    if one.rows.unit_of.shape != other.rows.unit_of.shape:
        pytest.skip("the two words are not of equal length")
    left = [ERASERS.create(eraser)(pooled, each.rows, torch.zeros_like(each.live)) for each in (one, other)]
    assert not torch.equal(one.rows.inputs["input_ids"], other.rows.inputs["input_ids"])
    torch.testing.assert_close(ask(pooled, left[0]), ask(pooled, left[1]), atol=1e-6, rtol=0)


def test_deleting_is_reading_the_shorter_text(pooled: TextClassifier) -> None:
    whole, short = (pooled.encode([Example.of(text)]) for text in ("dull movie", "dull"))
    rows = ERASERS.create("delete")(pooled, whole.rows, torch.tensor([[True, False]]))
    if not torch.equal(rows.inputs["input_ids"][:, : int(rows.lengths)], short.rows.inputs["input_ids"]):
        pytest.skip("a word is written otherwise at the end of a text")
    torch.testing.assert_close(ask(pooled, rows), ask(pooled, short.rows), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", HALF)
def test_a_word_that_is_half_hidden_counts_half(name: str, examples: list[Example]) -> None:
    classifier = family(name, pooling="mean")
    batch = classifier.encode(examples)
    weight = torch.rand(batch.rows.unit_of.shape, generator=torch.Generator().manual_seed(0))
    rows = classifier.hide(batch.rows, weight)
    expected = by_hand(classifier, rows, rows.inputs["attention_mask"])
    torch.testing.assert_close(ask(classifier, rows), expected, atol=1e-6, rtol=0)
    closed = classifier.hide(batch.rows, (weight > 0.5).float())
    hard = classifier.hide(batch.rows, weight > 0.5)
    torch.testing.assert_close(ask(classifier, closed), ask(classifier, hard), atol=1e-5, rtol=0)


def test_gradients_flow_into_how_much_a_word_is_hidden(examples: list[Example]) -> None:
    classifier = family("bert", pooling="mean")
    classifier.model.double()
    rows = classifier.encode(examples).rows
    weight = torch.full(rows.unit_of.shape, 0.5, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(classifier.run(classifier.hide(rows, weight)).logits[:, 0].sum(), weight)
    step = torch.zeros_like(weight)
    step[0, 2] = 1e-5
    above, below = (
        ask(classifier, classifier.hide(rows, weight.detach() + sign * step))[:, 0].sum() for sign in (1, -1)
    )
    assert gradient[0, 2] == pytest.approx(float(above - below) / 2e-5, rel=1e-4)
    assert gradient[0, 2].abs() > 1e-3


def test_gradients_reach_every_word_and_can_be_differentiated_again(
    pooled: TextClassifier, examples: list[Example]
) -> None:
    rows = pooled.encode(examples).rows
    leaf = pooled.embed(rows).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(pooled.run(rows, embeds=leaf).logits[:, 0].sum(), leaf, create_graph=True)
    sizes = gradient.norm(dim=-1)
    assert (sizes[rows.unit_of >= 0] > 0).all()
    assert (sizes[torch.arange(sizes.shape[1])[None, :] >= rows.lengths[:, None]] == 0).all()
    (second,) = torch.autograd.grad(gradient.square().sum(), leaf)
    assert torch.isfinite(second).all()
    assert second.abs().max() > 0


def test_other_weights_in_the_place_of_its_own(pooled: TextClassifier, examples: list[Example]) -> None:
    stranger = family(pooled.family, seed=1, pooling="mean")
    rows = pooled.encode(examples).rows
    other = pooled.with_weights({name: each.detach() for name, each in stranger.model.named_parameters()})
    torch.testing.assert_close(ask(other, rows), ask(stranger, rows), atol=1e-5, rtol=0)
    assert (ask(other, rows) - ask(pooled, rows)).abs().max() > 1e-2
    assert other.fingerprint == stranger.fingerprint


@pytest.mark.parametrize("heads", ["product-of-means", "mean-of-products"])
def test_attention_is_that_of_all_tokens_that_the_head_reads(heads: str, examples: list[Example]) -> None:
    classifier = family("bert", pooling="mean", units="token")
    case = Case.bind(classifier, examples[2:])
    with classifier.evaluating():
        output = classifier.run(case.batch.rows, attentions=True)
        assert output.attentions is not None
        last = output.attentions[-1]  # one text without padding: [1, H, T, T]
        (slopes,) = torch.autograd.grad(output.logits[0, case.targets[0]], last)
    assert (slopes[0].abs().amax((0, 2)) > 0).all()  # every row matters, not only the first
    looks = last[0].detach().mean((0, 1))
    words = slice(1, -1)  # without the special tokens
    found = EXPLAINERS.create("attention").scores(case).values[0]
    torch.testing.assert_close(found, looks[words] / looks[words].sum(), atol=1e-6, rtol=0)
    scaled = EXPLAINERS.create(f"scaled-attention(heads={heads})").scores(case).values[0]
    product = looks * slopes[0].sum(1).mean(0) if heads == "product-of-means" else (last * slopes)[0].sum(1).mean(0)
    torch.testing.assert_close(scaled, product.detach()[words], atol=1e-6, rtol=0)


def test_padding_has_no_say_in_attention(examples: list[Example]) -> None:
    classifier = family("bert", pooling="mean")
    together = EXPLAINERS.create("scaled-attention").scores(Case.bind(classifier, examples)).values
    alone = EXPLAINERS.create("scaled-attention").scores(Case.bind(classifier, examples[1:2])).values
    torch.testing.assert_close(together[1, : alone.shape[1]], alone[0], atol=1e-6, rtol=0)


def test_a_saved_model_remembers(pooled: TextClassifier, examples: list[Example], tmp_path: Path) -> None:
    pooled.save(tmp_path)
    loaded = Classifier.load(tmp_path)
    assert isinstance(loaded, TextClassifier)
    assert loaded.pooling == loaded.describe()["pooling"] == "mean"
    assert loaded.fingerprint == pooled.fingerprint
    rows = pooled.encode(examples).rows
    torch.testing.assert_close(ask(loaded, rows), ask(pooled, rows), atol=1e-6, rtol=0)
    assert json.loads((tmp_path / "veridical.json").read_text())["pooling"] == "mean"
    assert json.loads((tmp_path / "config.json").read_text())["classifier_pooling"] == "mean"
    (tmp_path / "veridical.json").unlink()  # only what Hugging Face knows is left
    assert Classifier.load(tmp_path).describe() == {**loaded.describe(), "max_length": pooled.max_length}
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path, attn_implementation="eager")
    assert Classifier.load(model, tokenizer=pooled.tokenizer).fingerprint == pooled.fingerprint


def test_another_pooling_is_another_model(pooled: TextClassifier, tmp_path: Path) -> None:
    first = family(pooled.family)
    assert first.fingerprint != pooled.fingerprint
    assert "pooling" not in first.describe()
    pooled.save(tmp_path)
    overruled = Classifier.load(tmp_path, pooling="cls")
    assert overruled.fingerprint == first.fingerprint
    overruled.save(tmp_path)
    assert Classifier.load(tmp_path).fingerprint == first.fingerprint


def test_a_new_head_reads_what_the_old_one_read(tmp_path: Path) -> None:
    family("roberta", pooling="mean").save(tmp_path)
    examples = [Example.of("gorgeous"), Example.of("dull")]
    assert start(str(tmp_path), examples, ("a", "b", "c")).pooling == "mean"
    assert start(str(tmp_path), examples, ("a", "b", "c"), pooling="cls").pooling == "cls"


def test_camembert_is_of_the_same_kind(examples: list[Example]) -> None:
    like = family("roberta", pooling="mean")
    config = CamembertConfig(**{**like.model.config.to_dict(), "model_type": "camembert"})
    model = CamembertForSequenceClassification(config).eval()
    model.load_state_dict(like.model.state_dict())
    classifier = wrap(model, like.tokenizer, pooling="mean")
    rows = like.encode(examples).rows
    torch.testing.assert_close(ask(classifier, rows), ask(like, rows), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["longformer", "gpt2"])
def test_a_model_whose_head_cannot_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{name} models cannot read the mean.*one of: albert, bert, "):
        family(name, pooling="mean")
    assert "pooling" not in family(name).describe()


def test_a_pooling_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="pooling cannot be 'max'. It is one of: cls, mean"):
        family("bert", pooling="max")
    with pytest.raises(UsageError, match="unknown setting of image models 'pooling'"):
        wrap(image_classifier()[0].model, pooling="mean")


def mixed_by_hand(classifier: TextClassifier, rows: Rows) -> Tensor:
    """The head of a model on its mixture of the means of all states that the model itself gives."""
    weight = rows.inputs["attention_mask"]
    with torch.no_grad():
        states = classifier.model(**classifier.model_inputs(rows), output_hidden_states=True).hidden_states
        means = torch.stack([(state * weight[..., None]).sum(1) / weight.sum(1, keepdim=True) for state in states])
        mixture = classifier.model.scalar_mix
        mixed = mixture.scale * (mixture.weights.softmax(0)[:, None, None] * means).sum(0)
        return HEADS[classifier.family](classifier.model, mixed)


MIXING = [name for name in HEADS if name not in ("albert", "modernbert")]


@pytest.mark.parametrize("name", MIXING)
def test_the_head_reads_a_mixture_of_all_states_which_begins_as_their_average(
    name: str, examples: list[Example], tmp_path: Path
) -> None:
    classifier = family(name, pooling="mix")
    rows = classifier.encode(examples).rows
    mixture = classifier.model.scalar_mix
    assert mixture.weights.tolist() == [0.0] * (1 + classifier.model.config.num_hidden_layers)
    torch.testing.assert_close(ask(classifier, rows), mixed_by_hand(classifier, rows), atol=1e-6, rtol=0)
    with torch.no_grad():
        mixture.weights.copy_(torch.linspace(-1, 2, len(mixture.weights)))
        mixture.scale.fill_(0.7)
    found = ask(classifier, rows)
    torch.testing.assert_close(found, mixed_by_hand(classifier, rows), atol=1e-6, rtol=0)
    classifier.save(tmp_path)
    again = Classifier.load(tmp_path)
    assert again.describe()["pooling"] == "mix"
    assert again.describe()["fingerprint"] == classifier.describe()["fingerprint"]
    torch.testing.assert_close(ask(again, rows), found, atol=1e-6, rtol=0)


def test_a_mixture_learns_from_a_loss_and_runs_with_other_weights(examples: list[Example]) -> None:
    classifier = family("bert", pooling="mix")
    rows = classifier.encode(examples).rows
    other = torch.linspace(-1, 2, 3).requires_grad_()
    found = classifier.with_weights({"scalar_mix.weights": other}).run(rows).logits
    assert (found.detach() - ask(classifier, rows)).abs().max() > 1e-4
    (gradient,) = torch.autograd.grad(found.square().sum(), other)
    assert gradient.abs().max() > 0


def test_a_mixture_is_refused_where_layers_are_shared_and_missed_where_it_is_gone(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="albert models cannot read a mixture of all hidden states"):
        family("albert", pooling="mix")
    classifier = family("bert", pooling="mix")
    classifier.save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file({name: each for name, each in weights.items() if "scalar" not in name}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="lacks the weights of the mixture"):
        Classifier.load(tmp_path)
