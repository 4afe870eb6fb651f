import math

import numpy as np
import pytest

from veridical.audits.statistics.summary import attack_statistics


def measured(successes, failures, skipped, unknown=0):
    """What the metric gives for so many documents."""
    total = successes + failures + skipped + unknown
    values = np.full(total, np.nan)
    values[: successes + failures] = [1.0] * successes + [0.0] * failures
    right = np.array([1.0] * (successes + failures) + [0.0] * skipped + [np.nan] * unknown)
    perturbed = np.where(values == 1, 0.1, np.nan)
    queries = np.where(np.isnan(values), np.nan, 5.0)
    words = np.where(np.isnan(right), 1000.0, 20.0)
    return values, {"right": right, "perturbed": perturbed, "queries": queries, "words": words}


@pytest.mark.parametrize(
    ("skipped", "successes", "printed"), [(28, 12, (93.0, 90.0, 3.23)), (16, 45, (96.0, 84.75, 11.72))]
)
def test_published_counts_give_the_published_percentages(skipped, successes, printed):
    found = attack_statistics(*measured(successes, 400 - skipped - successes, skipped))
    shares = found.original_accuracy, found.accuracy_under_attack, found.success_rate
    assert tuple(round(100 * share, 2) for share in shares) == printed
    assert (found.successes, found.failures, found.skipped) == (successes, 400 - skipped - successes, skipped)


def test_each_mean_is_over_its_own_documents():
    values = np.array([1.0, 1.0, 0.0, np.nan])
    details = {
        "right": np.array([1.0, 1.0, 1.0, 0.0]),
        "perturbed": np.array([0.1, 0.3, np.nan, np.nan]),
        "queries": np.array([2.0, 4.0, 9.0, np.nan]),
        "words": np.array([10.0, 20.0, 30.0, 40.0]),
    }
    found = attack_statistics(values, details)
    assert found.perturbed == pytest.approx(0.2)
    assert found.queries == 5
    assert found.words == 25


def test_documents_without_a_label_do_not_count():
    assert attack_statistics(*measured(1, 2, 1, unknown=5)) == attack_statistics(*measured(1, 2, 1))


def test_a_share_of_nothing_is_undefined():
    found = attack_statistics(*measured(0, 0, 2))
    assert (found.skipped, found.original_accuracy, found.accuracy_under_attack) == (2, 0, 0)
    assert math.isnan(found.success_rate)
    assert math.isnan(found.perturbed)
    assert math.isnan(found.queries)
    assert math.isnan(attack_statistics(*measured(0, 0, 0)).original_accuracy)
