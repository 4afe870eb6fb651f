from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForSequenceClassification, CanineTokenizer, pipeline

from veridical.core.errors import ModelError, StorageError, UsageError, VeridicalError
from veridical.core.values import Example, Image
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.models.architecture import quietly
from veridical.models.image_classifier import ImageClassifier
from veridical.models.new import start
from veridical.models.text_classifier import TextClassifier
from veridical.testing.families import family

Make = Callable[..., TextClassifier]
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path, make: Make) -> Path:
    make("bert").save(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.mark.parametrize(
    ("labels", "settings"),
    [
        (("neg", "pos"), {}),
        (("a", "b", "c"), {"units": "token", "long": "window", "max_length": 60}),
        ((), {"hold": "text_pair"}),
    ],
)
def test_a_saved_classifier_comes_back(
    tmp_path: Path,
    any_name: str,
    labels: tuple[str, ...],
    settings: dict[str, object],
    examples: list[Example],
    pairs: list[Example],
) -> None:
    classifier = family(any_name, labels, **settings)
    classifier.save(tmp_path / "saved")
    loaded = Classifier.load(tmp_path / "saved")
    assert isinstance(loaded, TextClassifier)
    assert loaded.labels == labels
    assert loaded.settings() == classifier.settings()
    assert loaded.fingerprint == classifier.fingerprint
    assert loaded.provides == classifier.provides
    for some in (examples, pairs):
        mine, theirs = classifier.encode(some), loaded.encode(some)
        assert theirs.units == mine.units
        assert torch.equal(theirs.rows.inputs["input_ids"], mine.rows.inputs["input_ids"])
        with torch.no_grad(), loaded.evaluating():
            found, expected = loaded.run(theirs.rows).logits, classifier.run(mine.rows).logits
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)  # memory is laid out otherwise
    assert sorted(path.name for path in (tmp_path / "saved").glob("*.bin")) == []


