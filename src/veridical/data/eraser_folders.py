"""Data with human rationales in the format of the ERASER benchmark (DeYoung et al. 2020, eraserbenchmark.com)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from veridical.core.component import option, required
from veridical.core.errors import InputError, VeridicalWarning
from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.data.columns import Columns
from veridical.data.dataset import Dataset, Source
from veridical.data.folders import split_files
from veridical.data.rows import own_ids, told_repetitions
from veridical.data.tables import TableRow, read_lines, read_rows, read_table

_KNOWN = {"annotation_id", "query", "classification", "evidences", "docids", "query_type"}


def is_eraser_folder(folder: Path) -> bool:
    """Whether a folder holds its documents apart, as ERASER does."""
    return (folder / "docs").is_dir() or any((folder / f"docs.jsonl{end}").exists() for end in ("", ".gz"))


@dataclass(frozen=True)
class EraserFolder(Source):
    """Documents in `docs/` or `docs.jsonl`, and `train.jsonl`, `val.jsonl`, `test.jsonl` that annotate them.

    The text is the document (several are joined by a line break). The query is the second text, unless all queries of a
    split are the same: then it is the prompt of the task, and kept in `extra`.
    """

    path: Path = required("The folder.")
    columns: Columns = option(Columns(), "Nothing can be chosen here: the layout is fixed.")

    def splits(self) -> tuple[str, ...]:
        return tuple(split_files(self.path))

    def load(self, split: str) -> Dataset:
        self.columns.refuse(f"{self.path} (ERASER format)")
        file = split_files(self.path)[split]
        rows = read_table(file).rows
        paired = len({str(row.values.get("query")) for row in rows}) > 1
        made = {row.line: self._example(row, f"{file}, line {row.line}", paired) for row in rows}
        examples = _with_own_ids(file, made)
        return Dataset(f"{self.path}:{split}", examples, tuple(sorted({str(example.label) for example in examples})))

    def _example(self, row: TableRow, place: str, paired: bool) -> Example:
        id, label = (_needed(row.values, key, place) for key in ("annotation_id", "classification"))
        spans = _spans(row.values.get("evidences") or [], place, id)
        docs = {doc: self._documents[doc] for doc in self._docs_of(row.values, spans, id, place)}
        inputs = {TEXT: "\n".join(docs.values())}
        query = _needed({"query": row.values.get("query") or ""}, "query", place)
        inputs |= {PAIR: query} if paired else {}
        extra = {key: value for key, value in row.values.items() if key not in _KNOWN}
        extra |= {} if paired else {"query": query}
        return Example(id, inputs, label, _evidence(docs, spans, place, id), extra)

    def _docs_of(self, values: Mapping[str, Any], spans: list[Mapping[str, Any]], id: str, place: str) -> list[str]:
        """The documents of an annotation: listed, or those of its evidence, or the one it is named after."""
        named = values.get("docids") or list(dict.fromkeys(str(span["docid"]) for span in spans))
        if not _are(str, named):
            raise InputError(f"{place}: 'docids' is not a list of texts", example=id, field="docids")
        named = named or [next((name for name in (id, id.partition(":")[0]) if name in self._documents), id)]
        if missing := [name for name in named if name not in self._documents]:
            raise InputError(f"{place}: there is no document {missing[0]!r} in {self.path}", example=id)
        return list(named)

    @cached_property
    def _documents(self) -> dict[str, str]:
        folder = self.path / "docs"
        if folder.is_dir():
            files = (file for file in sorted(folder.rglob("*")) if file.is_file())
            return {file.relative_to(folder).as_posix(): "".join(read_lines(file)) for file in files}
        file = next(file for end in ("", ".gz") if (file := self.path / f"docs.jsonl{end}").exists())
        places = ((row.values, f"{file}, line {row.line}") for row in read_rows(file))
        return {_needed(row, "docid", place): _needed(row, "document", place) for row, place in places}


def _with_own_ids(file: Path, made: Mapping[int, Example]) -> tuple[Example, ...]:
    """The examples of the lines, each with an id of its own; one that repeats another is left out."""
    contents = (repr((each.inputs, each.label, each.evidence)) for each in made.values())
    own = dict(zip(made, own_ids([each.id for each in made.values()], contents), strict=True))
    new = {id: line for line, id in own.items() if id is not None and id != made[line].id}
    if told := told_repetitions([line for line, id in own.items() if id is None], new):
        warnings.warn(f"{file}: {told}", VeridicalWarning, stacklevel=2)
    return tuple(replace(made[line], id=id) for line, id in own.items() if id is not None)


def _needed(values: Mapping[str, Any], key: str, place: str) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        raise InputError(f"{place}: {key!r} is missing or not a text", field=key)
    return value


def _spans(groups: Any, place: str, id: str) -> list[Mapping[str, Any]]:
    spans: list[Any] = [span for group in groups for span in group] if _are(list, groups) else [None]
    if not _are(dict, spans) or any("docid" not in span for span in spans):
        remedy = 'They are lists of lists of {"docid": ..., "start_token": ..., "end_token": ...}.'
        raise InputError(f"{place}: cannot read the evidences", example=id, field="evidences", remedy=remedy)
    return spans


def _are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _evidence(docs: Mapping[str, str], spans: list[Mapping[str, Any]], place: str, id: str) -> tuple[Unit, ...]:
    """Token spans of documents as character spans of their joined text, without repetitions, in reading order."""
    starts, text = {}, ""
    for name, document in docs.items():
        starts[name] = len(text)
        text += f"{document}\n"
    words = {name: [found.span() for found in re.finditer(r"\S+", document)] for name, document in docs.items()}
    found = {_characters(span, words, starts, place, id) for span in spans} - {None}
    return tuple(Unit(TEXT, span, text[slice(*span)]) for span in sorted(filter(None, found)))


def _characters(
    span: Mapping[str, Any], words: Mapping[str, list[tuple[int, int]]], starts: Mapping[str, int], place: str, id: str
) -> tuple[int, int] | None:
    name, first, end = (span.get(key) for key in ("docid", "start_token", "end_token"))
    count = len(words.get(str(name), ()))
    if type(first) is not int or type(end) is not int or not 0 <= first <= end <= count:
        problem = f"{place}: evidence from token {first} to {end} of {name!r}, which has {count} tokens here"
        raise InputError(problem, example=id, field="evidences")
    if first == end:  # the published files hold a few empty spans
        return None
    start = starts[str(name)]
    return start + words[str(name)][first][0], start + words[str(name)][end - 1][1]
