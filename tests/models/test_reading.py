"""Texts and pairs as rows: what is cut, what is windowed, and what is counted."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import pytest
import torch

from veridical.core.errors import InputError, UsageError
from veridical.core.values import PAIR, TEXT, Example
from veridical.models.text_classifier import TextClassifier
from veridical.models.text_rows import frame_of, truncate, windows
from veridical.testing.families import LIMIT, family

Make = Callable[..., TextClassifier]

SHORT, LONG = "a dull movie", " ".join(["movie", "gorgeous", "the", "dull,"] * 30)
PAIRS = [(SHORT, SHORT), (LONG, SHORT), (SHORT, LONG), (LONG, LONG), ("", LONG), (LONG, "")]


@pytest.mark.parametrize("texts", [(SHORT,), (LONG,), ("",), *PAIRS], ids=lambda texts: str([len(x) for x in texts]))
def test_rows_are_what_the_tokenizer_itself_makes(make: Make, any_name: str, texts: tuple[str, ...]) -> None:
    classifier = make(any_name)
    example = Example.of(texts[0] if len(texts) == 1 else texts)  # type: ignore[arg-type]
    for side in ("right", "left"):
        classifier.tokenizer.truncation_side = side
        try:
            rows = classifier.encode([example]).rows
            theirs = classifier.tokenizer(*([text] for text in texts), truncation=True, max_length=LIMIT)
        finally:
            classifier.tokenizer.truncation_side = "right"
        expected = theirs["input_ids"][0] or [classifier.pad_id]
        assert rows.inputs["input_ids"].tolist() == [expected]
        assert rows.inputs["attention_mask"].tolist() == [[1] * len(expected)]
        if "token_type_ids" in rows.inputs:
            assert rows.inputs["token_type_ids"].tolist() == theirs["token_type_ids"]


@pytest.mark.parametrize("units", ["word", "token"])
@pytest.mark.parametrize("texts", [(LONG, ""), (LONG, SHORT), (SHORT, LONG), (LONG, LONG)])
def test_what_is_cut_is_counted(make: Make, any_name: str, units: str, texts: tuple[str, str]) -> None:
    whole = make(any_name, units=units, long="window")
    classifier = make(any_name, units=units)
    separate = [whole.encode([Example.of(text)]).units[0] for text in texts]  # all units, from windows
    batch = classifier.encode([Example.of(texts)])
    assert batch.truncated[0] == sum(map(len, separate)) - len(batch.units[0]) > 0
    for field, units_of_field in zip((TEXT, PAIR), separate, strict=True):
        seen = [unit for unit in batch.units[0] if unit.field == field]
        assert [unit.span for unit in seen] == [unit.span for unit in units_of_field][: len(seen)]


def test_nothing_is_counted_where_nothing_is_cut(make: Make, any_name: str, examples: list[Example]) -> None:
    assert make(any_name).encode(examples).truncated == (0, 0, 0)
    assert make(any_name, long="window").encode([Example.of(LONG)]).truncated == (0,)


def test_a_word_that_is_cut_through_stays_whole(make: Make) -> None:
    text = "x" * 30 + " end"
    batch = make("roberta", max_length=12).encode([Example.of(text)])
    assert [unit.text for unit in batch.units[0]] == ["x" * 30]
    assert batch.truncated == (1,)


def test_texts_cut_on_the_left_lose_their_first_words() -> None:
    classifier = family("bert", max_length=8)
    classifier.tokenizer.truncation_side = "left"
    batch = classifier.encode([Example.of("the first the last the movie")])
    assert batch.units[0][-1].text == "movie"
    assert batch.truncated[0] == 6 - len(batch.units[0]) > 0


def test_windows_read_each_token_once(make: Make, any_name: str) -> None:
    classifier = make(any_name, long="window")
    batch = classifier.encode([Example.of(SHORT, "a"), Example.of(LONG, "b"), Example.of("", "c")])
    whole = classifier.tokenizer(LONG, add_special_tokens=False)["input_ids"]
    mine = batch.rows.owner == 1
    content = batch.rows.unit_of >= 0
    assert batch.rows.inputs["input_ids"][mine][content[mine]].tolist() == whole
    assert set(batch.rows.unit_of[mine][content[mine]].tolist()) == set(range(len(batch.units[1])))
    assert batch.rows.owner.tolist() == [0] + [1] * int(mine.sum()) + [2]
    assert int(mine.sum()) == -(-len(whole) // (LIMIT - frame_of(classifier.tokenizer, 1).size))
    assert int(batch.rows.lengths.max()) == LIMIT


def test_windows_of_pairs_repeat_the_second_text(make: Make, any_name: str) -> None:
    classifier = make(any_name, long="window")
    batch = classifier.encode([Example.of((LONG, SHORT))])
    first = torch.tensor([unit.field == TEXT for unit in batch.units[0]])
    tokens = classifier.tokenizer(LONG, add_special_tokens=False)["input_ids"]
    content = batch.rows.unit_of >= 0
    of_first = content & first[batch.rows.unit_of.clamp(min=0)]
    assert batch.rows.inputs["input_ids"][of_first].tolist() == tokens
    beside = classifier.tokenizer(SHORT, add_special_tokens=False)["input_ids"]
    for row in range(len(batch.rows)):
        assert batch.rows.inputs["input_ids"][row][content[row] & ~of_first[row]].tolist() == beside
    assert len(batch.rows) > 2
    assert batch.truncated == (0,)


def test_a_second_text_that_fills_the_window_is_refused_by_name(make: Make, any_name: str) -> None:
    classifier = make(any_name, long="window")
    with pytest.raises(InputError, match=r"example long, field 'text_pair': it has \d+ tokens.*long='truncate'"):
        classifier.encode([Example.of((SHORT, SHORT), "short"), Example.of((SHORT, LONG), "long")])


def test_a_held_field_is_context(make: Make, any_name: str, pairs: list[Example]) -> None:
    free = make(any_name).encode(pairs)
    assert {unit.field for units in free.units for unit in units} == {TEXT, PAIR}
    for hold, left in ((TEXT, PAIR), (PAIR, TEXT)):
        held = make(any_name, hold=hold).encode(pairs)
        assert held.units == tuple(tuple(unit for unit in units if unit.field == left) for units in free.units)
        assert torch.equal(held.rows.inputs["input_ids"], free.rows.inputs["input_ids"])
        assert (held.rows.unit_of.max(1).values == torch.tensor([len(units) - 1 for units in held.units])).all()
        assert (held.rows.unit_of >= 0).sum() < (free.rows.unit_of >= 0).sum()


def test_units_of_pairs_lie_in_their_own_text(make: Make, any_name: str, pairs: list[Example]) -> None:
    batch = make(any_name).encode(pairs)
    for example, units in zip(pairs, batch.units, strict=True):
        assert all(unit.text == str(example.inputs[unit.field])[slice(*unit.span)] for unit in units)
        assert [unit.field for unit in units] == sorted(unit.field for unit in units)


@pytest.mark.parametrize("long", ["truncate", "window"])
def test_a_hundred_thousand_words(make: Make, long: str) -> None:
    text = " ".join(["movie", "gorgeous", "the", "dull,"] * 25_000)
    began = time.perf_counter()
    batch = make("bert", long=long).encode([Example.of(text)])
    assert time.perf_counter() - began < 20  # about 2 s on a quiet machine
    assert len(batch.units[0]) + batch.truncated[0] == 125_000
    assert (batch.truncated[0] == 0) == (long == "window")


def test_two_long_texts_take_no_more_than_their_length(make: Make) -> None:
    text = " ".join(["movie", "dull"] * 10_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    batch = make("bert").encode([Example.of((text, text))])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB; all combinations took 16 GB
    assert batch.truncated[0] + len(batch.units[0]) == 40_000


def test_truncating_shares_the_room() -> None:
    def sizes(lengths: tuple[int, ...], room: int) -> list[int]:
        return [part.stop - part.start for part in truncate(lengths, room)]

    assert sizes((3,), 10) == [3]
    assert sizes((30,), 10) == [10]
    assert sizes((3, 5), 10) == [3, 5]
    assert sizes((3, 30), 10) == [3, 7]
    assert sizes((30, 3), 10) == [7, 3]
    assert sizes((30, 40), 11) == [5, 6]
    assert truncate((30, 3), 10, "left") == (slice(23, 30), slice(0, 3))


def test_windows_are_consecutive() -> None:
    assert windows((5,), 2) == [(slice(0, 2),), (slice(2, 4),), (slice(4, 5),)]
    assert windows((4, 1), 3) == [(slice(0, 2), slice(0, 1)), (slice(2, 4), slice(0, 1))]
    assert windows((0,), 3) == [(slice(0, 0),)]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"units": "sentence"}, "units cannot be 'sentence'. It is one of: word, token"),
        ({"long": "split"}, "long cannot be 'split'"),
        ({"hold": "premise"}, "hold cannot be 'premise'. It is one of: text, text_pair"),
        ({"max_length": 3}, "max_length cannot be 3.*5 to 64"),
        ({"max_length": 65}, "max_length cannot be 65.*5 to 64"),
        ({"unit": "word"}, "unknown setting of text models 'unit'. Did you mean 'units'"),
    ],
)
def test_wrong_settings_are_named(make: Make, settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        make("bert", **settings)


def test_positions_of_the_roberta_kind_are_not_counted_twice(make: Make) -> None:
    assert make("roberta").max_length == make("longformer").max_length == LIMIT  # of LIMIT + 2 in the table
    rows = make("roberta").encode([Example.of(LONG)]).rows
    assert int(make("roberta").model_inputs(rows)["position_ids"].max()) == LIMIT + 1
    assert torch.isfinite(make("roberta").run(rows).logits).all()


def test_bad_examples_are_named(make: Make) -> None:
    classifier = make("bert")
    with pytest.raises(InputError, match="example 7, field 'text': there is no text, only: text_pair"):
        classifier.encode([Example("7", {PAIR: "x"})])
    with pytest.raises(InputError, match="example 7, field 'text_pair': pairs and single texts are mixed"):
        classifier.encode([Example.of("a", "6"), Example.of(("a", "b"), "7")])
    with pytest.raises(
        InputError, match=r"example 7, field 'text': character 3 is half of a surrogate pair \(U\+D83D\)"
    ):
        classifier.encode([Example.of("ab\ud83d", "7")])
    with pytest.raises(UsageError, match="no examples"):
        classifier.encode([])
