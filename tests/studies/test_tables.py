"""The tables of a study: numbers, differences, what was published, and what is missing."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from veridical.audits.statistics.summary import contrasts
from veridical.studies.results import Line, Results
from veridical.studies.tables import as_json, in_short, markdown, table_file, write_tables

(BETTER,) = contrasts([np.array([-0.2, -0.25, -0.28, -0.29, -0.31, -0.32, -0.35, -0.4])], [True])
PLAIN = Line("mine", "mine", "plain", "flip", "attention", 0.15, 0.01, 3, True)
OTHER = replace(
    PLAIN, variant="other", mean=0.45, against="plain", judged=True, contrast=BETTER, detectable=0.125, published=0.42
)
CONTROL = replace(OTHER, variant="control", judged=False, published=None)
FOUND = Results(
    study="made",
    title="Is it told?",
    size="small",
    setting="model tiny",
    data_sets={"mine": "the whole of mine.csv"},
    lines=(PLAIN, replace(PLAIN, place="far"), OTHER, CONTROL),
    objectives={"mine": {"plain": "cross-entropy", "other": "saloss"}},
)


def test_a_row_has_the_raw_and_the_corrected_p_and_the_effect():
    text = markdown(FOUND)
    assert text.startswith("# made: Is it told?\n")
    (row,) = [line for line in text.splitlines() if "| other |" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:5] == ["mine", "attention", "other", "0.450 (0.010, 3)", "plain"]
    assert cells[5].startswith("**better** +0.300 [+0.2")
    assert cells[5].endswith("], n 8")
    assert cells[6:] == ["0.0078", "0.0078", "+1.00", "+4.92", "0.125", "0.42"]


def test_a_control_is_not_called_better_and_has_no_corrected_p():
    (row,) = [line for line in markdown(FOUND).splitlines() if "| control |" in line]
    assert "**" not in row
    assert "| 0.0078 |  | +1.00 |" in row
    assert "control against" not in in_short(FOUND)


def test_variants_of_one_method_and_place_stand_together():
    rows = [line for line in markdown(FOUND).splitlines() if line.startswith("| mine")]
    assert [row.split("|")[1].strip() for row in rows] == ["mine", "mine", "mine", "mine → far"]


def test_in_short_are_counts_and_published_figures():
    text = in_short(FOUND)
    assert "- flip, other against plain: better in 1, worse in 0, cannot tell in 0" in text
    assert "- mine, flip of attention, other: 0.450 here, 0.42 published" in text
    assert "Not finished" not in text


def test_a_part_of_a_study_says_so():
    part = replace(FOUND, missing=("mine, other: 1 of 2 seeds",))
    assert "Still missing:\n\n- mine, other: 1 of 2 seeds" in markdown(part)


def test_tables_are_files_for_people_and_programs(tmp_path):
    odd = replace(FOUND, lines=(replace(PLAIN, mean=math.nan),))
    write_tables(odd, tmp_path / "deep" / "tables")
    file = table_file(odd, tmp_path / "deep" / "tables")
    assert file.name == "made-small.md"
    told = json.loads(file.with_suffix(".json").read_text(), parse_constant=pytest.fail)
    assert told["lines"][0]["mean"] is None
    assert told == as_json(odd)
