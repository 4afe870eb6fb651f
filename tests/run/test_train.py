"""Training by names: splits, finished runs, other runs in the same folder."""

import errno
import json
import re
import shutil
import subprocess
import sys

import pytest
import torch
from torch.nn import functional
from transformers import TrainerCallback

from veridical.core.errors import CancelledError, InputError, ModelError, StorageError, UsageError
from veridical.core.progress import Watch
from veridical.core.storage import OutputLock
from veridical.data import load
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.objectives import OBJECTIVES
from veridical.run.train import _splits, train, train_seeds
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


@pytest.mark.parametrize("model", ["tiny", "embedded"])
def test_a_single_class_is_named_before_there_is_a_model(tmp_path, model):
    path = tmp_path / "one.csv"
    path.write_text("text,label,split\na b,pos,train\nc d,pos,train\ne,pos,dev\n")
    with pytest.raises(InputError, match="all training examples have the label 'pos'.*Two classes"):
        train(f"{path}(split=split)", tmp_path / "run", model=model)
    assert not (tmp_path / "run").exists()


def folder_of(tmp_path, **splits):
    """Data with a file for each split."""
    folder = tmp_path / "data"
    folder.mkdir()
    for split, lines in splits.items():
        (folder / f"{split}.csv").write_text("\n".join(lines) + "\n")
    return str(folder)


LINES = ["text,label", *["good film,pos", "bad film,neg"] * 4]


def test_a_test_split_without_labels_is_no_test_split(tmp_path):
    data = folder_of(tmp_path, train=LINES, dev=LINES, test=["text", "good film"])
    done = train(data, tmp_path / "run", model="tiny", schedule=QUICK)
    assert done.dev
    assert done.test == {}


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_label_that_only_a_later_split_has_is_named_before_training(tmp_path, split):
    splits = {"train": LINES, "dev": LINES, "test": LINES, split: [*LINES, "odd film,odd"]}
    with pytest.raises(InputError, match="'odd' is not a label of this model. It knows: neg, pos"):
        train(folder_of(tmp_path, **splits), tmp_path / "run", model="tiny", schedule=QUICK)
    assert not list((tmp_path / "run").glob("checkpoint-*"))


@pytest.mark.parametrize(("labels", "metric"), [(("pos", "neg"), "pearson"), ((0.5, 1.25), "accuracy")])
def test_a_metric_of_another_task_is_refused_before_training(tmp_path, labels, metric):
    lines = ["text,label", *[f"one film,{labels[0]}", f"other film,{labels[1]}"] * 4]
    data = folder_of(tmp_path, train=lines, dev=lines)
    with pytest.raises(UsageError, match=f"unknown dev figure {metric!r}. There are: "):
        train(data, tmp_path / "run", model="tiny", schedule=Schedule(epochs=1, checks=1, metric=metric))


def test_two_trainings_do_not_share_a_folder(tmp_path):
    lock = OutputLock(tmp_path / "run")
    with pytest.raises(StorageError, match="run is being written by another process"):
        train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    lock.release()
    train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    assert not (tmp_path / "run.lock").exists()


