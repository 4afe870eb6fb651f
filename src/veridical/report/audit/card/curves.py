"""How scores come about step by step, and how alike methods are: the plots of a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from veridical.core.drawing import escaped
from veridical.report.audit.card.figures import arrow, unit
from veridical.report.audit.card.markup import Section, figure, name, soft
from veridical.report.audit.card.specs import spec_link
from veridical.report.audit.findings import Agreement, Curve, FlipCurve, Summary
from veridical.report.audit.record import FLOOR, Audit
from veridical.report.audit.writing import printed
from veridical.report.plots import Point, heat, lines, steps

Drawn = TypeVar("Drawn", Curve, FlipCurve)


def curves(audit: Audit, summary: Summary) -> Section:
    """A plot of each metric that has steps, and of each that waits for the decision to flip."""
    plots = [_curve(audit, metric, found) for metric, found in _by_metric(summary.curves).items()]
    plots += [_flips(audit, metric, found) for metric, found in _by_metric(summary.flips).items()]
    intro = f"Words go or stay in the order of their scores. Bands are 95% intervals; {FLOOR} is grey and dotted."
    return Section("curves", "Step by step", _grid(plots), intro)


def agreements(audit: Audit, summary: Summary) -> Section:
    """A heat map of each kind of likeness."""
    return Section("agreement", "Do methods agree?", _grid([_agreement(audit, each) for each in summary.agreements]))


def _grid(plots: Sequence[str]) -> str:
    return f'<div class="plots">{"".join(plots)}</div>' if plots else ""


def _by_metric(found: Sequence[Drawn]) -> Mapping[str, list[Drawn]]:
    groups: dict[str, list[Drawn]] = {}
    for each in found:
        groups.setdefault(each.metric, []).append(each)
    return groups


def _curve(audit: Audit, metric: str, found: Sequence[Curve]) -> str:
    judge = audit.metric(metric)
    shares = max(judge.steps, default=0.0) <= 1
    series = {
        each.method: [
            Point(step, *(printed(each, judge) for each in (at.mean, at.low, at.high)))
            for step, at in zip(each.steps, each.estimates, strict=True)
        ]
        for each in found
    }
    x = "share of words" if shares else "words"
    drawn = lines(series, f"{metric} by {x}", x, f"{judge.kind}{unit(judge)}", FLOOR, percent=shares)
    return figure(drawn, f"{name(metric)} {arrow(judge)} {spec_link(audit.metrics, metric)}")


def _flips(audit: Audit, metric: str, found: Sequence[FlipCurve]) -> str:
    series = {
        each.method: [Point(x, y) for x, y in zip(each.shares, each.flipped, strict=True)] for each in found if each.n
    }
    drawn = steps(series, f"{metric}: decisions flipped", "share of words erased", "decisions flipped", FLOOR)
    return figure(drawn, f"{name(metric)} {soft('the earlier, the better')} {spec_link(audit.metrics, metric)}")


def _agreement(audit: Audit, found: Agreement) -> str:
    link = spec_link(audit.metrics, found.name) if any(each.name == found.name for each in audit.metrics) else ""
    drawn = heat(found.methods, found.values, found.name)
    return figure(drawn, f"{name(found.name)} {soft(escaped(found.meaning))} {link}")
