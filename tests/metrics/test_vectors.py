import numpy as np
import pytest
import torch

from veridical.core.example import Example
from veridical.metrics.vectors import Encoder, load_encoder
from veridical.testing import pair_classifier, text_classifier


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier])
def test_a_vector_is_the_sum_over_the_tokens(sample):
    classifier, examples = sample()
    found = Encoder(classifier).vectors(examples)
    for example, vector in zip(examples, found, strict=True):
        with torch.no_grad(), classifier.evaluating():
            hidden = classifier.run(classifier.encode([example]).rows, hidden=True).hidden
        np.testing.assert_allclose(vector, hidden[-1][0].sum(0), atol=1e-5)


def test_windows_of_a_long_text_are_added():
    classifier, examples = text_classifier(max_length=8, long="window")
    assert len(classifier.encode(examples).rows) > len(examples)
    assert Encoder(classifier).vectors(examples).shape[0] == len(examples)


def test_texts_are_read_once():
    classifier, examples = text_classifier()
    encoder = Encoder(classifier)
    first = encoder.vectors(examples)
    kept = dict(encoder.known)
    again = encoder.vectors([Example.of(examples[1].inputs["text"], "other id"), *examples])
    assert np.array_equal(again[1:], first)
    assert np.array_equal(again[0], first[1])
    assert all(encoder.known[key] is vector for key, vector in kept.items())


def test_any_folder_is_an_encoder(tmp_path):
    classifier, examples = text_classifier()
    classifier.save(tmp_path)
    loaded = load_encoder(str(tmp_path))
    assert load_encoder(str(tmp_path)) is loaded
    np.testing.assert_allclose(loaded.vectors(examples), Encoder(classifier).vectors(examples), atol=1e-5)
