"""Copies whose reasons are masked: only in train and dev, as long as the text, and masked where the reasons were."""

import json

import pytest

from veridical import load_data
from veridical.core.errors import InputError, UsageError
from veridical.data.neutral import COPY, NEUTRAL


def test_train_and_dev_are_doubled_and_test_is_not():
    for split, times in (("train", 2), ("dev", 2), ("test", 1)):
        plain, made = load_data(f"planted:{split}"), load_data(f"neutral:{split}")
        assert len(made) == times * len(plain)
        assert made.labels == tuple(sorted({*plain.labels, NEUTRAL}))
        assert sum(example.label == NEUTRAL for example in made) == (times - 1) * len(plain)


def test_a_copy_is_masked_where_the_reasons_are_and_as_long():
    made = {example.id: example for example in load_data("neutral(mask=XX):train")}
    for name, copy in made.items():
        if not name.startswith(COPY):
            continue
        whole = made[name.removeprefix(COPY)]
        words, masked = (str(each.inputs["text"]).split(" ") for each in (whole, copy))
        assert len(words) == len(masked)
        reasons = {unit.text for unit in whole.evidence}
        assert all((new == "XX") == (old in reasons) for old, new in zip(words, masked, strict=True))
        assert not copy.evidence


def test_splits_of_a_file(tmp_path):
    names = [example.id for example in load_data("planted:train")[:2]] + [load_data("planted:test")[0].id]
    listed = [
        {"id": names[0], "split": "train"},
        {"id": f"neu_{names[0]}", "split": "train"},
        {"id": names[1], "split": "test"},
        {"id": f"neu_{names[1]}", "split": "test"},  # which has no copies
        {"id": names[2], "split": "valid"},
    ]
    path = tmp_path / "ids.jsonl"
    path.write_text("\n".join(map(json.dumps, listed)))
    found = {
        split: [each.id for each in load_data(f"neutral(ids='{path}'):{split}")] for split in ("train", "dev", "test")
    }
    assert found == {"train": [names[0], f"neu_{names[0]}"], "dev": [names[2]], "test": [names[1]]}
    path.write_text(json.dumps({"id": "nobody", "split": "train"}))
    with pytest.raises(InputError, match="does not have"):
        load_data(f"neutral(ids='{path}'):train")


def test_data_without_reasons_is_refused():
    with pytest.raises(UsageError, match="no reasons"):
        load_data("neutral(of=reviews):train")
