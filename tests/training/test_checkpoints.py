"""Damaged checkpoints: the one before is used, and where there is none, the true reason is said."""

import json
import shutil

import pytest
import torch

from veridical.core.errors import StorageError
from veridical.core.progress import Watch
from veridical.data import load
from veridical.models.new import start
from veridical.objectives import CrossEntropy
from veridical.training import Schedule
from veridical.training.checkpoints import Found, last_checkpoint, remove_checkpoints, written
from veridical.training.fit import fit

DATA = load("planted(train=64, length=5):train"), load("planted(train=64, length=5):dev[:20]")
SCHEDULE = Schedule(epochs=3, checks=1)


def train(folder, **rest):
    classifier = start("tiny", DATA[0], DATA[0].labels)
    return classifier, fit(classifier, CrossEntropy(), *DATA, folder, SCHEDULE, **rest)


def state_of(checkpoint):
    return json.loads((checkpoint / "trainer_state.json").read_text())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the last two checkpoints of a training.

    When the older was written, the best was the first, which is gone by now: the newer one is better.
    """
    folder = tmp_path_factory.mktemp("finished")
    classifier, _ = train(folder)
    assert {path.name for path in folder.glob("checkpoint-*")} == {"checkpoint-4", "checkpoint-6"}
    best = {step: state_of(folder / f"checkpoint-{step}")["best_global_step"] for step in (4, 6)}
    assert best == {4: 2, 6: 6}
    return folder, classifier


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished[0], tmp_path / "run")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    """Change bytes in the middle, as a bad disk does."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(255 - byte for byte in content[middle : middle + 8])
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def remove(path):
    path.unlink()


DAMAGE = [
    ("model.safetensors", cut, "is damaged: .*incomplete|is damaged: .*buffer"),
    ("model.safetensors", empty, "is damaged: "),
    ("model.safetensors", remove, "is missing"),
    ("optimizer.pt", empty, "is damaged: File is not a zip file"),
    ("optimizer.pt", cut, "is damaged: File is not a zip file"),
    ("optimizer.pt", flip, "is damaged: the checksum of .* is wrong"),
    ("optimizer.pt", remove, "is missing"),
    ("scheduler.pt", empty, "is damaged: "),
    ("rng_state.pth", cut, "is damaged: "),
    ("rng_state.pth", remove, "is missing"),
    ("trainer_state.json", cut, "is damaged: "),
    ("trainer_state.json", empty, "is damaged: Expecting value"),
]


@pytest.mark.parametrize(("file", "damage", "reason"), DAMAGE, ids=lambda value: getattr(value, "__name__", str(value)))
def test_the_one_before_is_used_or_the_damage_is_named(file, damage, reason, folder):
    assert last_checkpoint(folder) == Found(folder / "checkpoint-6")
    damage(folder / "checkpoint-6" / file)
    found = last_checkpoint(folder)
    assert (found.path, found.step) == (folder / "checkpoint-4", 4)
    (problem,) = found.damaged
    assert problem.startswith(f"{folder / 'checkpoint-6' / file} is ")
    shutil.rmtree(folder / "checkpoint-4")
    with pytest.raises(StorageError, match=rf"no checkpoint can be used: .*checkpoint-6/{file} ({reason})") as raised:
        last_checkpoint(folder)
    assert raised.value.remedy.startswith("Restore the file, or delete")


def test_without_a_state_it_was_never_finished_and_is_none(folder):
    """It is written last, so that this is what a kill leaves."""
    (folder / "checkpoint-6" / "trainer_state.json").unlink()
    assert last_checkpoint(folder) == Found(folder / "checkpoint-4")
    (folder / "checkpoint-4" / "trainer_state.json").unlink()
    assert last_checkpoint(folder) == Found()


def test_a_state_of_something_else(folder):
    (folder / "checkpoint-6" / "trainer_state.json").write_text('["a list"]')
    (problem,) = last_checkpoint(folder).damaged
    assert problem.endswith("it holds no state of a training")


def test_a_best_checkpoint_that_is_damaged_is_known_before_its_weights_are_needed(folder):
    state = folder / "checkpoint-6" / "trainer_state.json"
    state.write_text(json.dumps({**state_of(folder / "checkpoint-6"), "best_global_step": 4}))
    assert last_checkpoint(folder).step == 6
    empty(folder / "checkpoint-4" / "model.safetensors")
    with pytest.raises(StorageError, match="no checkpoint can be used: .*checkpoint-4/model.safetensors is damaged"):
        last_checkpoint(folder)


def test_a_best_checkpoint_that_somebody_has_removed_is_missed(folder):
    state = folder / "checkpoint-6" / "trainer_state.json"
    state.write_text(json.dumps({**state_of(folder / "checkpoint-6"), "best_global_step": 2}))
    with pytest.raises(StorageError, match="the best checkpoint, .*checkpoint-2, is gone"):
        train(folder)


def test_training_goes_on_from_the_one_before_and_says_so(folder, finished):
    empty(folder / "checkpoint-6" / "optimizer.pt")
    told = []
    classifier, fitted = train(folder, watch=Watch(told.append))
    assert fitted.resumed_from == 4
    note = f"{folder / 'checkpoint-6' / 'optimizer.pt'} is damaged: File is not a zip file; going on from "
    assert fitted.notes[0] == note + str(folder / "checkpoint-4")
    assert fitted.notes[0] in [progress.note for progress in told if progress.is_result]
    for name, values in finished[1].model.state_dict().items():
        torch.testing.assert_close(classifier.model.state_dict()[name], values, atol=1e-6, rtol=0, msg=name)


def test_a_checkpoint_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    torn = tmp_path / "checkpoint-2"
    torn.mkdir()
    with pytest.raises(StorageError, match="cannot write .*checkpoint-2: unexpected pos"), written(torn):
        (torn / "optimizer.pt").write_bytes(b"half")
        raise RuntimeError("unexpected pos 576 vs 534")
    assert not torn.exists()


def test_checkpoints_are_removed_and_nothing_else(folder):
    (folder / "model.safetensors").write_text("")
    remove_checkpoints(folder)
    assert [path.name for path in folder.iterdir()] == ["model.safetensors"]
