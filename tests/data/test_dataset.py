from veridical.core.values import Example
from veridical.data import Dataset, load

EXAMPLES = tuple(Example(str(at), {"text": f"text {at}"}, "ab"[at % 2]) for at in range(10))
DATA = Dataset("mine", EXAMPLES, ("a", "b"))


def test_is_a_sequence_of_its_examples() -> None:
    assert len(DATA) == 10
    assert DATA[3] is EXAMPLES[3]
    assert DATA[-1] is EXAMPLES[9]
    assert list(DATA) == list(EXAMPLES)
    assert EXAMPLES[4] in DATA


def test_a_slice_is_a_dataset_that_knows_every_class_and_says_what_it_is() -> None:
    part = DATA[2:3]
    assert isinstance(part, Dataset)
    assert part.examples == EXAMPLES[2:3]
    assert part.labels == ("a", "b")
    assert part.name == "mine[2:3]"
    assert DATA[::2].name == "mine[::2]"


def test_the_name_of_a_slice_of_loaded_data_loads_it_again() -> None:
    part = load("planted:dev[:50]")[10:30:3]
    assert load(part.name).examples == part.examples


def test_regression_is_told_by_the_labels() -> None:
    numbers = Dataset("numbers", (Example("0", {"text": "x"}, 0.5), Example("1", {"text": "y"}, 1.0)))
    assert numbers.is_regression
    assert not DATA.is_regression
    assert not Dataset("bare", (Example("0", {"text": "x"}),)).is_regression
    assert not Dataset("empty", ()).is_regression


def test_several_labels_are_told_by_the_labels() -> None:
    several = Dataset("s", (Example("0", {"text": "x"}, ("a", "b")), Example("1", {"text": "y"}, ())), ("a", "b"))
    assert several.is_multi_label
    assert several[1:].is_multi_label
    assert not several.is_regression
    assert not DATA.is_multi_label
    assert not Dataset("empty", ()).is_multi_label


def test_repr_does_not_print_the_texts() -> None:
    assert repr(DATA) == "Dataset('mine', 10 examples, labels=('a', 'b'))"
