"""Labels of rows: classes, numbers and lists of labels, and every mistake named with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from veridical.core.errors import InputError, UsageError
from veridical.core.values import Label
from veridical.data import load
from veridical.data.columns import Columns
from veridical.data.rows import label_names, read_labels
from veridical.data.tables import Table, TableRow

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, list[dict[str, Any]]], Path]


def labels_of(*values: object, **options: Any) -> list[Label | None]:
    table = Table("mine.csv", [TableRow(at, {"label": value}) for at, value in enumerate(values, 2)], ("label",))
    return list(read_labels(table, Columns(label="label", **options)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("good", "bad"), ["good", "bad"]),
        ((1, 0), ["1", "0"]),
        (("1", "0"), ["1", "0"]),
        ((1.0, 0.0), ["1", "0"]),
        (("1.5", "high"), ["1.5", "high"]),
        ((True, False), ["True", "False"]),
        ((0.5, 1.0), [0.5, 1.0]),
        (("0.5", "3"), [0.5, 3.0]),
        (("-1.25e-1", "2.5"), [-0.125, 2.5]),
        (("nan", "inf"), ["nan", "inf"]),  # nothing says that these are numbers
        (("nan", "wheat"), ["nan", "wheat"]),
        ((None, ""), [None, None]),
    ],
)
def test_fractions_are_numbers_all_else_is_classes(values: tuple[object, ...], expected: list[object]) -> None:
    assert labels_of(*values) == expected


def test_the_task_decides_where_it_is_given() -> None:
    assert labels_of("1", 2, task="regression") == [1.0, 2.0]
    assert labels_of("1.5", "2.5", task="classification") == ["1.5", "2.5"]


def test_a_missing_label_is_named_with_its_line() -> None:
    for missing in (None, "", "  "):
        with pytest.raises(InputError, match=r"field 'label': mine\.csv, line 3: the label is missing"):
            labels_of("a", missing, "b")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ((0.5, float("nan")), 3),
        ((float("inf"), 1), 2),
        ((float("nan"), float("nan")), 2),
        (("yes", float("nan")), 3),
        (("0.5", "NaN", "2"), 3),
        (("1", "-inf"), 3),
        (("1", "2", "infinity"), 4),
    ],
)
def test_labels_that_are_not_finite_are_refused(values: tuple[object, ...], line: int) -> None:
    with pytest.raises(InputError, match=rf"field 'label': mine.csv, line {line}: the label .* is not a finite number"):
        labels_of(*values)


def test_who_says_that_labels_are_classes_may_call_one_nan() -> None:
    assert labels_of("nan", "1", task="classification") == ["nan", "1"]
    with pytest.raises(InputError, match="is not a finite number"):
        labels_of(float("nan"), "1", task="classification")


@pytest.mark.parametrize("value", ["high", float("nan"), "inf", True])
def test_what_is_no_number_is_named(value: object) -> None:
    with pytest.raises(InputError, match=r"line 3: the label .* is not a finite number"):
        labels_of(1.5, value, task="regression")


def test_an_object_is_no_label() -> None:
    with pytest.raises(InputError, match=r"line 2: the label \{'a': 1\} is not a text, a number or a list of texts"):
        labels_of({"a": 1})


def test_names_are_sorted_and_only_texts() -> None:
    assert label_names(["b", "a", "b"]) == ("a", "b")
    assert label_names([0.5, None]) == ()
    assert label_names([("b", "c"), (), ("a", "b")]) == ("a", "b", "c")


def test_lists_are_several_labels_in_their_order_without_repetitions() -> None:
    found = labels_of(["joy", "anger", "joy"], [], ["fear"])
    assert found == [("joy", "anger"), (), ("fear",)]
    assert labels_of(["a"], task="classification") == [("a",)]


def test_a_separator_divides_a_text() -> None:
    found = labels_of("joy; anger;joy", ";", "fear", "a;;b;", label_separator=";")
    assert found == [("joy", "anger"), (), ("fear",), ("a", "b")]
    assert labels_of("a - b", "a-b", label_separator=" - ") == [("a", "b"), ("a-b",)]


def test_a_table_of_empty_cells_is_unlabelled_with_a_separator_too() -> None:
    assert labels_of("", " ", label_separator=";") == [None, None]


WRITE_LIST = r'Write a list, as in \["anger", "joy"\], and \[\] where no label applies\.'


@pytest.mark.parametrize("missing", [None, "", "  "])
def test_a_missing_list_is_named(missing: object) -> None:
    for values in ((["a"], missing), ([missing, ["a"]])):
        line = 2 + list(values).index(missing)
        message = rf"field 'label': mine\.csv, line {line}: the label is missing\. {WRITE_LIST}"
        with pytest.raises(InputError, match=message):
            labels_of(*values)


@pytest.mark.parametrize("odd", ["joy", 3, 0.5, True, {"joy": 1}])
def test_what_is_no_list_among_lists_is_named(odd: object) -> None:
    message = r"field 'label': mine\.csv, line 3: the label .* is no list, but that of line 2 is one\. " + WRITE_LIST
    with pytest.raises(InputError, match=message):
        labels_of(["a"], odd, ["b"], "another")


def test_texts_before_the_first_list_are_named_too() -> None:
    with pytest.raises(InputError, match=r"line 2: the label 'joy' is no list, but that of line 4 is one"):
        labels_of("joy", "fear", ["a"])


@pytest.mark.parametrize("name", [1, 0.5, None, True, "", " ", ["a"], {"a": 1}])
def test_what_is_no_name_inside_a_list_is_named(name: object) -> None:
    message = r"field 'label': mine\.csv, line 3: .* in the list of labels is not the name of a label\. " + WRITE_LIST
    with pytest.raises(InputError, match=message):
        labels_of(["a"], ["b", name])


@pytest.mark.parametrize("missing", [None, "", "  "])
def test_an_empty_cell_is_missing_and_not_the_empty_list(missing: object) -> None:
    message = r"field 'label': mine\.csv, line 3: the label is missing\. Write ';' alone where no label applies"
    with pytest.raises(InputError, match=message):
        labels_of("a;b", missing, label_separator=";")


@pytest.mark.parametrize("odd", [["a"], 3, 0.5])
def test_a_separator_needs_texts(odd: object) -> None:
    with pytest.raises(InputError, match=r"field 'label': .*line 3: the label .* leave out the option label_separator"):
        labels_of("a;b", odd, label_separator=";")


@pytest.mark.parametrize(("value", "options"), [(["a"], {}), ("a;b", {"label_separator": ";"})])
def test_lists_are_no_regression(value: object, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"field 'label': mine\.csv: the labels are lists.* Leave out .*regression"):
        labels_of(value, task="regression", **options)


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the label_separator is empty\. It is at least one character"):
        Columns(label_separator="")


def test_a_separator_without_labels_is_refused(write: Write) -> None:
    path = write("mine.csv", "text,tags\nhm,a;b\n")
    with pytest.raises(UsageError, match=r"has no column 'label'\. There are: text, tags.*\(label=text\)"):
        load(f"{path}(label_separator=;)")


TEXTS = [{"text": f"text {at}", "label": [["joy"], [], ["anger", "joy"]][at % 3]} for at in range(30)]


def test_every_format_gives_the_same_labels(write: Write, write_rows: WriteRows, tmp_path: Path) -> None:
    cells = [";".join(row["label"]) or ";" for row in TEXTS]
    lines = [f"{row['text']},{cell}" for row, cell in zip(TEXTS, cells, strict=True)]
    csv = write("a.csv", "\n".join(["text,tags", *lines]))
    tsv = write("a.tsv", "\n".join(["text,tags", *lines]).replace(",", "\t").replace(";", "|"))
    jsonl = write_rows("a.jsonl", TEXTS)
    parquet.write_table(pa.Table.from_pylist(TEXTS), tmp_path / "a.parquet")
    names = [
        f'{csv}(label=tags, label_separator=";")',
        f"{tsv}(label=tags, label_separator=|)",
        str(jsonl),
        str(tmp_path / "a.parquet"),
    ]
    for name in names:
        data = load(name)
        assert [example.label for example in data] == [tuple(row["label"]) for row in TEXTS]
        assert data.labels == ("anger", "joy")
        assert data.is_multi_label
        assert load(data.name).examples == data.examples


def test_splits_and_subsets_keep_the_labels(write_rows: WriteRows) -> None:
    path = write_rows("a.jsonl", TEXTS)
    parts = [load(f"{path}:{split}") for split in ("train", "dev", "test")]
    assert sorted(int(example.id) for part in parts for example in part) == list(range(1, 31))
    assert {example.label for example in parts[1]} == {("joy",), (), ("anger", "joy")}  # dealt by list
    for part in (*parts, load(f"{path}[5@3]"), load(f"{path}[1:2]")):
        assert part.labels == ("anger", "joy")
        assert part.is_multi_label


def test_a_mistake_in_a_file_is_named_with_file_and_line(write_rows: WriteRows) -> None:
    path = write_rows("a.jsonl", [{"text": "a", "label": ["x"]}, {"text": "b", "label": "y"}])
    with pytest.raises(InputError, match=r"field 'label': .*a\.jsonl, line 2: the label 'y' is no list"):
        load(str(path))


def test_data_without_lists_is_not_multi_label() -> None:
    assert not load("planted:dev[:3]").is_multi_label
