"""Audits: methods judged on a real model, shared, resumable, and clear about what was not done."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from veridical import Engine, Example, explain, load_data
from veridical.core.errors import InputError, StorageError, UsageError
from veridical.core.files import ExplanationWriter
from veridical.report.audit.gating import gate as gate_of
from veridical.report.audit.publishing import publish
from veridical.report.audit.storing import load_audit
from veridical.report.audit.summary import summarise
from veridical.run.audit.judging import backwards
from veridical.run.auditing import audit
from veridical.testing import Formula, black_box, image_classifier

DATA = "planted(train=400, length=8):test[:24]"
FLIP = "decision-flip"


def flips(found, method, order="given"):
    return found.values(FLIP, method, order).mean()


def test_a_good_method_beats_chance_and_chance_its_reverse(classifier):
    found = audit(classifier, load_data(DATA), "occlusion", FLIP)
    assert flips(found, "occlusion") < flips(found, "random") < flips(found, "occlusion", "reversed")
    assert [method.name for method in found.methods] == ["occlusion", "random"]
    assert not found.has(FLIP, "random", "reversed")


def test_reversed_orders_can_be_left_out_and_cost_nothing_then(classifier):
    asked = (load_data(DATA), "occlusion", "comprehensiveness")
    both, given = audit(classifier, *asked, timed=0), audit(classifier, *asked, timed=0, reverse=False)
    assert {row.order for row in both.rows} == {"given", "reversed"}
    assert given.rows == tuple(row for row in both.rows if row.order == "given")
    assert given.work["queries"] < both.work["queries"]
    assert summarise(given).verdict


def test_an_audit_says_what_it_was_made_of(classifier):
    found = audit(classifier, load_data(DATA), "occlusion(eraser=delete)", "decision-flip(step=0.2)")
    assert found.model["fingerprint"] == classifier.fingerprint
    assert found.metric("decision-flip(step=0.2)").spec["eraser"] == "pad"
    assert found.method("occlusion(eraser=delete)").spec["method"]["eraser"] == "delete"
    assert found.method("occlusion(eraser=delete)").costs["queries"] == pytest.approx(8 + 2)
    assert found.method("occlusion(eraser=delete)").costs["forwards"] <= 8 + 1
    assert found.documents[0].units == 8
    assert 0.5 <= found.documents[0].probability <= 1
    assert found.versions["torch"].startswith("2.")


def test_a_folder_gives_back_the_same_audit(classifier, tmp_path):
    made = audit(classifier, load_data(DATA), "occlusion", f"{FLIP}, comprehensiveness", out=tmp_path, timed=0)
    again = load_audit(tmp_path)
    assert again.documents == made.documents
    assert again.metrics == made.metrics
    for metric in ("decision-flip", "comprehensiveness"):
        np.testing.assert_array_equal(again.values(metric, "occlusion"), made.values(metric, "occlusion"))
    np.testing.assert_array_equal(
        again.curves("comprehensiveness", "occlusion"), made.curves("comprehensiveness", "occlusion")
    )


def test_nothing_is_measured_twice(classifier, tmp_path):
    first, second, third = Engine(), Engine(), Engine()
    before = audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0, engine=first)
    after = audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0, engine=second)
    assert first.cost.forwards > 100
    assert second.cost.forwards == 0
    assert after.rows == before.rows
    more = audit(classifier, load_data(DATA), "occlusion, gradient", FLIP, out=tmp_path, timed=0, engine=third)
    assert 0 < third.cost.forwards < first.cost.forwards + 24 * 20
    assert all(row in more.rows for row in before.rows)


def test_an_interrupted_audit_goes_on_with_the_same_numbers(classifier, tmp_path):
    whole = audit(classifier, load_data(DATA), "occlusion", FLIP, timed=0)

    def stop(what, done, total):
        if what == "judging" and done == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0, progress=stop)
    assert audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0).rows == whole.rows


def test_a_torn_line_is_measured_again(classifier, tmp_path):
    whole = audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0)
    journal = tmp_path / "measured.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0).rows == whole.rows


def test_a_foreign_line_is_named(classifier, tmp_path):
    (tmp_path / "measured.jsonl").write_text('{"something": "else"}\n')
    with pytest.raises(StorageError, match="line 1 of .*measured.jsonl"):
        audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0)


def test_documents_may_come_in_any_order(classifier):
    examples = load_data(DATA).examples
    forth = audit(classifier, examples, "occlusion", FLIP, timed=0)
    back = audit(classifier, examples[::-1], "occlusion", FLIP, timed=0)
    assert {(row.document, row.method, row.order): row.value for row in forth.rows} == {
        (row.document, row.method, row.order): row.value for row in back.rows
    }


def test_equal_model_inputs_are_run_once(classifier):
    engine = Engine()
    audit(classifier, load_data(DATA), "occlusion, input-x-gradient, lime(samples=40)", engine=engine, timed=0)
    assert engine.cost.forwards < 0.8 * engine.cost.queries


def test_a_document_that_fails_costs_only_itself(classifier):
    examples = [*load_data(DATA).examples[:4], Example("empty", {"text": " "}, "positive")]
    found = audit(classifier, examples, "occlusion", FLIP, timed=0)
    assert len(found.documents) == 4
    assert "no words" in found.failures["empty"]


def test_what_is_not_possible_is_said_and_the_rest_goes_on():
    model = Formula.linear({"good": 2.0, "bad": -2.0, "day": 0.1})
    examples = [Example("0", {"text": "good day"}), Example("1", {"text": "bad day day"})]
    found = audit(model, examples, "attention, gradient", f"{FLIP}, rationale-auc", timed=0)
    assert "attention needs" in found.skipped["attention"]
    assert "has none" in found.skipped["rationale-auc"]
    assert [metric.name for metric in found.metrics] == [FLIP]


def test_an_audit_without_any_possible_metric_is_refused():
    model = Formula.linear({"good": 2.0, "day": 0.1})
    with pytest.raises(UsageError, match="nothing to measure: rationale-auc: it needs"):
        audit(model, ["good day"], "gradient", "rationale-auc")


def test_a_model_that_cannot_be_given_padding_is_judged_with_masks():
    model, examples = black_box()
    found = audit(model, examples, "occlusion", "decision-flip, comprehensiveness(eraser=delete)", timed=0)
    assert [metric.name for metric in found.metrics] == [
        "decision-flip(eraser=mask)",
        "comprehensiveness(eraser=delete)",
    ]
    assert "decision-flip(eraser=mask) is measured instead" in found.skipped[FLIP]


def test_words_are_not_looked_for_in_images():
    model, examples = image_classifier()
    found = audit(model, examples, "gradient", "decision-flip, stability", timed=0)
    assert "images" in found.skipped["stability"]


def test_one_class_and_scores_of_zero_are_audited_and_said():
    model = Formula.linear({"good": 2.0, "day": 0.1, "a": 0.0})
    found = audit(model, ["good day", "a a"], "gradient, occlusion(output=logit)", FLIP, timed=0)
    assert any("occlusion(output=logit) scores every word 0 in 1 document (1)" in each for each in found.warnings)


def test_explanations_from_a_file_are_judged_like_a_method(classifier, tmp_path):
    examples = load_data(DATA)
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(explain(classifier, examples, "occlusion"))
    given = audit(classifier, examples, "", FLIP, explanations=[tmp_path / "why.jsonl"], out=tmp_path / "a", timed=0)
    made = audit(classifier, examples, "occlusion", FLIP, timed=0)
    np.testing.assert_array_equal(given.values(FLIP, "occlusion"), made.values(FLIP, "occlusion"))


def test_explanations_of_another_model_are_refused(classifier, tmp_path):
    examples = load_data(DATA)
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(explain(classifier, examples, "occlusion"))
    before = classifier.fingerprint
    with torch.no_grad():
        next(iter(classifier.model.parameters())).add_(0.1)
    with pytest.raises(InputError, match=f"another model: its hash is {before}, not {classifier.fingerprint}"):
        audit(classifier, examples, "", FLIP, explanations=[tmp_path / "why.jsonl"], timed=0)


def test_explanations_of_other_texts_are_refused(classifier, tmp_path):
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(explain(classifier, ["a good day"], "occlusion"))
    with pytest.raises(InputError, match="example 0, field 'text': occlusion explained another text"):
        audit(classifier, ["a bad day"], "", FLIP, explanations=[tmp_path / "why.jsonl"], timed=0)


def test_explanations_of_another_class_are_refused(classifier, tmp_path):
    examples = load_data(DATA)
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(explain(classifier, examples, "occlusion", target="negative"))
    found = audit(classifier, examples, "", FLIP, explanations=[tmp_path / "why.jsonl"], timed=0)
    assert any("explains 'negative', but 'positive' is judged" in why for why in found.failures.values())


def test_other_scores_for_the_same_spec_are_refused(classifier, tmp_path):
    (made,) = explain(classifier, ["a good day"], "occlusion")
    for name, scores in {"one": made.scores, "other": tuple(2 * score for score in made.scores)}.items():
        with ExplanationWriter(tmp_path / f"{name}.jsonl") as writer:
            writer.write(type(made)(**{**vars(made), "scores": scores}))
    audit(classifier, ["a good day"], "", FLIP, explanations=[tmp_path / "one.jsonl"], out=tmp_path / "a", timed=0)
    with pytest.raises(InputError, match="example 0: an earlier audit in this folder has other scores by occlusion"):
        audit(classifier, ["a good day"], "", FLIP, explanations=[tmp_path / "other.jsonl"], out=tmp_path / "a")


def test_people_are_judged_like_a_method(classifier):
    found = audit(classifier, load_data(DATA), "human, occlusion", f"{FLIP}, reasons-on-top", timed=0)
    assert flips(found, "human") < flips(found, "random")
    assert (found.values("reasons-on-top", "human") == 1).all()


def test_scores_are_given_out_backwards():
    live = torch.tensor([[True, True, True], [True, True, False]])
    scores = torch.tensor([[0.3, -0.1, 0.2], [1.0, 1.0, 0.0]])
    assert torch.allclose(backwards(scores, live), torch.tensor([[-0.1, 0.3, 0.2], [1.0, 1.0, 0.0]]))
    assert math.isclose(float(backwards(scores, live)[0].sum()), float(scores[0].sum()), abs_tol=1e-6)


def test_methods_stand_in_the_order_they_are_named_whatever_the_folder_held(classifier, tmp_path):
    audit(classifier, load_data(DATA), "gradient", FLIP, out=tmp_path, timed=0)
    found = audit(classifier, load_data(DATA), "occlusion, gradient", FLIP, out=tmp_path, timed=0)
    assert [method.name for method in found.methods] == ["occlusion", "gradient", "random"]


def test_a_wrong_file_leaves_nothing_behind(classifier, tmp_path):
    examples = load_data(DATA)
    made = explain(classifier, examples, "occlusion")
    other = [replace(each, inputs={"text": "something else"}) for each in made]
    for name, written in (("wrong", other), ("right", made)):
        with ExplanationWriter(tmp_path / f"{name}.jsonl") as writer:
            writer.write(written)
    with pytest.raises(InputError, match="another text"):
        audit(classifier, examples, "", FLIP, explanations=[tmp_path / "wrong.jsonl"], out=tmp_path / "a", timed=0)
    found = audit(classifier, examples, "", FLIP, explanations=[tmp_path / "right.jsonl"], out=tmp_path / "a", timed=0)
    assert len(found.documents) == 24


def test_people_who_marked_nothing_are_left_out_and_said(classifier):
    found = audit(classifier, ["a good day"], "human, occlusion", FLIP, timed=0)
    assert found.skipped["human"] == "people marked nothing in this data"


def test_an_audit_of_nothing_is_refused(classifier):
    with pytest.raises(UsageError, match="there is no method to audit"):
        audit(classifier, ["a good day"], "", FLIP)
    with pytest.raises(InputError, match="no example could be audited: there are no words to explain"):
        audit(classifier, [" ", ""], "occlusion", FLIP)


def test_a_metric_of_the_model_is_measured_once_and_beside_the_methods(classifier, tmp_path):
    names = [Example(str(index), {"text": f"a good day, says {name}"}, "positive") for index, name in enumerate("AB")]
    found = audit(classifier, names, "occlusion", f"{FLIP}, attack(finder=rules, lists=short)", out=tmp_path, timed=0)
    attack = next(metric.name for metric in found.metrics if metric.kind == "attack")
    assert [method.name for method in found.methods] == ["occlusion", "random", "the model"]
    assert [method.name for method in found.methods if found.has(attack, method.name)] == ["the model"]
    assert not found.has(FLIP, "the model")
    summary = publish(tmp_path)
    assert summary.table(attack).cell("the model") is not None
    assert {gate.method for gate in gate_of(found, {FLIP: 0.0})} == {"occlusion"}
