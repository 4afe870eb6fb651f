"""Ids as files have them: missing, repeated, or of no use."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from veridical.core.errors import UsageError, VeridicalWarning
from veridical.data import Dataset, load
from veridical.data.rows import own_ids

WriteRows = Callable[[str, Iterable[dict[str, Any]]], Path]


def row(id: object, text: str, label: str = "a", **more: object) -> dict[str, object]:
    return {"id": id, "text": text, "label": label, **more}


def read(path: Path, options: str = "") -> tuple[Dataset, list[str]]:
    """The data, and what was said of it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return load(f"{path}{options}"), [str(each.message) for each in told]


def said(data: Dataset) -> list[tuple[str, object, object]]:
    return [(example.id, example.inputs["text"], example.label) for example in data]


def test_a_row_that_repeats_another_is_left_out_and_counted(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [row(7, "x"), row(8, "y"), row(7, "x"), row(7, "x"), row(8, "y", stars=3)])
    data, told = read(path)
    assert said(data) == [("7", "x", "a"), ("8", "y", "a")]
    assert told == [f"{path}: 3 rows repeat the id and the content of another (line 3), and only the first is taken"]


def test_another_text_or_label_under_the_same_id_is_numbered(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [row(7, "x"), row(7, "y"), row(7, "x", "b"), row(7, "y")])
    data, told = read(path)
    assert said(data) == [("7", "x", "a"), ("7 (2)", "y", "a"), ("7 (3)", "x", "b")]
    assert told == [
        f"{path}: 1 row repeats the id and the content of another (line 4), and only the first is taken; "
        "2 rows have the id of another and other content, and a number beside it: '7 (2)' (line 2); "
        "id=none numbers all rows instead"
    ]


def test_other_marks_of_people_are_no_repetition(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [row(1, "abc", rationales=[[0, 1]]), row(1, "abc", rationales=[[1, 3]])])
    assert [example.id for example in read(path)[0]] == ["1", "1 (2)"]


def test_a_number_that_is_taken_is_passed_over() -> None:
    assert own_ids(["7", "7 (2)", "7", "7"], "abcd") == ["7", "7 (2)", "7 (3)", "7 (4)"]
    assert own_ids(["7", "7", "7 (2)"], "aab") == ["7", None, "7 (2)"]


def test_many_rows_of_one_id_take_no_longer_each() -> None:
    count = 50_000
    found = own_ids(["same"] * count, map(str, range(count)))
    assert found[-1] == f"same ({count})"


def test_none_numbers_the_rows(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [row(7, "x"), row(7, "x"), row(7, "y")])
    data, told = read(path, "(id=none)")
    assert [example.id for example in data] == ["1", "2", "3"]
    assert data[0].extra == {"id": 7}
    assert told == []
    assert load(str(path), columns={"id": None}) == data  # type: ignore[dict-item]


def test_rows_without_an_id_have_the_number_of_their_row(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [row("b", "x"), row("b", "x"), row(None, "y"), row("", "z"), row("4", "w")])
    data, told = read(path)
    assert [example.id for example in data] == ["b", "3", "4", "4 (2)"]
    assert "'4 (2)' (line 5)" in told[0]


def test_splits_have_the_ids_of_the_whole(write_rows: WriteRows) -> None:
    rows = [row(number % 20, f"text {number}", "ab"[number % 2]) for number in range(60)]
    path = write_rows("mine.jsonl", [*rows, *rows[:7]])
    whole, _ = read(path)
    assert len(whole) == len({(each["id"], each["text"], each["label"]) for each in rows}) == 60
    parts = [example for split in ("train", "dev", "test") for example in read(path, f":{split}")[0]]
    assert sorted(parts, key=lambda each: each.id) == sorted(whole, key=lambda each: each.id)
    assert len({example.id for example in whole}) == len(whole)


def test_a_split_column_deals_what_is_left(write_rows: WriteRows) -> None:
    rows = [row(1, "x", part="train"), row(1, "x", part="train"), row(2, "y", part="test"), row(1, "x", part="test")]
    path = write_rows("mine.jsonl", rows)
    assert said(read(path, "(split=part):train")[0]) == [("1", "x", "a")]
    assert said(read(path, "(split=part):test")[0]) == [("2", "y", "a"), ("1 (2)", "x", "a")]


def test_a_column_that_is_named_must_exist(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [{"text": "x", "key": "k"}])
    assert load(f"{path}(id=key)")[0].id == "k"
    assert load(str(path))[0].id == "1"
    with pytest.raises(UsageError, match="has no column 'number'"):
        load(f"{path}(id=number)")


def test_it_is_a_warning_of_our_own(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [row(1, "x"), row(1, "x")])
    with pytest.warns(VeridicalWarning, match="1 row repeats"):
        load(f"{path}[:1]")
