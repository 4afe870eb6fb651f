"""Sufficiency and comprehensiveness: worked out by hand, and against other tools' definitions written down anew."""

import math

import pytest
import torch

from veridical.masking import Case
from veridical.metrics import METRICS, Comprehensiveness, Sufficiency, measure
from veridical.testing import text_classifier

FIRST = torch.tensor([[4.0, 3.0, 2.0, 1.0]])


def hand(seen):
    """The whole text 0.9, none of it 0.3, the first word 0.6, all but the first 0.5; the first two 0.1 and 0.2."""
    known = {"": 0.3, "abcd": 0.9, "a": 0.6, "bcd": 0.5, "ab": 0.1, "cd": 0.2}
    return known.get("".join(sorted(seen)), 0.45)


def value(metric, case, scores=FIRST):
    return measure(metric, case, scores).values.item()


@pytest.mark.parametrize(
    ("ratio", "sufficiency", "comprehensiveness"),
    [
        (0.25, 0.5, 2 / 3),
        (0.5, 0.0, 1.0),  # both beyond what there is to lose
        (1.0, 1.0, 1.0),  # the whole text, and nothing
    ],
)
def test_a_bin(case_of, ratio, sufficiency, comprehensiveness):
    case = case_of("abcd", hand)
    assert value(Sufficiency(ratios=(ratio,), guard=0.0), case) == pytest.approx(sufficiency, abs=1e-6)
    assert value(Comprehensiveness(ratios=(ratio,), guard=0.0), case) == pytest.approx(comprehensiveness, abs=1e-6)


def test_no_rationale_at_all(case_of):
    case = case_of("abcd", hand)
    for metric in (Sufficiency(positive=True), Comprehensiveness(positive=True)):
        assert value(metric, case, -FIRST) == 0


def test_the_guard_is_taken_from_the_empty_text_each_time_anew(case_of):
    case = case_of("abcd", hand)
    metric = Sufficiency(ratios=(0.25,), guard=1e-4)
    expected = (0.7 - (0.4 - 1e-4)) / (1 - (0.4 - 1e-4))
    assert [value(metric, case) for _ in range(3)] == pytest.approx([expected] * 3, abs=1e-6)
    comprehensive = Comprehensiveness(ratios=(0.25,), guard=1e-4)
    assert value(comprehensive, case) == pytest.approx(0.4 / 0.6001, abs=1e-6)


def test_the_mean_over_bins_and_the_curve(case_of):
    found = measure(Comprehensiveness(ratios=(0.25, 0.5), guard=0.0), case_of("abcd", hand), FIRST)
    assert found.curve[0].tolist() == pytest.approx([2 / 3, 1.0], abs=1e-6)
    assert found.steps == (0.25, 0.5)
    assert found.values.item() == pytest.approx(5 / 6, abs=1e-6)
    assert found.details["empty"].item() == pytest.approx(0.3, abs=1e-6)
    divided = measure(Comprehensiveness(ratios=(0.25, 0.5), guard=0.0, divide="bins+1"), case_of("abcd", hand), FIRST)
    assert divided.values.item() == pytest.approx(5 / 9, abs=1e-6)


def test_a_constant_model_has_nothing_to_lose(case_of):
    case = case_of("abcd", lambda seen: 0.8)
    assert value(Comprehensiveness(), case) == 0
    assert value(Sufficiency(), case) == 1
    for metric in (Comprehensiveness(guard=0.0), Sufficiency(guard=0.0)):
        assert math.isnan(value(metric, case))
    for metric in (Comprehensiveness(form="difference"), Sufficiency(form="difference")):
        assert value(metric, case) == 0


def test_directions():
    assert Comprehensiveness().greater_is_better
    assert Comprehensiveness(form="difference").greater_is_better
    assert Sufficiency().greater_is_better
    assert not Sufficiency(form="difference").greater_is_better


def draws(words, seed, least=-1.0):
    generator = torch.Generator().manual_seed(seed)
    return least + (1 - least) * torch.rand(1, len(words), generator=generator)


def ranked(words, scores):
    return [word for _, word in sorted(zip((-scores[0]).tolist(), words, strict=True))]