def test_a_damaged_record_is_named_and_nothing_is_trained(tmp_path):
    train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    (tmp_path / "run" / "run.json").write_text('{"data": "planted", ')
    before = (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns
    with pytest.raises(StorageError, match="run.json is damaged.*Choose another folder"):
        train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns == before


def test_a_record_without_its_model_is_no_finished_run(tmp_path):
    train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)
    (tmp_path / "run" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot load"):
        train(DATA, tmp_path / "run", model="tiny", schedule=QUICK)


def test_a_training_tells_its_steps_and_figures(tmp_path):
    told = []
    train_seeds(DATA, tmp_path / "run", (0, 1), model="tiny", schedule=QUICK, watch=Watch(told.append))
    steps = [progress for progress in told if progress.what == "seed 1: training"]
    assert [(progress.done, progress.total) for progress in steps if not progress.is_result] == [(0, 2), (1, 2), (2, 2)]
    few, looked = [progress.note for progress in steps if progress.is_result]
    assert few.startswith("64 examples in batches of 32 give 2 steps in 1 epoch,")
    assert looked.startswith("dev: loss ")


def test_a_training_that_was_cancelled_goes_on_from_its_checkpoint(tmp_path):
    def stop(progress):
        if progress.done == 3:
            watch.cancel()

    watch, schedule = Watch(stop), Schedule(epochs=2, checks=1)
    with pytest.raises(CancelledError, match="What was finished is kept"):
        train(DATA, tmp_path / "run", model="tiny", schedule=schedule, watch=watch)
    assert not json.loads((tmp_path / "run" / "run.json").read_text())["done"]
    assert not (tmp_path / "run.lock").exists()
    done = train(DATA, tmp_path / "run", model="tiny", schedule=schedule)
    assert done.resumed_from == 2
    whole = train(DATA, tmp_path / "whole", model="tiny", schedule=schedule)
    assert (done.dev, done.test) == (whole.dev, whole.test)  # to the last digit


def test_an_objective_may_be_an_object(tmp_path):
    train(DATA, tmp_path / "run", model="tiny", schedule=QUICK, objective="saloss(lam=0.1)")
    made = OBJECTIVES.create("saloss(lam=0.1)")
    assert train(DATA, tmp_path / "run", model="tiny", schedule=QUICK, objective=made).was_done


def test_a_logger_that_is_not_installed_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("veridical.training.schedule.find_spec", lambda _package: None)
    with pytest.raises(UsageError, match="cannot report to wandb: the package is not.*pip install wandb"):
        train(DATA, tmp_path / "run", model="tiny", schedule=Schedule(report_to="wandb"))
    assert not (tmp_path / "run").exists()


def test_where_a_run_is_logged_is_no_part_of_what_it_is(tmp_path, monkeypatch):
    """Stopped while it reported to a logger, it goes on without; and it is found again with another."""
    monkeypatch.setattr("veridical.training.schedule.find_spec", lambda _package: object())
    logged = Schedule(epochs=2, checks=1, report_to="wandb")
    monkeypatch.setattr("veridical.run.train.fit", lambda *_: pytest.fail("it has a logger"))
    with pytest.raises(pytest.fail.Exception):
        train(DATA, tmp_path / "run", model="tiny", schedule=logged)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["schedule"]["report_to"] == "wandb"
    monkeypatch.undo()
    silent = Schedule(epochs=2, checks=1)
    assert not train(DATA, tmp_path / "run", model="tiny", schedule=silent).was_done
    monkeypatch.setattr("veridical.training.schedule.find_spec", lambda _package: object())
    assert train(DATA, tmp_path / "run", model="tiny", schedule=logged).was_done


def test_few_rows_do_not_end_at_chance_without_a_word(tmp_path):
    rows = [f"say {'yes' if index % 2 else 'no'} {index},{index % 2}" for index in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    told = []
    slow = Schedule(rate=1e-9, head_rate=1e-9)
    done = train(str(tmp_path / "mine.csv"), tmp_path / "run", model="tiny", schedule=slow, watch=Watch(told.append))
    few, chance = done.notes
    assert few == (
        "48 examples in batches of 32 give 6 steps in 3 epochs, and a new head needs 50 or more. "
        "Try --batch-size 8 --epochs 9."
    )
    assert re.match(r"the dev accuracy of 0\.\d+ is not clearly better than 0\.5000, .*6 examples", chance)
    assert chance.endswith("Try --batch-size 8 --epochs 9.")
    first = next(progress for progress in told if progress.is_result)
    assert (first.note, first.done, first.total) == (few, 0, 6)  # before the first step
    assert train(str(tmp_path / "mine.csv"), tmp_path / "run", model="tiny", schedule=slow).notes == done.notes


def test_what_the_note_advises_helps(tmp_path):
    rows = [f"say {'yes' if index % 2 else 'no'} {index},{index % 2}" for index in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    advised = Schedule(batch_size=8, epochs=9)
    done = train(str(tmp_path / "mine.csv"), tmp_path / "run", model="tiny", schedule=advised)
    assert done.dev["accuracy"] == 1.0
    assert done.notes == ()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a given size, which only root can make."""
    place, mounted = tmp_path / "disk", []

    def mount(kilobytes):
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        mounted.append(place)
        return place

    if shutil.which("mount") is None:
        pytest.skip("nothing can be mounted here")
    yield mount
    for each in mounted:
        subprocess.run(["umount", "--lazy", str(each)], check=True)  # weights may still be mapped to memory


@pytest.mark.parametrize("free", [-4, 0, 100, 600, 1000, 1500, 2400, 3000])
def test_a_disk_that_gets_full_at_some_point(small_disk, free):
    """Of the record, the weights, the optimizer's state, the next checkpoint: wherever, it is said in a sentence."""
    disk = small_disk(8_000)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(8_000 * 1024 - (free + 4) * 1024))
    with pytest.raises(
        StorageError, match="cannot (write|save).*(the disk is full|No space left).*Free some space"
    ) as raised:
        train(DATA, disk / "run", model="tiny", schedule=Schedule(epochs=2, checks=1))
    assert raised.value.exit_code == 5
    assert not list(disk.glob("*.lock"))
    ballast.unlink()
    done = train(DATA, disk / "run", model="tiny", schedule=Schedule(epochs=2, checks=1))
    assert done.test
    assert Classifier.load(disk / "run").labels


class FullDisk(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_while_training(tmp_path):
    with pytest.raises(StorageError, match="No space left on device.*Free some space"):
        train(DATA, tmp_path / "run", model="tiny", schedule=QUICK, callbacks=[FullDisk()])
    assert train(DATA, tmp_path / "run", model="tiny", schedule=QUICK).test


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write to"):
        train(DATA, tmp_path / "file" / "run", model="tiny", schedule=QUICK)


TOGETHER = """
import json, os, sys
from veridical.masking import Engine
from veridical.run.train import train
from veridical.training import Schedule

predict, seen = Engine.predict, []
Engine.predict = lambda engine, model, examples: seen.append(len(examples)) or predict(engine, model, examples)
data = "planted(train=400, dev=101, test=51, length=8)"
train(data, sys.argv[1], model="tiny", schedule=Schedule(epochs=4, checks=1, batch_size=16))
with open(f"{sys.argv[1]}-{os.environ['RANK']}.json", "w") as file:
    json.dump(seen, file)
"""


def test_several_processes_train_together(tmp_path):
    """Two processes on this machine, as `torchrun` starts them on many: they share each step, one of them writes."""
    script = tmp_path / "script.py"
    script.write_text(TOGETHER)
    start_two = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *start_two, str(script), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["dev"]["accuracy"] > 0.95
    assert max(line["step"] for line in record["history"]) == 4 * 13  # 400 examples, 2 processes, 16 each
    # A few examples to see which figures there are; then each predicts its half of the dev and test splits.
    seen = [json.loads((tmp_path / f"run-{place}.json").read_text()) for place in (0, 1)]
    assert seen == [[4, *[51] * 4, 26], [4, *[50] * 4, 25]]
    # The trainer logs the mean loss of both processes, and so are the terms that it is made of.
    steps = [line for line in record["history"] if "cross_entropy" in line]
    assert len(steps) > 10
    assert all(line["cross_entropy"] == pytest.approx(line["loss"], abs=1e-4) for line in steps)
    alone = Engine().predict(Classifier.load(tmp_path / "run"), load("planted(train=400, dev=101, length=8):dev"))
    assert record["dev"]["loss"] == pytest.approx(_loss(alone), abs=1e-5)


def _loss(logits):
    dev = load("planted(train=400, dev=101, length=8):dev")
    gold = torch.tensor([dev.labels.index(example.label) for example in dev])
    return float(functional.cross_entropy(logits, gold))
