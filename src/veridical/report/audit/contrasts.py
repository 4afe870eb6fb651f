"""Contrasts: paired differences with all that can be said of them, corrected together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veridical.report.audit.effects import cohen, rank_biserial
from veridical.report.audit.findings import ALPHA, Contrast, Estimate, IntervalKind, Outcome
from veridical.report.audit.holm import holm, levels
from veridical.report.audit.intervals import Numbers, estimates
from veridical.report.audit.paired import signed_rank
from veridical.report.audit.power import documents_needed


def contrasts(differences: Sequence[Numbers], greater_is_better: bool, interval: IntervalKind) -> list[Contrast]:
    """A contrast of each sample of differences (first minus second, NaN where unknown): the tests of one table."""
    return directed(differences, [greater_is_better] * len(differences), interval)


def directed(differences: Sequence[Numbers], greater: Sequence[bool], interval: IntervalKind) -> list[Contrast]:
    """The same for tables whose rows differ in whether greater is better."""
    tests = [signed_rank(each) for each in differences]
    ps = [test.p for test in tests]
    rows = zip(differences, greater, estimates(differences, interval), tests, holm(ps), levels(ps), strict=True)
    return [_contrast(each, up, mean, test.n, test.p, p, level) for each, up, mean, test, p, level in rows]


def turned_around(contrast: Contrast) -> Contrast:
    """The same with first and second in each other's place."""
    swapped: dict[Outcome, Outcome] = {"first better": "second better", "second better": "first better"}
    return replace(
        contrast,
        mean=-contrast.mean,
        low=-contrast.high,
        high=-contrast.low,
        rank_biserial=-contrast.rank_biserial,
        cohen=-contrast.cohen,
        verdict=swapped.get(contrast.verdict, contrast.verdict),
    )


def _contrast(
    differences: Numbers, greater: bool, mean: Estimate, tested: int, p: float, adjusted: float, level: float
) -> Contrast:
    ranks, effect = rank_biserial(differences), cohen(differences)
    verdict = _verdict(mean.mean, ranks, adjusted, greater)
    needed = documents_needed(effect, level) if verdict == "cannot tell" else None
    return Contrast(
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        n=mean.n,
        tested=tested,
        p=p,
        adjusted=adjusted,
        rank_biserial=ranks,
        cohen=effect,
        verdict=verdict,
        needed=None if needed is None else max(needed, mean.n + 1),
    )


def _verdict(mean: float, ranks: float, adjusted: float, greater: bool) -> Outcome:
    """Significant, and not the mean one way and the ranks the other."""
    if not adjusted < ALPHA or mean * ranks <= 0:
        return "cannot tell"
    return "first better" if (mean > 0) == greater else "second better"
