"""A model and its selector that agree on signs: an evaluator that knows no selector finds it out."""

from dataclasses import dataclass, replace

import pytest
import torch

from veridical import audit
from veridical.audits.plan import plan
from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.extraction import Extraction
from veridical.core.folders import TrainRecord, write_record
from veridical.data import load
from veridical.explainers import Explainer, Scores
from veridical.masking import Case
from veridical.metrics import METRICS, EvaluatorLeak, PositionLeak, measure
from veridical.models import Classifier
from veridical.models.new import start
from veridical.objectives import Objective
from veridical.objectives.base import CrossEntropy, plain_loss
from veridical.run.fresh import fresh
from veridical.run.train import train
from veridical.testing import check_metric, image_classifier, pair_classifier, text_classifier
from veridical.training import Schedule

DATA = "planted(train=400, length=8)"
TEST = f"{DATA}:test"


def first_or_last(case):
    """The first word of each text of one class, and the last word of the other, [B, U]."""
    place = torch.where(case.gold == 0, 0, case.live.sum(1) - 1)
    return torch.nn.functional.one_hot(place, case.live.shape[1]).float()


def planted_words(case):
    """The words that decide, [B, U]."""
    found = torch.zeros(case.live.shape)
    for row, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
        found[row, : len(units)] = torch.tensor(
            [float(any(unit.overlaps(reason) for reason in example.evidence)) for unit in units]
        )
    return found


@dataclass(frozen=True)
class Signs(Explainer):
    """A selector that leaks."""

    needs = frozenset()
    cost = meaning = weakness = "none"

    def scores(self, case):
        return Scores(first_or_last(case))


@dataclass(frozen=True)
class Oracle(Signs):
    """An honest selector."""

    def scores(self, case):
        return Scores(planted_words(case))


@dataclass(frozen=True)
class Together(Objective):
    """Training with a selector: the model sees its words alone, and whole texts."""

    select: str = "signs"

    def __call__(self, case):
        keep = (first_or_last if self.select == "signs" else planted_words)(case).bool()
        left = case.with_eraser("zero_output").ask_with_gradients(torch.arange(len(case)), keep)
        return {**CrossEntropy()(case), "selected": plain_loss(case.classifier, left.logits, case.gold)}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Models that were trained with a selector that leaks, and with an honest one, and an evaluator."""
    root = tmp_path_factory.mktemp("leak")
    schedule = Schedule(epochs=6, checks=1)
    objectives = {
        "signs": Together(),
        "honest": Together("honest"),
        "evaluator": "random-erasure(eraser=zero_output, chance=1)",
    }
    for name, objective in objectives.items():
        done = train(DATA, root / name, model="tiny", objective=objective, schedule=schedule)
        assert done.test["accuracy"] > 0.95, name
    return root


def metric_of(folders, **options):
    return EvaluatorLeak(words="top-k", k=1, evaluator=str(folders / "evaluator"), **options)


def found_in(folders, model, methods):
    """The cells of each metric's table by method, and what is warned of."""
    metrics = [metric_of(folders), PositionLeak(words="top-k", k=1)]
    done = audit(str(folders / model), load(TEST), methods, metrics, timed=0)
    tables = [done.summary.table(each.name) for each in done.metrics]
    return [{cell.method: cell for cell in table.cells} for table in tables], done.summary.warnings


def test_a_selector_that_leaks_is_found_by_both_parts(folders):
    tables, warnings = found_in(folders, "signs", [Signs(), Oracle(), "random(seed=1)"])
    assert len([each for each in warnings if "leak" in each and "Signs" in each]) == 2
    assert not [each for each in warnings if "Oracle" in each or "random" in each]
    for table in tables:
        assert table["Signs"].low > 0.3
        assert table["Oracle"].low < 0.02
        assert table["random(seed=1)"].low < 0
        assert "random" not in table  # chance is no floor here: it has nothing to hide


def test_an_honest_selector_does_not_leak_by_either(folders):
    tables, warnings = found_in(folders, "honest", [Oracle(), "random(seed=1)"])
    assert not [each for each in warnings if "leak" in each]
    assert all(cell.low <= 0 for table in tables for cell in table.values())
    assert tables[0]["Oracle"].mean == pytest.approx(0, abs=0.02)


def record(objective):
    return TrainRecord(data=DATA, dev_data=None, model="tiny", objective=objective, schedule={}, settings={}, done=True)


ERASURE = {"name": "random-erasure", "weight": 1.0, "eraser": "mask"}


def saved(classifier, folder, objective=ERASURE):
    """The folder of a classifier that says how it was trained."""
    classifier.save(folder)
    write_record(folder, record(objective))
    return str(folder)


def test_a_value_is_right_less_right(folders):
    case = Case.bind(Classifier.load(folders / "signs"), load(TEST).examples[:40])
    judge = Case.bind(Classifier.load(folders / "evaluator"), case.batch.examples)
    scores = first_or_last(case)
    found = measure(metric_of(folders), case, scores)
    each = torch.arange(40)
    read, judged = (
        (asked.with_eraser("zero_output").logits(each, scores.bool()).argmax(1) == case.gold).float()
        for asked in (case, judge)
    )
    assert found.details["reader"].tolist() == read.tolist()
    assert found.details["evaluator"].tolist() == judged.tolist()
    assert found.values.tolist() == (read - judged).tolist()


