"""Files that somebody has changed: a sentence that names the file and the line, never a trace.

python tests/core/files/test_changed_files.py 5000 1     # as many random changes by hand, with this seed
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from veridical.core.errors import StorageError, VeridicalError
from veridical.core.files import ExplanationWriter, convert, parquet, read_all
from veridical.core.values import Explanation, Image, Unit
from veridical.report import print_explanations, write_page

DEEP = 100_000
SPEC = {"method": {"name": "occlusion"}, "model": {"task": "labels", "threshold": 0.5, "name": "m"}, "target": "x"}


def rows() -> list[Explanation]:
    """Texts, a pair and an image, with all kinds of labels."""
    words = (Unit("text", (0, 4), "good"), Unit("text", (5, 9), "film"))
    pair = {"text": "good film", "text_pair": "why ✓"}
    image = {"image": Image(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))}
    patch = (Unit("image", (0, 0, 2, 2), ""),)
    shared = {"source": "occlusion", "spec": SPEC}
    sure, asked = {"positive": 0.75, "negative": 0.25}, {"queries": 3.0, "truncated_units": 0.0}
    return [
        Explanation("a", {"text": "good film"}, "positive", words, (1.0, -0.5), sure, label="positive", **shared),
        Explanation("b", pair, "positive", words, (0.0, 2.0), sure, label=None, measures=asked, **shared),
        Explanation("c", image, "positive", patch, (0.1,), sure, label=("positive",), margins=(0.01,), **shared),
        Explanation("d", {"text": "good film"}, "value", words, (1.0, 3.0), {}, label=2.5, measures=asked, **shared),
    ]


def written(path: Path) -> Path:
    with ExplanationWriter(path) as writer:
        writer.write(rows())
    return path


def use(path: Path) -> None:
    """All that can be done with a file: look at it, draw it, go on writing it, change its format."""
    found = read_all(path)
    print_explanations(Console(file=io.StringIO()), found)
    write_page(found, path.with_suffix(".html"))
    with ExplanationWriter(path) as writer:
        writer.seen, writer.begun  # noqa: B018 - reading them is what may fail
        writer.write(rows()[0])
    other = path.with_name(f"other{'.jsonl' if path.suffix == '.parquet' else '.parquet'}")
    other.unlink(missing_ok=True)
    convert(path, other)


def change_line(path: Path, number: int, change: Callable[[dict[str, Any]], Any]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    value = json.loads(lines[number - 1])
    changed = change(value)
    lines[number - 1] = json.dumps(value if changed is None else changed)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def put(*where: str | int) -> Callable[[Any], Callable[[dict[str, Any]], None]]:
    """A change that puts a value to a place of a row."""

    def with_value(value: Any) -> Callable[[dict[str, Any]], None]:
        def change(row: dict[str, Any]) -> None:
            part: Any = row
            for key in where[:-1]:
                part = part[key]
            part[where[-1]] = value

        return change

    return with_value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("target")(7), "its target is 7, and not a text"),
        (put("example_id")(None), "its example_id is None, and not a text"),
        (put("source")(["x"]), r"its source is \['x'\], and not a text"),
        (put("units")({}), "its units is {}, and not a list"),
        (put("units", 0)("good"), "unit 1 is 'good', and not an object"),
        (put("units", 0, "span")("0,4"), "its span is '0,4', and not a list of numbers"),
        (put("units", 0, "span")([0, 40]), r"the span of 'good' is \[0, 40\], which is no part of 9 characters"),
        (put("units", 0, "span")([4, 0]), r"the span of 'good' is \[4, 0\], which is no part of 9 characters"),
        (put("units", 0, "span")([-1, 4]), r"the span of 'good' is \[-1, 4\]"),
        (put("units", 0, "span")([0]), r"the span of 'good' is \[0\]"),
        (put("units", 0, "span")([0, 4.0]), r"the span of 'good' is \[0, 4.0\]"),
        (put("units", 0, "span")([False, True]), r"the span of 'good' is \[False, True\]"),
        (put("units", 0, "field")("title"), "'good' is of the input 'title', and there is none of this name"),
        (put("units", 0, "score")("1.0"), "the score of 'good' is '1.0', and not a number"),
        (put("units", 0, "score")(True), "the score of 'good' is True, and not a number"),
        (put("units", 0, "score")(float("inf")), "the score of 'good' is inf"),
        (put("units", 0, "score")(10**400), "the score of 'good' is 1000.*, and not a number"),
        (put("units", 0, "margin")("wide"), "the margin of 'good' is 'wide'"),
        (put("probabilities", "positive")(7.5), "the probability of 'positive' is 7.5, and not between 0 and 1"),
        (put("probabilities", "positive")("nan"), "the probability of 'positive' is nan, and not between 0 and 1"),
        (put("probabilities", "positive")("most"), "'positive' of its probabilities is 'most', and not a number"),
        (put("measures")([1]), r"its measures is \[1\], and not numbers by name"),
        (put("measures", "targets")(0.5), "the measure 'targets' is 0.5, and not a whole number"),
        (put("inputs")([]), r"its inputs is \[\], and not values by name"),
        (put("inputs", "text")(3), "the input 'text' is 3, and neither a text nor an image"),
        (put("inputs", "text")({"shape": [2, 2], "pixels": "????"}), "the image 'text' .* cannot be read"),
        (put("inputs", "text")({"shape": [-1, 2], "pixels": "AAAA"}), r"has the shape \[-1, 2\]"),
        (put("label")(True), "the label is True, and neither a text, a finite number nor a list of texts"),
        (put("label")(float("nan")), "the label is nan"),
        (put("label")([1, 2]), r"the label is \(1, 2\)"),
        (put("label")({"a": 1}), "the label is {'a': 1}"),
        (put("spec")(["x"]), r"its spec is \['x'\], and not a text"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(tmp_path: Path, change: Callable[[Any], Any], reason: str) -> None:
    path = written(tmp_path / "why.jsonl")
    change_line(path, 3, change)
    with pytest.raises(StorageError, match=rf"line 3 of {path} is not an explanation: .*{reason}.*[Rr]emove the line"):
        read_all(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"spec_key": 7, "spec": {}}', "its spec_key is 7, and not a text"),
        (b'{"spec_key": "a", "spec": [1]}', r"the spec is \[1\], and not an object"),
        (b'{"spec_key": "a", "spec": {"a": ' + b"[" * 60 + b"]" * 60 + b"}}", "nested more than 50 levels"),
        (b'{"spec_key": "a", "spec": {"a": ' + b"[" * DEEP + b"]" * DEEP + b"}}", "nested too deeply"),
        (b'{"spec_key": "\xff", "spec": {}}', "can't decode byte 0xff"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said(tmp_path: Path, line: bytes, reason: str) -> None:
    path = written(tmp_path / "why.jsonl")
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], line, *lines[2:]]) + b"\n")
    for fail in (read_all, ExplanationWriter):
        with pytest.raises(StorageError, match=rf"line 2 of {path} is not .*{reason}"):
            fail(path)


@pytest.mark.parametrize(
    "header",
    [
        b'{"format": "veridical-explanations", "version": 2, "id": "' + b"x" * 20_000 + b'"}',
        b'{"format": "veridical-explanations", "version": 2, "id": 7}',
        b'{"format": "veridical-explanations", "version": true, "id": "x"}',
        b'{"format": "veridical-explanations", "version": -1, "id": "x"}',
        b'{"format": "veridical-explanations", "more": ' + b"[" * 9_000,
    ],
)
def test_a_header_that_is_not_ours(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "why.jsonl"
    path.write_bytes(header + b"\n")
    for fail in (read_all, ExplanationWriter):
        with pytest.raises(VeridicalError, match="is not an explanation file"):
            fail(path)
    assert path.read_bytes() == header + b"\n"


def rewritten(path: Path, **columns: pa.Array) -> None:
    """The Parquet file with other columns: None takes one away."""
    with parquet.opened(path) as file:
        table = file.read()
        told = dict(file.metadata.metadata)
    for name, column in columns.items():
        table = table.drop_columns([name]) if name in table.column_names else table
        table = table if column is None else table.append_column(name, column)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **told}), path)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"target": pa.array([1, 2, 3, 4])}, "row 1 of .*: its target is 1, and not a text"),
        ({"example_id": pa.array(["a", None, "c", "d"])}, "row 2 of .*: its example_id is None"),
        ({"units": pa.array(["x"] * 4)}, "row 1 of .*: its units is 'x', and not a list"),
        ({"units": None}, "row 1 of .*: it has no 'units'"),
        ({"measures": pa.array([1.0] * 4)}, "row 1 of .*: its measures is 1.0, and not numbers by name"),
        ({"inputs": pa.array([["x"]] * 4)}, r"row 1 of .*: its inputs is \['x'\], and not values by name"),
        ({"spec": pa.array(["none"] * 4)}, "row 1 of .*: it refers to the unknown spec 'none'"),
        ({"label_number": pa.array([float("nan")] * 4)}, "row 2 of .*: .*the label is nan"),
        ({"source": pa.array([b"\xff"] * 4)}, r"row 1 of .*: its source is b'\\xff', and not a text"),
    ],
)
def test_columns_of_other_types(tmp_path: Path, columns: dict[str, pa.Array], reason: str) -> None:
    path = written(tmp_path / "why.parquet")
    rewritten(path, **columns)
    with pytest.raises(StorageError, match=reason):
        read_all(path)


@pytest.mark.parametrize("specs", [b"", b"[]", b"{", b"\xff", b'{"a": 1}', b"[" * DEEP])
def test_specs_of_parquet_that_cannot_be_read(tmp_path: Path, specs: bytes) -> None:
    path = written(tmp_path / "why.parquet")
    with parquet.opened(path) as file:
        table, told = file.read(), {**file.metadata.metadata, b"veridical.specs": specs}
    pq.write_table(table.replace_schema_metadata(told), path)
    with pytest.raises(StorageError, match=f"{path} is truncated or damaged .its specs cannot be read"):
        read_all(path)


def test_a_number_written_as_text_is_one_where_json_has_no_other_place(tmp_path: Path) -> None:
    path = written(tmp_path / "why.jsonl")
    change_line(path, 4, put("measures", "queries")("nan"))
    assert np.isnan(read_all(path)[1].measures["queries"])


ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    10**400,
    float("nan"),
    float("-inf"),
    "",
    "x",
    "nan",
    [],
    [[]],
    {},
    {"a": [None]},
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of a value, as what holds it and its key there."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(part, dict | list):
            yield from places(part)


def damaged_lines(content: bytes, chance: random.Random) -> bytes:
    """A line file with one part of one of its lines replaced, removed or added."""
    lines = content.decode().splitlines()
    at = chance.randrange(len(lines))
    value = json.loads(lines[at])
    holder, key = chance.choice(list(places(value)))
    how = chance.random()
    if how < 0.6:
        holder[key] = chance.choice(ODD)
    elif how < 0.8:
        del holder[key]
    elif isinstance(holder, dict):
        holder[chance.choice(["a", "spec_key", "margin"])] = chance.choice(ODD)
    else:
        holder.append(chance.choice(ODD))
    lines[at] = json.dumps(value)
    return ("\n".join(lines) + "\n").encode()


def damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """A file with some bytes replaced, removed, added, or cut off at the end."""
    some = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8])):
        at = chance.randrange(len(some) + 1)
        how = chance.random()
        if how < 0.6:
            some[at : at + 1] = chance.randbytes(1)
        elif how < 0.75:
            del some[at : at + chance.randrange(1, 20)]
        elif how < 0.9:
            some[at:at] = chance.randbytes(chance.randrange(1, 20))
        else:
            del some[at:]
    return bytes(some)


def fuzz(folder: Path, count: int, seed: int) -> int:
    """Use so many changed files of each kind; how many of them were refused."""
    chance, refused = random.Random(seed), 0
    whole = {suffix: written(folder / f"whole{suffix}").read_bytes() for suffix in (".jsonl", ".parquet")}
    for number in range(count):
        for suffix, damage in ((".jsonl", damaged_lines), (".jsonl", damaged_bytes), (".parquet", damaged_bytes)):
            path = folder / f"changed{suffix}"
            path.with_name(path.name + ".part").unlink(missing_ok=True)
            path.write_bytes(damage(whole[suffix], chance))
            try:
                use(path)
            except VeridicalError:
                refused += 1
            except BaseException:
                kept = Path(tempfile.gettempdir()) / f"changed-{seed}-{number}{suffix}"
                kept.write_bytes(path.read_bytes())
                print(f"change {number} by seed {seed}: kept as {kept}", file=sys.stderr)
                raise
    return refused


def test_random_changes_are_read_or_refused(tmp_path: Path) -> None:
    assert fuzz(tmp_path, 100, seed=0) > 100


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(fuzz(Path(folder), int(sys.argv[1]), int(sys.argv[2])), "refused")
