"""What a file or folder is taken for, and how the folders of the shared directory are described."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from veridical.core.errors import InputError, UsageError
from veridical.data.columns import Columns
from veridical.data.eraser_folders import EraserFolder
from veridical.data.folders import DataFile, DataFolder, ImageFolder
from veridical.data.sources import describe, open_path, shared_sets

Write = Callable[[str, str], Path]

ROW = "text,label\nrain,bad\n"


def test_what_is_in_a_path_decides(write: Write, tmp_path: Path) -> None:
    assert isinstance(open_path(write("mine.csv", ROW), Columns()), DataFile)
    assert isinstance(open_path(write("set/train.csv", ROW).parent, Columns()), DataFolder)
    assert isinstance(open_path(write("eraser/docs/a", "some words").parents[1], Columns()), EraserFolder)
    (tmp_path / "pixels").mkdir()
    np.savez(tmp_path / "pixels" / "data.npz", classes=["x"])
    assert isinstance(open_path(tmp_path / "pixels", Columns()), ImageFolder)
    assert isinstance(open_path(tmp_path / "pixels" / "data.npz", Columns()), ImageFolder)


def test_a_folder_without_data_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no data set. It needs train, dev or test files"):
        open_path(tmp_path, Columns())


def test_the_options_reach_the_source(write: Write) -> None:
    columns = Columns(text="review", seed=3)
    source = open_path(write("mine.csv", ROW), columns)
    assert isinstance(source, DataFile)
    assert source.columns == columns


@pytest.mark.parametrize(
    ("first", "task"),
    [
        ('{"text": "a", "label": "x"}', "text classification"),
        ('{"text": "a", "label": 0.5}', "text regression"),
        ('{"text": "a", "text_pair": "b", "label": "x"}', "pair classification"),
        ('{"text": "a", "text_pair": "b", "label": 1.5}', "pair regression"),
    ],
)
def test_the_first_row_tells_the_task(write: Write, first: str, task: str) -> None:
    found, line = describe(write("set/train.jsonl", f"{first}\n").parent)
    assert found == task
    assert line.startswith("columns: text")


def test_a_folder_of_images_is_described_by_what_it_is(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", classes=["x"])
    assert describe(tmp_path) == (
        "image classification",
        "A NumPy archive of images; the labels are numbers of `classes`.",
    )


def test_a_folder_with_lists_of_labels_says_so(write: Write) -> None:
    task, line = describe(write("set/train.jsonl", '{"text": "a", "label": ["x", "y"]}\n').parent)
    assert (task, line) == ("text multi-label classification", "columns: text, label")


def test_an_empty_file_is_described_by_what_the_folder_is(write: Write) -> None:
    task, line = describe(write("set/train.jsonl", "\n").parent)
    assert (task, line.partition(" with")[0]) == ("text classification", "A folder")


def test_only_folders_with_data_are_shared(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("b/train.csv", ROW)
    write("a/dev.csv", ROW)
    write("notes/readme.txt", "no data")
    write("twice/train.csv", ROW)
    write("twice/train.jsonl", "{}")
    write("loose.csv", ROW)
    assert shared_sets() == {}
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path))
    assert list(shared_sets()) == ["a", "b"]
    with pytest.raises(InputError, match="has two files for train: train.csv and train.jsonl. Keep one"):
        open_path(tmp_path / "twice", Columns())


def test_the_home_directory_may_be_written_short(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("home/data/a/dev.csv", ROW)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VERIDICAL_DATA", "~/data")
    assert list(shared_sets()) == ["a"]
