from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from veridical.core.errors import InputError, UsageError
from veridical.core.values import Unit
from veridical.data import load

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, Iterable[dict[str, Any]]], Path]


def numbered(count: int) -> str:
    return "text,label\n" + "".join(f"text {at},{'ab'[at % 2]}\n" for at in range(count))


def test_a_file_is_whole_by_default_with_row_numbers_as_ids(write: Write) -> None:
    path = write("mine-1.0.csv", "text,label,stars\ngood film,pos,5\n,neg,1\n")
    data = load(str(path))
    assert [(e.id, e.inputs, e.label, e.extra) for e in data] == [
        ("1", {"text": "good film"}, "pos", {"stars": "5"}),
        ("2", {"text": ""}, "neg", {"stars": "1"}),
    ]
    assert data.labels == ("neg", "pos")
    assert data.name == f"{path}:all"
    assert load(data.name) == data


def test_columns_by_option_and_by_mapping_are_the_same(write: Write) -> None:
    path = write("mine.csv", 'review,hyp,stars,key,why\ngood film,so,5,k7,"[[0, 4]]"\nbad,no,1,k8,\n')
    options = {"text": "review", "text_pair": "hyp", "label": "stars", "id": "key", "rationales": "why"}
    data = load(f"{path}({', '.join(f'{k}={v}' for k, v in options.items())})")
    assert data == load(str(path), columns=options)
    assert data[0].id == "k7"
    assert data[0].inputs == {"text": "good film", "text_pair": "so"}
    assert data[0].label == "5"
    assert data[0].evidence == (Unit("text", (0, 4), "good"),)
    assert data[0].extra == {}
    assert data[1].evidence == ()
    assert load(data.name) == data


def test_column_names_may_hold_anything(write: Write) -> None:
    data = load(str(write("mine.csv", '"the text, (long)",label\nhello,x\n')), columns={"text": "the text, (long)"})
    assert data[0].inputs == {"text": "hello"}
    assert load(data.name) == data


def test_splits_are_drawn_disjoint_complete_and_by_seed(write: Write) -> None:
    path = write("mine.csv", numbered(100))
    parts = {split: {e.id for e in load(f"{path}:{split}")} for split in ("train", "dev", "test")}
    assert {split: len(ids) for split, ids in parts.items()} == {"train": 80, "dev": 10, "test": 10}
    assert len(set().union(*parts.values())) == 100
    assert {e.id for e in load(f"{path}(seed=1):dev")} != parts["dev"]
    assert {e.id for e in load(f"{path}:validation")} == parts["dev"]
    assert len(load(f"{path}:test[:3]")) == 3


def test_a_split_column_names_the_splits(write_rows: WriteRows) -> None:
    rows = [{"text": str(at), "label": "ab"[at % 2], "part": part} for at, part in enumerate("xvvx")]
    rows = [{**row, "part": {"x": "train", "v": "validation"}[row["part"]]} for row in rows]
    path = write_rows("mine.jsonl", rows)
    assert [e.inputs["text"] for e in load(f"{path}(split=part):dev")] == ["1", "2"]
    assert load(f"{path}(split=part):dev[:1]").labels == ("a", "b")
    assert len(load(f"{path}(split=part)")) == 4
    with pytest.raises(UsageError, match=r"no split 'test'\. There are: all, train, dev"):
        load(f"{path}(split=part):test")


def test_fractions_are_regression(write: Write) -> None:
    data = load(str(write("mine.csv", "text,label\na,0.5\nb,2.0\n")))
    assert data.is_regression
    assert data.labels == ()
    assert [e.label for e in data] == [0.5, 2.0]


def test_the_task_option_reaches_the_labels(write: Write) -> None:
    path = write("mine.csv", "text,label\na,1\nb,2\n")
    assert load(str(path)).labels == ("1", "2")
    assert load(f"{path}(task=regression)").is_regression
    with pytest.raises(UsageError, match="auto, classification, regression"):
        load(f"{path}(task=ranking)")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    parquet.write_table(pa.table({"text": ["ab", "c"], "label": [0, 1], "rationales": [[[0, 1]], None]}), path)
    data = load(str(path))
    assert data.labels == ("0", "1")
    assert [len(e.evidence) for e in data] == [1, 0]


def test_data_without_labels_loads(write: Write) -> None:
    data = load(str(write("mine.csv", "text\na\nb\n")))
    assert [e.label for e in data] == [None, None]
    assert data.labels == ()
    assert not data.is_regression


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("review,stars\na,1\n", "", r"no column 'text'\. There are: review, stars\. Name the right one, as in \(text="),
        ("text,label\na,1\n", "(label=stars)", r"has no column 'stars'\. There are: text, label"),
        ("text,label\na,1\n", "(split=part)", r"has no column 'part'\. There are: text, label"),
        ("text,label\na,1\n", "(lable=x)", r"unknown option of .* 'lable'\. Did you mean 'label'\?"),
    ],
)
def test_a_wrong_column_names_those_there_are(write: Write, text: str, options: str, message: str) -> None:
    path = write("mine.csv", text)
    with pytest.raises(UsageError, match=message):
        load(f"{path}{options}")


