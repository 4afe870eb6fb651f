from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.component import options_of
from veridical.core.errors import UsageError
from veridical.data import DATASETS, catalogue, load

WriteRows = Callable[[str, Iterable[dict[str, Any]]], Path]


def test_every_named_set_is_described() -> None:
    entries = {entry.name: entry for entry in catalogue()}
    assert list(entries) == ["reviews", "imdb", "planted", "planted-pairs", "planted-images", "digits", "neutral"]
    assert entries["planted-pairs"].task == "pair classification"
    assert entries["digits"].where == "package scikit-learn"
    assert all(entry.splits == ("train", "dev", "test") and len(entry.description) > 20 for entry in entries.values())


@pytest.mark.parametrize("name", list(DATASETS))
def test_every_named_set_loads_and_is_a_value(name: str) -> None:
    source = DATASETS.create(name)
    assert source == DATASETS.from_spec(DATASETS.spec(source))
    assert hash(source) == hash(DATASETS.create(name))
    options = (
        f"({', '.join(f'{each}=20' for each in ('train', 'dev', 'test'))})"
        if "train" in options_of(type(source))
        else ""
    )
    for split in source.splits():
        data = load(f"{name}{options}:{split}[:5]")
        assert len(data) == 5
        assert all(example.label in data.labels for example in data)
        assert load(data.name) == data


def test_the_directory_is_listed_and_loaded_by_name(
    write_rows: WriteRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path))
    row = {"text": "a", "label": "x"}
    write_rows("sst2/train.jsonl.gz", [row])
    write_rows("imdb/dev.jsonl", [row])
    write_rows("qe-1/dev.jsonl.gz", [{**row, "text_pair": "b", "label": 0.5}])
    write_rows("broken/dev.jsonl", [row]).write_text("{oops\n")
    write_rows("notes/other.jsonl", [row])
    write_rows("README.md", [])
    (tmp_path / "pixels").mkdir()
    np.savez(tmp_path / "pixels/data.npz", test_images=np.zeros((1, 2, 2), np.uint8), test_labels=[0], classes=["x"])
    rows = {entry.name: entry for entry in catalogue() if entry.name not in DATASETS}
    assert list(rows) == ["broken", str(tmp_path / "imdb"), "pixels", "qe-1", "sst2"]
    assert rows["qe-1"].task == "pair regression"
    assert rows["qe-1"].splits == ("dev",)
    assert rows["pixels"].task == "image classification"
    assert rows["sst2"].description == "columns: text, label"
    assert "line 1" in rows["broken"].description
    assert load("sst2").name == "sst2:train"
    assert load("qe-1:dev").is_regression
    assert load("pixels:test")[0].label == "x"
    assert len(load("imdb:dev")) > 1  # the built-in keeps its name


def test_a_directory_that_is_none_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=r"VERIDICAL_DATA names .*gone, which is not a folder"):
        catalogue()
    assert len(load("planted:dev[:3]")) == 3
