"""The examples of the page about people's rankings print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "people.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", PAGE, re.DOTALL | re.M)


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_stands_below_it(code: str, output: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "people.md", "exec", dont_inherit=True), {"__name__": "page"})
    assert printed.getvalue() == output


def test_examples_are_found() -> None:
    assert len(EXAMPLES) == 4
    assert sum(bool(output) for _, output in EXAMPLES) == 3
