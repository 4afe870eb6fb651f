"""Every option of a salience has a sentence and limits."""

import re

import pytest

from veridical.core.component import options_of
from veridical.core.errors import UsageError
from veridical.core.syntax import parse_one
from veridical.objectives.salience import SALIENCES, TextRank

WRONG = {
    "textrank(window=1)": "window is 2 or more",
    "textrank(updates=0)": "updates is 1 or more",
    "textrank(damping=-0.1)": "damping is 0 or more and at most 1",
    "textrank(damping=1.1)": "damping is 0 or more and at most 1",
    "textrank(tolerance=-1)": "tolerance is 0 or more",
    "textrank(self_loops=often)": "self_loops is true or false",
    "random(seed=-1)": "seed is 0 or more and at most 4294967295",
    **{f"{name}(words=some)": "words is one of: all, content" for name in SALIENCES},
}


@pytest.mark.parametrize("written", WRONG)
def test_a_wrong_value_is_refused(written):
    with pytest.raises(UsageError, match=WRONG[written]):
        SALIENCES.create(written)


def test_every_option_is_tried_and_has_one_sentence():
    tried = {(term.name, option) for term in map(parse_one, WRONG) for option in term.options}
    known = {(name, option): each for name, cls in SALIENCES.items() for option, each in options_of(cls).items()}
    assert set(known) == tried
    assert all(re.fullmatch(r"[A-Z][^.!?]*(\d\.\d[^.!?]*)*\.", each.help) for each in known.values())


def test_in_python_wrong_values_are_refused_as_well():
    with pytest.raises(UsageError, match=r"TextRank\(window=0\) is beyond its limits"):
        TextRank(window=0)
