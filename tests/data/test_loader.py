import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.core.errors import UsageError, VeridicalWarning
from veridical.data import load

Write = Callable[[str, str], Path]


def test_an_unknown_name_suggests_near_ones_and_the_directory() -> None:
    with pytest.raises(UsageError, match=r"unknown data set 'reveiws'\. Did you mean 'reviews'.*VERIDICAL_DATA"):
        load("reveiws:test")
    with pytest.raises(UsageError, match=r"'planted-image'\. Did you mean 'planted-images' or"):
        load("planted-image")


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0byte"])
def test_names_no_file_can_have_are_unknown_too(name: str) -> None:
    with pytest.raises(UsageError, match="unknown data set"):
        load(name)


def test_names_of_the_directory_are_suggested_too(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("movie_rationales/train.csv", "text\na\n")
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path))
    with pytest.raises(UsageError, match="Did you mean 'movie_rationales'"):
        load("movie_rationale")


@pytest.mark.parametrize(
    "name", ["reviews:test[:500", "planted(negation):dev", "planted(rule=negation", "reviews(:test"]
)
def test_a_name_that_cannot_be_read_points_out_the_grammar(name: str) -> None:
    with pytest.raises(UsageError, match=r"A name is SOURCE\(option=value\):SPLIT\[SUBSET\]"):
        load(name)


def test_a_missing_split_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"reviews has no split 'tset'\. There are: train, dev, test\."):
        load("reviews:tset")


def test_the_name_is_full_and_loads_the_same_again() -> None:
    data = load(" planted( rule = negation,length=8 ):validation[10:20]")
    assert data.name == "planted(rule=negation, length=8):dev[10:20]"
    assert load(data.name) == data
    assert load("planted").name == "planted:train"
    drawn = load("planted:dev[5@3]")
    assert drawn.name == "planted:dev[5@3]"
    assert load("planted:dev[5@3]") == drawn


def test_a_path_of_ones_own_wins_when_written_as_one(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("digits/train.csv", "text,label\nmine,x\n")
    write("data (1).csv", "text,label\nmine too,x\n")
    monkeypatch.chdir(tmp_path)
    assert load("./digits")[0].inputs["text"] == "mine"
    assert load("digits[:1]")[0].id.startswith("digits-")
    assert load("data (1).csv")[0].inputs["text"] == "mine too"


def test_an_error_in_the_options_shows_where() -> None:
    with pytest.raises(UsageError, match="at character"):
        load("planted(rule=):dev")


def test_neither_torch_nor_heavy_libraries_are_imported() -> None:
    code = (
        "import sys, veridical.data as d; d.load('planted:dev[:1]'); d.catalogue();"
        "heavy = {'torch', 'sklearn', 'pandas', 'datasets', 'pyarrow'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def sorted_by_class(write: Write, counts: dict[str, int]) -> Path:
    rows = [f"text {label} {at},{label}" for label, count in counts.items() for at in range(count)]
    return write("mine.csv", "\n".join(["text,label", *rows]))


def test_the_beginning_of_a_sorted_file_suggests_a_draw(write: Write) -> None:
    path = sorted_by_class(write, {"neg": 60, "pos": 60})
    told = rf"all 50 examples of {path}:all\[:50\] have the label 'neg', and {path}:all has 2 classes.*:all\[50@0\]"
    with pytest.warns(VeridicalWarning, match=told):
        load(f"{path}[:50]")
    assert len({example.label for example in load(f"{path}[50@0]")}) == 2


@pytest.mark.parametrize(
    ("counts", "subset"),
    [
        ({"neg": 60, "pos": 60}, "[:6]"),  # six of one class are nothing strange
        ({"neg": 60, "pos": 60}, "[30:90]"),
        ({"neg": 1000, "pos": 1}, "[:500]"),  # nearly all are of one class
        ({"neg": 60}, "[:50]"),
        ({"0.25": 60, "0.75": 60}, "[:50]"),  # numbers
        ({"neg": 60, "pos": 60}, "[50@0]"),
    ],
)
def test_nothing_is_said_where_chance_or_the_data_explain_one_class(
    write: Write, counts: dict[str, int], subset: str
) -> None:
    load(f"{sorted_by_class(write, counts)}{subset}")  # a warning would be an error here


def test_a_path_may_be_an_object(write: Write) -> None:
    path = write("mine.csv", "text,label\na,x\nb,y\n")
    assert load(path) == load(str(path))


@pytest.mark.parametrize("name", [None, 5, ["planted"], b"planted"])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(UsageError, match="cannot read the data name .*A name is SOURCE"):
        load(name)  # type: ignore[arg-type]
