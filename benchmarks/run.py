"""`make bench`: speed and memory as ratios measured in one run, against the bars the project holds itself to."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from measures import engine_overhead, gradient_cost, memory_growth

from veridical.run.specs import versions

RESULTS = Path(__file__).parent / "results" / "foundation.json"


@dataclass(frozen=True)
class Row:
    """One measured ratio and the most it may be."""

    name: str
    ratio: float
    at_most: float
    detail: str

    @property
    def holds(self) -> bool:
        return self.ratio <= self.at_most


BARS: list[tuple[str, Callable[[], tuple[float, str]], float]] = [
    ("engine time / bare forward time of the same inputs", engine_overhead, 1.10),
    ("peak memory, 100x more questions / base", memory_growth, 1.20),
    ("input x gradient / predicting, 1,000 short texts", gradient_cost, 4.0),
]


def main() -> int:
    """Measure, print and record; the exit code says whether every bar holds."""
    rows = []
    print(f"{'measure':54}{'ratio':>8}{'bar':>8}  holds  detail")
    for name, measure, bar in BARS:
        row = _row(name, measure, bar)
        rows.append(row)
        print(
            f"{row.name:54}{row.ratio:8.3f}{row.at_most:8.2f}  {'yes' if row.holds else 'NO':5}  {row.detail}",
            flush=True,
        )
    machine = {"processor": platform.machine(), "threads": torch.get_num_threads(), "python": platform.python_version()}
    record = {"rows": [asdict(row) for row in rows], "versions": versions(), "machine": machine}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**record, "time": time.strftime("%Y-%m-%d")}, indent=2) + "\n")
    print(f"written to {RESULTS}")
    return 0 if all(row.holds for row in rows) else 1


def _row(name: str, measure: Callable[[], tuple[float, str]], bar: float) -> Row:
    ratio, detail = measure()
    return Row(name, round(ratio, 3), bar, detail)


if __name__ == "__main__":
    sys.exit(main())