def test_whoever_reads_as_the_evaluator_does_has_no_leak(folders):
    case = Case.bind(Classifier.load(folders / "signs"), load(TEST).examples[:40])
    same = measure(metric_of(folders, reader=str(folders / "evaluator")), case, first_or_last(case))
    assert same.values.tolist() == [0.0] * 40


def test_the_evaluator_is_asked_with_the_eraser_of_its_training(tmp_path):
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)
    scores = torch.rand(case.live.shape)
    metric = EvaluatorLeak(evaluator=saved(classifier, tmp_path), eraser="delete")
    keep, each = metric.selected(scores, case.live), torch.arange(len(case))
    asked = case.with_eraser("mask").logits(each, keep).argmax(1) == case.gold
    assert metric(case, scores).details["evaluator"].tolist() == asked.float().tolist()
    both = {"name": "sum", "parts": [{"name": "saloss"}, {**ERASURE, "eraser": "pad"}]}
    write_record(tmp_path, record(both))
    asked = case.with_eraser("pad").logits(each, keep).argmax(1) == case.gold
    assert metric(case, scores).details["evaluator"].tolist() == asked.float().tolist()


def test_documents_without_a_label_are_undefined(tmp_path):
    classifier, examples = text_classifier()
    metric = EvaluatorLeak(evaluator=saved(classifier, tmp_path))
    case = Case.bind(classifier, [replace(examples[0], label=None), examples[2]])
    found = measure(metric, case, torch.rand(case.live.shape))
    assert found.values.isnan().tolist() == [True, False]
    with pytest.raises(InputError, match="example 0, field 'label': 'neutral' is not a label of this model"):
        metric(Case.bind(classifier, [replace(examples[0], label="neutral")]), torch.rand(1, 8))


def test_classes_may_stand_in_another_order(tmp_path):
    classifier, examples = text_classifier()
    other = Classifier.load(classifier.model, tokenizer=classifier.tokenizer)
    other.labels = classifier.labels[::-1]
    metric = EvaluatorLeak(evaluator=saved(classifier, tmp_path), eraser="mask")
    case, turned = (Case.bind(each, examples) for each in (classifier, other))
    scores = torch.rand(case.live.shape)
    assert metric(case, scores).values.tolist() == [0.0] * 4
    # The same outputs have the other names, so that exactly one of the two is right.
    assert metric(turned, scores).values.abs().tolist() == [1.0] * 4


def test_an_evaluator_may_read_other_units_and_hold_no_field(tmp_path):
    classifier, examples = pair_classifier(hold="text_pair")
    pieces = Classifier.load(classifier.model, tokenizer=classifier.tokenizer, units="token")
    metric = EvaluatorLeak(evaluator=saved(pieces, tmp_path), eraser="mask")
    assert Classifier.load(tmp_path).settings()["units"] == "token"
    case = Case.bind(classifier, examples)
    assert len(case.seen_by(pieces).batch.units[0]) > len(case.batch.units[0])
    # Both see the same tokens: pieces of the selected words, and the other text as a whole.
    assert metric(case, torch.rand(case.live.shape)).values.tolist() == [0.0] * len(examples)


SAMPLES = [text_classifier, pair_classifier, image_classifier, lambda: text_classifier(max_length=8, long="window")]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("preset", ["mask", "fresh"])
def test_presets_and_contract(sample, preset, tmp_path):
    classifier, _ = sample()
    folder = saved(classifier, tmp_path)
    check_metric(METRICS.create(f"evaluator-leak(preset={preset}, evaluator='{folder}')"), sample)


WRONG = [
    (None, UsageError, "evaluator-leak has no evaluator. Train one on the same data"),
    ("nowhere", ModelError, "there is no folder '.*nowhere', which the option 'evaluator' names"),
    ("evaluater", ModelError, "Did you mean '.*evaluator'"),
    ("signs", UsageError, "the model in .*signs was not trained on texts with random words erased"),
    ("idle", UsageError, "the model in .*idle was not trained on texts with random words erased"),
    ("pairs", UsageError, "is another kind of model: .*one of entails, contradicts, neutral.*is audited"),
    ("numbers", UsageError, "is another kind of model: .*gives a number.* and .*negative, positive.* is audited"),
    ("several", UsageError, "is another kind of model: .*any of negative, positive"),
    ("images", UsageError, "reads images, and what is audited does not"),
]


@pytest.fixture(scope="module")
def wrong(folders):
    """Folders that cannot be evaluators of the planted texts."""
    classifier, examples = text_classifier()
    saved(classifier, folders / "idle", {**ERASURE, "weight": 0.0})
    saved(pair_classifier()[0], folders / "pairs")
    saved(start("tiny", [replace(each, label=0.5) for each in examples], ()), folders / "numbers")
    several = [replace(each, label=(each.label,)) for each in examples]
    saved(start("tiny", several, ("negative", "positive")), folders / "several")
    pixels = [replace(each, label="positive") for each in image_classifier()[1]]
    saved(start("tiny", pixels, ("negative", "positive")), folders / "images")
    return folders


