"""Training by names: splits, finished runs, other runs in the same folder."""

import json

import pytest

from veridical.core.errors import InputError, UsageError
from veridical.models import Classifier
from veridical.run.training import _splits, train
from veridical.training import Schedule

QUICK = Schedule(epochs=1, checks=1)
DATA = "planted(train=64, dev=16, test=16, length=5)"


def test_a_finished_run_is_found_and_not_done_again(tmp_path):
    first = train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    before = (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns
    second = train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    assert second.was_done
    assert (second.dev, second.test) == (first.dev, first.test)
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns == before


def test_a_folder_with_another_run_is_refused(tmp_path):
    train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    with pytest.raises(UsageError, match="holds another run, which differs in: schedule"):
        train(DATA, tmp_path / "run", model="tiny", schedule=Schedule(epochs=2))


def test_the_record_says_what_was_run(tmp_path):
    train(f"{DATA}:train[:32]", tmp_path / "run", model="tiny", schedule=QUICK, settings={"units": "token"})
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["data"] == f"{DATA}:train[:32]"
    assert record["schedule"]["seed"] == 0
    assert record["objective"] == {"name": "cross-entropy", "smoothing": 0.0}
    assert {"accuracy", "macro_f1", "loss"} <= record["test"].keys()
    assert Classifier.load(tmp_path / "run").units == "token"


def test_splits_are_found_by_name(tmp_path):
    train_split, dev, test = _splits(f"{DATA}[:10]", None)
    assert (train_split.name, len(train_split)) == (f"{DATA}:train[:10]", 10)
    assert (dev.name, len(dev)) == (f"{DATA}:dev", 16)
    assert test is not None
    assert test.name == f"{DATA}:test"


def test_a_users_file_is_split_by_itself(tmp_path):
    path = tmp_path / "mine.csv"
    rows = [f"say {'yes' if index % 2 else 'no'} {index},{index % 2}" for index in range(100)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    train_split, dev, test = _splits(str(path), None)
    assert (len(train_split), len(dev), len(test or ())) == (80, 10, 10)


def test_data_without_labels(tmp_path):
    (tmp_path / "mine.csv").write_text("text\n" + "a text\n" * 30)
    with pytest.raises(InputError, match="has no labels.*Name the label column"):
        train(str(tmp_path / "mine.csv"), tmp_path / "run", model="tiny")
