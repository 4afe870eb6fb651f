"""DeepSHAP: the mean of DeepLift over background examples, which it finds, cuts and pads."""

import json
import math

import pytest
import torch
from captum.attr import DeepLiftShap
from torch import nn

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.folders import TrainRecord, write_record
from veridical.core.values import Example
from veridical.data import load
from veridical.explainers import EXPLAINERS, DeepLift, DeepSHAP
from veridical.explainers.deep_shap import reference
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.testing import Formula, image_classifier, pair_classifier, text_classifier
from veridical.testing.families import SENTENCES, family

WEIGHTS = {"good": 2.0, "bad": -1.5, "film": 0.25, "a": 0.0}


def bind(classifier, *texts, **options):
    return Case.bind(classifier, [Example.of(text, str(index)) for index, text in enumerate(texts)], **options)


@pytest.fixture
def data(tmp_path):
    """Make a data set of texts and give its name."""

    def write(*texts):
        path = tmp_path / "background.jsonl"
        path.write_text("".join(json.dumps({"text": text, "label": "x"}) + "\n" for text in texts))
        return str(path)

    return write


def test_a_linear_model_is_compared_with_the_mean_of_the_background(data):
    """At each position w.x minus the background's mean; a text that has ended counts 0 there."""
    case = bind(Formula.linear(WEIGHTS), "good bad", target="yes")
    scores = DeepSHAP(background=data("bad film", "film")).scores(case)
    assert scores.values[0].tolist() == pytest.approx([2 - (-1.5 + 0.25) / 2, -1.5 - 0.25 / 2])
    spreads = [torch.tensor(values).std().item() for values in ([3.5, 1.75], [-1.75, -1.5])]
    assert scores.margins[0].tolist() == pytest.approx([1.96 * spread / math.sqrt(2) for spread in spreads])
    assert scores.measures["difference"].item() == pytest.approx(0.5 - (-1.25 + 0.25) / 2)
    assert scores.measures["residual"].item() == pytest.approx(0, abs=1e-12)


def test_longer_texts_are_cut(data):
    case = bind(Formula.linear(WEIGHTS), "good", target="yes")
    assert DeepSHAP(background=data("bad good good", "a bad")).scores(case).values.item() == 2 - (-1.5 + 0) / 2


def test_the_example_itself_is_left_out(data):
    case = bind(Formula.linear(WEIGHTS), "good bad", "film", target="yes")
    scores = DeepSHAP(background=data("film", "good bad", "bad", "good bad", "a")).scores(case)
    means = [(0.25 - 1.5 + 0) / 3, (2 - 1.5 + 2 + 0) / 4]
    assert scores.values[:, 0].tolist() == pytest.approx([2 - means[0], 0.25 - means[1]])


@pytest.mark.parametrize("output", ["logit", "prob", "logprob"])
@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier])
def test_scores_add_up_to_the_difference_to_the_mean_output(sample, output):
    classifier, examples = sample()
    case = Case.bind(classifier, examples)
    measures = DeepSHAP(output=output).scores(case).measures
    rows = case.batch.rows
    outputs = []
    for example in load(classifier.trained_on):
        start = reference(case, rows, [example] * len(rows))
        with torch.no_grad(), classifier.evaluating():
            logits = classifier.run(rows, embeds=start).logits
        outputs.append(case.scaled(logits, case.targets, output))
    difference = case.scaled(case.output.logits, case.targets, output) - torch.stack(outputs).mean(0)
    torch.testing.assert_close(measures["difference"].float(), difference, atol=1e-5, rtol=0)
    assert measures["residual"].abs().max() < 1e-5


@pytest.mark.parametrize("name", ["roberta", "distilbert", "albert", "gpt2"])
def test_scores_add_up_on_other_families(name, data):
    case = bind(family(name), *SENTENCES[:2], "dull")
    measures = DeepSHAP(background=data(*SENTENCES[2:])).scores(case).measures
    assert measures["residual"].abs().max() < 1e-5
    assert measures["difference"].abs().max() > 1e-3


