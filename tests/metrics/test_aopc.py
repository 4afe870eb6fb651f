"""AOPC: the fall of the probability without the first words."""

import pytest
import torch

from veridical import Classifier, Example
from veridical.masking import Case
from veridical.metrics import AOPC, METRICS, measure


def test_the_mean_of_two_documents(case_of):
    says = {"ab": 0.9, "b": 0.4, "cd": 0.8, "d": 0.85}
    case = case_of("abcd", lambda seen: says.get("".join(sorted(seen)), 0.5), ["ab", "cd"])
    found = measure(AOPC(words=1), case, torch.tensor([[2.0, 1.0], [2.0, 1.0]]))
    assert found.values.tolist() == pytest.approx([0.5, -0.05], abs=1e-6)
    assert 100 * found.values.mean().item() == pytest.approx(22.5, abs=1e-4)
    assert found.curve is None


def test_a_text_with_no_more_words_is_emptied(case_of):
    case = case_of("abc", lambda seen: 0.9 if seen else 0.2)
    assert measure(AOPC(words=10), case, torch.zeros(1, 3)).values.item() == pytest.approx(0.7, abs=1e-6)


def test_cumulative_counts_the_whole_text_as_a_step(case_of):
    case = case_of("abc", lambda seen: [0.1, 0.3, 0.6, 0.9][len(seen)])
    found = measure(AOPC(words=2, cumulative=True), case, torch.zeros(1, 3))
    assert found.curve[0].tolist() == pytest.approx([0.3, 0.6], abs=1e-6)
    assert found.steps == (1.0, 2.0)
    assert found.values.item() == pytest.approx(0.9 / 3, abs=1e-6)


def test_a_constant_model_does_not_fall(case_of):
    case = case_of("abc", lambda seen: 0.7)
    for metric in (AOPC(), AOPC(cumulative=True)):
        assert measure(metric, case, torch.rand(1, 3)).values.item() == 0


def test_the_number_of_a_regression_falls_like_a_probability():
    worth = {"good": 2.0, "film": 0.5, "dull": -1.0}
    model = Classifier.load(lambda texts: [sum(worth.get(word, 0.0) for word in text.split()) for text in texts])
    case = Case.bind(model, [Example.of("good dull film")])
    scores = torch.tensor([[2.0, -1.0, 0.5]])
    assert measure(AOPC(words=1), case, scores).values.item() == pytest.approx(2.0)
    found = measure(AOPC(words=3, cumulative=True), case, scores)
    assert found.curve[0].tolist() == pytest.approx([2.0, 2.5, 1.5])
    assert found.values.item() == pytest.approx(6.0 / 4)
    assert measure(AOPC(words=1), case, -scores).values.item() == pytest.approx(-1.0)


def test_presets():
    assert METRICS.create("aopc(preset=scc)") == AOPC(words=10)
    assert METRICS.create("aopc(preset=scc-5)") == AOPC(words=5)
