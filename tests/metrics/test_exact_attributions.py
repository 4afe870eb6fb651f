"""Methods that give the same scores are judged the same: five of them are exact on a model that adds words up."""

import pytest
import torch

from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.metrics import METRICS, CorpusMetric, measure
from veridical.testing import Formula

WEIGHTS = {"fine": 1.7, "good": 0.9, "great": 2.6, "nice": 0.4, "sound": 1.2, "well": 0.15}
METHODS = [
    "input-x-gradient",
    "integrated-gradients",
    "occlusion(output=logit)",
    "kernel-shap(output=logit)",
    "lime(output=logit, ridge=0)",
]


@pytest.fixture(scope="module")
def case():
    texts = ["fine good great nice sound well", "nice well great", "good sound fine nice", "well good"]
    examples = [Example(str(at), {"text": text}) for at, text in enumerate(texts)]
    return Case.bind(Formula.linear(WEIGHTS, bias=-0.5), examples, target="yes")


@pytest.fixture(scope="module")
def exact(case):
    """The weights of the words."""
    scores = torch.zeros(case.live.shape)
    for at, units in enumerate(case.batch.units):
        scores[at, : len(units)] = torch.tensor([WEIGHTS[unit.text] for unit in units])
    return scores


@pytest.mark.parametrize("method", METHODS)
def test_the_scores_are_the_weights(method, case, exact):
    torch.testing.assert_close(EXPLAINERS.create(method).scores(case).values, exact, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", list(METRICS))
def test_all_metrics_judge_them_alike(name, case, exact):
    metric = METRICS.create(name)
    if isinstance(metric, CorpusMetric) or metric.needs - {"classes"} or name == "reference-likeness":
        pytest.skip("judges by something else than scores and model")
    expected = measure(metric, case, exact)
    assert not expected.values.isnan().all()
    for method in METHODS:
        found = measure(metric, case, EXPLAINERS.create(method).scores(case).values)
        assert torch.equal(found.values.nan_to_num(9), expected.values.nan_to_num(9)), method
