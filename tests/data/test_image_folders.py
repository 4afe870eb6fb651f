from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.errors import InputError, UsageError
from veridical.data import load


def save(folder: Path, **changes: np.ndarray) -> Path:
    arrays: dict[str, Any] = {
        "train_images": np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3),
        "train_labels": np.array([1, 0]),
        "dev_images": np.zeros((1, 4, 4, 3), np.uint8),
        "dev_labels": np.array([1]),
        "classes": np.array(["tiger", "apple"]),
    }
    folder.mkdir(exist_ok=True)
    np.savez(folder / "data.npz", **{**arrays, **changes})
    return folder


def test_images_and_class_names(tmp_path: Path) -> None:
    folder = save(tmp_path / "set")
    data = load(str(folder))
    assert [e.label for e in data] == ["apple", "tiger"]
    assert data.labels == ("apple", "tiger")
    image = data[1].inputs["image"]
    assert not isinstance(image, str)
    assert image.pixels.shape == (4, 4, 3)
    assert image.pixels[0, 0, 0] == 48
    assert load(f"{folder}/data.npz:dev")[0].label == "apple"


def test_splits_and_options_are_checked(tmp_path: Path) -> None:
    folder = save(tmp_path / "set")
    with pytest.raises(UsageError, match=r"no split 'test'\. There are: train, dev"):
        load(f"{folder}:test")
    with pytest.raises(UsageError, match="fixed layout: it takes no option 'text'"):
        load(f"{folder}(text=review)")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_images": np.zeros((2, 4, 4), np.float32)}, "float32 of shape .* Images are uint8"),
        ({"train_labels": np.array([0])}, "1 labels for 2 images in train"),
        ({"train_labels": np.array([0, 2])}, "whole numbers from 0 to 1"),
        ({"train_labels": np.array([0.5, 1])}, "whole numbers from 0 to 1"),
        ({"classes": np.array([{"a": 1}], dtype=object)}, "cannot read 'classes'"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(str(save(tmp_path / "set", **changes)))


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"no zip")
    with pytest.raises(InputError, match=r"data\.npz is not a readable NumPy archive"):
        load(str(tmp_path))
    with (tmp_path / "data.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="single array"):
        load(str(tmp_path))


def test_an_archive_without_labels_names_what_it_has(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    np.savez(folder / "data.npz", train_images=np.zeros((1, 2, 2), np.uint8), classes=np.array(["x"]))
    with pytest.raises(InputError, match=r"has no array 'train_labels'\. There are: train_images, classes\."):
        load(str(folder))
