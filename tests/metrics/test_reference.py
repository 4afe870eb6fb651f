"""Likeness to a reference: closed forms, and what is refused."""

import pytest
import torch

from veridical import audit, explain_to_file
from veridical.core.errors import InputError, UsageError
from veridical.core.files import ExplanationWriter
from veridical.core.values import Explanation
from veridical.data import load
from veridical.metrics import ReferenceLikeness, measure
from veridical.models.new import start

TRUTH = [4.0, -1.0, 2.0, 0.0, 3.0]


@pytest.fixture
def asked(marked_case, tmp_path):
    """A metric, and a case of one text of five words whose reference is the truth."""
    case = marked_case("11000", "00100")
    path = tmp_path / "reference.parquet"
    made = [_explanation(case, 0, TRUTH)]
    write(made, path)
    return case, lambda **options: ReferenceLikeness(reference=str(path), **options)


def write(made, path):
    with ExplanationWriter(path) as writer:
        writer.write(made)


def _explanation(case, row, scores, target=None):
    example = case.batch.examples[row]
    name = target or case.classifier.target_name(int(case.targets[row]))
    return Explanation(example.id, example.inputs, name, case.batch.units[row], tuple(scores), {}, "truth", {})


def value(metric, case, scores):
    return measure(metric, case, torch.tensor([scores, scores])).values[0].item()


def test_by_order(asked):
    case, metric = asked
    assert value(metric(), case, TRUTH) == pytest.approx(1)
    assert value(metric(), case, [-each for each in TRUTH]) == pytest.approx(-1)
    # Ranks 5 4 3 2 1 against 5 1 3 2 4: 1 - 6 * (0 + 9 + 0 + 0 + 9) / (5 * 24).
    assert value(metric(), case, [5.0, 4.0, 3.0, 2.0, 1.0]) == pytest.approx(0.1)
    assert value(metric(), case, [1.0] * 5) == 0


def test_by_first_words_signs_and_scores(asked):
    case, metric = asked
    scores = [5.0, 1.0, 4.0, 9.0, 3.0]  # the first two are the words 3 and 0, and those of the reference 0 and 4
    assert value(metric(by="top"), case, scores) == pytest.approx(1 / 2)
    assert value(metric(by="top", ratio=0.2), case, TRUTH) == 1
    assert value(metric(by="sign"), case, scores) == pytest.approx(3 / 4)  # the word that counts 0 has no sign
    assert value(metric(by="error"), case, [2 * each for each in TRUTH]) == pytest.approx(1)
    assert value(metric(by="error"), case, [4.0, -1.0, 2.0, 3.0, 3.0]) == pytest.approx(3 / 30**0.5)
    assert not metric(by="error").greater_is_better


def test_a_text_that_is_not_in_the_reference_is_undefined(asked):
    case, metric = asked
    found = measure(metric(), case, torch.tensor([TRUTH, TRUTH])).values
    assert found.isnan().tolist() == [False, True]


def test_references_that_do_not_fit_are_refused(asked, tmp_path):
    case, _ = asked
    with pytest.raises(UsageError, match="no reference"):
        ReferenceLikeness().require(case.classifier)
    with pytest.raises(UsageError, match=r"no file .*nowhere"):
        ReferenceLikeness(reference=str(tmp_path / "nowhere")).require(case.classifier)
    twice = tmp_path / "twice.parquet"
    write([_explanation(case, 0, TRUTH)] * 2, twice)
    with pytest.raises(UsageError, match="twice"):
        ReferenceLikeness(reference=str(twice)).require(case.classifier)
    fewer = tmp_path / "fewer.parquet"
    one = _explanation(case, 0, TRUTH)
    write([Explanation(one.example_id, one.inputs, one.target, one.units[:3], (1.0, 2.0, 3.0), {}, "x", {})], fewer)
    with pytest.raises(InputError, match="not for these"):
        measure(ReferenceLikeness(reference=str(fewer)), case, torch.tensor([TRUTH, TRUTH]))


def test_an_audit_tells_how_near_methods_are(tmp_path):
    data = load("planted(train=8):train")
    model = start("tiny", data.examples, data.labels)
    reference = tmp_path / "reference.parquet"
    explain_to_file(model, data, "occlusion", reference)
    found = audit(model, data, ["occlusion", "gradient"], [f"reference-likeness(reference={reference})"])
    name = found.metrics[0].name
    assert found.values(name, "occlusion") == pytest.approx([1] * 8)
    assert found.values(name, "random").mean() < 1  # chance is the floor here, too
