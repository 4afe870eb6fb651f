"""What a component has learned: kept in a folder, read strictly, and tied to the model that it was trained with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from veridical.core.errors import ModelError, StorageError, UnsupportedError
from veridical.core.folders import COMPONENT_FILE
from veridical.explainers import EXPLAINERS, VMaskLayer
from veridical.models.classifier import fingerprint_of
from veridical.models.weights import WEIGHTS_FILE, check_made_for


@pytest.fixture
def mask() -> VMaskLayer:
    made = VMaskLayer(size=4, width=3)
    with torch.no_grad():
        made.network.last.weight.fill_(0.5)  # type: ignore[union-attr]
    made.bind_to("0123456789abcdef")
    return made


@pytest.fixture
def folder(mask: VMaskLayer, tmp_path: Path) -> Path:
    EXPLAINERS.save(mask, tmp_path / "mask")
    return tmp_path / "mask"


def test_a_folder_gives_back_what_was_learned(mask: VMaskLayer, folder: Path) -> None:
    loaded = EXPLAINERS.create(str(folder))
    assert isinstance(loaded, VMaskLayer)
    assert (loaded, loaded.fingerprint, loaded.made_for) == (mask, mask.fingerprint, "0123456789abcdef")
    for mine, theirs in zip(mask.network.parameters(), loaded.network.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert not loaded.network.training
    assert sorted(path.name for path in folder.iterdir()) == [COMPONENT_FILE, WEIGHTS_FILE]


def test_what_it_was_made_for_is_kept_when_it_is_saved_again(folder: Path, tmp_path: Path) -> None:
    EXPLAINERS.save(EXPLAINERS.create(str(folder)), tmp_path / "copy")
    assert EXPLAINERS.create(str(tmp_path / "copy")).made_for == "0123456789abcdef"


def test_the_fingerprint_is_that_of_the_weights(mask: VMaskLayer) -> None:
    before = mask.fingerprint
    assert VMaskLayer(size=4, width=3).fingerprint != before
    assert EXPLAINERS.spec(mask)["weights"] == before
    with torch.no_grad():
        mask.network.first.bias[0] += 1e-7  # type: ignore[union-attr]
    assert mask.fingerprint != before


def test_first_weights_depend_on_the_seed_and_take_nothing_from_chance() -> None:
    state = torch.random.get_rng_state()
    first, again, other = (VMaskLayer(seed=seed).fingerprint for seed in (0, 0, 1))
    assert first == again != other
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_fingerprint_knows_names_values_and_parts() -> None:
    one = {"a": torch.ones(2), "b": torch.zeros(())}
    assert fingerprint_of(one) == fingerprint_of(dict(reversed(one.items())))
    others = [{"a": torch.ones(2), "c": torch.zeros(())}, {"a": torch.ones(2), "b": torch.ones(())}]
    found = [fingerprint_of(one), *(fingerprint_of(each) for each in others), fingerprint_of(one, {"mask": "1"})]
    assert len(set(found)) == 4


def spoil(folder: Path, how: str) -> None:
    path = folder / WEIGHTS_FILE
    weights = load_file(path)
    if how == "no file":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "no weights at all":
        path.write_text("these are no weights")
    elif how == "missing":
        save_file({name: each for name, each in weights.items() if name != "first.bias"}, path)
    elif how == "extra":
        save_file({**weights, "more.weight": torch.zeros(1)}, path)
    elif how == "shape":
        save_file({**weights, "first.weight": torch.zeros(3, 5)}, path)
    else:
        save_file({**weights, "first.bias": weights["first.bias"] + 1}, path)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("no file", rf"mask has no weights: there is no {WEIGHTS_FILE}.*Train or copy it again"),
        ("cut", rf"mask/{WEIGHTS_FILE} is damaged.*Train or copy it again"),
        ("no weights at all", rf"mask/{WEIGHTS_FILE} is damaged"),
        ("missing", rf"mask/{WEIGHTS_FILE} lacks 1 weights, such as 'first.bias'"),
        ("extra", rf"mask/{WEIGHTS_FILE} has 1 weights that its options do not ask for, such as 'more.weight'"),
        ("shape", rf"mask/{WEIGHTS_FILE}: 'first.weight' is 3 x 5, and its options ask for 3 x 4"),
        ("other values", r"the weights in .*mask have the fingerprint \w+, and component.json says \w+"),
    ],
)
def test_weights_that_are_not_its_own_are_refused(folder: Path, how: str, problem: str) -> None:
    spoil(folder, how)
    with pytest.raises(ModelError, match=problem):
        EXPLAINERS.create(str(folder))


def test_options_that_do_not_fit_the_weights_are_refused(folder: Path) -> None:
    told = json.loads((folder / COMPONENT_FILE).read_text())
    told["options"]["width"] = 7
    (folder / COMPONENT_FILE).write_text(json.dumps(told))
    with pytest.raises(ModelError, match=r"'first.bias' is 3, and its options ask for 7|'first.weight' is 3 x 4"):
        EXPLAINERS.create(str(folder))


def test_a_place_that_cannot_be_written(mask: VMaskLayer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        EXPLAINERS.save(mask, tmp_path / "file" / "mask")


def test_another_model_is_refused_by_both_fingerprints(mask: VMaskLayer) -> None:
    check_made_for(mask, "vmask", "0123456789abcdef")
    check_made_for(VMaskLayer(), "vmask", "anything")
    with pytest.raises(UnsupportedError, match="vmask was trained with the model 0123456789abcdef, and .* fedc"):
        check_made_for(mask, "vmask", "fedc")
