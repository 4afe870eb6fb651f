"""Portions of a case, and divergences against numbers worked out apart."""

import pytest
import torch

from veridical.explainers.attention import last_cls
from veridical.masking import Case
from veridical.objectives.portion import kl, mean_over_examples, portion, symmetric_kl
from veridical.testing import image_classifier, text_classifier
from veridical.testing.families import family


def test_the_divergence_of_shares_has_a_direction():
    attention, shares = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([3.0, 1.0, 1.0]) / 5
    assert kl(attention, shares).item() == pytest.approx(0.030479, abs=1e-6)
    assert kl(shares, attention).item() == pytest.approx(0.028300, abs=1e-6)


def test_shares_of_zero_are_no_trouble():
    p = torch.tensor([1.0, 0.0], requires_grad=True)
    assert kl(p, torch.tensor([1.0, 0.0])).item() == 0
    apart = kl(p, torch.tensor([0.0, 1.0]))
    assert apart.item() == pytest.approx(23.02585, abs=1e-4)
    apart.backward()
    assert torch.isfinite(p.grad).all()


def test_the_symmetric_divergence_of_logits():
    one, other = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.5])
    assert kl(one.softmax(0), other.softmax(0)).item() == pytest.approx(0.257403, abs=1e-6)
    assert symmetric_kl(one, other).item() == pytest.approx(0.530277, abs=1e-6)
    assert symmetric_kl(other, one).item() == pytest.approx(0.530277, abs=1e-6)
    assert symmetric_kl(one, one + 3).item() == pytest.approx(0, abs=1e-12)


def case_of(classifier, examples):
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch, attentions=True, hidden=True))


def windows():
    return text_classifier(max_length=8, long="window")


def longformer():
    return family("longformer", labels=("negative", "positive")), text_classifier()[1]


@pytest.mark.parametrize("sample", [text_classifier, windows, image_classifier, longformer], ids=lambda s: s.__name__)
def test_it_has_the_outputs_of_its_examples(sample):
    classifier, examples = sample()
    part = portion(case_of(classifier, examples), 2)
    assert len(part) == 2
    alone = case_of(classifier, list(part.batch.examples))
    torch.testing.assert_close(part.output.logits, alone.output.logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(part.targets, alone.targets)
    torch.testing.assert_close(part.batch.rows.owner, alone.batch.rows.owner)
    torch.testing.assert_close(part.live, alone.live)
    found, expected = (last_cls(case.output, case.batch.rows) for case in (part, alone))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert part.output.logits.requires_grad
    layers = [(*part.output.attentions, *part.output.hidden), (*alone.output.attentions, *alone.output.hidden)]
    lengths = part.batch.rows.lengths.tolist()
    for mine, theirs in zip(*layers, strict=True):  # without padding, of which models may add some at the end
        for found, expected, length in zip(mine, theirs, lengths, strict=True):
            there = (slice(None), slice(length)) if found.dim() == 3 else (slice(length),)
            torch.testing.assert_close(found[there], expected[there], atol=1e-5, rtol=0)


def test_a_portion_is_counted_by_the_engine_of_the_whole():
    case = case_of(*text_classifier())
    portion(case, 2).ask_with_gradients()
    assert case.engine.cost.forwards == case.engine.cost.queries == 2


def test_how_many_and_which():
    classifier, examples = text_classifier()
    case = case_of(classifier, examples)
    assert portion(case, 1) is case
    assert [len(portion(case, every)) for every in (2, 3, 4, 5, 100)] == [2, 2, 1, 1, 1]
    chosen = {portion(case, 4).batch.examples[0].id for _ in range(60)}
    assert chosen == {example.id for example in examples}


def test_the_same_state_of_chance_gives_the_same_examples():
    classifier, examples = text_classifier()
    case = case_of(classifier, examples)
    state = torch.get_rng_state()
    first = [portion(case, 4).batch.examples for _ in range(8)]
    torch.set_rng_state(state)
    assert [portion(case, 4).batch.examples for _ in range(8)] == first


def test_windows_are_averaged():
    case = case_of(*windows())
    rows = case.batch.rows
    assert len(rows) > len(case)
    torch.testing.assert_close(case.ask_with_gradients(embeds=case.classifier.embed(rows)).logits, case.output.logits)
    assert mean_over_examples(case, rows.owner.double()).item() == pytest.approx(1.5)  # of 0, 1, 2 and 3
