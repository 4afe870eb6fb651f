"""Accuracy: is the model's decision the gold label?"""

import math

import pytest
import torch

from veridical.audits.job import audit
from veridical.audits.record import MODEL
from veridical.core.errors import InputError
from veridical.core.values import Example
from veridical.masking import Case
from veridical.metrics import Accuracy, measure
from veridical.models import Classifier


def decides(texts):
    return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]


MODEL_OF_WORDS = Classifier.load(decides, labels=["no", "yes"])
EXAMPLES = [
    Example("right", {"text": "a good film"}, "yes"),
    Example("wrong", {"text": "a film"}, "yes"),
    Example("unknown", {"text": "a film"}),
    Example("one word", {"text": "film"}, "no"),
]


def test_right_wrong_and_unknown():
    case = Case.bind(MODEL_OF_WORDS, EXAMPLES)
    found = measure(Accuracy(), case, torch.zeros(case.live.shape)).values.tolist()
    assert found[:2] == [1, 0]
    assert math.isnan(found[2])
    assert found[3] == 1  # it does not judge an order of words, so one word is enough


def test_in_an_audit_it_is_the_models(tmp_path):
    found = audit(MODEL_OF_WORDS, EXAMPLES, "occlusion", "accuracy, comprehensiveness", out=tmp_path)
    assert found.values("accuracy", MODEL)[[0, 1, 3]].tolist() == [1, 0, 1]
    assert not found.has("accuracy", "occlusion")


def test_a_label_that_the_model_does_not_have_is_named():
    case = Case.bind(MODEL_OF_WORDS, [Example("x", {"text": "a film"}, "maybe")])
    with pytest.raises(InputError, match="example x.*'maybe' is not a label"):
        measure(Accuracy(), case, torch.zeros(case.live.shape))
