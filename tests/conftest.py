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


class Service:
    """A function that answers so many calls, and none after that until it is started again."""

    def __init__(self):
        self.error, self.calls_left, self.asked = ConnectionError("no answer"), 10**9, 0

    def __call__(self, texts):
        self.asked += 1
        if self.calls_left <= 0:
            raise self.error
        self.calls_left -= 1
        likely = [0.1 + 0.8 * (sum(map(ord, text)) % 89) / 89 for text in texts]  # any text has its own answer
        return [[each, 1 - each] for each in likely]

    def classifier(self):
        from veridical import Classifier

        return Classifier.load(self, labels=["no", "yes"], name="service")


@pytest.fixture
def service():
    return Service()
