"""Taking times that can be compared: in turns, and the best of several."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Run = Callable[[], object]
"""Something to be timed. One that gives a float was timed elsewhere, in a process of its own, and gives its seconds."""


def seconds(run: Run) -> float:
    """How long a run takes."""
    begin = time.perf_counter()
    told = run()
    return told if isinstance(told, float) else time.perf_counter() - begin


def interleaved(runs: Mapping[str, Run], rounds: int = 3) -> dict[str, float]:
    """The best time of each, taken in turns, so that a busy moment of the machine does not favour one."""
    times = [{name: seconds(run) for name, run in runs.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in runs}
