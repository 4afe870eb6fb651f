"""What type hints allow: values that fit, values that do not, the same in words and as JSON Schema."""

from contextlib import suppress
from typing import Annotated, Any, Literal, Optional, Union

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.component import AtLeastOne, Count, Positive, Share, Within
from veridical.core.errors import UsageError
from veridical.core.hints import Place, fit, is_plain, schema, shown, words

PLACE = Place("thing(option=...)", "option", "what it takes")

Ratios = Annotated[tuple[Share, ...], AtLeastOne()]
Steps = Count | Literal["auto"]


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (3, int, 3),
        (3, float, 3.0),
        (np.int64(3), int, 3),
        (np.float32(0.5), float, 0.5),
        (np.float64(0.5), Share, 0.5),
        (np.str_("a"), str, "a"),
        (True, bool, True),
        ("auto", Steps, "auto"),
        (7, Steps, 7),
        (None, int | None, None),
        (None, Optional[Count], None),  # noqa: UP045 - both ways of writing it
        (3, Union[int, str], 3),  # noqa: UP007
        ([0.5, 1], Ratios, (0.5, 1.0)),
        (0.5, Ratios, (0.5,)),
        ("a", tuple[str, ...], ("a",)),
        ((), tuple[str, ...], ()),
        ([1, "a"], tuple[int, str], (1, "a")),
        ([[1, 2], [3]], tuple[tuple[int, ...], ...], ((1, 2), (3,))),
        ("b", Literal["a", "b"], "b"),
        (2, Literal[1, 2], 2),
    ],
)
def test_what_fits_is_given_in_its_own_type(value, hint, expected):
    assert same(fit(value, hint, PLACE), expected)


@pytest.mark.parametrize(
    ("value", "hint", "problem"),
    [
        (True, int, "has the wrong type"),
        (1.0, int, "has the wrong type"),
        ("3", int, "has the wrong type"),
        (True, float, "has the wrong type"),
        ("0.5", float, "has the wrong type"),
        (None, float, "has the wrong type"),
        (1, bool, "has the wrong type"),
        (1, str, "has the wrong type"),
        (float("nan"), float, "is not a finite number"),
        (float("inf"), Positive, "is not a finite number"),
        (10**400, float, "is not a finite number"),
        (0, Count, r"is beyond its limits\. option is 1 or more"),
        (0, Count | None, r"is beyond its limits\. option is 1 or more"),
        (0, Steps, "is not possible"),
        ("never", Steps, "is not possible"),
        (None, Steps, "is not possible"),
        (True, Literal[1, 2], r"is not possible\. option is one of: 1, 2"),
        ("c", Literal["a", "b"], r"is not possible\. option is one of: a, b"),
        (np.array(["a", "b"]), Literal["a", "b"], "is not possible"),
        ([0.5, 2], Ratios, r"is beyond its limits\. each of option is more than 0 and at most 1"),
        ([0.5, "a"], Ratios, r"has the wrong type\. each of option is a number, more than 0 and at most 1"),
        ([], Ratios, "is empty"),
        ([1, 2, 3], tuple[int, str], r"has 3 values\. option has 2"),
        ({0.5}, Ratios, "has the wrong type"),
    ],
)
def test_what_does_not_fit_is_refused(value, hint, problem):
    with pytest.raises(UsageError, match=rf"^thing\(option=\.\.\.\) {problem}"):
        fit(value, hint, PLACE)


def test_a_tuple_that_fits_stays_the_same_object():
    ratios = (0.5, 1.0)
    assert fit(ratios, Ratios, PLACE) is ratios


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, "a whole number"),
        (bool, "true or false"),
        (Count, "a whole number, 1 or more"),
        (Share, "a number, more than 0 and at most 1"),
        (float | None, "a number or none"),
        (Steps, "a whole number, 1 or more, or auto"),
        (Literal["sum", "mean", "l2"], "sum, mean or l2"),
        (Literal["only"], "only"),
        (tuple[int, ...], "a list of: a whole number"),
        (Ratios, "a list of: a number, more than 0 and at most 1, at least one"),
        (tuple[int, str], "a list of: a whole number; a text"),
        (dict, "dict"),
    ],
)
def test_what_is_allowed_is_said_in_words(hint, expected):
    assert words(hint) == expected


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, {"type": "integer"}),
        (Share, {"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        (Annotated[int, Within(2)], {"type": "integer", "minimum": 2}),
        (float | None, {"anyOf": [{"type": "number"}, {"type": "null"}]}),
        (Steps, {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["auto"]}]}),
        (
            Ratios,
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "minItems": 1},
        ),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "items": False,
            },
        ),
        (dict, {}),
    ],
)
def test_what_is_allowed_is_said_as_json_schema(hint, expected):
    assert schema(hint) == expected


@pytest.mark.parametrize("hint", [int, Count, Steps, Ratios, str | None, tuple[int, str], Literal["a", 1]])
def test_plain_types(hint):
    assert is_plain(hint)


@pytest.mark.parametrize("hint", [dict, dict[str, int], list[int], object, Any, tuple[dict, ...], int | dict])
def test_types_that_are_not_plain(hint):
    assert not is_plain(hint)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.floats())))
def test_a_value_fits_for_good_or_is_refused(value):
    for hint in (Steps, Ratios, Count | None, Literal["a", 1], tuple[int, str]):
        with suppress(UsageError):  # and nothing else
            fitting = fit(value, hint, PLACE)
            assert same(fit(fitting, hint, PLACE), fitting)


def test_long_values_are_shown_short():
    assert shown("a" * 100) == "a" * 57 + "..."
    assert shown(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    assert shown("text") == "text"
