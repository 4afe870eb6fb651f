"""Tables fit a terminal without breaking a name."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from veridical.cli.tables import print_table
from veridical.run.catalogue import TABLES, rows

HEADINGS = ["option", "default", "what it does"]
ROWS = [["samples", "integrated-gradients", "How many texts are asked about."], [Text("seed"), "0"]]


def printed(width, *arguments, **options):
    written = io.StringIO()
    print_table(Console(file=written, width=width), *arguments, **options)
    return written.getvalue().splitlines()


def test_a_table_that_fits_is_as_wide_as_its_words():
    assert printed(80, HEADINGS, ROWS, indent=2) == [
        "  option   default               what it does                   ",
        "  samples  integrated-gradients  How many texts are asked about.",
        "  seed     0                                                    ",
    ]


def test_sentences_are_broken_between_words_and_names_never():
    lines = [line.rstrip() for line in printed(45, HEADINGS, ROWS)]
    assert lines == [
        "option   default               what it does",
        "samples  integrated-gradients  How many texts",
        "                               are asked",
        "                               about.",
        "seed     0",
    ]


def test_a_table_that_is_too_wide_is_turned():
    assert printed(30, HEADINGS, ROWS) == [
        "samples",
        "    default       integrated-gradients",
        "    what it does  How many texts are asked about.",
        "seed",
        "    default       0",
    ]


def test_options_go_below_their_names_before_numbers_are_turned():
    rows = [["comprehensiveness(eraser=pad)", "0.5"], ["decision-flip", "0.25"]]
    assert printed(24, ["metric", "lime"], rows, numbers=[1]) == [
        "metric             lime",
        "comprehensiveness   0.5",
        "    (eraser=pad)       ",
        "decision-flip      0.25",
    ]


def test_numbers_stand_to_the_right():
    assert printed(80, ["metric", "lime"], [["aopc", "1.5"], ["flip", "10.25"]], numbers=[1]) == [
        "metric   lime",
        "aopc      1.5",
        "flip    10.25",
    ]


def test_a_table_without_headings_has_no_line_for_them():
    assert printed(80, ["", ""], [["lime", "works"]]) == ["lime  works"]


@pytest.mark.parametrize("width", [100, 80, 60, 40])
def test_no_name_of_the_catalogue_is_ever_broken(veridical, monkeypatch, width):
    monkeypatch.setattr("rich.console.Console.width", width)
    for table in TABLES:
        for row in rows(table):
            shown = veridical("list", table, row["name"]).stdout.split()
            assert set(row["name"].split()) <= set(shown)
            assert {option["name"] for option in row.get("options", [])} <= set(shown)
            assert {f"{row['name']}(preset={preset})" for preset in row.get("presets", {})} <= set(shown)
