import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from veridical.core.errors import InputError, StorageError, UsageError
from veridical.data import load
from veridical.data.columns import Columns
from veridical.data.tables import Cells, Table, format_of, read_lines, read_rows, read_table, stem_of

Write = Callable[[str, str], Path]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'text,label\n"one, two",x\n"line\nbreak",y\n'),
        ("a.csv.gz", 'text,label\r\n"one, two",x\r\n"line\nbreak",y\r\n'),
        ("a.tsv", 'text\tlabel\none, two\tx\n"line\nbreak"\ty\n'),
        ("a.tsv.gz", 'text\tlabel\none, two\tx\n"line\nbreak"\ty'),
        ("a.jsonl", '{"text": "one, two", "label": "x"}\n\n{"text": "line\\nbreak", "label": "y"}\n'),
        ("a.jsonl.gz", '\ufeff{"text": "one, two", "label": "x"}\n{"text": "line\\nbreak", "label": "y"}'),
    ],
)
def test_every_text_format_gives_the_same_rows(write: Write, name: str, text: str) -> None:
    table = read_table(write(name, text))
    assert [row.values for row in table.rows] == [
        {"text": "one, two", "label": "x"},
        {"text": "line\nbreak", "label": "y"},
    ]
    assert table.columns == ("text", "label")


