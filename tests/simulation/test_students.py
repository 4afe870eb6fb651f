"""Students: losses by hand, shares of words, what they begin with, and that explanations help them."""

from dataclasses import replace

import pytest
import torch

from veridical import Classifier, load_data
from veridical.core.errors import InputError, UnsupportedError
from veridical.core.values import Example
from veridical.simulation import StudentPlan
from veridical.simulation.lessons import (
    Lesson,
    agreement,
    batches,
    divergence,
    padded_units,
    simulability,
    to_unit_shares,
)
from veridical.simulation.school import teach
from veridical.simulation.students import new_student
from veridical.testing import image_classifier, pair_classifier, text_classifier
from veridical.testing.samples import multi_label_classifier

QUICK = StudentPlan(rate=0.1, batch_size=8, epochs=12, patience=12)


def test_known_divergence_towards_the_explanation():
    why, mine = torch.tensor([[0.7, 0.2, 0.1]]), torch.tensor([[0.5, 0.25, 0.25]])
    assert float(divergence(why, mine)) == pytest.approx(0.099273, abs=1e-6)
    assert float(divergence(mine, why)) == pytest.approx(0.116622, abs=1e-6)
    assert float(divergence(why, torch.tensor([[1.0, 0.0, 0.0]]))) < 100  # a share of 0 has a floor


def test_simulability_is_accuracy_or_the_correlation():
    regression, _ = text_classifier()
    regression.labels = ()
    mine, theirs = torch.tensor([[1.0], [2], [3], [4]]), torch.tensor([[1.1], [1.9], [3.5], [3.6]])
    assert float(simulability(regression, mine, theirs).mean()) == pytest.approx(0.956307, abs=1e-6)
    assert float(simulability(regression, torch.ones(4, 1), theirs).mean()) == 0
    classifier, _ = text_classifier()
    assert agreement(classifier, torch.tensor([[2.0, 1], [0, 1], [3, 1]]), torch.tensor([0, 0, 0])) == pytest.approx(
        2 / 3
    )


def test_shares_of_words_are_those_of_their_pieces_without_special_tokens():
    classifier, examples = text_classifier()
    batch = classifier.encode(examples)
    tokens = torch.rand(batch.rows.unit_of.shape)
    found = to_unit_shares(tokens, batch)
    for row, units in enumerate(batch.units):
        own = [float(tokens[row][batch.rows.unit_of[row] == unit].sum()) for unit in range(len(units))]
        expected = torch.tensor(own) / sum(own)
        torch.testing.assert_close(found[row, : len(units)], expected)
        assert (found[row, len(units) :] == 0).all()


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier])
def test_students_begin_like_the_model_and_know_nothing(sample):
    classifier, examples = sample()
    one, same, other = (new_student(classifier, examples, replace(QUICK, seed=seed)) for seed in (0, 0, 1))
    assert one.classifier.labels == classifier.labels
    assert type(one.classifier.model) is type(classifier.model)
    assert all(torch.equal(a, b) for a, b in zip(one.weights, same.weights, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))
    theirs = list(classifier.model.parameters())
    assert not all(torch.equal(a, b) for a, b in zip(one.weights[:-1], theirs, strict=True))
    assert one.heads == 8  # two layers of four
    assert one.classifier.fingerprint != classifier.fingerprint


def test_a_student_of_a_trained_model_begins_with_what_that_began_with(trained):
    classifier = Classifier.load(trained)  # a tiny one, which began with nothing
    student = new_student(classifier, load_data("planted(length=8):test[:2]").examples, QUICK)
    assert student.classifier.encode([Example.of("a")]).rows.inputs["input_ids"].shape == (1, 3)
    assert not torch.equal(student.weights[0], next(classifier.model.parameters()))


def test_a_model_of_any_number_of_labels_has_no_students():
    classifier, examples = multi_label_classifier()
    with pytest.raises(UnsupportedError, match="any number of labels"):
        new_student(classifier, examples, QUICK)


def test_the_loss_of_a_batch_does_not_depend_on_its_padding():
    classifier, examples = text_classifier()
    student = new_student(classifier, examples, QUICK)
    batch = classifier.encode(examples)
    said = torch.zeros(len(examples), dtype=torch.long)
    whole = student.loss(batch, said, to_unit_shares(torch.ones(batch.rows.unit_of.shape), batch), "units")
    each = []
    for at, example in enumerate(examples):
        one = classifier.encode([example])
        why = to_unit_shares(torch.ones(one.rows.unit_of.shape), one)
        each.append(student.loss(one, said[at : at + 1], why, "units"))
    torch.testing.assert_close(whole, torch.stack(each).mean(), atol=1e-5, rtol=1e-5)


def test_without_weight_explanations_are_not_looked_at():
    classifier, examples = text_classifier()
    student = new_student(classifier, examples, replace(QUICK, beta=0.0))
    batch, said = classifier.encode(examples), torch.zeros(len(examples), dtype=torch.long)
    why = torch.rand(batch.rows.unit_of.shape, requires_grad=True)
    assert torch.equal(student.loss(batch, said, why), student.loss(batch, said))


def test_batches_are_whole_and_their_order_depends_on_seed_and_epoch():
    lessons = [Lesson(Example.of(str(at), str(at)), torch.tensor(0)) for at in range(21)]

    def order(seed, epoch, shift=0):
        return [
            [each.example.id for each in part] for part in batches(lessons, replace(QUICK, seed=seed), epoch, shift)
        ]

    assert [len(part) for part in order(0, 0)] == [8, 8]
    assert order(0, 0) == order(0, 0)
    assert len({str(each) for each in (order(0, 0), order(0, 1), order(1, 0), order(0, 0, 5))}) == 4
    assert [len(part) for part in batches(lessons[:3], QUICK, 0)] == [3]


def test_an_explanation_of_other_words_is_refused_by_name():
    classifier, examples = text_classifier()
    lessons = [Lesson(examples[0], torch.tensor(0), torch.ones(2) / 2)]
    with pytest.raises(InputError, match=f"{examples[0].id}.*2 parts"):
        padded_units(lessons, classifier.encode([examples[0]]))


def planted(classifier, name, scores):
    """Lessons of planted texts, whose explanations name the keyword or another word."""
    found = []
    for example in load_data(name):
        [units] = classifier.encode([example]).units
        spans = {unit.span for unit in example.evidence}
        inside = torch.tensor([float(unit.span in spans) for unit in units])
        why = None if scores is None else (scores(inside) + 1e-4) / (scores(inside) + 1e-4).sum()
        said = torch.tensor(classifier.target_index(example.label))
        found.append(Lesson(example, said, why))
    return found


def test_a_student_that_sees_the_reasons_simulates_better_than_one_that_sees_wrong_ones_or_none(classifier):
    def reached(scores):
        train = planted(classifier, "planted(length=8):train[:48]", scores)
        dev, test = (planted(classifier, f"planted(length=8):{split}[:80]", None) for split in ("dev", "test"))
        right = []
        for seed in (0, 1, 2):
            student = new_student(classifier, [each.example for each in train], replace(QUICK, seed=seed))
            teach(student, train, dev)
            mine = student.said([each.example for each in test])
            right.append(agreement(student.classifier, mine, torch.stack([each.said for each in test])))
        return sum(right) / len(right)

    told, bare, misled = reached(lambda inside: inside), reached(None), reached(lambda inside: 1 - inside)
    assert told > bare + 0.1
    assert told > misled + 0.1
