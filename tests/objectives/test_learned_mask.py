"""A mask that is learned with a model: its terms by hand, what it finds, and that its folder explains."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from veridical.audits.plan import plan
from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.explainers import EXPLAINERS
from veridical.explainers import LearnedMask as Mask
from veridical.masking import Case
from veridical.metrics import METRICS
from veridical.models import Classifier
from veridical.models.new import start
from veridical.objectives import OBJECTIVES, LearnedMask
from veridical.objectives.base import explainers_of, modules_in, prepare
from veridical.run.explain import explain
from veridical.run.train import train
from veridical.testing import Formula, check_explainer, check_objective, image_classifier, text_classifier
from veridical.training import Schedule

DATA = "planted(train=400, length=8, seed=1)"  # other texts than those that the defaults were chosen with
QUICK = Schedule(epochs=5, checks=1, metric="mask_loss")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a model that was trained with a mask."""
    folder = tmp_path_factory.mktemp("masked") / "model"
    done = train(DATA, folder, model="tiny", objective="learned-mask", schedule=QUICK)
    assert done.test["accuracy"] > 0.95
    return folder


def case_of(classifier, examples):
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch))


def on_top(mask, classifier, examples):
    """The share of examples in which the word of the highest score is a planted one."""
    case = Case.bind(classifier, examples)
    best = mask.scores(case).values.argmax(1).tolist()
    found = [case.batch.units[index][at] for index, at in enumerate(best)]
    hits = [
        unit.span in [each.span for each in example.evidence] for unit, example in zip(found, examples, strict=True)
    ]
    return sum(hits) / len(hits)


def test_planted_words_come_out_on_top(run):
    classifier, examples = Classifier.load(run), load(f"{DATA}:test").examples[:100]
    trained, new = EXPLAINERS.create(classifier.learned["learned-mask"]), Mask()
    assert on_top(trained, classifier, examples) > 0.4  # chance is an eighth
    assert on_top(new, classifier, examples) < 0.3
    scores = new.scores(Case.bind(classifier, examples[:3])).values
    assert len(scores.unique()) == 1  # it prefers none


def test_planted_patches_come_out_on_top(tmp_path):
    data = "planted-images"
    train(f"{data}:train[:400]", tmp_path / "run", model="tiny", objective="learned-mask", schedule=QUICK)
    classifier, examples = Classifier.load(tmp_path / "run"), load(f"{data}:test").examples[:50]
    case = Case.bind(classifier, examples)
    scores = EXPLAINERS.create(classifier.learned["learned-mask"]).scores(case).values
    marked = torch.tensor(
        [[_inside(unit, example) for unit in case.batch.units[at]] for at, example in enumerate(examples)]
    )
    assert scores[marked].mean() > scores[~marked].mean() + 0.3


def _inside(unit, example):
    top, left, bottom, right = unit.span
    return any(
        a <= top and b <= left and bottom <= c and right <= d for a, b, c, d in (e.span for e in example.evidence)
    )


def test_its_folder_explains_as_the_trained_one_does(run, tmp_path):
    classifier = Classifier.load(run)
    examples = load(f"{DATA}:test").examples[:6]
    folder = str(run / "explainers" / "learned-mask")
    found = explain(classifier, examples, method=folder)
    mask = EXPLAINERS.create(folder)
    EXPLAINERS.save(mask, tmp_path / "copy")
    for method in (mask, tmp_path / "copy", classifier.learned["learned-mask"]):
        assert [each.scores for each in explain(classifier, examples, method=method)] == [each.scores for each in found]
    assert found[0].spec["method"]["weights"] == mask.fingerprint
    assert found[0].spec["model"]["fingerprint"] == mask.made_for == classifier.fingerprint
    assert all(0 <= score <= 1 for score in found[0].scores)


def test_the_models_fingerprint_is_that_of_model_and_mask(run, tmp_path):
    classifier = Classifier.load(run)
    told = json.loads((classifier.learned["learned-mask"] / "component.json").read_text())
    assert told["made_for"] == classifier.fingerprint
    classifier.save(tmp_path / "copy")
    copied = Classifier.load(tmp_path / "copy")
    assert copied.learned == {"learned-mask": tmp_path / "copy" / "explainers" / "learned-mask"}
    assert copied.fingerprint == classifier.fingerprint
    copied.learned = {}
    assert copied.fingerprint != classifier.fingerprint


