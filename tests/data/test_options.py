"""Every option of a data source has a sentence and limits, and wrong values are refused before anything is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veridical.core.component import Option, options_of
from veridical.core.errors import UsageError
from veridical.core.syntax import parse_one
from veridical.data import DATASETS, load
from veridical.data.columns import Columns
from veridical.data.eraser_folders import EraserFolder
from veridical.data.folders import DataFile, DataFolder, ImageFolder
from veridical.data.hub import HubData

SOURCES = {**DATASETS, "columns": Columns}
OPTIONS = [
    pytest.param(name, option, id=f"{name}({option.name})")
    for name, cls in SOURCES.items()
    for option in options_of(cls).values()
]

SIZE = "{} is 1 or more and at most 100000"
SEED = "seed is 0 or more and at most 4294967295"
MADE = ("planted", "planted-pairs", "planted-images")

WRONG = {
    "planted(rule=magic)": "one of: keyword, negation, conjunction, position, shortcut",
    "planted(length=0)": "length is 1 or more and at most 2000",
    "planted(length=2001)": "length is 1 or more and at most 2000",
    "planted(classes=1)": "classes is 2 or more and at most 149",
    "planted(classes=150)": "classes is 2 or more and at most 149",
    "planted-pairs(length=0)": "length is 1 or more and at most 2000",
    "planted-pairs(topics=1)": "topics is 2 or more and at most 298",
    "planted-pairs(topics=299)": "topics is 2 or more and at most 298",
    "planted-images(size=0)": "size is 2 or more and at most 1024",
    "planted-images(size=2048)": "size is 2 or more and at most 1024",
    "planted-images(patch=1)": "patch is 2 or more and at most 256",
    "planted-images(classes=1)": "classes is 2 or more and at most 1000",
    "planted-images(channels=2)": "channels is one of: 1, 3",
    "planted(train=20000, length=2000)": "would have 40,000,000 words, and 20,000,000 are the most",
    "planted-pairs(test=10000, length=1001)": "would have 20,020,000 words, and 20,000,000 are the most",
    "planted-images(size=256, patch=256, classes=100)": "100 patterns of 256 x 256 pixels would take too long",
    "planted-images(size=1024, train=2000)": "the largest split would take 2.0 GiB",
    **{f"{name}(difficulty=brutal)": "one of: easy, medium, hard" for name in MADE[:2]},
    **{f"{name}({size}=0)": SIZE.format(size) for name in MADE for size in ("train", "dev", "test")},
    **{f"{name}({size}=1000000000)": SIZE.format(size) for name in MADE for size in ("train", "dev", "test")},
    **{f"{name}(seed=-1)": SEED for name in MADE},
    **{f"{name}(seed=4294967296)": SEED for name in MADE},
}


@pytest.mark.parametrize("written", WRONG)
def test_a_value_beyond_the_limits_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match=WRONG[written]):
        load(written)
    with pytest.raises(UsageError, match=WRONG[written]):
        DATASETS.create(written)


def test_every_option_of_made_data_is_tried() -> None:
    tried = {(term.name, option) for term in map(parse_one, WRONG) for option in term.options}
    assert {(name, option) for name in MADE for option in options_of(DATASETS[name])} == tried


def test_every_number_of_made_data_has_an_upper_bound() -> None:
    schemas = {f"{name}({key})": each.schema for name in MADE for key, each in options_of(DATASETS[name]).items()}
    numbers = {name: schema for name, schema in schemas.items() if schema.get("type") in ("integer", "number")}
    assert len(numbers) > 15
    assert [name for name, schema in numbers.items() if "maximum" not in schema and "enum" not in schema] == []


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_every_option_has_one_sentence(name: str, option: Option) -> None:
    assert re.fullmatch(r"[A-Z].*\w.*\.", option.help), option.help
    assert not re.search(r"[.!?] [A-Z]", option.help), "more than one sentence"


@pytest.mark.parametrize("cls", [DataFile, DataFolder, EraserFolder, ImageFolder, HubData])
def test_sources_of_ones_own_tell_their_options_too(cls: type) -> None:
    first, columns = options_of(cls).values()
    assert first.is_required
    assert first.help.endswith(".")
    assert columns.default == Columns()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("task=ranking", "one of: auto, classification, regression"),
        ("seed=-1", SEED),
        ("quotes=maybe", "quotes is true or false"),
        ("text=3", "text is a text or none"),
        ("txt=review", "unknown option of .*mine.csv 'txt'. Did you mean 'text'"),
    ],
)
def test_options_of_files_are_checked_before_the_file_is_read(options: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(b"\xff\xfe is no table")
    with pytest.raises(UsageError, match=message):
        load(f"{path}({options})")


def test_columns_made_in_python_are_checked() -> None:
    with pytest.raises(UsageError, match=r"Columns\(seed=-1\) is beyond its limits"):
        Columns(seed=-1)


def test_the_schema_of_made_data_has_its_limits() -> None:
    told = DATASETS.schema("planted")["properties"]["length"]
    assert (told["type"], told["minimum"], told["maximum"], told["default"]) == ("integer", 1, 2000, 20)