@pytest.mark.parametrize(("name", "error", "problem"), WRONG)
def test_a_wrong_evaluator_is_refused_before_any_work(name, error, problem, wrong):
    folder = None if name is None else str(wrong / name)
    model, examples = Classifier.load(wrong / "honest"), load(TEST).examples[:3]
    with pytest.raises(error, match=problem):
        plan(model, examples, [], [EvaluatorLeak(evaluator=folder)])
    case = Case.bind(model, examples)
    with pytest.raises(error, match=problem):
        measure(EvaluatorLeak(evaluator=folder), case, torch.zeros(case.live.shape))


@pytest.mark.parametrize(("name", "problem"), [("nowhere", "the option 'reader' names"), ("pairs", "the reader in")])
def test_a_wrong_reader_is_refused(name, problem, wrong):
    with pytest.raises((ModelError, UsageError), match=problem):
        metric_of(wrong, reader=str(wrong / name)).require(Classifier.load(wrong / "honest"))


def test_models_without_classes_are_left_out_with_the_reason(wrong):
    metrics = [metric_of(wrong), PositionLeak(), METRICS.create("aopc")]
    for name, problem in (("numbers", "this one gives a number"), ("several", "gives any number of labels")):
        model = Classifier.load(wrong / name)
        planned = plan(model, load(TEST).examples[:3], [], metrics)
        assert set(planned.metrics) == {"aopc"}
        assert sum(problem in why for why in planned.skipped.values()) == 2
        with pytest.raises(UnsupportedError, match="one class per example"):
            metric_of(wrong).require(model)


def test_an_evaluator_that_is_trained_again_is_asked_again(tmp_path):
    classifier, examples = text_classifier()
    metric = EvaluatorLeak(evaluator=saved(classifier, tmp_path / "model"))
    before = metric.models["evaluator"]
    assert before == classifier.describe()["fingerprint"]
    first = audit(classifier, examples, ["attention"], [metric], out=tmp_path / "audit", timed=0)
    assert first.metrics[0].spec["models"] == {"evaluator": before}
    again = audit(classifier, examples, ["attention"], [metric], out=tmp_path / "audit", timed=0)
    assert again.work == first.work
    saved(start("tiny", examples, classifier.labels, seed=1), tmp_path / "model")
    assert metric.models["evaluator"] != before
    other = audit(classifier, examples, ["attention"], [metric], out=tmp_path / "audit", timed=0)
    assert other.work["queries"] > first.work["queries"]


def test_other_labels_are_judged_anew(tmp_path):
    classifier, examples = text_classifier()
    metric = EvaluatorLeak(evaluator=saved(classifier, tmp_path / "model"), eraser="mask", words="top-k")
    turned = [replace(each, label={"negative": "positive", "positive": "negative"}[each.label]) for each in examples]
    one, other = (
        audit(classifier, some, ["attention"], [metric], out=tmp_path / "audit", timed=0) for some in (examples, turned)
    )
    rights = [found.detail("reader", metric_name(found), "attention") for found in (one, other)]
    known = ~torch.tensor(rights[0]).isnan()
    assert known.sum() == 3
    assert (torch.tensor(rights[0] + rights[1])[known] == 1).all()


def metric_name(found):
    return found.metrics[0].name


@pytest.mark.parametrize("name", ["scc", "vmask", "l2x", "iba"])
def test_mask_layers_can_be_judged(name, folders, tmp_path):
    train(f"{DATA}[:64]", tmp_path / name, model="tiny", objective=name, schedule=Schedule(epochs=1, checks=1))
    metrics = [metric_of(folders), PositionLeak(words="top-k")]
    done = audit(str(tmp_path / name), load(f"{TEST}[:20]"), name, metrics, timed=0)
    for metric in done.metrics:
        assert done.summary.table(metric.name).cell(name).scored == 20


def test_the_reader_of_fresh_reads_the_rationales_of_its_support_model(trained, tmp_path):
    fresh(trained, tmp_path / "fresh", Extraction("occlusion", 0.2), schedule=Schedule(epochs=4, checks=1))
    objective = "random-erasure(eraser=delete, chance=1)"
    train(DATA, tmp_path / "judge", model="tiny", objective=objective, schedule=Schedule(epochs=4, checks=1))
    reader, judge = tmp_path / "fresh" / "model", tmp_path / "judge"
    metric = f"evaluator-leak(preset=fresh, reader='{reader}', evaluator='{judge}')"
    done = audit(trained, load(TEST), "occlusion", metric, timed=0)
    cell = done.summary.table(metric_name(done)).cell("occlusion")
    assert done.detail("reader", metric_name(done), "occlusion").mean() > 0.9
    # The rationales have the planted words, which anybody can read.
    assert cell.mean == pytest.approx(0, abs=0.05)
    assert set(done.metrics[0].spec["models"]) == {"evaluator", "reader"}
