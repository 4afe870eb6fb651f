"""What students learn from: losses by the numbers of the sheet, and lessons made of explanations."""

import math

import pytest
import torch

from veridical.core.errors import InputError
from veridical.core.values import Explanation, Unit
from veridical.training.lessons import (
    Aims,
    aims_of,
    lessons_of,
    level_loss,
    order_accuracy,
    order_loss,
    squared_error,
    three_levels,
)

VALUES = torch.tensor([[0.2, 1.5, -0.3]])
SIZES = torch.tensor([[0.1, -0.9, 0.4]]).abs()
ALL = torch.ones(1, 3, dtype=torch.bool)


def explanation(scores, target="yes", id="a", text="one two three"):
    words, start, units = text.split(), 0, []
    for word in words:
        units.append(Unit("text", (start, start + len(word)), word))
        start += len(word) + 1
    return Explanation(id, {"text": text}, target, tuple(units), tuple(scores), {}, "mine", {})


def aims(scores, level):
    live = torch.ones_like(scores, dtype=torch.bool)
    return Aims(torch.arange(len(scores)), torch.zeros(len(scores), dtype=torch.long), scores, level, live)


def test_order_by_the_sheet():
    assert order_loss(VALUES, SIZES, ALL, "sum").item() == pytest.approx(0.241008 + 0.974077 + 0.152978, abs=1e-5)
    assert order_loss(VALUES, SIZES, ALL, "mean").item() == pytest.approx(1.368063 / 3, abs=1e-5)
    assert order_loss(torch.zeros(1, 3), SIZES, ALL, "sum").item() == pytest.approx(3 * math.log(2), abs=1e-6)
    shifted = order_loss(VALUES + 7, SIZES, ALL, "sum")
    assert shifted.item() == pytest.approx(1.368063, abs=1e-5)


def test_equal_sizes_have_no_order_but_in_the_published_code():
    even = torch.tensor([[0.5, 0.5, 0.5]])
    assert order_loss(VALUES, even, ALL, "mean") == 0
    assert order_loss(torch.zeros(1, 3), even, ALL, "ref_code").item() == pytest.approx(0, abs=1e-6)
    assert order_loss(VALUES, even, ALL, "ref_code") != 0


def test_padding_takes_no_part_in_an_order():
    padded = torch.tensor([[0.2, 1.5, -0.3, 9.0]]), torch.tensor([[0.1, 0.9, 0.4, 5.0]])
    live = torch.tensor([[True, True, True, False]])
    assert order_loss(*padded, live, "sum").item() == pytest.approx(1.368063, abs=1e-5)


def test_long_texts_have_some_pairs_drawn():
    torch.manual_seed(0)
    values, sizes = torch.randn(1, 300), torch.randn(1, 300)
    live = torch.ones(1, 300, dtype=torch.bool)
    first, second = torch.triu_indices(300, 300, 1)
    ahead = (sizes[0, first] - sizes[0, second]).sign() * (values[0, first] - values[0, second])
    assert order_loss(values, sizes, live).item() == pytest.approx(
        torch.nn.functional.softplus(-ahead).mean().item(), rel=0.1
    )


def test_short_texts_have_all_of_their_pairs_beside_long_ones():
    """Two texts of three words, one of which is in a batch with a text of 300: three pairs of 44,850."""
    torch.manual_seed(0)
    values, sizes = torch.randn(2, 300), torch.randn(2, 300).abs()
    values[0, :3], sizes[0, :3] = VALUES[0], SIZES[0]
    live = torch.arange(300) < torch.tensor([3, 300])[:, None]
    alone = order_loss(values[:1], sizes[:1], live[:1], "sum")
    assert alone.item() == pytest.approx(1.368063, abs=1e-5)
    both = order_loss(values, sizes, live, "sum", None, seeded())
    other = order_loss(values[1:], sizes[1:], live[1:], "sum", None, seeded())
    assert both.item() == pytest.approx((1.368063 + other.item()) / 2, rel=1e-5)


def seeded():
    return torch.Generator().manual_seed(7)


def test_drawn_pairs_stand_for_all_of_them():
    torch.manual_seed(0)
    values, sizes = torch.randn(1, 200), torch.randn(1, 200).abs()
    first, second = torch.triu_indices(200, 200, 1)
    ahead = (sizes[0, first] - sizes[0, second]).sign() * (values[0, first] - values[0, second])
    whole = torch.nn.functional.softplus(-ahead).sum().item()
    live = torch.ones(1, 200, dtype=torch.bool)
    for reduction, expected in (("sum", whole), ("ref_code", whole / 202)):
        drawn = [order_loss(values, sizes, live, reduction).item() for _ in range(30)]
        assert sum(drawn) / 30 == pytest.approx(expected, rel=0.02)
    same = [order_loss(values, sizes, live, "sum", None, seeded()).item() for _ in range(2)]
    assert same[0] == same[1]