def test_the_scores_of_all_positions_are_the_mean_of_deep_lift(data):
    """With the rules of Captum's DeepLiftShap."""
    classifier = family("bert", units="token")
    case = bind(classifier, SENTENCES[0])
    rows = case.batch.rows
    embeds = classifier.embed(rows).detach().requires_grad_()
    starts = torch.cat([reference(case, rows, [Example.of(text)]) for text in SENTENCES[1:]])

    class FromEmbeddings(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = classifier.model

        def forward(self, values):
            return self.model(inputs_embeds=values).logits

    with pytest.warns(UserWarning, match="Setting forward, backward hooks"):
        found = DeepLiftShap(FromEmbeddings()).attribute(embeds, starts, int(case.targets[0]))
    scores = EXPLAINERS.create(f"deep-shap(preset=captum, background={data(*SENTENCES[1:])})").scores(case)
    torch.testing.assert_close(scores.values, case.to_units(found.sum(-1).detach()), atol=1e-4, rtol=0)
    assert scores.measures["residual"].abs().item() > 1e-3


def test_a_reference_keeps_special_tokens_and_is_padded():
    classifier = family("bert")
    case = bind(classifier, "dull movie", "A gorgeous, witty, seductive movie; don't miss it.")
    rows = case.batch.rows
    starts = reference(case, rows, [Example.of("the plot is dull"), Example.of("a delight")])
    words = classifier.model.get_input_embeddings().weight.detach()
    first, second = ((starts[:, :, None] - words).abs().sum(-1).argmin(-1)).tolist()
    names = classifier.tokenizer.convert_ids_to_tokens
    length, width = int(rows.lengths[0]), rows.unit_of.shape[1]
    cut = classifier.tokenizer("the plot is dull")["input_ids"]
    assert first[:length] == [*cut[: length - 1], cut[-1]]
    assert names(first[length - 1]) == "[SEP]"
    whole = classifier.tokenizer("a delight")["input_ids"]
    assert second == whole + [classifier.pad_id] * (width - len(whole))


def test_windows_have_no_probabilities_but_add_up(data):
    classifier, examples = text_classifier(max_length=8, long="window")
    case = Case.bind(classifier, examples)
    name = data(*(str(example.inputs["text"]) for example in examples))
    assert DeepSHAP(background=name).scores(case).measures["residual"].abs().max() < 1e-5
    with pytest.raises(UnsupportedError, match="deep-shap of a logprob is not defined window by window"):
        DeepSHAP(background=name, output="logprob").scores(case)


def test_chance_depends_on_the_seed_only(data):
    classifier = family("bert")
    name = data(*SENTENCES, *(f"{text} Hardly." for text in SENTENCES))
    scores = [
        DeepSHAP(samples=3, background=name, seed=seed).scores(bind(classifier, *texts)).values[0, :3]
        for seed, texts in ((0, ["a dull story"]), (0, ["a dull story", "free"]), (1, ["a dull story"]))
    ]
    torch.testing.assert_close(scores[0], scores[1], atol=1e-6, rtol=0)
    assert (scores[0] - scores[2]).abs().max() > 1e-4


def test_more_samples_make_smaller_margins_and_more_rows():
    classifier, examples = text_classifier()
    means, counts = [], []
    for samples in (4, 64):
        engine = Engine()
        case = Case.bind(classifier, examples[:1], engine=engine)
        margins = DeepSHAP(samples=samples, background="planted(train=80)").scores(case).margins
        means.append(margins.mean().item())
        counts.append(engine.cost.forwards)
    assert means[1] < means[0] / 2
    assert counts == [1 + 2 * 4, 1 + 2 * 64]


def test_many_samples_are_kept_in_portions(data, monkeypatch):
    classifier = family("bert")
    explainer = DeepSHAP(background=data(*SENTENCES))
    at_once = explainer.scores(bind(classifier, *SENTENCES))
    monkeypatch.setattr("veridical.explainers.deep_shap._SCORES_AT_ONCE", 1)
    one_by_one = explainer.scores(bind(classifier, *SENTENCES))
    torch.testing.assert_close(at_once.values, one_by_one.values, atol=1e-6, rtol=0)
    torch.testing.assert_close(at_once.margins, one_by_one.margins, atol=1e-5, rtol=0)


def test_memory_is_bounded_by_the_engine(data):
    """No more positions are run at once than the engine allows, references included."""

    class Watched(Formula):
        most = 0

        def run(self, rows, **options):
            self.most = max(self.most, rows.unit_of.numel())
            return super().run(rows, **options)

    formula = Watched(WEIGHTS, Formula.linear(WEIGHTS).function)
    background = data(*(f"bad {'film ' * count}" for count in range(1, 20)))
    for explainer in (DeepLift(), DeepSHAP(background=background)):
        explainer.scores(bind(formula, *["good film", "a bad film a"] * 20, engine=Engine(tokens=24)))
        assert formula.most == 24


def test_equal_backgrounds_leave_no_doubt(data):
    classifier = family("bert", labels=())  # regression
    case = bind(classifier, "a dull dull story")
    scores = DeepSHAP(background=data("free", "free")).scores(case)
    assert scores.margins.max() < 1e-6
    assert scores.values[0, 1] != scores.values[0, 2]


def test_the_background_is_what_the_model_was_trained_on(tmp_path):
    classifier, examples = text_classifier()
    classifier.save(tmp_path)
    loaded = Classifier.load(tmp_path)
    assert loaded.trained_on is None
    with pytest.raises(UsageError, match="does not say what it was trained on.*background=reviews:train"):
        DeepSHAP().scores(Case.bind(loaded, examples))
    record = {"dev_data": None, "model": "tiny", "objective": {}, "schedule": {}, "settings": {}}
    write_record(tmp_path, TrainRecord(data="planted(train=6)[:4]", **record))
    for settings in ({}, {"max_length": 16}):
        loaded = Classifier.load(tmp_path, **settings)
        assert loaded.trained_on == "planted(train=6):train[:4]"
    (tmp_path / "run.json").write_text("[]")
    assert Classifier.load(tmp_path).trained_on is None
    unnamed = DeepSHAP().scores(Case.bind(classifier, examples))
    named = DeepSHAP(background=classifier.trained_on).scores(Case.bind(classifier, examples))
    assert torch.equal(unnamed.values, named.values)


@pytest.mark.parametrize(
    ("sample", "name", "problem"),
    [
        (text_classifier, "planted-pairs", "has text and text_pair, and the examples have text"),
        (pair_classifier, "planted", "has text, and the examples have text and text_pair"),
        (text_classifier, "planted-images", "has image, and the examples have text"),
        (image_classifier, "planted", "has text, and the examples have image"),
    ],
)
def test_a_background_of_another_kind_is_refused(sample, name, problem):
    with pytest.raises(UsageError, match=problem):
        DeepSHAP(background=f"{name}(train=4)").scores(Case.bind(*sample()))


def test_backgrounds_that_are_too_small_are_refused(data):
    case = bind(Formula.linear(WEIGHTS), "good")
    with pytest.raises(UsageError, match="has 1 other examples"):
        DeepSHAP(background=data("good", "bad")).scores(case)
    with pytest.raises(UsageError, match=r"DeepSHAP\(samples=1\) is beyond its limits. samples is 2 or more"):
        DeepSHAP(samples=1)  # one example has no margins


def test_presets():
    assert EXPLAINERS.create("deep-shap(preset=l2e)").samples == 1000
    assert EXPLAINERS.create("deep-shap(preset=l2e-imdb-r)").samples == 500


def test_zero_embeddings_are_not_the_background():
    case = bind(family("bert"), "a dull story")
    against_nothing = DeepLift().scores(case).values
    against_texts = DeepSHAP(background="planted(train=4)").scores(case).values
    assert (against_nothing - against_texts).abs().max() > 1e-3
