"""From rows of a file, which anybody may have changed, to explanations: each part is checked before it is used."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from veridical.core.errors import InputError
from veridical.core.files.rows import FileRow, RowKey, spec_data, targets_of
from veridical.core.values import Explanation, Image, Unit, is_number, short

_NOT_IN_JSON = ("nan", "inf", "-inf")
"""Numbers that JSON has no other place for: they are written as texts."""


def from_row(row: FileRow, spec: Mapping[str, Any]) -> Explanation:
    """The explanation that `to_row` was given; an `InputError` says which part of the row cannot be one."""
    units = _units(_part(row, "units", list, "a list"))
    measures = _numbers(row, "measures")
    targets_of(measures)
    return Explanation(
        example_id=_part(row, "example_id", str, "a text"),
        inputs={name: _input(name, value) for name, value in _part(row, "inputs", dict, "values by name").items()},
        target=_part(row, "target", str, "a text"),
        units=tuple(unit for unit, _, _ in units),
        scores=tuple(score for _, score, _ in units),
        probabilities=_numbers(row, "probabilities"),
        source=_part(row, "source", str, "a text"),
        spec=spec,
        label=_label(_part(row, "label", object, "")),
        measures=measures,
        margins=_margins(margin for _, _, margin in units),
    )


def key_of_row(row: FileRow) -> RowKey:
    """What a job asks to know whether a row is already there; an `InputError` where the row does not say it."""
    example, spec, target = (_part(row, name, str, "a text") for name in ("example_id", "spec", "target"))
    return RowKey(example, spec, target, targets_of(_numbers(row, "measures")))


def spec_of(row: FileRow, specs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec that a row refers to."""
    key = _part(row, "spec", str, "a text")
    if key not in specs:
        raise InputError(f"it refers to the unknown spec {short(key)}")
    spec: Mapping[str, Any] = specs[key]
    return spec


def checked_spec(spec: Any) -> dict[str, Any]:
    """A spec as a file holds it."""
    if not isinstance(spec, dict):
        raise InputError(f"the spec is {short(spec)}, and not an object")
    return spec_data(spec)


def _part(row: FileRow, name: str, kind: type, what: str) -> Any:
    if name not in row:
        raise InputError(f"it has no {name!r}")
    if not isinstance(row[name], kind):
        raise InputError(f"its {name} is {short(row[name])}, and not {what}")
    return row[name]


def _number(value: Any, what: str) -> float:
    try:
        if is_number(value):
            return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        pass
    raise InputError(f"{what} is {short(value)}, and not a number")


def _numbers(row: FileRow, name: str) -> dict[str, float]:
    return {
        key: float(value) if value in _NOT_IN_JSON else _number(value, f"{short(key)} of its {name}")
        for key, value in _part(row, name, dict, "numbers by name").items()
    }


def _units(units: list[Any]) -> list[tuple[Unit, float, float | None]]:
    return [_unit(unit, number) for number, unit in enumerate(units, start=1)]


def _unit(unit: Any, number: int) -> tuple[Unit, float, float | None]:
    if not isinstance(unit, dict):
        raise InputError(f"unit {number} is {short(unit)}, and not an object")
    field, text = _part(unit, "field", str, "a text"), _part(unit, "text", str, "a text")
    span = tuple(_part(unit, "span", list, "a list of numbers"))
    score = _number(_part(unit, "score", object, ""), f"the score of {short(text)}")
    margin = unit.get("margin")  # files from before there were margins have none
    return (
        Unit(field, span, text),
        score,
        None if margin is None else _number(margin, f"the margin of {short(text)}"),
    )


def _margins(found: Iterable[float | None]) -> tuple[float, ...] | None:
    margins = tuple(found)
    known = tuple(margin for margin in margins if margin is not None)
    return known if known and len(known) == len(margins) else None


def _label(label: Any) -> Any:
    if isinstance(label, list):
        return tuple(label)
    return _number(label, "its label") if is_number(label) else label


def _input(name: str, value: Any) -> str | Image:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise InputError(f"the input {short(name)} is {short(value)}, and neither a text nor an image")
    shape = _part(value, "shape", list, "a list of numbers")
    raw = _part(value, "pixels", str | bytes, "bytes or their base64")  # type: ignore[arg-type]
    if not all(type(size) is int and size >= 0 for size in shape):
        raise InputError(f"the image {short(name)} has the shape {short(shape)}")
    try:
        pixels = np.frombuffer(base64.b64decode(raw) if isinstance(raw, str) else raw, dtype=np.uint8)
        return Image(pixels.reshape(shape))
    except ValueError as error:  # no base64, or another number of pixels
        raise InputError(f"the image {short(name)} of shape {short(shape)} cannot be read: {error}") from error
