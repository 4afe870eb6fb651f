"""Audits as a caller meets them: what is measured, what is left out and said, and what a second call finds done."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from veridical import Engine, Example, explain, load_data
from veridical.audits import timing
from veridical.audits.card import card, publish
from veridical.audits.job import audit
from veridical.audits.measurement import backwards
from veridical.audits.statistics import summary
from veridical.audits.statistics.gate import gate as gate_of
from veridical.audits.statistics.summary import summarise
from veridical.audits.store import load_audit
from veridical.core.errors import CancelledError, InputError, StorageError, UnsupportedError, UsageError
from veridical.core.files import ExplanationWriter, explanation_file, parquet
from veridical.core.progress import Watch
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.metrics import METRICS, Measured, Metric
from veridical.run.handle import ModelHandle
from veridical.testing import Formula, black_box, image_classifier
from veridical.testing.families import family

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

    def stop(progress):
        if progress.what == "judging" and progress.done == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0, watch=Watch(stop))
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
    assert set(found.failures["empty"]) == {"occlusion", "random"}
    assert "no words" in found.failures["empty"]["occlusion"]
    assert found.failure_reasons == {"empty": "there are no words to explain. Remove or fill this text."}


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


def test_scores_that_do_not_add_up_are_said_to(classifier):
    found = audit(classifier, load_data(DATA), "deep-lift, deep-lift(preset=captum)", FLIP, timed=0)
    assert ["complete=false" in each for each in found.warnings if " miss " in each] == [True]


def test_explanations_from_a_file_are_judged_like_a_method(classifier, tmp_path):
    examples = load_data(DATA)
    with ExplanationWriter(tmp_path / "why.jsonl") as writer:
        writer.write(explain(classifier, examples, "occlusion"))
    given = audit(classifier, examples, "", FLIP, explanations=tmp_path / "why.jsonl", out=tmp_path / "a", timed=0)
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
    positive = {document.id for document in found.documents if document.target == "positive"}
    assert 0 < len(positive) < 24 == len(found.documents)  # chance is judged on all of them
    assert set(found.failures) == positive
    for document in positive:
        assert set(found.failures[document]) == {"occlusion"}
        assert "occlusion explains 'negative', but 'positive' is judged" in found.failure_reasons[document]
    assert np.isnan(found.values(FLIP, "occlusion")).sum() == len(positive)


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
    other = [replace(each, inputs={"text": each.inputs["text"] + " or else"}) for each in made]
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


def test_times_of_less_than_nothing_are_refused(classifier):
    with pytest.raises(UsageError, match="times cannot be taken of -1 documents"):
        audit(classifier, ["a good day"], "occlusion", FLIP, timed=-1)


def test_times_of_no_number_are_refused(classifier):
    with pytest.raises(UsageError, match="times cannot be taken of 'all' documents"):
        audit(classifier, ["a film"], timed="all")


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
    assert found.summary.table(attack).cell("the model") is not None
    assert {gate.method for gate in gate_of(found, {FLIP: 0.0})} == {"occlusion"}


@dataclass(frozen=True)
class Lengths(Explainer):
    """Scores words by their number of letters, and notes how it was asked."""

    factor: float = 1.0

    def scores(self, case):
        ASKED.append((case.engine.precision, case.engine.tokens, int(case.targets[0])))
        values = torch.zeros(case.live.shape)
        for index, units in enumerate(case.batch.units):
            values[index, : len(units)] = torch.tensor([self.factor * len(unit.text) for unit in units])
        return Scores(values)


ASKED = []


def a_method(kind):
    """A class of that name, as two notebooks may both have one."""
    return dataclass(frozen=True)(type("MyMethod", (kind,), {}))


@dataclass(frozen=True)
class FirstWord(Metric):
    """Whether the first word has the highest score."""

    def questions(self, units):
        return 0

    def __call__(self, case, scores):
        return Measured((scores.argmax(1) == 0).float())


def test_methods_and_metrics_are_names_folders_and_objects(classifier, tmp_path):
    folder = tmp_path / "my runs" / "learned"
    EXPLAINERS.save(EXPLAINERS.create("occlusion(eraser=delete)"), folder)
    METRICS.save(METRICS.create("decision-flip(step=0.5)"), tmp_path / "flip")
    found = audit(
        classifier,
        load_data(DATA),
        [str(folder), "occlusion(eraser=delete)", "occlusion", Lengths(2.0), Lengths(2.0), "human"],
        ["saloss", FirstWord(), tmp_path / "flip", "decision-flip(step=0.5)"],
        timed=0,
    )
    names = [method.name for method in found.methods]
    assert names == [repr(str(folder)), "occlusion", "Lengths(factor=2.0)", "random", "human"]
    assert [metric.name for metric in found.metrics] == ["decision-flip", "FirstWord", str(tmp_path / "flip")]
    assert found.method("Lengths(factor=2.0)").spec["method"] == {"name": "Lengths", "factor": 2.0}
    same = audit(classifier, load_data(DATA), "occlusion(eraser=delete)", FLIP, timed=0)
    np.testing.assert_array_equal(found.values(FLIP, names[0]), same.values(FLIP, "occlusion(eraser=delete)"))


def test_a_folder_may_be_named_on_the_command_line(classifier, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    EXPLAINERS.save(EXPLAINERS.create("occlusion(eraser=delete)"), "runs/learned")
    found = audit(classifier, load_data(DATA), "runs/learned, gradient", FLIP, timed=0)
    assert [method.name for method in found.methods] == ["runs/learned", "gradient", "random"]


def test_two_classes_of_one_name_are_not_mixed_up(classifier):
    with pytest.raises(UsageError, match="two different classes are both the explainer MyMethod. Register them"):
        audit(classifier, ["a good day"], [a_method(Lengths)(), a_method(Lengths)()], FLIP)


def test_chance_keeps_its_name_under_any_other(classifier, tmp_path):
    EXPLAINERS.save(EXPLAINERS.create("random"), tmp_path / "chance")
    found = audit(classifier, load_data(DATA), [tmp_path / "chance", "occlusion"], FLIP, timed=0)
    assert [method.name for method in found.methods] == ["random", "occlusion"]


def test_a_model_is_named_by_its_folder(trained, classifier):
    found = audit(trained, load_data(DATA), "occlusion", FLIP, timed=0)
    assert found.rows == audit(classifier, load_data(DATA), "occlusion", FLIP, timed=0).rows


def test_an_audit_from_python_leaves_its_card(classifier, tmp_path):
    found = audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0)
    card, numbers = (tmp_path / "card.html").read_bytes(), (tmp_path / "summary.json").read_bytes()
    assert b"occlusion does best by decision-flip" in card
    assert b"Best and worst documents" in card
    assert publish(tmp_path).verdict == found.summary.verdict  # made again from the files alone
    assert ((tmp_path / "card.html").read_bytes(), (tmp_path / "summary.json").read_bytes()) == (card, numbers)


def counted(monkeypatch, module, name):
    """The calls of a function from now on."""
    calls, function = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: (calls.append(given), function(*given, **named))[1])
    return calls


def counted_property(monkeypatch, kind, name):
    """The same for a property of a class."""
    calls, known = [], getattr(kind, name)
    monkeypatch.setattr(kind, name, property(lambda thing: (calls.append(thing), known.fget(thing))[1]))
    return calls


@pytest.mark.parametrize("resumed", [False, True])
def test_everything_is_made_and_read_once(classifier, tmp_path, monkeypatch, resumed):
    asked = (load_data(DATA), "occlusion, gradient, human", "decision-flip, stability, stability(words=top)")
    if resumed:
        audit(classifier, *asked, out=tmp_path, timed=1)
    counts = {
        "explanation file read": counted(monkeypatch, explanation_file, "_from_parquet"),
        "explanation file written": counted(monkeypatch, parquet, "write"),
        "audit read": counted(monkeypatch, card, "load_audit"),
        "weights hashed": counted_property(monkeypatch, type(classifier), "fingerprint"),
        "specs made": counted(monkeypatch, ModelHandle, "explanation_spec"),
        "statistics made": counted(monkeypatch, summary, "summarise"),
        "times taken": counted(monkeypatch, timing, "time_method"),
    }
    assert audit(classifier, *asked, out=tmp_path, timed=1).summary.verdict
    assert {what: len(calls) for what, calls in counts.items()} == {
        "explanation file read": int(resumed),
        "explanation file written": int(not resumed),
        "audit read": 0,
        "weights hashed": 1,
        "specs made": 3,  # of occlusion, gradient and random
        "statistics made": 1,
        "times taken": 0 if resumed else 3,
    }


def test_an_example_that_fails_is_not_tried_again(classifier, tmp_path):
    blank = Example("blank", {"text": " "}, "positive", evidence=load_data(DATA).examples[0].evidence)
    examples, engine = [*load_data(DATA).examples[:4], blank], Engine()
    first = audit(classifier, examples, "occlusion, human", FLIP, out=tmp_path, timed=2)
    again = audit(classifier, examples, "occlusion, human", FLIP, out=tmp_path, timed=2, engine=engine)
    assert (engine.cost.queries, engine.cost.forwards) == (0, 0)
    assert again.failures == first.failures
    assert set(again.failures["blank"]) == {"occlusion", "random", "human"}
    assert (again.rows, again.methods, again.work) == (first.rows, first.methods, first.work)
    mended = [*examples[:4], replace(blank, inputs={"text": "a good day"}, evidence=())]
    assert len(audit(classifier, mended, "occlusion, human", FLIP, out=tmp_path, timed=2).documents) == 5


@dataclass(frozen=True)
class Labelled(FirstWord):
    """The same, for examples with a label."""

    def __call__(self, case, scores):
        case.classifier.gold(case.batch.examples)
        return super().__call__(case, scores)


def test_a_metric_that_fails_on_a_document_costs_only_that_number(classifier, tmp_path):
    examples, engine = load_data(DATA).examples[:6], Engine()
    examples = [*examples[:5], replace(examples[5], label=None)]
    asked = (examples, "occlusion", [Labelled(), FLIP])
    found = audit(classifier, *asked, out=tmp_path, timed=0)
    (unlabelled,) = found.failures
    assert unlabelled == examples[5].id
    assert set(found.failures[unlabelled]) == {"occlusion", "random"}
    assert found.failures[unlabelled]["occlusion"].startswith("Labelled: ")
    assert np.isnan(found.values("Labelled", "occlusion")).sum() == 1
    assert not np.isnan(found.values(FLIP, "occlusion")).any()
    again = audit(classifier, *asked, out=tmp_path, timed=0, engine=engine)
    assert (again.rows, again.failures, engine.cost.forwards) == (found.rows, found.failures, 0)


def test_a_decoder_is_audited_by_the_usual_methods_with_an_eraser_that_it_has():
    examples = [
        Example(str(index), {"text": text}, "neg")
        for index, text in enumerate(["a dull plot", "a witty cast and story"])
    ]
    found = audit(family("gpt2"), examples, timed=1)
    assert [method.name for method in found.methods] == ["integrated-gradients", "occlusion(eraser=delete)", "random"]
    assert "attention needs" in found.skipped["attention"]
    assert found.skipped["occlusion"] == (
        "erasing by 'mask' is not possible; occlusion(eraser=delete) is measured instead"
    )
    assert not found.failures
    assert len(found.documents) == 2


@dataclass(frozen=True)
class Late(Explainer):
    """Finds out too late that it cannot explain a model."""

    def scores(self, case):
        raise UnsupportedError("late cannot explain this model")


def test_a_method_that_turns_out_to_be_impossible_is_left_out_and_said(classifier):
    found = audit(classifier, load_data(DATA), ["occlusion", Late()], FLIP, timed=0)
    assert [method.name for method in found.methods] == ["occlusion", "random"]
    assert found.skipped["Late"] == "late cannot explain this model"


def test_times_are_taken_as_the_method_runs_once_and_counted(classifier, tmp_path):
    ASKED.clear()
    engine = Engine(tokens=77, precision="bf16")
    asked = (load_data(DATA), [Lengths(), "occlusion"], FLIP)
    first = audit(classifier, *asked, out=tmp_path, target="negative", timed=2, engine=engine)
    assert set(ASKED) == {("bf16", 77, classifier.labels.index("negative"))}
    assert len(ASKED) > 1 + 2  # explained together, and one by one
    second = Engine(tokens=77, precision="bf16")
    again = audit(classifier, *asked, out=tmp_path, target="negative", timed=2, engine=second)
    assert again.methods == first.methods
    assert first.method("occlusion").costs["seconds"] > 0
    assert (second.cost.forwards, again.work) == (0, first.work)
    alone = audit(classifier, *asked, target="negative", timed=0, engine=Engine(tokens=77, precision="bf16"))
    # Of each method, the first document twice and the second once: predicted, and by occlusion without each word.
    assert first.work["queries"] - alone.work["queries"] == 3 * (1 + 9) + 3 * 1 + 3 * 1


def test_the_work_is_that_of_this_audit(classifier):
    engine = Engine()
    first = audit(classifier, load_data(DATA), "occlusion", FLIP, timed=0, engine=engine)
    second = audit(classifier, load_data(DATA), "occlusion", FLIP, timed=0, engine=engine)
    assert second.work == first.work
    assert engine.cost.forwards == 2 * first.work["forwards"]


def test_marks_are_taken_in_once_and_must_stay_the_same(classifier, tmp_path):
    examples, engine = load_data(DATA).examples, Engine()
    first = audit(classifier, examples, "human", FLIP, out=tmp_path, timed=0)
    again = audit(classifier, examples, "human", FLIP, out=tmp_path, timed=0, engine=engine)
    assert (again.rows, engine.cost.forwards) == (first.rows, 0)
    marked = examples[0].evidence[0]
    other = replace(examples[0], evidence=(replace(marked, span=(marked.span[0] + 20, marked.span[1] + 20)),))
    with pytest.raises(InputError, match="an earlier audit in this folder has other scores by human"):
        audit(classifier, [other, *examples[1:]], "human", FLIP, out=tmp_path, timed=0)


def test_an_audit_can_be_cancelled_and_goes_on(classifier, tmp_path):
    whole = audit(classifier, load_data(DATA), "occlusion", FLIP, timed=0)
    watch = Watch(lambda progress: watch.cancel() if progress.what == "judging" else None)
    with pytest.raises(CancelledError):
        audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0, watch=watch)
    assert not (tmp_path / "audit.json").exists()
    again = audit(classifier, load_data(DATA), "occlusion", FLIP, out=tmp_path, timed=0)
    assert again.rows == whole.rows
    assert again.work == whole.work


def test_the_floor_is_the_mean_of_as_many_draws_as_are_asked_for(classifier):
    examples = load_data("planted:test[:4]")
    one, same, five = (audit(classifier, examples, "attention", "comprehensiveness", draws=n) for n in (1, 1, 5))
    values = [found.values("comprehensiveness", "random").tolist() for found in (one, same, five)]
    assert values[0] == values[1] != values[2]
    assert one.work["queries"] < five.work["queries"]
    assert one.settings["draws"] == {"random": 1}
    with pytest.raises(UsageError, match="the mean of 0 draws"):
        audit(classifier, examples, "attention", "comprehensiveness", draws=0)
