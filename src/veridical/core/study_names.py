"""How published studies and their sizes are named, for help that must not wait for a model library to load."""

from __future__ import annotations

from collections.abc import Mapping

STUDY_SIZES: Mapping[str, tuple[str, ...]] = {
    "saloss": ("smoke", "cpu", "cpu-targets", "cpu-others", "full"),
    "regex": ("smoke", "cpu", "cpu-terms", "cpu-others", "full"),
    "scc": ("smoke", "cpu", "cpu-terms", "cpu-others", "cpu-fresh", "cpu-images", "full"),
    "l2e": ("smoke", "cpu", "cpu-others", "cpu-reasons", "cpu-budget", "full"),
    "smat": ("smoke", "cpu", "cpu-quality", "cpu-images", "full", "full-images"),
}
"""The sizes of each study, by its name."""


def sizes_told() -> str:
    """All studies with their sizes, in one sentence."""
    return "; ".join(f"{name}: {', '.join(sizes)}" for name, sizes in STUDY_SIZES.items())
