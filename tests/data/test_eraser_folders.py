from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from veridical.core.errors import InputError, UsageError, VeridicalWarning
from veridical.core.values import Unit
from veridical.data import load

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, Iterable[dict[str, Any]]], Path]

DOCS = {"one.txt": "a truly  good\nfilm", "two.txt": "not so good"}


def note(id: str, *spans: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    evidences = [[{"docid": doc, "start_token": start, "end_token": end}] for doc, start, end in spans]
    return {"annotation_id": id, "query": "What?", "classification": "POS", "evidences": evidences, **more}


@pytest.fixture
def folder(write: Write, tmp_path: Path) -> Path:
    for name, text in DOCS.items():
        write(f"movies/docs/{name}", text)
    return tmp_path / "movies"


def test_token_spans_become_character_spans(folder: Path, write_rows: WriteRows) -> None:
    rows = [
        note("one.txt", ("one.txt", 2, 4), ("one.txt", 0, 1), ("one.txt", 0, 1)),
        note("two.txt", ("two.txt", 1, 1)),
    ]
    write_rows("movies/val.jsonl", rows)
    data = load(f"{folder}:dev")
    assert data[0].inputs == {"text": DOCS["one.txt"]}
    assert data[0].evidence == (Unit("text", (0, 1), "a"), Unit("text", (9, 18), "good\nfilm"))
    assert data[0].label == "POS"
    assert data[0].extra == {"query": "What?"}
    assert data[1].inputs == {"text": DOCS["two.txt"]}
    assert data[1].evidence == ()


def test_different_queries_are_the_second_text(folder: Path, write_rows: WriteRows) -> None:
    rows = [
        note("one.txt:0:0", query="Good?", classification="NEG"),
        note("one.txt:0:1", ("two.txt", 0, 1), query="Bad?"),
    ]
    write_rows("movies/train.jsonl", rows)
    data = load(str(folder))
    assert data[0].inputs == {"text": DOCS["one.txt"], "text_pair": "Good?"}
    assert data[1].inputs == {"text": DOCS["two.txt"], "text_pair": "Bad?"}
    assert data.labels == ("NEG", "POS")


def test_several_documents_are_joined(folder: Path, write_rows: WriteRows) -> None:
    write_rows("movies/train.jsonl", [note("x", ("two.txt", 2, 3), docids=["one.txt", "two.txt"])])
    example = load(str(folder))[0]
    assert example.inputs["text"] == "a truly  good\nfilm\nnot so good"
    (unit,) = example.evidence
    assert unit.text == "good"
    assert unit.span == (26, 30)


def test_documents_may_be_one_file(write_rows: WriteRows, tmp_path: Path) -> None:
    write_rows("set/docs.jsonl", [{"docid": name, "document": text} for name, text in DOCS.items()])
    write_rows("set/test.jsonl", [note("two.txt", ("two.txt", 0, 2))])
    assert load(f"{tmp_path / 'set'}:test")[0].evidence == (Unit("text", (0, 6), "not so"),)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (note("one.txt", ("one.txt", 3, 5)), r"example one\.txt, .*line 1: evidence from token 3 to 5 .* has 4 tokens"),
        (note("one.txt", ("one.txt", -1, 2)), "evidence from token -1"),
        (note("one.txt", evidences=[{"docid": "one.txt"}]), "line 1: cannot read the evidences"),
        (note("one.txt", evidences=[[{"start_token": 1}]]), "cannot read the evidences"),
        (note("gone.txt"), r"there is no document 'gone\.txt'"),
        (note("x", ("../secret.txt", 0, 1)), r"there is no document '\.\./secret\.txt'"),
        (note("one.txt", classification=None), "line 1: 'classification' is missing"),
        (note("one.txt", query=[1]), "line 1: 'query' is missing or not a text"),
        (note("one.txt", docids="one.txt"), "line 1: 'docids' is not a list of texts"),
        (note("one.txt", docids=[{}]), "line 1: 'docids' is not a list of texts"),
    ],
)
def test_bad_annotations_are_named(folder: Path, write_rows: WriteRows, row: dict[str, Any], message: str) -> None:
    write_rows("secret.txt", [])
    write_rows("movies/train.jsonl", [row])
    with pytest.raises(InputError, match=message):
        load(str(folder))


def test_ids_that_occur_twice_are_dropped_or_numbered(folder: Path, write_rows: WriteRows) -> None:
    other = note("one.txt", classification="NEG")
    write_rows("movies/train.jsonl", [note("one.txt"), note("one.txt"), other])
    told = (
        r"1 row repeats the id and the content of another \(line 2\).*; 1 row has the id .*'one.txt \(2\)' \(line 3\)"
    )
    with pytest.warns(VeridicalWarning, match=told):
        data = load(str(folder))
    assert [(example.id, example.label) for example in data] == [("one.txt", "POS"), ("one.txt (2)", "NEG")]
    assert data[0].inputs == data[1].inputs


def test_options_are_refused(folder: Path, write_rows: WriteRows) -> None:
    write_rows("movies/train.jsonl", [note("one.txt")])
    with pytest.raises(UsageError, match="takes no option 'text'"):
        load(f"{folder}(text=query)")
