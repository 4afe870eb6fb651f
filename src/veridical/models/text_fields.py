"""The texts of an example, checked: every problem is named with its example and field."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.core.errors import InputError, UsageError
from veridical.core.example import PAIR, TEXT, Example

FIELDS = (TEXT, PAIR)


def texts_of(example: Example) -> tuple[str, str]:
    """The text and the second text of an example, the latter empty where there is none."""
    return str(example.inputs[TEXT]), str(example.inputs.get(PAIR, ""))


def check_hold(hold: str | None) -> None:
    """Only a field of texts can be held as context."""
    if hold is not None and hold not in FIELDS:
        raise UsageError(f"hold cannot be {hold!r}", remedy=f"It is one of: {', '.join(FIELDS)}.")


def check_texts(examples: Sequence[Example]) -> None:
    """Raise an error that names the first example a text classifier cannot read."""
    if not examples:
        raise UsageError("there are no examples to read")
    for example in examples:
        problem = text_problem(example)
        if problem is not None:
            raise problem
    if len({PAIR in example.inputs for example in examples}) > 1:
        odd = next(example for example in examples if (PAIR in example.inputs) != (PAIR in examples[0].inputs))
        raise InputError("pairs and single texts are mixed in one batch", example=odd.id, field=PAIR)


def text_problem(example: Example) -> InputError | None:
    """What is wrong with an example's texts, if anything."""
    if TEXT not in example.inputs:
        there = ", ".join(example.inputs) or "nothing"
        return InputError(f"there is no text, only: {there}", example=example.id, field=TEXT)
    for field in FIELDS:
        value = example.inputs.get(field, "")
        if not isinstance(value, str):
            return InputError(f"expected a text, not {type(value).__name__}", example=example.id, field=field)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            return InputError(
                f"character {error.start + 1} is half of a surrogate pair (U+{ord(value[error.start]):04X})",
                example=example.id,
                field=field,
                remedy="The text was cut or decoded wrongly; read its source as UTF-8 again.",
            )
    return None
