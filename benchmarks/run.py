"""`make bench`: speed, memory and accuracy as ratios measured in one run, against the bars the project holds itself to.

python benchmarks/run.py                          all parts
python benchmarks/run.py explainers accuracy      some of them
python benchmarks/run.py --quick                  small sizes, to see that everything runs; nothing is written
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import accuracy
import auditing
import distilled
import figures
import foundation
import margins
import scaling
from workload import CACHE, Sizes

import explainers
import training

PARTS = {
    "foundation": foundation,
    "explainers": explainers,
    "accuracy": accuracy,
    "margins": margins,
    "scaling": scaling,
    "audit": auditing,
    "training": training,
    "distilled": distilled,
}


def main() -> int:
    """Run parts and redraw the figures; the exit code says whether every bar holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} or figures; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes; no results are written")
    parser.add_argument("--only", default="", help="of the explainers, the rows whose name has this in it")
    parser.add_argument(
        "--ferret-venv",
        type=Path,
        default=CACHE / "ferret-venv",
        help="where ferret's own virtual environment is, or is to be made (default: %(default)s)",
    )
    asked = parser.parse_args()
    if wrong := set(asked.parts) - {*PARTS, "figures"}:
        parser.error(f"there is no part {', '.join(sorted(wrong))}")
    sizes = Sizes.quick() if asked.quick else Sizes()
    sizes = sizes.of(only=asked.only, ferret=asked.ferret_venv)
    holds = [PARTS[part].measure(sizes) for part in asked.parts or PARTS if part in PARTS]
    if not asked.quick:
        figures.draw()
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
