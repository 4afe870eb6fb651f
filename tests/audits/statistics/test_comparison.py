"""Two audits side by side: paired by document, only where specs are equal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric
from veridical.audits.statistics.comparison import compare
from veridical.audits.statistics.findings import plain
from veridical.core.errors import InputError

Make = Callable[..., Audit]

NOISE = np.random.default_rng(0).normal(0, 0.02, (2, 30))
LOW, LEVEL = (list(np.linspace(0.2, 0.4, 30) + noise) for noise in NOISE)
HIGH = [value + 0.3 for value in LEVEL]


def test_differences_have_verdicts_corrected_over_the_whole_table(make_audit: Make) -> None:
    one = make_audit({"comp": {"lime": HIGH, "lrp": LOW}}, model={"name": "base"})
    other = make_audit({"comp": {"lime": LOW, "lrp": LEVEL}}, model={"name": "saloss"})
    found = compare(one, other)
    lime, lrp = found.differences
    assert (found.first, found.second, found.documents) == ("base", "saloss", 30)
    assert (lime.contrast.verdict, lrp.contrast.verdict) == ("first better", "cannot tell")
    assert lime.contrast.mean == pytest.approx(np.mean(HIGH) - np.mean(LOW))
    assert lime.contrast.adjusted == pytest.approx(2 * lime.contrast.p)
    assert [lime.first.mean, lime.second.mean] == pytest.approx([np.mean(HIGH), np.mean(LOW)])
    assert found.verdict[0] == (
        "On 30 documents of reviews:test, the first model (base) is better in 1 of 2 comparisons, the second (saloss) "
        "in 0; 1 cannot be told."
    )
    assert "lime by comp" in found.verdict[1]
    assert "lrp by comp" in found.verdict[2]


def test_lower_is_better_turns_the_verdict(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    audited_metrics = (make_metric("flip", greater_is_better=False),)
    one, other = (make_audit({"flip": {"lime": each}}, metrics=audited_metrics) for each in (HIGH, LOW))
    assert compare(one, other).differences[0].contrast.verdict == "second better"


def test_documents_are_paired_by_id_and_not_by_place(make_audit: Make) -> None:
    one, other = make_audit({"comp": {"lime": HIGH}}), make_audit({"comp": {"lime": LOW}})
    turned = replace(other, documents=other.documents[::-1])
    assert plain(compare(one, turned)) == plain(compare(one, other))


def test_only_shared_documents_count_and_that_is_said(make_audit: Make) -> None:
    found = compare(make_audit({"comp": {"lime": HIGH}}), make_audit({"comp": {"lime": LOW[:20]}}))
    assert (found.documents, found.differences[0].contrast.n) == (20, 20)
    assert found.warnings == ("Only the 20 documents in both audits are compared, of 30 and 20.",)


def test_nothing_shared_is_an_error_that_names_both(make_audit: Make) -> None:
    one = make_audit({"comp": {"lime": HIGH}})
    other = replace(one, data="movies:test", documents=tuple(replace(each, id=f"m{each.id}") for each in one.documents))
    with pytest.raises(InputError, match="share no document: one is of reviews:test, the other of movies:test"):
        compare(one, other)


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        ("digest", ("a", "b"), "example 3: the two audits have different texts"),
        ("label", ("x", "y"), "it is 'x' in one"),
    ],
)
def test_the_same_id_must_be_the_same_document(
    make_audit: Make, field: str, values: tuple[str, str], said: str
) -> None:
    audit = make_audit({"comp": {"lime": HIGH}})
    one, other = (_with(audit, 3, field, value) for value in values)
    with pytest.raises(InputError, match=said):
        compare(one, other)
    assert compare(one, audit).documents == 30  # nothing is known of the other's text


def _with(audit: Audit, place: int, field: str, value: str) -> Audit:
    changed = replace(audit.documents[place], **{field: value})
    return replace(audit, documents=(*audit.documents[:place], changed, *audit.documents[place + 1 :]))


def test_other_specs_are_left_out_with_what_differs(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    def audit(eraser: str, steps: int, extra: str) -> Audit:
        audited_metrics = (make_metric(f"comp({eraser})", spec={"name": "comp", "eraser": eraser}), make_metric("auc"))
        methods = tuple(AuditedMethod(name, {"method": {"name": name, "steps": steps}}) for name in ("ig", extra))
        values = {audited.name: {method.name: HIGH for method in methods} for audited in audited_metrics}
        return make_audit(values, metrics=audited_metrics, methods=methods)

    found = compare(audit("pad", 20, "lime"), audit("mask", 50, "lrp"))
    assert found.left_out == {
        "comp(pad)": "the audits differ in eraser (pad, mask)",
        "comp(mask)": "the audits differ in eraser (pad, mask)",
        "ig": "the audits differ in steps (20, 50)",
        "lime": "only the first audit has it",
        "lrp": "only the second audit has it",
    }
    assert [audited.name for audited in found.metrics] == ["auc"]
    assert found.differences == ()
    assert found.verdict[0].startswith("Nothing can be compared on 30 documents")


def test_the_same_spec_under_another_name_is_the_same(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    one = make_audit({"comp": {"lime": HIGH}}, metrics=(make_metric("comp", spec={"name": "comp", "bins": (1, 2)}),))
    other = make_audit({"c": {"lime": LOW}}, metrics=(make_metric("c", spec={"name": "comp", "bins": [1, 2]}),))
    assert compare(one, other).differences[0].second.mean == pytest.approx(np.mean(LOW))


def test_raw_values_of_two_models_come_with_a_warning(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    audited_metrics = (make_metric("aopc", comparable=False), make_metric("auc"))
    audit = make_audit({"aopc": {"lime": HIGH}, "auc": {"lime": LOW}}, metrics=audited_metrics)
    (warning,) = compare(audit, audit).warnings
    assert warning.startswith("Values of aopc depend on")
    assert "normalised-aopc" in warning


def test_what_is_undefined_everywhere_is_not_compared(make_audit: Make) -> None:
    audit = make_audit({"comp": {"lime": HIGH, "lrp": [math.nan] * 30}})
    found = compare(audit, audit)
    assert [each.method for each in found.differences] == ["lime"]
    assert found.warnings == ("No document is scored in both audits for lrp by comp: not compared.",)


def test_an_audit_is_no_better_than_itself(make_audit: Make) -> None:
    audit = make_audit({"comp": {"lime": HIGH}})
    contrast = compare(audit, audit).differences[0].contrast
    assert (contrast.mean, contrast.p, contrast.verdict, contrast.tested) == (0, 1, "cannot tell", 0)


def test_it_is_json_and_carries_likeness(make_audit: Make) -> None:
    audit = make_audit({"comp": {"lime": HIGH}})
    data = json.loads(json.dumps(plain(compare(audit, audit, likeness={"lime": 0.4})), allow_nan=False))
    assert data["likeness"] == {"lime": 0.4}
    assert data["metrics"][0]["spec"] == {"name": "comp"}


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        (
            "settings",
            ({"target": "predicted"}, {"target": "gold"}),
            "explain another target: target is 'predicted' in the",
        ),
        (
            "model",
            ({"units": "word"}, {"units": "token"}),
            "score other units: units is 'word' in the first and 'token'",
        ),
        ("model", ({"hold": None}, {"hold": "text_pair"}), "leave another field unscored: hold is None in the first"),
    ],
)
def test_answers_to_different_questions_are_refused(
    make_audit: Make, field: str, values: tuple[dict[str, str], dict[str, str]], said: str
) -> None:
    one, other = (make_audit({"comp": {"lime": HIGH}}, **{field: value}) for value in values)
    with pytest.raises(InputError, match=f"{said}.*Audit both models with the same"):
        compare(one, other)
    silent = make_audit({"comp": {"lime": HIGH}}, **{field: {}})
    assert compare(one, silent).documents == 30  # an audit that does not say it is not refused


def test_another_precision_is_compared_with_a_warning(make_audit: Make) -> None:
    fp32, bf16 = (make_audit({"comp": {"lime": HIGH}}, settings={"precision": each}) for each in ("fp32", "bf16"))
    assert compare(fp32, fp32).warnings == ()
    (warning,) = compare(fp32, bf16).warnings
    assert warning.startswith("The first audit ran its model in fp32, the second in bf16: small differences may come")
    made = AuditedMethod("lime", {"method": {"name": "lime"}, "precision": "bf16"})
    other = AuditedMethod("lime", {"method": {"name": "lime"}, "precision": "fp32"})
    assert (
        compare(replace(fp32, methods=(made,)), replace(fp32, methods=(other,)))
        .warnings[0]
        .startswith("The first audit ran its model in bf16, the second in fp32")
    )


def test_explanations_of_another_target_are_left_out(make_audit: Make) -> None:
    """Files of explanations may be of another target than the audit's own methods."""

    def audit(target: str) -> Audit:
        methods = tuple(
            AuditedMethod(name, {"method": {"name": name}, "target": asked})
            for name, asked in (("lime", "predicted"), ("lrp", target))
        )
        return make_audit({"comp": {"lime": HIGH, "lrp": LOW}}, methods=methods, settings={"target": "predicted"})

    found = compare(audit("predicted"), audit("positive"))
    assert [each.method for each in found.differences] == ["lime"]
    assert found.left_out == {"lrp": "the audits differ in target (predicted, positive)"}