def test_parquet_keeps_types(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": ["a", "b"], "label": [1, None], "rationales": [[[0, 1]], []]}), path)
    rows = read_table(path).rows
    assert rows[0].values == {"text": "a", "label": 1, "rationales": [[0, 1]]}
    assert rows[1].values["label"] is None
    assert [row.line for row in rows] == [1, 2]


def test_lines_are_those_of_the_file_despite_blanks_and_breaks_in_quotes(write: Write) -> None:
    csv = write("a.csv", 'text\n"two\nlines"\n\nlast\n')
    assert [row.line for row in read_rows(csv)] == [2, 5]
    jsonl = write("a.jsonl", '\n{"a": 1}\n\n{"a": 2}\n')
    assert [row.line for row in read_rows(jsonl)] == [2, 4]


def test_line_separators_inside_a_json_text_do_not_end_the_line(write: Write) -> None:
    path = write("a.jsonl", '{"text": "a\u2028b\x85c"}\n')
    assert [row.values["text"] for row in read_rows(path)] == ["a\u2028b\x85c"]


def test_lone_surrogates_load(write: Write) -> None:
    path = write("a.jsonl", '{"text": "broken \\ud83d emoji"}\n')
    assert read_table(path).rows[0].values["text"] == "broken \ud83d emoji"


def test_quotes_can_be_plain_characters(write: Write) -> None:
    path = write("a.tsv", 'text\tlabel\n"so" he said\tx\n"open\ty\n')
    assert [row.values["text"] for row in read_rows(path, Cells(quotes=False))] == ['"so" he said', '"open']
    with pytest.raises(InputError, match=r"a\.tsv, line 2: .* quotes=false"):
        list(read_rows(path))


def test_a_cell_may_be_a_whole_book(write: Write) -> None:
    assert len(read_table(write("a.csv", f"text\n{'x' * 200_000}\n")).rows[0].values["text"]) == 200_000


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": "b"\n', r"a\.jsonl, line 2, column \d+: not JSON"),
        ("a.jsonl", '{"text": "a"}\n\n[1]\n', r"a\.jsonl, line 3: expected a JSON object, not list"),
        ("a.jsonl.gz", "oops\n", r"a\.jsonl\.gz, line 1, column 1: not JSON"),
        ("a.jsonl", "[" * 200_000, r"a\.jsonl, line 1"),
        ("a.csv", "text,label\na,b\nc,d,e\n", r"a\.csv, line 3: 3 cells, but the header has 2 \(text, label\)"),
        ("a.csv", 'text,label\n"a\nb",x\nc\n', r"a\.csv, line 4: 1 cells"),
        ("a.csv", 'text,label\n"never closed,x\nb,y\n', r"a\.csv, line 2: "),
        ("a.csv", "text,text\na,b\n", r"column 'text' appears twice"),
        ("a.csv", "", r"a\.csv is empty"),
        ("a.csv", "text,label\n", r"a\.csv is empty"),
        ("a.jsonl", "\n \n", r"a\.jsonl is empty"),
    ],
)
def test_bad_content_is_named_with_its_line(write: Write, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(write(name, text))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_not_utf8_is_named_with_its_line(tmp_path: Path, name: str) -> None:
    data = b'text,label\n{"text": "caf\xe9"},x\n' if "csv" in name else b'{"text": "a"}\n{"text": "caf\xe9"}\n'
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with pytest.raises(InputError, match=r"line 2: byte \d+ \(0xe9\) is not UTF-8.*Save the file as UTF-8"):
        read_table(tmp_path / name)


def test_a_truncated_or_false_gzip_file_is_a_storage_error(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps({"text": "a" * 5000}).encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[:-9])
    (tmp_path / "false.jsonl.gz").write_bytes(b"plain text")
    for name in ("cut.jsonl.gz", "false.jsonl.gz"):
        with pytest.raises(StorageError, match=f"{name} is damaged"):
            read_table(tmp_path / name)


def test_a_false_parquet_file_is_named(write: Write) -> None:
    with pytest.raises(InputError, match=r"a\.parquet is not a readable Parquet file"):
        read_table(write("a.parquet", "text"))


def test_unknown_formats_and_missing_files(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.docx is of no known format.*\.csv, \.tsv, \.jsonl, \.parquet"):
        read_table(write("a.docx", "x"))
    with pytest.raises(InputError, match=r"there is no file .*gone\.csv"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(StorageError, match="cannot read"):
        list(read_lines(tmp_path))


def test_names_of_formats() -> None:
    known = {"a.csv": "csv", "B.TSV.gz": "tsv", "a.b.ndjson": "jsonl", "a.parquet": "parquet"}
    assert {name: format_of(Path(name)) for name in known} == known
    assert format_of(Path("a.parquet.gz")) is None
    assert stem_of(Path("x/train.jsonl.gz")) == "train"


TABLE = Table("mine.csv", [], ("review", "label", "split", "text", "id"))


def test_columns_of_the_names_of_roles_are_found() -> None:
    found = Columns().within(TABLE)
    assert (found.text, found.label, found.id) == ("text", "label", "id")
    assert found.text_pair is None
    assert found.split is None  # a column of that name may mean anything: it has to be named
    assert found.used() == {"text", "label", "id"}


def test_a_column_that_is_named_wins() -> None:
    found = Columns(text="review", split="split", seed=3).within(TABLE)
    assert (found.text, found.split, found.seed) == ("review", "split", 3)
    assert found.used() == {"review", "label", "split", "id"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns(label="stars"), r"mine\.csv has no column 'stars'\. There are: review, label, split, text, id"),
        (Columns(rationales="why"), r"no column 'why'.* Name the right one, as in \(rationales=review\)"),
    ],
)
def test_a_column_that_is_not_there_is_named(columns: Columns, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        columns.within(TABLE)


def test_a_table_without_texts_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has no column 'text'\. There are: a, b\. .* as in \(text=a\)"):
        Columns().within(Table("mine.csv", [], ("a", "b")))


@pytest.mark.parametrize(
    ("option", "value"), [("text", "review"), ("seed", 1), ("quotes", False), ("label_separator", ";")]
)
def test_a_fixed_layout_takes_no_options(option: str, value: object) -> None:
    Columns().refuse("pixels")
    with pytest.raises(UsageError, match=f"pixels has a fixed layout: it takes no option '{option}'"):
        Columns(**{option: value}).refuse("pixels")  # type: ignore[arg-type]


SEPARATED = 'text;label\ngood, really;pos\n"bad; very";neg\n'


@pytest.mark.parametrize("options", ['(separator=";")', "(separator=;)", "(separator=';', quotes=true)"])
def test_another_separator(write: Write, options: str) -> None:
    data = load(f"{write('mine.csv', SEPARATED)}{options}")
    assert [example.inputs["text"] for example in data] == ["good, really", "bad; very"]
    assert data.labels == ("neg", "pos")


@pytest.mark.parametrize("separator", [r"\t", r'"\t"', '"\t"'])
def test_a_tab_in_a_csv_file(write: Write, separator: str) -> None:
    path = write("mine.csv", "text\tlabel\na, b\tpos\n")
    assert load(f"{path}(separator={separator})")[0].inputs["text"] == "a, b"


@pytest.mark.parametrize(
    ("name", "mark"),
    [("mine.csv", ";"), ("mine.csv.gz", "|"), ("mine.csv", "\t"), ("mine.tsv", ","), ("mine.tsv", ";")],
)
def test_a_file_with_another_separator_names_the_option(write: Write, name: str, mark: str) -> None:
    path = write(name, f"text{mark}label\n'tis so{mark}pos\n")
    told = re.escape(f"{mark!r} seems to stand between several") + r".*\(separator=" + re.escape(repr(mark))
    with pytest.raises(UsageError, match=told):
        load(str(path))
    assert load(f"{path}(separator={mark!r})")[0].label == "pos"


def test_a_column_with_an_odd_name_can_be_the_only_one(write: Write) -> None:
    path = write("mine.csv", "text;raw\nsome words\n")
    assert load(f'{path}(separator=",", text="text;raw")')[0].inputs["text"] == "some words"


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n"])
def test_a_separator_is_one_character(separator: str) -> None:
    with pytest.raises(UsageError, match="the separator cannot be .*It is a single character"):
        Columns(separator=separator)


def test_formats_without_cells_have_no_separator(write: Write) -> None:
    path = write("mine.jsonl", '{"text": "a"}\n')
    with pytest.raises(UsageError, match=r"mine\.jsonl has no cells that a separator could stand between"):
        load(f"{path}(separator=;)")