def test_label_tokens_come_after_every_word():
    tags = torch.tensor([[0.7, -0.4]])
    words = order_loss(VALUES, SIZES, ALL, "sum").item()
    below = sum(math.log1p(math.exp(tag - value)) for tag in (0.7, -0.4) for value in (0.2, 1.5, -0.3))
    assert order_loss(VALUES, SIZES, ALL, "sum", tags).item() == pytest.approx(words + below, abs=1e-5)
    # The two label tokens are equal: the published code pushes the first of them up, and divides by n + 2.
    even = math.log1p(math.exp(-(0.7 + 0.4))) - math.log(2)
    published = order_loss(VALUES, SIZES, ALL, "ref_code", tags).item()
    assert published == pytest.approx((words + below + even) / 5, abs=1e-5)


def test_label_tokens_are_neutral_among_levels():
    found = aims(torch.tensor([[1.0, -1.0]]), torch.tensor([[4, 0]]))
    logits, neutral = torch.zeros(1, 2, 5), torch.zeros(1, 2, 5)
    neutral[..., 2] = 3.0
    one = math.log(4 + math.exp(3)) - 3
    total = level_loss(logits, found, "sum", neutral).item()
    assert total == pytest.approx(2 * math.log(5) + 2 * one, abs=1e-5)


def test_levels_by_the_sheet():
    (lesson,) = lessons_of([[explanation([0.8, 0.2, 0.05, 0.0, -0.1, -0.5], text="a b c d e f")]], ["yes"]).items
    assert aims_of([lesson], 5).level.tolist() == [[4, 3, 3, 2, 1, 0]]
    part = lesson.part(1, 3, 5)
    assert aims_of([part], 5).level.tolist() == [[3, 3]]  # as in the whole text


def test_three_levels_for_teachers_that_are_never_negative():
    scores = torch.tensor([[9.0, 1.0, 1.0, 1.0, 0.0, 5.0]])
    live = torch.tensor([[True] * 5 + [False]])
    mean = 12 / 5
    deviation = math.sqrt(sum((value - mean) ** 2 for value in (9, 1, 1, 1, 0)) / 5)
    expected = [0 if value >= mean + deviation else 1 if value >= mean - deviation else 2 for value in (9, 1, 1, 1, 0)]
    assert three_levels(scores, live)[0, :5].tolist() == expected


def test_losses_of_levels_and_scores():
    level = torch.tensor([[4, 2]])
    logits = torch.zeros(1, 2, 5)
    found = aims(torch.tensor([[1.0, -1.0]]), level)
    assert level_loss(logits, found, "mean").item() == pytest.approx(math.log(5))
    assert level_loss(logits, found, "sum").item() == pytest.approx(2 * math.log(5))
    assert squared_error(torch.tensor([[0.0, 0.0]]), found, "mean").item() == pytest.approx(1.0)


def test_pairs_in_the_right_order():
    assert order_accuracy(VALUES, SIZES, ALL).item() == pytest.approx(2 / 3)
    assert order_accuracy(SIZES, SIZES, ALL).item() == 1
    assert order_accuracy(VALUES, torch.ones(1, 3), ALL).isnan().all()


def test_several_teachers_speak_with_one_voice():
    one = [explanation([1.0, -2.0, 2.0])]
    other = [explanation([10.0, -20.0, 20.0])]
    found = lessons_of([one, other], ["no", "yes"])
    assert found.items[0].targets == (1, 1)
    assert torch.allclose(found.items[0].scores[0], found.items[0].scores[1])
    assert found.scale == 1.0
    alone = lessons_of([one], ["no", "yes"])
    assert torch.allclose(alone.items[0].scores * alone.scale, torch.tensor([[1.0, -2.0, 2.0]]))


def test_explanations_of_zeros_teach_nothing():
    found = lessons_of([[explanation([0.0, 0.0, 0.0]), explanation([1.0, 0.0, 0.0], id="b")]], ["yes"])
    assert [item.example.id for item in found.items] == ["b"]
    assert found.left_out == 1
    with pytest.raises(InputError, match="all scores of the teacher are 0"):
        lessons_of([[explanation([0.0, 0.0, 0.0])]], ["yes"])


def test_teachers_that_cut_texts_differently():
    with pytest.raises(InputError, match=r"example a.*different words"):
        lessons_of([[explanation([1.0, 0.0, 0.0])], [explanation([1.0, 0.0], text="one twothree")]], ["yes"])
