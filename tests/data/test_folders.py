from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from veridical.core.errors import InputError, UsageError
from veridical.core.example import Unit
from veridical.data import load

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, Iterable[dict[str, Any]]], Path]


def test_each_file_is_a_split_and_others_are_left_alone(write: Write, write_rows: WriteRows, tmp_path: Path) -> None:
    write_rows("set/train.jsonl.gz", [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    write("set/validation.csv", "text,label\nc,x\n")
    write("set/l2e_split.jsonl", "not read")
    write("set/README.md", "not read")
    folder = tmp_path / "set"
    assert [e.inputs["text"] for e in load(str(folder))] == ["a", "b"]
    assert [e.inputs["text"] for e in load(f"{folder}:dev")] == ["c"]
    assert load(f"{folder}:val").name == f"{folder}:dev"
    with pytest.raises(UsageError, match=r"no split 'test'\. There are: train, dev\."):
        load(f"{folder}:test")


def test_rows_of_the_shared_format(write_rows: WriteRows, tmp_path: Path) -> None:
    row = {"id": "7", "text": "ein Haus", "text_pair": "a mouse", "label": -0.5, "hter": 0.3}
    row |= {"source_words": ["ein", "Haus"], "source_tags": [0, 1]}
    row |= {"target_words": ["a", "muose"], "target_tags": [1, 1]}
    write_rows("qe/dev.jsonl.gz", [row, {**row, "id": "8", "label": 1.0, "rationales": [[0, 3]]}])
    data = load(f"{tmp_path / 'qe'}:dev")
    assert data.is_regression
    assert data[0].label == -0.5
    assert data[0].evidence == (Unit("text", (4, 8), "Haus"), Unit("text_pair", (0, 1), "a"))
    assert data[0].extra == {"hter": 0.3, "unaligned_words": 1}
    assert data[1].evidence[0] == Unit("text", (0, 3), "ein")


def test_columns_apply_to_every_file(write: Write, tmp_path: Path) -> None:
    write("set/train.csv", "review,label\na,x\n")
    assert load(f"{tmp_path / 'set'}(text=review)")[0].inputs == {"text": "a"}
    with pytest.raises(UsageError, match="Leave out the option 'split'"):
        load(f"{tmp_path / 'set'}(text=review, split=label)")


def test_two_files_for_a_split_are_ambiguous(write: Write, tmp_path: Path) -> None:
    write("set/dev.csv", "text\na\n")
    write("set/val.csv", "text\nb\n")
    with pytest.raises(InputError, match=r"two files for dev: dev\.csv and val\.csv"):
        load(f"{tmp_path / 'set'}:dev")


def test_a_folder_without_data_says_what_it_needs(write: Write, tmp_path: Path) -> None:
    write("set/reviews.csv", "text\na\n")
    with pytest.raises(UsageError, match=r"holds no data set\. It needs train, dev or test files"):
        load(str(tmp_path / "set"))
