"""Which words of an explanation count: all, those that people marked, or those that are no stop words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.example import IMAGE, Unit
from veridical.metrics.evidence import marked

Keep = Literal["all", "rationale", "no-stop-words"]

STOP_WORDS = frozenset(
    """
    a about above after again against all am an and any are aren't as at be because been before being below between both
    but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
    had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how how's
    i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just let's may me might more most must mustn't
    my myself no nor not now of off on once only or other ought our ours ourselves out over own same shall shan't she
    she'd she'll she's should shouldn't so some such than that that's the their theirs them themselves then there
    there's these they they'd they'll they're they've this those through to too under until up upon us very was wasn't
    we we'd we'll we're we've were weren't what what's when when's where where's which while who who's whom whose why
    why's will with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905 - a list of 180 quoted words is unreadable
)
"""English words that hold a sentence together and say nothing by themselves."""


def is_stop_word(unit: Unit) -> bool:
    """Whether a unit is an English stop word or has neither letter nor digit, as punctuation; patches never are."""
    if unit.field == IMAGE:
        return False
    word = unit.text.casefold().replace("’", "'")
    return word in STOP_WORDS or not any(map(str.isalnum, word))


def kept(keep: Keep, units: Sequence[Unit], evidence: Sequence[Unit]) -> NDArray[np.bool_]:
    """Which units a filter lets through."""
    if keep == "rationale":
        return marked(units, evidence)
    return np.array([keep == "all" or not is_stop_word(unit) for unit in units], dtype=bool)
