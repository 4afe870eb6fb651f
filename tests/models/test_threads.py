"""One classifier, several threads: whoever changes the model for a while makes the others wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from veridical.core.values import Example
from veridical.masking import Case
from veridical.models.loader import wrap
from veridical.models.text_classifier import TextClassifier
from veridical.run.explain import explain
from veridical.testing import text_classifier

TIMES = 12


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_the_same_time(*jobs: Callable[[], object]) -> list[list[object]]:
    """What each of some jobs gives when they are done many times, each in a thread of its own."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        many = [pool.submit(lambda job=job: [job() for _ in range(TIMES)]) for job in jobs]
        return [each.result() for each in many]


def test_two_methods_explain_different_texts_as_they_do_alone() -> None:
    classifier, examples = text_classifier()
    classifier.model.train()  # so that modes have to be changed, and changed back
    for module in classifier.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5

    def gradients() -> object:
        return [each.scores for each in explain(classifier, examples[:2], "integrated-gradients(steps=6)")]

    def occlusion() -> object:
        return [each.scores for each in explain(classifier, examples[2:], "occlusion")]

    alone = gradients(), occlusion()
    for found, expected in zip(at_the_same_time(gradients, occlusion), alone, strict=True):
        assert all(each == expected for each in found)
    assert classifier.model.training
    assert classifier.model.config._attn_implementation == "eager"


def test_two_classifiers_around_one_model_share_its_lock() -> None:
    words, _ = text_classifier()
    assert isinstance(words, TextClassifier)
    pieces = wrap(words.model, words.tokenizer, units="token")
    assert pieces.lock is words.lock
    assert text_classifier()[0].lock is not words.lock


def test_other_weights_do_not_show_in_another_thread() -> None:
    classifier, examples = text_classifier()
    doubled = classifier.with_weights({name: 2 * each for name, each in classifier.model.named_parameters()})

    def ask(some: TextClassifier, given: list[Example]) -> list[list[float]]:
        output: list[list[float]] = Case.bind(some, given).output.logits.tolist()
        return output

    jobs = [lambda: ask(classifier, examples), lambda: ask(doubled, examples)]
    alone = [job() for job in jobs]
    assert alone[0] != alone[1]
    for found, expected in zip(at_the_same_time(*jobs), alone, strict=True):
        assert all(each == expected for each in found)
