import numpy as np
import pytest

from veridical.core.errors import UsageError
from veridical.core.values import Example, Image
from veridical.data import load


def pixels(example: Example) -> np.ndarray:
    image = example.inputs["image"]
    assert isinstance(image, Image)
    return image.pixels


@pytest.mark.parametrize("options", ["size=16, patch=4", "size=12, patch=3, classes=5, channels=3", "size=4, patch=2"])
def test_only_the_evidence_is_bright_and_its_pattern_is_the_class(options: str) -> None:
    shapes: dict[object, set[bytes]] = {}
    for example in load(f"planted-images({options}):dev"):
        (unit,) = example.evidence
        top, left, bottom, right = unit.span
        bright = np.asarray((pixels(example) >= 200).all(axis=-1))
        assert (bright == (pixels(example) >= 100).any(axis=-1)).all()
        cell = bright[top:bottom, left:right]
        assert (unit.field, unit.text) == ("image", "patch")
        assert top % (bottom - top) == left % (right - left) == 0
        assert bright.sum() == cell.sum() == cell.size // 2
        shapes.setdefault(example.label, set()).add(cell.tobytes())
    assert all(len(each) == 1 for each in shapes.values())
    assert len(set().union(*shapes.values())) == len(shapes)


def test_shape_classes_and_places() -> None:
    data = load("planted-images(size=16, patch=4, classes=3, channels=3, dev=300):dev")
    assert data.labels == ("class-0", "class-1", "class-2")
    assert pixels(data[0]).shape == (16, 16, 3)
    assert len({example.evidence[0].span for example in data}) == 16


def test_the_same_name_gives_the_same_images_and_splits_differ() -> None:
    parts = [load(f"planted-images(train=200):{split}") for split in ("train", "dev", "test")]
    assert load("planted-images(train=200):dev") != load("planted-images(train=200, seed=1):dev")
    assert load("planted-images(train=200):test") == parts[2]
    assert len({example.inputs["image"] for part in parts for example in part}) == 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("size=15", "size=15 is no multiple of patch=4. Choose another of the two"),
        ("patch=32", "size=16 is no multiple of patch=32"),
        ("patch=2, classes=7", "only 6 patterns of 2 x 2 pixels for 7 classes. Use fewer classes or a larger patch"),
        ("size=1024, channels=3", "would take 2.9 GiB of memory. Use fewer or smaller images"),
        ("size=256, patch=256, dev=100000", "would take 6.1 GiB"),
    ],
)
def test_options_that_do_not_go_together(options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(f"planted-images({options})")


def test_every_pattern_of_a_cell_may_be_a_class() -> None:
    data = load("planted-images(size=4, patch=2, classes=6, dev=60):dev")
    assert len(data.labels) == 6
