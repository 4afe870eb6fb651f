"""Likeness to a reference: how near scores come to those of a slower method that is trusted more."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import torch
from scipy import stats
from torch import Tensor

from veridical.core.component import Share, option
from veridical.core.errors import InputError, UsageError
from veridical.core.files import read
from veridical.core.values import Explanation
from veridical.masking import Case
from veridical.masking.erasure import places, share
from veridical.metrics.base import Measured, Metric
from veridical.models import Classifier

_EXPLAIN = (
    "Explain the same examples by a method with many samples, as by `veridical explain MODEL --data DATA --method "
    '"kernel-shap(samples=5000)" --out reference.parquet`, and name the file: '
    "reference-likeness(reference=reference.parquet)."
)


@dataclass(frozen=True)
class ReferenceLikeness(Metric):
    """How near the scores of a text come to those of a reference, which are read from a file of explanations.

    Choose it to find out what a faster method gives away: a student beside its teacher, few samples beside many. A text
    whose explained class is not in the file, or whose scores there are all equal, is undefined.
    """

    reference: str | None = option(None, "The file of explanations to be near to; it must be given.")
    by: Literal["order", "top", "sign", "error"] = option(
        "order",
        "What is compared: the order (Spearman's correlation), the first words (the share in common), the signs of "
        "words whose reference is not 0, or the scores (length of the difference by length of the reference).",
    )
    ratio: Share = option(0.3, "The share of a text's words that `by=top` compares.")
    meaning: ClassVar[str] = "How near the scores come to those of a reference, such as a method with many samples."
    weakness: ClassVar[str] = (
        "No better than its reference: who is near to an unfaithful one is unfaithful, too. A sampled reference has an "
        "error of its own; the same method with another seed shows how large it is."
    )
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True

    @property
    def greater_is_better(self) -> bool:
        return self.by != "error"

    @property
    def models(self) -> dict[str, str]:
        return {} if self.reference is None else {"reference": _fingerprint(*_place(self.reference))}

    def questions(self, units: int) -> int:
        return 0

    def require(self, classifier: Classifier) -> None:
        if self.reference is None:
            raise UsageError("reference-likeness has no reference", remedy=_EXPLAIN)
        _scores(*_place(self.reference))

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        self.require(case.classifier)
        assert self.reference is not None
        known = _scores(*_place(self.reference))
        found = []
        for row, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
            theirs = known.get((example.id, case.classifier.target_name(int(case.targets[row]))))
            if theirs is not None and theirs.units != units:
                raise InputError(
                    f"{self.reference} has scores for {len(theirs.units)} units, not for these {len(units)}",
                    example=example.id,
                    remedy="Explain this model's own texts into the reference.",
                )
            mine = scores[row, : len(units)].double()
            found.append(torch.nan if theirs is None else self._near(mine, torch.tensor(theirs.scores).double()))
        return Measured(torch.tensor(found))

    def _near(self, mine: Tensor, theirs: Tensor) -> float:
        """How near scores [u] are to those of the reference [u]."""
        if len(theirs) == 0 or (theirs == theirs[0]).all():
            return torch.nan
        if self.by == "error":
            return float((mine - theirs).norm() / theirs.norm())
        if self.by == "sign":
            told = theirs != 0
            return float((mine[told].sign() == theirs[told].sign()).float().mean())
        if self.by == "top":
            live = torch.ones((1, len(theirs)), dtype=torch.bool)
            count = share(self.ratio, live.sum(1))
            tops = [(places(each[None], live) < count[:, None])[0] for each in (mine, theirs)]
            return float((tops[0] & tops[1]).sum() / count[0])
        if (mine == mine[0]).all():  # no order at all has nothing in common with any
            return 0.0
        return float(stats.spearmanr(mine, theirs).statistic)


def _place(reference: str) -> tuple[str, int, int]:
    """A file and what changes when somebody writes to it."""
    path = Path(reference)
    if not path.is_file():
        raise UsageError(f"there is no file {reference} to be near to", remedy=_EXPLAIN)
    told = path.stat()
    return str(path), told.st_size, told.st_mtime_ns


@lru_cache(maxsize=8)
def _fingerprint(path: str, size: int, changed: int) -> str:
    """The hash of a file's content; `size` and `changed` tell its states apart."""
    del size, changed
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@lru_cache(maxsize=2)
def _scores(path: str, size: int, changed: int) -> Mapping[tuple[str, str], Explanation]:
    """The explanations of a file by example and target; `size` and `changed` tell its states apart."""
    del size, changed
    found: dict[tuple[str, str], Explanation] = {}
    for each in read(path):
        if found.setdefault((each.example_id, each.target), each) is not each:
            raise UsageError(
                f"{path} explains {each.target} twice",
                example=each.example_id,
                remedy="Give a file with the explanations of one method.",
            )
    return found
