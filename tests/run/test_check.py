"""Checking a model: a good one passes, a broken one is found out, and every kind of model can be checked."""

import json
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from veridical import Case, Classifier, Example, check, load_data
from veridical.core.component import required
from veridical.core.errors import CancelledError, InputError, ModelError, UsageError
from veridical.core.progress import Watch
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.explainers.base import adding_up
from veridical.models.new import start
from veridical.run.check import FEW, MOST, own_examples, readable
from veridical.run.checks.erasure import same_emptiness, same_ranking, special_attention
from veridical.run.checks.finding import attempt, percent
from veridical.run.checks.invariance import padding_invariance
from veridical.testing import Formula, black_box, image_classifier, pair_classifier, text_classifier
from veridical.testing.families import family

TEXTS = ["A gorgeous, witty movie; don't miss it!", "dull movie", "The plot is dreadful..."]

LEARNED = {name for name, cls in EXPLAINERS.items() if getattr(cls, "learned_by", "")}
"""Methods that come with a model, if at all."""


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
    assert checks["deep-lift adds up"].verdict == "ok"


def test_every_method_has_a_verdict_with_its_number(good):
    methods = by_name(good.methods)
    assert EXPLAINERS.keys() - LEARNED <= set(methods)
    assert all(found.verdict in ("ok", "warning") for found in methods.values())
    assert all(found.limit is not None and found.measured in found.meaning for found in methods.values())
    assert methods["lime"].details["samples"] < EXPLAINERS.create("lime").samples  # tried out cheaply, and says so


def test_a_model_is_checked_with_data_it_was_not_trained_on(good):
    assert good.used == "8 texts from planted(train=400, length=8):test"


def test_findings_are_data_and_words(good):
    assert json.loads(json.dumps(asdict(good)))["checks"][0]["verdict"] == "ok"
    *doubtful, fine = str(good).splitlines()[1:]
    assert all(": warning " in line for line in doubtful)
    assert fine.startswith("ok: same answer twice, batch invariance, ")


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
    assert EXPLAINERS.keys() - LEARNED <= set(by_name(done.methods))


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
    classifier = family("deberta-v2")
    with torch.no_grad():
        for name, weight in classifier.model.named_parameters():
            weight *= not name.endswith("bias")  # it has biases, and all of them are zero
    found = by_name(check(classifier, TEXTS).methods)["integrated-gradients"]
    assert found.verdict == "warning"
    assert found.value > found.limit
    assert "baseline=mask" in found.remedy


def test_integrated_gradients_converge_on_a_model_without_biases():
    found = by_name(check(family("modernbert"), TEXTS).methods)["integrated-gradients"]
    assert found.verdict == "ok"


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


def by_mask(deleted, masked):
    """A model whose output falls by given numbers when a word is deleted, and by others when it is masked."""

    def predict(texts):
        return [sum(_value(text.split(), word, deleted, masked) for word in deleted) for text in texts]

    return predict


def _value(words, word, deleted, masked):
    if word in words:
        return 0.0
    return -masked[word] if "[MASK]" in words else -deleted[word]


@pytest.mark.parametrize(
    ("deleted", "masked", "expected"),
    [
        ((1, 2, 3), (10, 20, 21), 1),
        ((1, 2, 3), (3, 2, 1), -1),
        ((1, 2, 2, 4), (1, 3, 2, 4), 0.9486833),
    ],
)
def test_rankings_are_compared_by_their_rank_correlation(deleted, masked, expected):
    words = "abcd"[: len(deleted)]
    model = by_mask(dict(zip(words, deleted, strict=True)), dict(zip(words, masked, strict=True)))
    found = same_ranking(Case.bind(Classifier.load(model), [Example.of(" ".join(words))]))
    assert found.value == pytest.approx(expected)
    assert list(found.details) == ["delete and mask"]


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
    done = check(classifier, TEXTS[:2], watch=Watch(seen.append))
    assert [each.done for each in seen] == list(range(len(seen)))
    assert {each.total for each in seen} == {len(seen)}
    assert {found.name for found in done.methods} < {each.note for each in seen}


def test_a_check_can_be_cancelled(classifier):
    watch = Watch(lambda told: watch.cancel() if told.done == 3 else None)
    with pytest.raises(CancelledError):
        check(classifier, TEXTS[:2], watch=watch)


def test_cancelling_is_no_finding():
    def work():
        raise CancelledError("cancelled")

    with pytest.raises(CancelledError):
        attempt("mine", work)


def test_a_folder_can_be_checked(trained, good):
    assert check(trained).checks == good.checks


@dataclass(frozen=True)
class HalfShares:
    """Scores that add up to a part of what they should; a plug-in that inherits nothing."""

    part: float = 0.5
    needs: ClassVar[frozenset[str]] = frozenset()
    cost: ClassVar[str] = "none"

    def passes(self, units):
        return 0

    def scores(self, case):
        difference = torch.ones(len(case))
        shares = self.part * case.live / case.live.sum(1, keepdim=True)
        return Scores(shares, measures=adding_up(shares.sum(1), difference))


@dataclass(frozen=True)
class FullShares(HalfShares, Explainer):
    """The same with all that explainers can have: a remedy and a cheap form."""

    def quick(self, units):
        return FullShares(0.75)

    @property
    def remedy(self):
        return "Use the whole."


@dataclass(frozen=True)
class FreeShares(HalfShares, Explainer):
    """Scores that need not add up."""

    def scores(self, case):
        return Scores(super().scores(case).values)


@pytest.fixture
def plug_ins(monkeypatch):
    monkeypatch.setattr(EXPLAINERS, "_registered", {})
    EXPLAINERS.register("half")(HalfShares)
    EXPLAINERS.register("full")(FullShares)
    EXPLAINERS.register("free")(FreeShares)


def test_what_a_plug_in_promises_is_checked(plug_ins, classifier):
    done = check(classifier, TEXTS[:2])
    checks, methods = by_name(done.checks), by_name(done.methods)
    assert checks["half adds up"].verdict == "warning"
    assert checks["half adds up"].value == pytest.approx(0.5)
    assert checks["half adds up"].remedy == ""
    assert checks["full adds up"].value == pytest.approx(0.25)  # tried out in its cheap form
    assert checks["full adds up"].remedy == "Use the whole."
    assert methods["full"].details == {"name": "full", "part": 0.75}
    assert "free adds up" not in checks
    assert methods["free"].verdict == "ok"
    assert "occlusion adds up" not in checks  # it says how far words act together, and promises nothing


def test_a_method_without_default_options_says_what_is_missing(monkeypatch, classifier):
    @dataclass(frozen=True)
    class Needy(FreeShares):
        part: float = required("How much is shared.")

    monkeypatch.setattr(EXPLAINERS, "_registered", {"needy": Needy})
    found = by_name(check(classifier, TEXTS[:1]).methods)["needy"]
    assert found.verdict == "not possible"
    assert found.meaning == "needs the option 'part'."
