from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.errors import UsageError
from veridical.core.syntax import Term, parse_one, parse_several
from veridical.explainers import EXPLAINERS

WORDS = st.text(st.characters(exclude_characters="\n\r[]", exclude_categories=["Cs", "Cc"]), max_size=8)
VALUES = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none(), WORDS,
    st.tuples(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
)  # fmt: skip


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,6}", fullmatch=True), VALUES, max_size=3))
def test_what_is_written_can_be_read_back(options: dict[str, object]) -> None:
    assert parse_one(str(Term("kernel-shap", options))) == Term("kernel-shap", options)


def test_a_list_is_split_at_its_own_commas_only() -> None:
    assert parse_several("a, b(x=1, y=[2, 3]),c") == [Term("a"), Term("b", {"x": 1, "y": (2, 3)}), Term("c")]


def test_an_unfinished_list_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a name at character 3"):
        parse_several("a,")


def test_a_method_is_written_with_what_differs_from_its_default() -> None:
    made = EXPLAINERS.create("occlusion(eraser=delete, output=logprob)")
    assert EXPLAINERS.written(made) == "occlusion(eraser=delete)"
    assert EXPLAINERS.written(EXPLAINERS.create("lime(samples=50)")) == "lime(samples=50)"
