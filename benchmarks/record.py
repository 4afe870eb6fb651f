"""Rows with their bars, printed as a table and kept as JSON."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from veridical.masking.engine import bf16_instructions
from veridical.run.handle import versions

RESULTS = Path(__file__).parent / "results"
PEERS = ("captum", "interpreto", "lime", "shap", "shapiq")


@dataclass(frozen=True)
class Row:
    """One measured ratio, and the most or the least it may be. Without a bar it is only told; without a ratio, why."""

    name: str
    ratio: float | None
    detail: str
    at_most: float | None = None
    at_least: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        if self.ratio is None:
            return True
        above = self.at_least is None or self.ratio >= self.at_least
        return above and (self.at_most is None or self.ratio <= self.at_most)

    def __str__(self) -> str:
        ratio = "-" if self.ratio is None else f"{self.ratio:.3f}"
        bar = f"<= {self.at_most:g}" if self.at_most else f">= {self.at_least:g}" if self.at_least else "-"
        verdict = "-" if bar == "-" or self.ratio is None else "yes" if self.holds else "NO"
        return f"{self.name:78}{ratio:>8}{bar:>9}  {verdict:5}  {self.detail}"


def show(rows: Iterable[Row]) -> list[Row]:
    """Print each row as soon as it is there."""
    print(f"{'measure':78}{'ratio':>8}{'bar':>9}  {'holds':5}  detail", flush=True)
    shown = []
    for row in rows:
        print(row, flush=True)
        shown.append(row)
    return shown


def write(part: str, rows: list[Row], beside: bool = False, **more: Any) -> None:
    """Keep a part's rows, and what else it found, with the versions and the machine they belong to.

    With `beside` they take the place of rows of the same names, and all others stay.
    """
    kept = {row["name"]: row for row in _kept(part)} if beside else {}
    found = kept | {row.name: {**asdict(row), "holds": row.holds} for row in rows}
    record = {"rows": list(found.values()), **more}
    record |= {"versions": {**versions(), **_peers()}, "machine": machine(), "time": time.strftime("%Y-%m-%d")}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{part}.json"
    path.write_text(json.dumps(record, indent=2) + "\n")
    print(f"written to {path.relative_to(Path(__file__).parent.parent)}\n", flush=True)


def _kept(part: str) -> list[dict[str, Any]]:
    path = RESULTS / f"{part}.json"
    return json.loads(path.read_text())["rows"] if path.exists() else []


def machine() -> dict[str, Any]:
    """What the times depend on."""
    return {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "bf16 instructions": bf16_instructions(),
    }


def _peers() -> dict[str, str]:
    return {package: found for package in PEERS if (found := _version(package))}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