def test_another_model_is_refused(run, trained):
    folder, stranger = run / "explainers" / "learned-mask", Classifier.load(trained)
    made_for = Classifier.load(run).fingerprint
    problem = f"learned-mask was trained with the model {made_for}, and this is the model {stranger.fingerprint}"
    with pytest.raises(UnsupportedError, match=problem):
        explain(stranger, ["good"], method=folder)
    examples = load(f"{DATA}:test").examples[:3]
    mask = EXPLAINERS.create(folder)
    planned = plan(stranger, examples, [mask], [METRICS.create("comprehensiveness")])
    assert problem in planned.skipped[EXPLAINERS.written(mask)]


def test_a_model_that_is_trained_further_is_another(run):
    classifier = Classifier.load(run)
    with torch.no_grad():
        classifier.model.classifier.bias.add_(1)
    with pytest.raises(UnsupportedError, match="was trained with the model"):
        explain(classifier, ["good"], method=classifier.learned["learned-mask"])


def test_the_terms_by_hand():
    classifier = Formula({"good": 2.0, "bad": -1.0}, lambda x: torch.stack([torch.zeros(len(x)), x.sum(1)], 1))
    examples = [Example("0", {"text": "good bad"}, "yes"), Example("1", {"text": "bad"}, "no")]
    case = case_of(classifier, examples)
    ready = prepare(LearnedMask(weight=3.0, sparsity=5.0, width=2), classifier, examples)
    with torch.no_grad():
        for values in ready.mask.network.parameters():
            values.fill_(0.5)
    ready.mask.network.double()
    terms = ready(case)
    vectors = torch.tensor([[2.0, -1.0], [-1.0, 0.0]], dtype=torch.float64)
    keep = (0.5 + 0.5 * 2 * (0.5 + 0.5 * vectors).tanh()).sigmoid() * case.live
    logits = torch.stack([torch.zeros(2), (keep * vectors).sum(1)], 1)
    assert terms["kept"].item() == pytest.approx(3 * functional.cross_entropy(logits, torch.tensor([1, 0])).item())
    assert terms["sparsity"].item() == pytest.approx(5 * (keep[0].mean() + keep[1, 0]).item() / 2)
    assert ready.evaluate(classifier, examples)["mask_loss"] == pytest.approx(
        (terms["kept"] + terms["sparsity"]).item()
    )


def test_it_is_prepared_for_the_model_and_says_what_it_leaves():
    classifier, examples = image_classifier()
    objective = LearnedMask(width=5, rate=0.5, seed=3)
    ready = prepare(objective, classifier, examples)
    assert explainers_of(ready)["learned-mask"] == Mask(size=64, width=5, seed=3)
    assert ready.rate == 0.5
    assert list(modules_in(ready)) == [ready.mask.network]
    assert not explainers_of(objective)
    assert not list(modules_in(prepare(LearnedMask(weight=0, sparsity=0), classifier, examples)))


def test_regression_and_texts_without_words():
    numbers = [Example("0", {"text": "so so"}, 1.0), Example("1", {"text": ""}, 0.0)]
    check_objective(LearnedMask(), lambda: (start("tiny", numbers, []), numbers))


@pytest.mark.parametrize("eraser", ["mask", "pad", "pad_attn", "zero"])
def test_every_eraser_that_takes_away_a_part(eraser):
    check_objective(OBJECTIVES.create(f"learned-mask(eraser={eraser})"))


def test_a_word_cannot_be_half_deleted():
    with pytest.raises(UsageError, match="half deleted.*eraser=mask"):
        LearnedMask(eraser="delete")


def test_a_mask_with_weights_keeps_the_contract():
    mask = Mask()
    torch.nn.init.normal_(mask.network[2].weight, generator=torch.manual_seed(0))
    check_explainer(mask)


def test_a_mask_of_another_size_is_refused():
    classifier, examples = text_classifier()
    with pytest.raises(UnsupportedError, match="word vectors of 7 numbers, and the model's have 64.*train --objective"):
        Mask(size=7).scores(Case.bind(classifier, examples))


def test_a_run_of_another_objective_leaves_nothing(trained):
    assert Classifier.load(trained).learned == {}
    assert not (Path(trained) / "explainers").exists()
