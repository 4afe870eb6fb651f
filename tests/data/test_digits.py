import sys

import numpy as np
import pytest

from veridical.core.errors import UsageError
from veridical.core.values import Image
from veridical.data import digits, load


def test_images_labels_and_splits() -> None:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    parts = [load(f"digits:{split}") for split in ("train", "dev", "test")]
    assert sum(map(len, parts)) == len({e.inputs["image"] for part in parts for e in part}) == 1797
    for example in parts[1]:
        image, row = example.inputs["image"], int(example.id.removeprefix("digits-")) - 1
        assert isinstance(image, Image)
        assert image.pixels.shape == (8, 8, 1)
        assert np.abs(image.pixels[..., 0] / 255 * 16 - bunch.images[row]).max() < 0.05
        assert example.label == str(bunch.target[row])
    assert parts[0].labels == tuple("0123456789")
    assert {e.label for e in parts[2]} == set("0123456789")


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    digits._examples.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(UsageError, match=r'Run: pip install "veridical\[embedded\]"'):
        load("digits")
