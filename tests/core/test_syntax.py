from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.errors import UsageError
from veridical.core.syntax import Term, parse, parse_one, parse_several
from veridical.explainers import EXPLAINERS

TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(",;()[]{}+='\"\\ \n\t")), max_size=8
)
SIMPLE = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none(), TEXTS,
    st.sampled_from(["true", "None", "1", "1e5", "[]", "[1, 2]", "{}", "'", '"', "a, b", "a=b", "\\", "\\'"]),
)  # fmt: skip
VALUES = st.recursive(SIMPLE, lambda members: st.lists(members, max_size=3).map(tuple), max_leaves=6)
KEYS = st.from_regex(r"[a-z_]{1,6}", fullmatch=True)


def same(one: object, other: object) -> bool:
    """Equal, and of the same types all the way down: 1 is not 1.0, and no True either."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_what_is_written_can_be_read_back(options: dict[str, object]) -> None:
    found = parse_one(str(Term("kernel-shap", options)))
    assert found == Term("kernel-shap", options)
    assert all(same(found.options[key], value) for key, value in options.items())


@given(st.lists(st.tuples(TEXTS, st.dictionaries(KEYS, VALUES, max_size=2)), min_size=1, max_size=3))
def test_sums_and_lists_of_any_names_can_be_read_back(named: list[tuple[str, dict[str, object]]]) -> None:
    terms = [Term(name, options) for name, options in named]
    assert parse(" + ".join(map(str, terms))) == terms
    assert parse_several(", ".join(map(str, terms))) == terms


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (("a", "b"), "[a, b]"),
        (("a, b", "c"), "['a, b', c]"),
        (("it's", 'say "no"'), """["it's", 'say "no"']"""),
        ((), "[]"),
        (((1, 2), ("x",)), "[[1, 2], [x]]"),
        (True, "true"),
        ("true", "'true'"),
        ("1", "'1'"),
        ("runs/my mask", "runs/my mask"),
        ("", "''"),
    ],
)
def test_quotes_stand_only_where_they_are_needed(value: object, written: str) -> None:
    assert str(Term("x", {"y": value})) == f"x(y={written})"


def test_a_path_with_a_blank_is_quoted() -> None:
    assert str(Term("runs/my mask")) == "'runs/my mask'"
    assert parse_one("'runs/my mask'") == Term("runs/my mask")
    assert parse_one("~/runs/mask") == Term("~/runs/mask")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'x(y="\d+")', r"\d+"),  # no escape of Python's
        (r'x(y="C:\users")', r"C:\users"),  # one that is cut off
        ("x(y='a\nb')", "a\nb"),
        ("x(y=1_000)", 1000),
        ("x(y=1e-5)", 1e-5),
        ("x(y=[1, 2,])", (1, 2)),
        (f"x(y={'{' * 300})", "{" * 300),
        (f"x(y={'-' * 50_000}1)", f"{'-' * 50_000}1"),
    ],
)
def test_values_as_people_write_them(text: str, value: object) -> None:
    assert parse_one(text).options == {"y": value}


@pytest.mark.parametrize(
    ("text", "problem", "at"),
    [
        ("lime(samples=)", "expected a value", 14),
        ("lime(samples=5", "expected ',' or ')'", 15),
        ("lime(samples=5))", "unexpected ')'", 16),
        ("lime(5)", "expected an option name", 6),
        ("lime(samples)", "expected '=' after option 'samples'", 13),
        ("lime(a=1, a=2)", "option 'a' is given twice", 13),
        ("lime(a=[1, 2)", "expected ',' or ']'", 13),
        ("lime(a='x)", "expected a value", 8),
        ("", "expected a name", 1),
        ("a b", "unexpected 'b'", 3),
    ],
)
def test_a_mistake_is_shown_with_a_caret_under_it(text: str, problem: str, at: int) -> None:
    with pytest.raises(UsageError) as caught:
        parse_one(text)
    assert caught.value.problem == f"{problem} at character {at}:\n  {text}\n  {' ' * (at - 1)}^"


def test_one_name_is_not_two() -> None:
    with pytest.raises(UsageError, match="expected one name, not 2"):
        parse_one("a + b")


def test_a_list_is_split_at_its_own_commas_only() -> None:
    assert parse_several("a, b(x=1, y=[2, 3]),c") == [Term("a"), Term("b", {"x": 1, "y": (2, 3)}), Term("c")]


def test_lists_within_lists_have_an_end() -> None:
    assert parse_one(f"a(x={'[' * 50}{']' * 50})").options["x"] is not None
    for count in (51, 5000):
        with pytest.raises(UsageError, match="more than 50 lists within lists at character"):
            parse_one(f"a(x={'[' * count}{']' * count})")


def test_an_unfinished_list_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a name at character 3"):
        parse_several("a,")


def test_a_method_is_written_with_what_differs_from_its_default() -> None:
    made = EXPLAINERS.create("occlusion(eraser=delete, output=logprob)")
    assert EXPLAINERS.written(made) == "occlusion(eraser=delete)"
    assert EXPLAINERS.written(EXPLAINERS.create("lime(samples=50)")) == "lime(samples=50)"
