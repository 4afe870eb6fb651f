"""What is written is what is read, in both formats and from one to the other."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veridical.core.errors import InputError, UsageError
from veridical.core.files import ExplanationWriter, convert, parquet, read, read_all, spec_key
from veridical.core.storage import escape, unescape
from veridical.core.values import Explanation, Image, Unit

TEXTS = st.text(st.characters(), max_size=12)  # st.characters() includes surrogates
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
IMAGES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4)).map(
    lambda shape: Image(np.arange(np.prod(shape), dtype=np.uint8).reshape(shape))
)
SPECS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def units(draw: st.DrawFn, inputs: dict[str, str | Image]) -> Unit:
    field = draw(st.sampled_from(sorted(inputs)))
    found = inputs[field]
    size = (len(found),) if isinstance(found, str) else found.pixels.shape[:2]
    edges = [sorted(draw(st.tuples(st.integers(0, most), st.integers(0, most)))) for most in size]
    return Unit(field, (*(start for start, _ in edges), *(end for _, end in edges)), draw(TEXTS))


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    inputs = draw(st.dictionaries(TEXTS, TEXTS | IMAGES, max_size=3))
    scored = draw(st.lists(st.tuples(units(inputs), FLOATS), max_size=4)) if inputs else []
    return Explanation(
        example_id=draw(TEXTS),
        inputs=inputs,
        target=draw(TEXTS),
        units=tuple(unit for unit, _ in scored),
        scores=tuple(score for _, score in scored),
        probabilities=draw(st.dictionaries(TEXTS, st.floats(0, 1), max_size=3)),
        source=draw(TEXTS),
        spec=draw(st.dictionaries(TEXTS, SPECS, max_size=2)),
        label=draw(st.none() | TEXTS | FLOATS),
        measures=draw(st.dictionaries(TEXTS, FLOATS, max_size=2)),
    )


def write(path: Path, rows: list[Explanation]) -> Path:
    with ExplanationWriter(path) as writer:
        writer.write(rows)
    return path


def test_everything_unusual_comes_back(tmp_path: Path, unusual: list[Explanation], suffix: str) -> None:
    found = read_all(write(tmp_path / f"why{suffix}", unusual))
    assert found == unusual
    assert [list(e.probabilities) for e in found] == [list(e.probabilities) for e in unusual]
    assert math.copysign(1, found[2].scores[0]) == -1  # -0.0
    assert isinstance(found[4].label, float)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"why{suffix}"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(explanations(), max_size=3))
def test_any_explanation_comes_back_through_both_formats(rows: list[Explanation]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = write(Path(folder, "a.jsonl"), rows)
        assert convert(first, Path(folder, "b.parquet")) == len(rows)
        convert(Path(folder, "b.parquet"), Path(folder, "c.jsonl"))
        assert read_all(Path(folder, "b.parquet")) == rows
        assert read_all(Path(folder, "c.jsonl")) == rows


@given(st.text(st.characters() | st.sampled_from("\ud800\udc00\U0010ffff0dc")))
def test_escaped_text_is_valid_unicode_and_comes_back(text: str) -> None:
    escape(text).encode("utf-8")
    assert unescape(escape(text)) == text


def test_nan_measures_come_back(tmp_path: Path, make, suffix: str) -> None:
    found = read_all(write(tmp_path / f"why{suffix}", [make(measures={"undefined": float("nan")})]))
    assert math.isnan(found[0].measures["undefined"])


def test_many_rows_make_few_row_groups(tmp_path: Path, make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)
    path = tmp_path / "why.parquet"
    for start in range(0, 300, 50):
        write(path, [make(str(i)) for i in range(start, start + 50)])
    assert [e.example_id for e in read(path)] == [str(i) for i in range(300)]
    assert pq.ParquetFile(path).num_row_groups == 3  # not six


def test_a_spec_is_stored_once(tmp_path: Path, make) -> None:
    rows = [make("0", spec={"a": 1}), make("1", spec={"b": 2}), make("2", spec={"a": 1})]
    lines = [json.loads(line) for line in write(tmp_path / "why.jsonl", rows).read_text().splitlines()]
    assert [line["spec"] for line in lines if "spec_key" in line] == [{"a": 1}, {"b": 2}]
    metadata = pq.ParquetFile(write(tmp_path / "why.parquet", rows)).metadata.metadata
    assert json.loads(metadata[b"veridical.specs"]) == {spec_key({"a": 1}): {"a": 1}, spec_key({"b": 2}): {"b": 2}}


def test_spec_keys_depend_on_content_only() -> None:
    assert spec_key({"a": 1, "b": (1, 2)}) == spec_key({"b": [1, 2], "a": np.int64(1)})
    assert spec_key({"a": 1}) != spec_key({"a": 2})


def test_a_spec_of_objects_is_refused(tmp_path: Path, make) -> None:
    with ExplanationWriter(tmp_path / "why.jsonl") as writer, pytest.raises(InputError, match=r"cannot hold"):
        writer.write(make(spec={"model": object()}))


def test_an_empty_file_is_a_file(tmp_path: Path, suffix: str) -> None:
    assert read_all(write(tmp_path / f"new/folder/why{suffix}", [])) == []


def test_convert_keeps_what_is_there(tmp_path: Path, make) -> None:
    write(tmp_path / "a.jsonl", [make()])
    write(tmp_path / "b.parquet", [make("old")])
    with pytest.raises(UsageError, match=r"exists already"):
        convert(tmp_path / "a.jsonl", tmp_path / "b.parquet")
    assert [e.example_id for e in read(tmp_path / "b.parquet")] == ["old"]
