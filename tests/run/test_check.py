"""Checking a model: a good one passes, a broken one is found out, and every kind of model can be checked."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from veridical import Case, Classifier, Example, check, load_data
from veridical.core.errors import InputError, ModelError, UsageError
from veridical.explainers import EXPLAINERS
from veridical.models.new import start
from veridical.run.checks.erasure import rank_correlation, same_emptiness, same_ranking, special_attention
from veridical.run.checks.finding import attempt, percent
from veridical.run.checks.invariance import padding_invariance
from veridical.run.checks.samples import FEW, MOST, own_examples, readable
from veridical.testing import Formula, black_box, image_classifier, pair_classifier, text_classifier
from veridical.testing.families import family

TEXTS = ["A gorgeous, witty movie; don't miss it!", "dull movie", "The plot is dreadful..."]


def by_name(findings):
    return {found.name: found for found in findings}


def regression():
    _, examples = text_classifier()
    return start("tiny", examples, []), examples


@pytest.fixture(scope="module")
def good(trained):
    return check(Classifier.load(trained))


def test_a_good_model_passes(good):
    assert good.problems == []
    checks = by_name(good.checks)
    for name in ("same answer twice", "batch invariance", "padding invariance", "integrated-gradients adds up"):
        assert checks[name].verdict == "ok", checks[name]
        assert checks[name].value <= checks[name].limit
    assert checks["deep-lift adds up"].verdict == "warning"
    assert "deep-lift(complete=true)" in checks["deep-lift adds up"].remedy
    assert checks["deep-lift(complete=true) adds up"].verdict == "ok"


def test_every_method_has_a_verdict_with_its_number(good):
    methods = by_name(good.methods)
    assert set(EXPLAINERS) <= set(methods)
    assert all(found.verdict in ("ok", "warning") for found in methods.values())
    assert all(found.limit is not None and found.measured in found.meaning for found in methods.values())
    assert methods["lime"].details["samples"] < EXPLAINERS.create("lime").samples  # tried out cheaply, and says so


def test_a_model_is_checked_with_data_it_was_not_trained_on(good):
    assert good.used == "8 texts from planted(train=400, length=8):test"


def test_findings_are_data_and_words(good):
    assert json.loads(json.dumps(asdict(good)))["checks"][0]["verdict"] == "ok"
    lines = str(good).splitlines()
    assert len(lines) == 1 + len(good.checks) + len(good.methods)
    assert lines[2].startswith("batch invariance: ok ")


@pytest.mark.parametrize(
    "sample",
    [text_classifier, pair_classifier, image_classifier, black_box, regression],
    ids=lambda each: each.__name__,
)
def test_every_kind_of_model_can_be_checked(sample):
    classifier, examples = sample()
    done = check(classifier, examples)
    assert done.problems == []
    assert done.examples == len(examples)
    assert done.kind == {pair_classifier: "pair", image_classifier: "image"}.get(sample, "text")
    assert set(EXPLAINERS) <= set(by_name(done.methods))


def test_methods_that_do_not_fit_say_what_they_need():
    done = check(*black_box())
    methods = by_name(done.methods)
    assert methods["gradient"].verdict == "not possible"
    assert methods["gradient"].meaning == "needs gradients, which black-box models do not give."
    assert "attentions" in methods["attention-last-layer"].meaning
    assert methods["kernel-shap"].verdict == "ok"
    assert not any(found.name.startswith("integrated-gradients") for found in done.checks)
    assert by_name(done.checks)["padding invariance"].verdict == "not possible"


def test_a_model_without_a_mask_token_is_tried_with_another_eraser():
    methods = by_name(check(family("gpt2"), TEXTS).methods)
    for name in ("occlusion", "lime", "kernel-shap"):
        assert methods[name].verdict == "warning"
        assert "only with eraser=delete" in methods[name].meaning
    assert "Name some data" in methods["deep-shap"].remedy


def test_integrated_gradients_that_do_not_converge_are_found_out():
    found = by_name(check(family("deberta-v2"), TEXTS).methods)["integrated-gradients"]
    assert found.verdict == "warning"
    assert found.value > found.limit
    assert "baseline=content" in found.remedy


def beside_neighbours(texts):
    share = np.array([len(text) for text in texts]) / sum(len(text) for text in texts)
    return np.stack([1 - share, share], axis=1)


def test_an_answer_that_depends_on_the_batch_is_a_problem():
    done = check(Classifier.load(beside_neighbours, labels=["no", "yes"]), TEXTS)
    found = by_name(done.checks)
    assert found["batch invariance"].verdict == "problem"
    assert found["batch invariance"].value > found["batch invariance"].limit
    assert "one text at a time" in found["batch invariance"].remedy
    assert found["same answer twice"].verdict == "ok"
    assert found["batch invariance"] in done.problems
    assert "other scores in a batch than alone" in by_name(done.methods)["occlusion"].meaning


def test_an_answer_by_chance_is_a_problem():
    chance = np.random.default_rng(0)
    done = check(Classifier.load(lambda texts: chance.dirichlet([1, 1], len(texts)), labels=["no", "yes"]), TEXTS)
    assert by_name(done.checks)["same answer twice"].verdict == "problem"


class CountsPadding(BertForSequenceClassification):
    """A model whose answer depends on the width of its input, padding included."""

    slope = 0.1

    def forward(self, input_ids=None, **others):
        output = super().forward(input_ids=input_ids, **others)
        output.logits = output.logits + self.slope * input_ids.shape[1] * torch.tensor([1.0, -1.0])
        return output


@pytest.mark.parametrize(("slope", "verdict"), [(0.0, "ok"), (1e-5, "warning"), (0.1, "problem")])
def test_an_answer_that_depends_on_padding_is_found_out(slope, verdict):
    good, examples = text_classifier()
    model = CountsPadding(good.model.config)
    model.slope = slope
    found = padding_invariance(Classifier.load(model, tokenizer=good.tokenizer), examples)
    assert found.verdict == verdict, found
    assert found.value is not None


def test_padding_is_told_from_the_batch():
    good, examples = text_classifier()
    checks = by_name(
        check(Classifier.load(CountsPadding(good.model.config), tokenizer=good.tokenizer), examples).checks
    )
    assert checks["padding invariance"].verdict == checks["batch invariance"].verdict == "problem"
    assert "attention mask" in checks["padding invariance"].remedy
    assert "See padding invariance" in checks["batch invariance"].remedy


def test_uniform_attention_has_the_share_of_special_tokens():
    classifier, examples = text_classifier()
    for name, values in classifier.model.named_parameters():
        if "attention.self.query" in name:
            torch.nn.init.zeros_(values)
    case = Case.bind(classifier, examples)
    lengths = case.batch.rows.lengths
    found = special_attention(case)
    assert found.value == pytest.approx(float((2 / lengths).mean()), abs=1e-6)
    assert found.details["layers"] == pytest.approx([found.value] * 2, abs=1e-6)


def test_erasers_that_do_the_same_agree():
    case = Case.bind(Formula.linear({"good": 2.0, "day": 0.5, "bad": -1.0}), [Example.of("good bad day")])
    assert same_ranking(case).value == pytest.approx(1)
    assert same_ranking(case).verdict == same_emptiness(case).verdict == "ok"
    assert same_emptiness(case).value == pytest.approx(0, abs=1e-6)


def test_erasers_that_differ_are_found_out():
    def by_length(texts):
        return [len(text) for text in texts]

    case = Case.bind(Classifier.load(by_length), [Example.of("a bbbb ccccccc dddddddddd")])
    ranking, empty = same_ranking(case), same_emptiness(case)
    assert ranking.verdict == "ok"  # a mask is a constant more
    assert empty.details == {"delete": 0.0, "mask": 4 * len("[MASK]") + 3.0}
    assert empty.verdict == "warning"
    scores = Case.bind(Classifier.load(lambda texts: [text.count("[MASK]") for text in texts]), [Example.of("a b c")])
    assert same_ranking(scores).verdict == "not possible"  # all words alike


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [([1, 2, 3], [10, 20, 21], 1), ([1, 2, 3], [3, 2, 1], -1), ([1, 2, 2, 4], [1, 3, 2, 4], 0.9486833)],
)
def test_rank_correlation(one, other, expected):
    assert rank_correlation(torch.tensor(one), torch.tensor(other)) == pytest.approx(expected)


@pytest.mark.parametrize(("share", "words"), [(1.07, "107%"), (0.0041, "0.41%"), (0.05, "5%"), (1e-7, "<0.01%")])
def test_percent(share, words):
    assert percent(share) == words


@pytest.mark.parametrize(
    ("error", "verdict", "words"),
    [
        (UsageError("mine needs tea", remedy="Make some."), "not possible", "needs tea. Make some."),
        (ModelError("it gave NaN"), "problem", "it gave NaN."),
        (RuntimeError("shape mismatch\nand more"), "problem", "it fails with RuntimeError: shape mismatch."),
    ],
)
def test_what_goes_wrong_becomes_a_finding(error, verdict, words):
    def work():
        raise error

    found = attempt("mine", work)
    assert (found.verdict, found.words) == (verdict, words)


def test_without_training_data_examples_are_made_up(classifier):
    classifier.trained_on = "moved/away.csv:train"
    assert own_examples(classifier).name == "built-in sentences"
    images, _ = image_classifier()
    images.trained_on = None
    noise = own_examples(images)
    assert (noise.name, len(noise)) == ("random noise", FEW)
    assert check(images).problems == []


def test_own_examples_are_short_and_of_several_lengths(classifier):
    classifier.trained_on = "reviews:train"
    chosen = own_examples(classifier)
    lengths = {len(example.inputs["text"]) for example in chosen}
    assert chosen.name == "reviews:test"
    assert len(chosen) == FEW
    assert len(lengths) > 1
    assert max(lengths) < 100


def test_examples_that_cannot_be_read_are_left_out(classifier):
    mixed = [Example.of(text, str(index)) for index, text in enumerate(["", "a good day", "\udc00", "bad"])]
    assert [example.id for example in readable(classifier, mixed)] == ["1", "3"]
    assert len(readable(classifier, load_data("planted:test"))) == MOST
    with pytest.raises(InputError, match="half of a surrogate pair"):
        readable(classifier, mixed[2:3])
    with pytest.raises(InputError, match="nothing to explain"):
        readable(classifier, mixed[:1])


def test_progress_names_each_step(classifier):
    seen = []
    done = check(classifier, TEXTS[:2], progress=lambda *step: seen.append(step))
    assert [at for at, _, _ in seen] == list(range(len(seen)))
    assert {total for _, total, _ in seen} == {len(seen)}
    assert {found.name for found in done.methods} < {name for _, _, name in seen}
