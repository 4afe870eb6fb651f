"""A model as jobs hold it: described once, loaded again elsewhere, and the same one there."""

import pickle

import pytest

from veridical import Classifier, Engine
from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.explainers import EXPLAINERS
from veridical.run.handle import ModelHandle, versions
from veridical.testing import black_box, text_classifier


def test_a_handle_is_made_of_whatever_is_a_model(classifier, trained):
    handle = ModelHandle.of(classifier)
    assert handle.classifier is classifier
    assert ModelHandle.of(handle) is handle
    assert ModelHandle.of(trained).fingerprint == ModelHandle.of(str(trained)).fingerprint == handle.fingerprint
    with pytest.raises(ModelError, match="there is no folder"):
        ModelHandle.of("./nowhere")


def test_what_cannot_be_fingerprinted_is_known_by_its_name():
    model, _ = black_box()
    named = Classifier.load(model.function, labels=model.labels, name="my service")
    assert ModelHandle.of(named).fingerprint == "my service"
    assert ModelHandle.of(model).fingerprint == model.describe()["fingerprint"]


def test_it_is_described_once_and_as_it_was(classifier):
    handle = ModelHandle.of(classifier)
    before = handle.fingerprint
    classifier.model.classifier.bias.data += 1
    assert handle.fingerprint == before
    assert ModelHandle.of(classifier).fingerprint != before


def test_a_model_made_in_python_cannot_be_loaded_again():
    handle = ModelHandle.of(text_classifier()[0])
    for impossible in (handle.again, lambda: pickle.dumps(handle)):
        with pytest.raises(UsageError, match="made in Python and cannot be loaded again. Save it"):
            impossible()


def test_a_pickled_handle_carries_no_weights(trained):
    assert len(pickle.dumps(ModelHandle.of(trained))) < 2000


def test_a_model_that_changed_meanwhile_is_refused(trained, tmp_path):
    Classifier.load(trained).save(tmp_path / "model")
    handle = ModelHandle.of(tmp_path / "model")
    sent = pickle.dumps(handle)
    assert pickle.loads(sent).fingerprint == handle.fingerprint
    other = Classifier.load(trained)
    other.model.classifier.bias.data += 1
    other.save(tmp_path / "model")
    with pytest.raises(ModelError, match=f"holds another model than the job was made for.*not {handle.fingerprint}"):
        pickle.loads(sent)


def test_settings_travel_with_the_model(trained):
    handle = ModelHandle.of(Classifier.load(trained, units="token"))
    assert handle.again().units == pickle.loads(pickle.dumps(handle)).classifier.units == "token"


def test_a_method_that_does_not_fit_is_refused_by_name():
    model, _ = black_box()
    with pytest.raises(UnsupportedError, match="gradient needs gradients, which black-box models do not give"):
        ModelHandle.of(model).require(EXPLAINERS.create("gradient"))
    ModelHandle.of(model).require(EXPLAINERS.create("occlusion"))


def test_a_spec_has_all_that_two_scores_must_share(classifier):
    handle, method = ModelHandle.of(classifier), EXPLAINERS.create("occlusion(output=prob)")
    spec = handle.explanation_spec(method, "gold", Engine(precision="bf16"), "reviews:test[:10]")
    assert (spec["target"], spec["precision"], spec["data"]) == ("gold", "bf16", "reviews:test")
    assert spec["method"]["output"] == "prob"
    assert spec["model"] == handle.description
    assert spec["versions"] == versions()
    assert spec["versions"].keys() == {"veridical", "torch", "transformers"}