def eraser_tool(words, scores, says):
    """ERASER: the mean over bins of the loss without the first words, and with them only."""
    order, text = ranked(words, scores), frozenset(words)
    sizes = [max(1, math.ceil(round(share * len(words), 9))) for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
    comprehensiveness = [says(text) - says(text - set(order[:size])) for size in sizes]
    sufficiency = [says(text) - says(frozenset(order[:size])) for size in sizes]
    return sum(comprehensiveness) / 5, sum(sufficiency) / 5


def ferret_tool(words, scores, says):
    """ferret: tenths rounded down, positive words only, the same words never twice; 0 and 1 without any."""
    order, text = ranked(words, scores), frozenset(words)
    score = dict(zip(words, scores[0].tolist(), strict=True))
    used = []
    for tenth in range(1, 11):
        some = {word for word in order[: tenth * len(words) // 10] if score[word] > 0}
        if some and (not used or some != used[-1]):
            used.append(some)
    if not used:
        return 0.0, 1.0
    comprehensiveness = [says(text) - says(text - some) for some in used]
    sufficiency = [says(text) - says(frozenset(some)) for some in used]
    return sum(comprehensiveness) / len(used), sum(sufficiency) / len(used)


def regex_tool(words, scores, says):
    """REGEX: the same bins as ERASER, normalised by the empty rationale."""
    order, text = ranked(words, scores), frozenset(words)
    empty = 1 - max(0, says(text) - says(frozenset())) - 1e-4
    sufficiency, comprehensiveness = [], []
    for share in (0.01, 0.05, 0.1, 0.2, 0.5):
        some = frozenset(order[: max(1, math.ceil(round(share * len(words), 9)))])
        alone = 1 - max(0, says(text) - says(some))
        sufficiency.append(min(1, max(0, (alone - empty) / (1 - empty))))
        comprehensiveness.append(min(1, max(0, says(text) - says(text - some)) / (1 - empty)))
    return sum(comprehensiveness) / 5, sum(sufficiency) / 5


TOOLS = {"eraser": eraser_tool, "ferret": ferret_tool, "regex": regex_tool}


@pytest.mark.parametrize("words", ["ab", "abcde", "abcdefghijk"])
@pytest.mark.parametrize("preset", TOOLS)
def test_presets_are_the_definitions_of_others(preset, words, case_of, any_model):
    for seed in range(12):
        says, scores = any_model(words, seed), draws(words, seed)
        case = case_of(words, says)
        comprehensiveness, sufficiency = TOOLS[preset](words, scores, says)
        ours = [METRICS.create(f"{name}(preset={preset})") for name in ("comprehensiveness", "sufficiency")]
        assert [value(metric, case, scores) for metric in ours] == pytest.approx(
            [comprehensiveness, sufficiency], abs=1e-5
        )


def test_ferret_without_positive_words(case_of, any_model):
    case = case_of("abcde", any_model("abcde", 0))
    scores = draws("abcde", 0) - 2
    assert value(METRICS.create("comprehensiveness(preset=ferret)"), case, scores) == 0
    assert value(METRICS.create("sufficiency(preset=ferret)"), case, scores) == 1


def test_ferret_leaves_out_bins_of_no_words_and_of_the_same_words(case_of, any_model):
    case = case_of("abcde", any_model("abcde", 1))
    found = measure(
        METRICS.create("comprehensiveness(preset=ferret)"), case, torch.tensor([[3.0, 2.0, 1.0, -1.0, -2.0]])
    )
    # Tenths of five words: 0 1 1 2 2 3 3 4 4 5, of which three at most are positive.
    assert (~found.curve[0].isnan()).tolist() == [False, True, False, True, False, True, False, False, False, False]


def test_a_blank_text_is_asked_for_where_special_tokens_are_wiped():
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)
    scores = torch.rand(case.live.shape, generator=torch.Generator().manual_seed(0))
    found = measure(METRICS.create("sufficiency(preset=regex-ood)"), case, scores)
    blank = case.with_eraser("pad").blank()
    assert found.details["empty"][0].item() == pytest.approx(blank[0].item(), abs=1e-6)
    assert len(found.steps) == 4


def test_bins_share_one_batch(case_of, any_model):
    batches = []
    case = case_of("abcde", any_model("abcde", 0), ["abcde", "abc", "de"], tokens=10**6, watch=batches.append)
    before = len(batches)
    measure(Comprehensiveness(), case, torch.rand(3, 5, generator=torch.Generator().manual_seed(0)))
    assert len(batches) == before + 1
