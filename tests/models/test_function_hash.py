"""Functions and estimators are told apart by what they do, and are the same in every process."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from veridical import Classifier, explain_to_file, read
from veridical.models.function_hash import function_hash

TEXTS = ["a good film", "a bad film", "good", "bad day"]


def always(share):
    def answer(texts):
        return [[1 - share, share]] * len(texts)

    return answer


def pipeline(labels):
    return make_pipeline(TfidfVectorizer(stop_words=["a"]), LogisticRegression()).fit(TEXTS, list(labels))


def test_functions_of_one_name_are_told_apart():
    hashes = [function_hash(each) for each in (lambda texts: [0.2] * len(texts), lambda texts: [0.7] * len(texts))]
    assert len({*hashes, *(function_hash(always(share)) for share in (0.2, 0.7))}) == 4
    assert function_hash(always(0.2)) == function_hash(always(0.2))


def test_estimators_are_told_by_what_they_have_learned():
    one, same, other = pipeline("xyxy"), pipeline("xyxy"), pipeline("yxxy")
    assert function_hash(one.predict_proba) == function_hash(same.predict_proba)
    assert function_hash(one.predict_proba) != function_hash(other.predict_proba)
    assert Classifier.load(one).name == "Pipeline"


def test_what_a_client_holds_does_not_matter():
    """A lock, a session or a counter differs from run to run, and a job has to go on."""

    def client(held):
        return lambda texts: [held.answer] * len(texts)

    one, other = (client(SimpleNamespace(answer=each, lock=threading.Lock())) for each in (0.1, 0.2))
    assert function_hash(one) == function_hash(other)
    assert function_hash(len) is None


def test_a_counter_does_not_matter():
    def counting():
        asked = 0

        def answer(texts):
            nonlocal asked
            asked += len(texts)
            return [0.5] * len(texts)

        return answer

    used = counting()
    used(["a"])
    assert function_hash(used) == function_hash(counting())


PROGRAM = """
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from veridical.models.function_hash import function_hash
fitted = make_pipeline(TfidfVectorizer(stop_words=["a"]), MultinomialNB()).fit(["a film", "bad day"], ["x", "y"])
print(function_hash(fitted.predict_proba))
print(function_hash(lambda texts: [0.5 if text in {"a", "b", "c", "d", "e"} else 0.1 for text in texts]))
"""


def test_the_hash_is_the_same_in_every_process():
    command = [sys.executable, "-c", PROGRAM]
    found = {
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in "123"
    }
    assert len(found) == 1


@pytest.mark.parametrize("named", [False, True])
def test_a_file_does_not_keep_the_scores_of_another_function(named, tmp_path):
    path, name = tmp_path / "why.jsonl", {"name": "mine"} if named else {}
    for share in (0.2, 0.7):
        done = explain_to_file(Classifier.load(always(share), labels=["n", "y"], **name), TEXTS, "occlusion", path)
    assert done.resumed == (len(TEXTS) if named else 0)  # who names both alike says that they are one
    assert {float(np.round(each.probabilities["y"], 3)) for each in read(path)} == ({0.2} if named else {0.2, 0.7})
