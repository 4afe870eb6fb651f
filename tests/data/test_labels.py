import pytest

from veridical.core.errors import InputError
from veridical.data.columns import Columns
from veridical.data.labels import class_names, read_labels
from veridical.data.tables import Row, Table


def labels_of(*values: object, task: str = "auto") -> list[str | float | None]:
    table = Table("mine.csv", [Row(at, {"label": value}) for at, value in enumerate(values, 2)], ("label",))
    return read_labels(table, Columns(label="label", task=task))  # type: ignore[arg-type]


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
        (("nan", "0.5"), ["nan", "0.5"]),
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


@pytest.mark.parametrize("value", ["high", float("nan"), "inf", True])
def test_what_is_no_number_is_named(value: object) -> None:
    with pytest.raises(InputError, match=r"line 3: the label .* is not a finite number"):
        labels_of(1.5, value, task="regression")


def test_a_list_is_no_label() -> None:
    with pytest.raises(InputError, match=r"line 2: the label \['a'\] is neither a text nor a number"):
        labels_of(["a"])


def test_class_names_are_sorted_and_only_texts() -> None:
    assert class_names(["b", "a", "b"]) == ("a", "b")
    assert class_names([0.5, None]) == ()
