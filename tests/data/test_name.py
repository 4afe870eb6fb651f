import pytest

from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.data.dataset import Dataset
from veridical.data.loader import DataName, file_name, in_split, parse_name, select, to_train_on, whole

DATA = Dataset("mine:test", tuple(Example(str(at), {"text": ""}) for at in range(20)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reviews", DataName("reviews", {})),
        ("reviews:test", DataName("reviews", {}, "test")),
        ("reviews[:5]", DataName("reviews", {}, None, (":5",))),
        ("reviews:test[:500]", DataName("reviews", {}, "test", (":500",))),
        ("reviews:train[500@3]", DataName("reviews", {}, "train", ("500@3",))),
        ("reviews:train[:50][3:]", DataName("reviews", {}, "train", (":50", "3:"))),
        ("planted(rule=negation, seed=1):dev", DataName("planted", {"rule": "negation", "seed": 1}, "dev")),
        ("planted()", DataName("planted", {})),
        ("../a-b/c.d/mine.csv(text=review):test", DataName("../a-b/c.d/mine.csv", {"text": "review"}, "test")),
        ('mine.csv(text="the (long) text"):test', DataName("mine.csv", {"text": "the (long) text"}, "test")),
        ("data (1).csv(text=a)", DataName("data (1).csv", {"text": "a"})),
        ("hf:glue/sst2:validation", DataName("hf:glue/sst2", {}, "validation")),
        ("hf:imdb", DataName("hf:imdb", {})),
        ("hf:a/b.c(text=t)[:3]", DataName("hf:a/b.c", {"text": "t"}, None, (":3",))),
        ("path/to/folder:train", DataName("path/to/folder", {}, "train")),
    ],
)
def test_a_name_is_taken_apart_and_put_together_again(text: str, expected: DataName) -> None:
    assert parse_name(text) == expected
    assert parse_name(str(parse_name(text))) == expected


@pytest.mark.parametrize("value", ["a, b", "1", "true", "it's", 'say "so"', "(x)", "plain", "", " padded "])
def test_any_option_survives_being_written(value: str) -> None:
    name = DataName("mine.csv", {"text": value, "seed": 3})
    assert parse_name(str(name)) == name


@pytest.mark.parametrize(
    "subset",
    ["abc", "5", "", "1:2:0", "@3", "5@", "5@x", "1.5:2", "::::", "::000", ":" + "9" * 5000, "9@" + "9" * 5000],
)
def test_a_bad_subset_points_out_the_grammar(subset: str) -> None:
    with pytest.raises(UsageError, match=r"cannot read the subset .*\[start:stop\] or \[count@seed\]"):
        parse_name(f"reviews:test[{subset}]")


@pytest.mark.parametrize("text", ["", ":test", "  "])
def test_a_name_without_a_source_points_out_the_grammar(text: str) -> None:
    with pytest.raises(UsageError, match="A name is SOURCE"):
        parse_name(text)


@pytest.mark.parametrize(
    ("subset", "ids"),
    [(":3", [0, 1, 2]), ("3:5", [3, 4]), ("18:", [18, 19]), ("-2:", [18, 19]), (":500", list(range(20)))],
)
def test_slices_give_what_there_is(subset: str, ids: list[int]) -> None:
    part = select(DATA, subset)
    assert [int(example.id) for example in part] == ids
    assert part.name == f"mine:test[{subset}]"


def test_a_slice_of_nothing_says_how_many_there_are() -> None:
    with pytest.raises(UsageError, match="selects nothing: mine:test has 20 examples"):
        select(DATA, "20:30")


def test_a_draw_is_deterministic_without_replacement_and_nested() -> None:
    ten = [example.id for example in select(DATA, "10@3")]
    assert ten == [example.id for example in select(DATA, "10@3")]
    assert len(set(ten)) == 10
    assert ten[:4] == [example.id for example in select(DATA, "4@3")]
    assert ten != [example.id for example in select(DATA, "10@4")]
    assert ten != sorted(ten, key=int)


def test_drawing_more_than_there_are_says_how_many_there_are() -> None:
    with pytest.raises(UsageError, match="cannot draw 21 examples from mine:test, which has 20"):
        select(DATA, "21@0")
    with pytest.raises(UsageError, match="cannot draw 0 "):
        select(DATA, "0@0")


def test_the_same_data_in_another_split_is_whole() -> None:
    assert in_split("reviews:train[:100]", "dev") == "reviews:dev"
    assert in_split("planted(rule=negation, seed=1)", "test") == "planted(rule=negation, seed=1):test"


def test_data_to_train_on_has_the_split_that_was_named_or_train() -> None:
    assert to_train_on("reviews") == "reviews:train"
    assert to_train_on("mine.csv:all[:50]") == "mine.csv:all[:50]"


def test_the_whole_of_some_data_has_no_subsets() -> None:
    assert whole("reviews:test[:100][5@1]") == "reviews:test"
    assert whole("planted(seed=1)") == "planted(seed=1)"


@pytest.mark.parametrize(
    ("text", "name"),
    [("reviews:test[:100]", "reviews-test-100"), ("a/b c.csv", "a-b-c-csv"), ("Größe_1", "Gr-e_1"), ("(x)", "x")],
)
def test_a_name_for_a_folder_has_letters_digits_and_dashes(text: str, name: str) -> None:
    assert file_name(text) == name


def test_lists_survive_being_written() -> None:
    name = DataName("mine", {"labels": ("a, b", "it's"), "sizes": (1, 2), "none": None, "flag": True})
    assert parse_name(str(name)) == name
    assert str(DataName("mine", {"flag": True, "sizes": (1, 2)})) == "mine(flag=true, sizes=[1, 2])"
