"""Few steps and figures of chance are said, with options that give enough steps."""

import re

import pytest
import torch
from sklearn.metrics import f1_score

from veridical import Example
from veridical.models.new import start
from veridical.training import Schedule
from veridical.training.evaluation import chance
from veridical.training.notes import ENOUGH, at_chance, few_steps, steps_of


def examples(labels):
    return [Example(str(index), {"text": f"text {index}"}, label) for index, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("schedule", "count", "steps"),
    [
        (Schedule(), 48, 6),
        (Schedule(epochs=0.5), 320, 5),
        (Schedule(epochs=2, batch_size=10, accumulate=3), 100, 8),
        (Schedule(), 1, 3),
    ],
)
def test_steps_are_counted(schedule, count, steps):
    assert steps_of(schedule, count) == steps


@pytest.mark.parametrize("schedule", [Schedule(), Schedule(epochs=0.5), Schedule(accumulate=4), Schedule(batch_size=4)])
@pytest.mark.parametrize("count", [1, 5, 20, 48, 100, 300, 531, 532, 545])
def test_what_is_advised_gives_enough_steps(schedule, count):
    note = few_steps(schedule, count)
    assert (note is None) == (steps_of(schedule, count) >= ENOUGH)
    if note is not None:
        batch, epochs = map(int, re.search(r"--batch-size (\d+) --epochs (\d+)", note).groups())
        accumulate = 1 if "--accumulate 1" in note else schedule.accumulate
        assert batch <= schedule.batch_size
        assert epochs >= schedule.epochs
        assert few_steps(Schedule(epochs=epochs, batch_size=batch, accumulate=accumulate), count) is None


def test_the_note_says_what_there_is_and_what_to_do():
    assert few_steps(Schedule(epochs=1), 60) == (
        "60 examples in batches of 32 give 2 steps in 1 epoch, and a new head needs 50 or more. "
        "Try --batch-size 8 --epochs 7."
    )
    assert few_steps(Schedule(accumulate=2), 60).endswith("Try --batch-size 8 --epochs 7 --accumulate 1.")


def test_chance_of_classes_is_always_saying_the_commonest():
    data = examples(["a"] * 30 + ["b"] * 60 + ["c"] * 10)
    base, margin = chance(start("tiny", data, ("a", "b", "c")), data)
    assert base == pytest.approx(0.6)
    assert margin == pytest.approx(1.645 * (0.6 * 0.4 / 100) ** 0.5)


def test_chance_of_sets_is_the_best_set_that_is_always_said():
    generator = torch.Generator().manual_seed(0)
    held = torch.rand(40, 3, generator=generator) < torch.tensor([0.7, 0.4, 0.1])
    data = examples([tuple(name for name, has in zip("abc", row, strict=True) if has) for row in held.tolist()])
    base, _ = chance(start("tiny", data, ("a", "b", "c")), data)
    always = [torch.tensor(which).expand(40, -1) for which in ([1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1])]
    assert base == pytest.approx(max(f1_score(held.numpy(), each.numpy(), average="micro") for each in always))


def test_chance_of_numbers_is_no_correlation():
    data = examples([float(index) for index in range(25)])
    assert chance(start("tiny", data, ()), data) == (0.0, pytest.approx(1.645 / 5))


def test_a_figure_of_chance_is_said_and_a_better_one_is_not():
    data = examples(["a", "b"] * 50)
    classifier = start("tiny", data, ("a", "b"))
    assert at_chance(classifier, {"accuracy": 0.6}, data, Schedule(), 60) is None
    few = at_chance(classifier, {"accuracy": 0.55}, data, Schedule(), 60)
    assert few == (
        "the dev accuracy of 0.5500 is not clearly better than 0.5000, which a model that always says the same has on "
        "these 100 examples. Try --batch-size 8 --epochs 7."
    )
    many = at_chance(classifier, {"accuracy": 0.5}, data, Schedule(), 6000)
    assert many.endswith("Try more --epochs or another --rate, and look at the labels.")
