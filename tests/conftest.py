"""What several tests share: one small model that has really been trained."""

import os

import pytest
import torch

# Tests run in parallel; more threads each would only get in each other's way.
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a tiny classifier that has learnt to find planted keywords."""
    from veridical.run.train import train
    from veridical.training import Schedule

    folder = tmp_path_factory.mktemp("trained") / "model"
    done = train("planted(train=400, length=8)", folder, model="tiny", schedule=Schedule(epochs=4, checks=1))
    assert done.test["accuracy"] > 0.95
    return folder


@pytest.fixture
def classifier(trained):
    from veridical import Classifier

    return Classifier.load(trained)


@pytest.fixture
def moods():
    """A classifier of any number of labels, each of which depends on one word of its own."""
    from veridical import Classifier

    words = {"anger": "furious", "joy": "happy", "news": "today"}

    def probabilities(texts):
        return [[0.9 if word in text.split() else 0.2 for word in words.values()] for text in texts]

    return Classifier.load(probabilities, labels=list(words), multi_label=True, name="moods")
