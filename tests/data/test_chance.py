from collections import Counter

from veridical.data.chance import Chance


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
