"""What callers hand over as examples, and what they are told when it is none."""

import numpy as np
import pytest

from veridical import Example, Image
from veridical.core.errors import UsageError
from veridical.run.given import as_examples

ROWS = [{"text": "a lousy film", "label": "negative", "id": "q"}, {"text": "superb", "label": "positive", "id": "r"}]


class Frame:
    """A table as pandas has it."""

    columns = ("text", "label")

    def to_dict(self, orient):
        assert orient == "records"
        return ROWS


class Row:
    """A row of such a table, or with numbers as its index a column of it."""

    def __init__(self, values):
        self.values, self.index = values, list(values)

    def to_dict(self):
        return self.values

    def __iter__(self):
        return iter(self.values.values())


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("one text", ["one text"]),
        (["one", "two"], ["one", "two"]),
        (("one", "two", "three"), ["one", "two", "three"]),
        ((text for text in ("one", "two")), ["one", "two"]),
        (Row({0: "one", 1: "two"}), ["one", "two"]),
        (np.array(["one", "two"]), ["one", "two"]),
        ([], []),
    ],
)
def test_texts(given, texts):
    assert [each.inputs["text"] for each in as_examples(given)] == texts


def test_pairs():
    found = as_examples([("first", "second"), ["third", "fourth"]])
    assert [list(each.inputs.values()) for each in found] == [["first", "second"], ["third", "fourth"]]
    assert as_examples(("first", "second")) == [Example("0", {"text": "first", "text_pair": "second"})]


@pytest.mark.parametrize("given", [ROWS, Frame(), iter(ROWS)])
def test_rows_are_read_like_those_of_a_file(given):
    assert as_examples(given) == [
        Example("q", {"text": "a lousy film"}, "negative"),
        Example("r", {"text": "superb"}, "positive"),
    ]


def test_one_row_and_usual_names():
    assert as_examples(ROWS[0]) == as_examples(Row(ROWS[0])) == as_examples(ROWS[:1])
    (found,) = as_examples({"premise": "It rains.", "hypothesis": "It is wet.", "extra": 3})
    assert found.inputs == {"text": "It rains.", "text_pair": "It is wet."}
    assert found.extra == {"extra": 3}


def test_images():
    pixels = np.zeros((2, 3, 3), dtype=np.uint8)
    assert as_examples([pixels, Image(pixels)]) == [
        Example("0", {"image": Image(pixels)}),
        Example("1", {"image": Image(pixels)}),
    ]


@pytest.mark.parametrize("given", [3, None, b"text", {"a", "b"}, 0.5, object()])
def test_what_is_no_example_is_refused(given):
    with pytest.raises(UsageError, match="is no example and no list of them. Give texts"):
        as_examples(given)


@pytest.mark.parametrize(
    ("given", "place"), [([3.5], 0), (["a", None], 1), ([["a", "b", "c"]], 0), (["a", b"b"], 1), ([ROWS[0], "a"], 0)]
)
def test_the_wrong_one_of_many_is_named(given, place):
    with pytest.raises(UsageError, match=f"number {place} of the examples is"):
        as_examples(given)


def test_rows_without_a_text_say_what_they_have():
    with pytest.raises(UsageError, match="no text: their columns are review, stars. Call the column `text`"):
        as_examples([{"review": "good", "stars": 5}])


def test_columns_are_a_table_too():
    columns = {name: [row[name] for row in ROWS] for name in ("text", "label", "id")}
    assert as_examples(columns) == as_examples(ROWS)
    with pytest.raises(UsageError, match="the columns are not equally long: text 2, label 1"):
        as_examples({"text": ["a", "b"], "label": ["x"]})


@pytest.mark.parametrize("name", ["planted:test[:6]", "reviews:dev", "planted(length=9)", "{folder}/mine.csv"])
def test_the_name_of_data_is_no_text_unless_it_stands_in_a_list(name, tmp_path):
    (tmp_path / "mine.csv").write_text("text\na film\n", encoding="utf-8")
    name = name.format(folder=tmp_path)
    with pytest.raises(UsageError, match="is the name of data, and no text to classify. load_data"):
        as_examples(name)
    assert as_examples([name])[0].inputs["text"] == name


@pytest.mark.parametrize(
    "text",
    ["planted", "reviews: good", "nothing.csv", "see planted:test", "a [:6]", "x(" * 5000, "nul\0.csv", "reviews:x"],
)
def test_other_texts_are_texts(text):
    assert as_examples(text)[0].inputs["text"] == text