def test_a_missing_label_names_file_and_line(write: Write) -> None:
    path = write("mine.csv", "text,label\na,x\nb,\n")
    with pytest.raises(InputError, match=r"mine\.csv, line 3: the label is missing"):
        load(str(path))


def test_a_missing_or_wrong_text_names_example_and_line(write_rows: WriteRows) -> None:
    with pytest.raises(InputError, match=r"example 2, field 'text': .*mine\.jsonl, line 2: the text is missing"):
        load(str(write_rows("mine.jsonl", [{"text": "a"}, {"review": "b"}])))
    with pytest.raises(InputError, match=r"line 1: 3 is not a text"):
        load(str(write_rows("mine.jsonl", [{"text": 3}])))


def test_a_rationale_outside_the_text_names_the_line(write_rows: WriteRows) -> None:
    path = write_rows("mine.jsonl", [{"text": "abc", "rationales": [[0, 3]]}, {"text": "abc", "rationales": [[2, 4]]}])
    with pytest.raises(InputError, match=r"example 2, .*mine\.jsonl, line 2: the rationale \[2, 4\]"):
        load(str(path))


def test_lone_surrogates_load(write: Write) -> None:
    assert load(str(write("mine.jsonl", '{"text": "\\ud83d"}\n')))[0].inputs["text"] == "\ud83d"


def test_a_missing_file_suggests_its_neighbour(write: Write) -> None:
    path = write("mine.csv", numbered(3))
    with pytest.raises(InputError, match=r"no file or folder .*mien\.csv\. Did you mean 'mine\.csv'"):
        load(str(path.with_name("mien.csv")))
    with pytest.raises(InputError, match=r"there is no file or folder nowhere\.csv"):
        load("nowhere.csv")


def test_each_file_is_a_split_and_others_are_left_alone(write: Write, write_rows: WriteRows, tmp_path: Path) -> None:
    write_rows("set/train.jsonl.gz", [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    write("set/validation.csv", "text,label\nc,x\n")
    write("set/l2e_split.jsonl", "not read")
    write("set/README.md", "not read")
    folder = tmp_path / "set"
    assert [e.inputs["text"] for e in load(str(folder))] == ["a", "b"]
    assert [e.inputs["text"] for e in load(f"{folder}:dev")] == ["c"]
    assert load(f"{folder}:val").name == f"{folder}:dev"
    with pytest.raises(UsageError, match=r"no split 'test'\. There are: train, dev\."):
        load(f"{folder}:test")


def test_rows_of_the_shared_format(write_rows: WriteRows, tmp_path: Path) -> None:
    row = {"id": "7", "text": "ein Haus", "text_pair": "a mouse", "label": -0.5, "hter": 0.3}
    row |= {"source_words": ["ein", "Haus"], "source_tags": [0, 1]}
    row |= {"target_words": ["a", "muose"], "target_tags": [1, 1]}
    write_rows("qe/dev.jsonl.gz", [row, {**row, "id": "8", "label": 1.0, "rationales": [[0, 3]]}])
    data = load(f"{tmp_path / 'qe'}:dev")
    assert data.is_regression
    assert data[0].label == -0.5
    assert data[0].evidence == (Unit("text", (4, 8), "Haus"), Unit("text_pair", (0, 1), "a"))
    assert data[0].extra == {"hter": 0.3, "unaligned_words": 1}
    assert data[1].evidence[0] == Unit("text", (0, 3), "ein")


def test_columns_apply_to_every_file(write: Write, tmp_path: Path) -> None:
    write("set/train.csv", "review,label\na,x\n")
    assert load(f"{tmp_path / 'set'}(text=review)")[0].inputs == {"text": "a"}
    with pytest.raises(UsageError, match="Leave out the option 'split'"):
        load(f"{tmp_path / 'set'}(text=review, split=label)")


def test_two_files_for_a_split_are_ambiguous(write: Write, tmp_path: Path) -> None:
    write("set/dev.csv", "text\na\n")
    write("set/val.csv", "text\nb\n")
    with pytest.raises(InputError, match=r"two files for dev: dev\.csv and val\.csv"):
        load(f"{tmp_path / 'set'}:dev")


def test_a_folder_without_data_says_what_it_needs(write: Write, tmp_path: Path) -> None:
    write("set/reviews.csv", "text\na\n")
    with pytest.raises(UsageError, match=r"holds no data set\. It needs train, dev or test files"):
        load(str(tmp_path / "set"))
