"""The data of a study: whole by its name, or parts drawn once and for all."""

import json
from collections import Counter

from veridical import load_data
from veridical.studies import Sizes, StudyData
from veridical.studies.study import data_of, first

PLANTED = "planted(train=90, dev=30, test=30, length=5)"


def rows(folder, split):
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]


def test_a_whole_data_set_is_its_name(tmp_path):
    assert data_of(StudyData("mine", PLANTED), tmp_path / "data") == PLANTED
    assert not (tmp_path / "data").exists()


def test_parts_of_each_split_are_drawn_into_a_folder(tmp_path):
    name = data_of(StudyData("mine", PLANTED, Sizes(20, 10, 5)), tmp_path / "data")
    assert [len(load_data(f"{name}:{split}")) for split in ("train", "dev", "test")] == [20, 10, 5]
    known = {example.id: example for example in load_data(f"{PLANTED}:train")}
    for example in load_data(f"{name}:train"):
        assert example.inputs == known[example.id].inputs
        assert example.label == known[example.id].label


def test_a_smaller_part_is_the_beginning_of_a_larger_one(tmp_path):
    for count in (5, 20):
        data_of(StudyData("mine", PLANTED, Sizes(count, 1, 1)), tmp_path / str(count))
    assert rows(tmp_path / "5", "train") == rows(tmp_path / "20", "train")[:5]


def test_what_was_drawn_is_not_drawn_again(tmp_path):
    part = StudyData("mine", PLANTED, Sizes(20, 10, 5))
    data_of(part, tmp_path / "data")
    (tmp_path / "data" / "train.jsonl").write_text('{"id": "kept", "text": "x", "label": "positive"}\n')
    (tmp_path / "data" / "dev.jsonl").unlink()
    data_of(part, tmp_path / "data")
    assert [row["id"] for row in rows(tmp_path / "data", "train")] == ["kept"]
    assert len(rows(tmp_path / "data", "dev")) == 10


def test_training_examples_are_drawn_equally_by_class(tmp_path):
    data_of(StudyData("mine", PLANTED, Sizes(40, 10, 5, balanced=True)), tmp_path / "data")
    assert set(Counter(row["label"] for row in rows(tmp_path / "data", "train")).values()) == {20}


def test_a_class_with_too_few_examples_gives_all_it_has(tmp_path):
    lines = [{"text": f"text {index}", "label": "rare" if index < 3 else "common"} for index in range(60)]
    (tmp_path / "mine").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "mine" / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    data_of(StudyData("mine", str(tmp_path / "mine"), Sizes(20, 5, 5, balanced=True)), tmp_path / "data")
    assert Counter(row["label"] for row in rows(tmp_path / "data", "train")) == {"rare": 3, "common": 10}


def test_the_first_of_a_split():
    assert first("reviews:train[:9]", "test", 5) == "reviews:test[:5]"
    assert first("reviews", "test", None) == "reviews:test"
