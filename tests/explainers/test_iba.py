"""IBA for one text: against a plain loop, in the right direction, and a model that is left as it was."""

from dataclasses import replace

import pytest
import torch

from veridical.core.errors import UsageError
from veridical.data import load
from veridical.explainers import IBAPerSample
from veridical.explainers.iba import Usual, information
from veridical.masking import Case
from veridical.run.explain import explain
from veridical.testing import multi_label_classifier, text_classifier
from veridical.testing.samples import start

DATA = "planted(train=400, length=8)"
NO_NOISE = "veridical.explainers.iba._noise"


def by_a_plain_loop(classifier, example, steps, weight):
    """The search for one text, without noise: the mean takes its place."""
    rows = classifier.encode([example]).rows
    usual = Usual.of(classifier, load(classifier.trained_on).examples)
    words = rows.unit_of[0] >= 0
    with torch.no_grad():
        shown = classifier.run(rows, hidden=True)
    target, states = shown.logits.argmax().item(), shown.hidden[0]  # [1, T, d]
    alpha = torch.full((int(words.sum()), states.shape[-1]), 5.0, requires_grad=True)
    search = torch.optim.Adam([alpha], lr=1.0)
    for _ in range(steps):
        kept = torch.ones_like(states)
        kept[0, words] = alpha.sigmoid()
        mixed = kept * states + (1 - kept) * usual.mean
        said = classifier.run(rows, enter=lambda _, mixed=mixed: mixed).logits
        told = information(alpha, usual.standard(states[0, words])).mean()
        search.zero_grad()
        (torch.nn.functional.cross_entropy(said, torch.tensor([target])) + weight * told).backward()
        search.step()
    found = information(alpha, usual.standard(states[0, words])).sum(-1).detach()
    unit = rows.unit_of[0, words]
    return torch.stack([found[unit == each].mean() for each in range(int(unit.max()) + 1)])


@pytest.mark.parametrize(("steps", "weight"), [(1, 10.0), (10, 10.0), (10, 0.1)])
def test_it_is_what_a_plain_loop_finds(steps, weight, monkeypatch):
    monkeypatch.setattr(NO_NOISE, lambda _seeds, _lengths, shape: torch.zeros(shape))
    classifier, examples = text_classifier()
    explainer = IBAPerSample(steps=steps, information=weight)
    found = explainer.scores(Case.bind(classifier, examples)).values
    for at, example in enumerate(examples):
        expected = by_a_plain_loop(classifier, example, steps, weight)
        torch.testing.assert_close(found[at, : len(expected)], expected, rtol=1e-3, atol=1e-4)


def test_noise_is_what_embeddings_are_like():
    classifier, examples = text_classifier()
    usual = Usual.of(classifier, examples)
    states = torch.cat(
        [classifier.run(classifier.encode([each]).rows, hidden=True).hidden[0][0, 1:-1] for each in examples]
    )
    torch.testing.assert_close(usual.mean, states.mean(0).detach())
    torch.testing.assert_close(usual.spread, states.std(0, correction=0).detach())
    flat = Usual.of(classifier, [replace(examples[1], inputs={"text": "."})])
    assert (flat.spread == 0.01).all()  # one word has no spread, and nothing is divided by 0
    kept = torch.tensor([[0.0], [1.0], [0.5]])
    mixed = usual.blended(states[:3], kept, torch.ones(3, 64))
    torch.testing.assert_close(mixed[0], usual.mean + usual.spread)
    torch.testing.assert_close(mixed[1], states[1])
    torch.testing.assert_close(mixed[2], (states[2] + usual.mean + usual.spread) / 2)


def test_the_planted_word_comes_out_on_top(classifier):
    examples = load(f"{DATA}:test").examples[:40]
    found = explain(classifier, examples, "iba-per-sample")
    hits = [
        max(zip(made.scores, made.units, strict=True))[1].span in [each.span for each in example.evidence]
        for made, example in zip(found, examples, strict=True)
    ]
    assert sum(hits) / len(hits) > 0.7  # chance is an eighth


def test_a_seed_gives_the_same_scores_and_another_gives_others():
    classifier, examples = text_classifier()
    one, same, other = (
        IBAPerSample(steps=3, copies=2, seed=seed).scores(Case.bind(classifier, examples)).values for seed in (0, 0, 1)
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("text", ["", "good", "good good good"])
def test_texts_without_words_and_with_one(text):
    classifier, examples = text_classifier()
    short = replace(examples[0], inputs={"text": text})
    case = Case.bind(classifier, [short, examples[3]])
    found = IBAPerSample(steps=2, copies=2).scores(case).values
    assert torch.isfinite(found).all()
    assert (found[~case.live] == 0).all()
    alone = IBAPerSample(steps=2, copies=2).scores(Case.bind(classifier, [short])).values
    assert torch.allclose(alone[0], found[0, : alone.shape[1]], atol=1e-5)


def test_many_steps_do_not_overflow():
    classifier, examples = text_classifier()
    explainer = IBAPerSample(steps=60, copies=1, information=0.0)  # nothing holds information back
    assert torch.isfinite(explainer.scores(Case.bind(classifier, examples[:2])).values).all()


def test_numbers_and_several_labels():
    _, examples = text_classifier()
    regression = start("tiny", examples, [])
    regression.trained_on = "planted(train=6)"
    for classifier in (regression, multi_label_classifier()[0]):
        case = Case.bind(classifier, examples[:2])
        found = IBAPerSample(steps=2, copies=2).scores(case).values
        assert (found[case.live] > 0).all()


def test_a_model_that_does_not_say_what_it_was_trained_on():
    classifier, examples = text_classifier()
    classifier.trained_on = None
    with pytest.raises(UsageError, match="does not say what it was trained on.*iba-per-sample\\(background="):
        explain(classifier, examples, "iba-per-sample")
    assert explain(classifier, examples[:1], "iba-per-sample(background='planted(train=6)', steps=1)")


def test_only_the_bottleneck_learns():
    classifier, examples = text_classifier()
    before = [weight.clone() for weight in classifier.model.parameters()]
    IBAPerSample(steps=2, copies=2).scores(Case.bind(classifier, examples))
    for old, new in zip(before, classifier.model.parameters(), strict=True):
        assert torch.equal(old, new)
        assert new.grad is None
        assert new.requires_grad


def test_the_share_of_a_word_that_is_kept():
    """It begins with a logit of 5, which keeps nearly everything, and falls from there."""
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)
    found = IBAPerSample(score="kept", steps=3, copies=2).scores(case).values
    assert (found[case.live] > 0).all()
    assert (found[case.live] < torch.tensor(5.0).sigmoid()).all()
    assert (found[~case.live] == 0).all()
