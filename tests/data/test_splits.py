from collections import Counter

import pytest

from veridical.core.errors import InputError, UsageError
from veridical.data.dataset import Chance, draw_splits, find_split


def test_the_stream_never_changes() -> None:
    # Written down once: a change here means that every drawn split and made text has silently become another.
    chance = Chance("frozen", 0)
    assert [chance.below(1000) for _ in range(4)] == [835, 292, 671, 637]
    assert Chance("frozen", 1).shuffled("abcdef") == list("facebd")


def test_other_keys_give_other_streams() -> None:
    streams = {tuple(Chance(*key).shuffled(range(20))) for key in (("a", 0), ("a", 1), ("b", 0))}
    assert len(streams) == 3


def test_shuffling_keeps_every_item_and_the_input() -> None:
    items = list(range(50))
    assert sorted(Chance("x").shuffled(items)) == items == list(range(50))


def test_choices_are_about_even() -> None:
    chance = Chance("even")
    counts = Counter(chance.pick("abcd") for _ in range(4000))
    assert set(counts) == set("abcd")
    assert all(850 < count < 1150 for count in counts.values())
    assert 0.22 < sum(chance.happens(0.25) for _ in range(4000)) / 4000 < 0.28


def test_every_row_is_dealt_once_in_the_right_shares_and_class_balance() -> None:
    labels = ["a"] * 500 + ["b"] * 300 + ["c"] * 200
    dealt = draw_splits(labels, 0, "mine")
    assert sorted(at for rows in dealt.values() for at in rows) == list(range(1000))
    assert {split: len(rows) for split, rows in dealt.items()} == {"train": 800, "dev": 100, "test": 100}
    assert Counter(labels[at] for at in dealt["test"]) == {"a": 50, "b": 30, "c": 20}


def test_the_beginning_of_a_split_is_mixed_though_the_rows_are_sorted() -> None:
    labels = ["a"] * 500 + ["b"] * 500
    assert {labels[at] for at in draw_splits(labels, 0, "mine")["test"][:20]} == {"a", "b"}


def test_the_seed_decides() -> None:
    labels = ["a"] * 100
    assert draw_splits(labels, 1, "mine") == draw_splits(labels, 1, "mine") != draw_splits(labels, 2, "mine")


@pytest.mark.parametrize("count", [3, 4, 9, 10, 11, 12, 25])
def test_no_split_is_empty(count: int) -> None:
    assert all(draw_splits(list(range(count)), 0, "mine").values())


def test_too_few_rows_are_an_error() -> None:
    with pytest.raises(InputError, match=r"mine\.csv has 2 rows, too few"):
        draw_splits(["a", "b"], 0, "mine.csv")


def test_a_split_is_found_under_its_other_names() -> None:
    assert find_split("validation", ("train", "dev"), "x") == "dev"
    assert find_split("dev", ("train", "validation"), "x") == "validation"
    assert find_split("val", ("val", "dev"), "x") == "val"


def test_a_missing_split_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"scitail has no split 'train'\. There are: dev, test\."):
        find_split("train", ("dev", "test"), "scitail")