def test_a_saved_image_classifier_comes_back(tmp_path: Path) -> None:
    pictures = [Example.of(Image(np.random.default_rng(0).integers(0, 256, (8, 8, 3))))]
    classifier = start("tiny", pictures, ("a", "b"), mean=(0.1, 0.2, 0.3), std=0.25)
    classifier.save(tmp_path)
    loaded = Classifier.load(tmp_path)
    assert isinstance(loaded, ImageClassifier)
    assert loaded.labels == ("a", "b")
    with torch.no_grad(), loaded.evaluating(), classifier.evaluating():
        mine, theirs = (model.run(model.encode(pictures).rows).logits for model in (classifier, loaded))
    torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("processor", "mean", "std"),
    [
        ({"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}, [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]),
        ({"do_normalize": False}, 0.0, 1.0),
        (None, 0.5, 0.5),
    ],
)
def test_images_are_normalised_as_their_model_was_trained(
    tmp_path: Path, processor: dict[str, object] | None, mean: object, std: object
) -> None:
    picture = Example.of(Image(np.zeros((8, 8, 3))))
    start("tiny", [picture], ("a", "b")).model.save_pretrained(tmp_path)
    if processor is not None:
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    loaded = Classifier.load(tmp_path)
    assert isinstance(loaded, ImageClassifier)
    assert (loaded.mean, loaded.std) == (mean, std)


def test_settings_given_at_loading_win(folder: Path) -> None:
    loaded = Classifier.load(folder, units="token")
    assert isinstance(loaded, TextClassifier)
    assert loaded.units == "token"


def test_a_model_object_with_its_tokenizer(make: Make, examples: list[Example]) -> None:
    made = make("roberta")
    classifier = Classifier.load(made.model, tokenizer=made.tokenizer)
    rows = made.encode(examples).rows
    assert torch.equal(classifier.run(rows).logits, made.run(rows).logits)
    assert Classifier.load(classifier) is classifier


def test_a_model_object_that_was_loaded_knows_its_tokenizer(folder: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    classifier = Classifier.load(model)
    assert isinstance(classifier, TextClassifier)
    assert classifier.model.config._attn_implementation == "eager"
    assert classifier.tokenizer.mask_token == "[MASK]"


def test_a_pipeline_brings_its_model_and_tokenizer(folder: Path, examples: list[Example]) -> None:
    with quietly():
        made = pipeline("text-classification", model=str(folder))
    loaded, wanted = Classifier.load(made), Classifier.load(folder)
    assert loaded.labels == wanted.labels
    assert Engine().predict(loaded, examples).equal(Engine().predict(wanted, examples))


def test_a_model_object_without_its_tokenizer_is_refused(make: Make) -> None:
    for settings in ({}, {"tokenizer": None}):
        with pytest.raises(UsageError, match="needs its tokenizer.*tokenizer="):
            Classifier.load(make("bert").model, **settings)


def test_a_slow_tokenizer_is_refused(make: Make) -> None:
    with pytest.raises(ModelError, match="CanineTokenizer is a slow tokenizer"):
        Classifier.load(make("bert").model, tokenizer=CanineTokenizer())


def test_a_model_that_says_so_gives_several_labels_at_once(tmp_path: Path) -> None:
    made = family("bert")
    made.model.config.problem_type = "multi_label_classification"
    made.save(tmp_path)
    loaded = Classifier.load(tmp_path)
    assert loaded.is_multi_label
    assert loaded.labels == made.labels
    assert not made.is_multi_label  # it was made before anybody said so


def test_pickled_weights_are_refused(folder: Path) -> None:
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    with pytest.raises(ModelError, match="cannot load .*model.safetensors"):
        Classifier.load(folder)


def test_truncated_weights_are_refused(folder: Path) -> None:
    whole = (folder / WEIGHTS).read_bytes()
    for size in (0, 4, len(whole) // 2, len(whole) - 1):
        (folder / WEIGHTS).write_bytes(whole[:size])
        with pytest.raises(ModelError, match=f"cannot load {folder}"):
            Classifier.load(folder)


def test_weights_of_another_architecture_are_refused(folder: Path, tmp_path: Path, make: Make) -> None:
    make("gpt2").save(tmp_path / "other")
    (folder / WEIGHTS).write_bytes((tmp_path / "other" / WEIGHTS).read_bytes())
    with pytest.raises(ModelError, match=r"\d+ weights of BertForSequenceClassification are missing"):
        Classifier.load(folder)
    with pytest.raises(ModelError, match=r"\d+ weights of BertForSequenceClassification are missing"):
        start(str(folder), [Example.of("a")], ("x", "y"))


def test_weights_of_another_size_are_refused(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    name = "bert.encoder.layer.0.output.dense.weight"
    save_file({**weights, name: weights[name][:, :-1].contiguous()}, folder / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(ModelError):
        Classifier.load(folder)
    with pytest.raises(ModelError, match=name):
        start(str(folder), [Example.of("a")], ("x", "y"))


def test_an_encoder_is_no_classifier_but_a_start(tmp_path: Path, make: Make, examples: list[Example]) -> None:
    made = make("bert")
    made.model.base_model.save_pretrained(tmp_path)
    made.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="not trained as a classifier.*veridical train"):
        Classifier.load(tmp_path)
    started = start(str(tmp_path), examples, ("a", "b", "c"))
    assert started.labels == ("a", "b", "c")
    for name, value in AutoModel.from_pretrained(tmp_path).state_dict().items():
        assert torch.equal(started.model.base_model.state_dict()[name], value)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no model: there is no config.json"):
        Classifier.load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match=f"cannot load {tmp_path}"):
        Classifier.load(tmp_path)


def test_a_folder_without_a_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(VeridicalError, match="tokenizer"):
        Classifier.load(folder)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{", "veridical.json is damaged"),
        (b"\xff\xfe", "veridical.json is damaged"),
        (b"[1]", "veridical.json is damaged: it holds no settings"),
        (b'{"units": "sentence"}', "veridical.json: units cannot be 'sentence'"),
        (b'{"max_length": 1000}', "veridical.json: max_length cannot be 1000"),
        (b'{"max_length": "long"}', "veridical.json: max_length cannot be 'long'"),
        (b'{"colour": 1}', "veridical.json: unknown setting of text models 'colour'"),
    ],
)
def test_damaged_settings_are_named(folder: Path, content: bytes, complaint: str) -> None:
    (folder / "veridical.json").write_bytes(content)
    with pytest.raises(ModelError, match=complaint):
        Classifier.load(folder)


@pytest.mark.parametrize("source", ["/no/such/folder", "./nowhere", "a/b/c", "~/nowhere", ""])
def test_a_missing_folder_is_no_hub_id(source: str) -> None:
    with pytest.raises(ModelError, match="no folder|holds no model"):
        Classifier.load(source)


def test_an_unreachable_hub_fails_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("veridical.data.hub.getproxies", dict)
    began = time.perf_counter()
    with pytest.raises(ModelError, match="cannot load some/model: there is no such folder, and of the hub:"):
        Classifier.load("some/model")
    assert time.perf_counter() - began < 5


def test_the_fingerprint_is_of_the_weights(folder: Path, make: Make) -> None:
    classifier = family("bert")
    before = classifier.fingerprint
    assert before == family("bert").fingerprint == Classifier.load(folder).describe()["fingerprint"]
    classifier.model.train()
    classifier.model.requires_grad_(False)
    classifier.units = "token"
    classifier.run(classifier.encode([Example.of("a")]).rows)
    assert classifier.fingerprint == before
    assert family("bert", seed=1).fingerprint != before
    with torch.no_grad():
        next(classifier.model.parameters())[0, 0] += 1e-6
    assert classifier.fingerprint != before


def test_the_fingerprint_of_other_kinds_of_numbers() -> None:
    classifier = family("bert")
    before = classifier.fingerprint
    classifier.model.register_buffer("steps", torch.tensor(3))  # no dimensions
    counted = classifier.fingerprint
    classifier.model.bfloat16()
    assert len({before, counted, classifier.fingerprint}) == 3


def test_descriptions_hold_no_local_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absolute = Classifier.load(folder).describe()
    assert absolute["name"] == "saved"
    assert str(folder.parent) not in json.dumps(absolute)
    monkeypatch.chdir(folder.parent)
    assert Classifier.load("saved").describe() == absolute
    monkeypatch.chdir(folder)
    assert Classifier.load(".").describe() == absolute
    classifier = family("bert")
    classifier.model.config.name_or_path = "org/model"
    assert classifier.describe()["name"] == "org/model"


def test_a_model_that_cannot_be_saved(tmp_path: Path, make: Make) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StorageError, match="cannot save the model in .*taken"):
        make("bert").save(tmp_path / "taken")


def test_class_names_that_occur_twice_are_refused(folder: Path) -> None:
    _name_classes(folder, {"0": "same", "1": "same"})
    with pytest.raises(ModelError, match="two classes of the model are called 'same': 0 and 1.*id2label"):
        Classifier.load(folder)


def test_classes_without_a_name_are_refused(folder: Path) -> None:
    _name_classes(folder, {"0": "neg", "2": "pos"})
    with pytest.raises(ModelError, match="2 classes, and no name for class 1.*id2label"):
        Classifier.load(folder)


def _name_classes(folder: Path, names: dict[str, str]) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "id2label": names, "label2id": {}}))
