"""`veridical check` as a user and a script meet it."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification

from veridical.explainers import EXPLAINERS
from veridical.testing import image_classifier, text_classifier

LEARNED = {name for name, cls in EXPLAINERS.items() if getattr(cls, "learned_by", "")}
"""Methods that come with a model, if at all."""


def test_a_good_model(veridical, trained):
    done = veridical("check", trained)
    assert done.returncode == 0, done.stderr
    assert "checked with 8 texts from planted(train=400, length=8):test" in done.stdout
    assert "batch invariance" in done.stdout
    assert "no problems" in done.stdout
    for name in EXPLAINERS.keys() - LEARNED:
        assert f"  {name} " in done.stdout
    assert "adds up, error" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines()[1:])


def test_json_and_data_of_the_users_own(veridical, trained, tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\na good day,positive\nan awful day,negative\n")
    done = veridical("check", trained, "--data", "mine.csv", "--units", "token", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["data"], found["examples"]) == ("mine.csv:all", 2)
    assert {each["name"] for each in found["checks"]} > {"batch invariance", "eraser and ranking"}
    assert EXPLAINERS.keys() - LEARNED <= {each["name"] for each in found["methods"]}
    assert all(each["verdict"] in ("ok", "warning", "not possible") for each in found["checks"] + found["methods"])


def test_images(veridical, tmp_path):
    classifier, _ = image_classifier()
    classifier.save(tmp_path)
    done = veridical("check", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "checked with 8 images from random noise" in done.stdout
    assert "nothing is padded" in done.stdout
    assert "not with this model: needs examples to compare with" in " ".join(done.stdout.split())


class LeakyConfig(BertConfig):
    model_type = "leaky-bert"


class Leaky(BertForSequenceClassification):
    """What a batch holds leaks into the answer."""

    config_class = LeakyConfig

    def forward(self, input_ids=None, **others):
        output = super().forward(input_ids=input_ids, **others)
        output.logits = output.logits + 0.1 * input_ids.shape[1] * torch.tensor([1.0, -1.0])
        return output


@pytest.fixture
def leaky(tmp_path):
    """The folder of a model whose answer depends on padding."""
    AutoConfig.register("leaky-bert", LeakyConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(LeakyConfig, Leaky, exist_ok=True)
    good, _ = text_classifier()
    config = {key: value for key, value in good.model.config.to_dict().items() if key != "model_type"}
    Leaky(LeakyConfig(**config)).save_pretrained(tmp_path)
    good.tokenizer.save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["words", "json"])
def test_a_broken_model_ends_with_its_own_code(veridical, leaky, options):
    done = veridical("check", leaky, "--data", "planted(length=6):test[:3]", *options)
    assert done.returncode == 6, done.stderr
    if options:
        verdicts = {each["name"]: each["verdict"] for each in json.loads(done.stdout)["checks"]}
        assert verdicts["padding invariance"] == verdicts["batch invariance"] == "problem"
    else:
        assert "2 problems: batch invariance, padding invariance" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere/model"], 6, "nowhere/model"),
        (["{run}", "--data", "nothing"], 2, "unknown data set 'nothing'"),
        (["{run}", "--data", "digits[:3]"], 3, "there is no text"),
        (["{run}", "--units", "letter"], 2, "--units cannot be 'letter'"),
    ],
)
def test_mistakes(veridical, trained, arguments, code, words):
    done = veridical("check", *[part.format(run=trained) for part in arguments])
    assert done.returncode == code, done.stderr
    assert words in " ".join(done.stderr.split())
