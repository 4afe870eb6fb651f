"""The page that compares two models: by each metric, method by method, on the documents they share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from veridical.core.drawing import escaped
from veridical.core.files.appearing import appearing
from veridical.report.audit.card.figures import direction, interval, needed, p_value, plain_number, score, unit
from veridical.report.audit.card.front import caveats, verdict
from veridical.report.audit.card.markup import Section, name, sections, soft, table, under
from veridical.report.audit.card.specs import INTRO, metric_specs, spec_link
from veridical.report.audit.card.styles import CARD_STYLES
from veridical.report.audit.findings import Comparison, Difference, Estimate
from veridical.report.audit.record import FLOOR, Judge
from veridical.report.audit.writing import counted, printed
from veridical.report.frame import FOOT, head
from veridical.report.plots import Dot, dots


def write_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the comparison as one HTML file that loads nothing; it appears only when it is complete."""
    with appearing(path) as page:
        page.write(head(f"{comparison.first} or {comparison.second}?", CARD_STYLES))
        page.write(_front(comparison))
        page.write(sections(_sections(comparison)))
        page.write(FOOT)


def _front(found: Comparison) -> str:
    facts = [("First", found.first), ("Second", found.second), ("Data", found.data)]
    rows = "".join(f"<dt>{what}</dt><dd>{name(told)}</dd>" for what, told in facts)
    left = (f"{what}: {why}" for what, why in found.left_out.items())
    return (
        f"<header><h1>{name(found.first)} or {name(found.second)}?</h1>"
        f'<p class="counts">{counted(found.documents, "shared document")}</p><dl>{rows}</dl></header>\n'
        f"{verdict(found.verdict)}{caveats({'Keep in mind': found.warnings, 'Not compared': left})}"
    )


def _sections(found: Comparison) -> Iterator[Section]:
    intro = (
        f"Difference: first minus second, paired by document. p: signed-rank test after Holm's correction over the "
        f"{counted(len(found.differences), 'comparison')} of this page. Documents needed: for 80% power at the effect "
        f"seen here."
    )
    yield Section("metrics", "Metric by metric", "".join(_metric(found, judge) for judge in found.metrics), intro)
    yield _likeness(found)
    yield Section("specs", "How every number was made", metric_specs(found.metrics), INTRO)


def _metric(found: Comparison, judge: Judge) -> str:
    differences = [each for each in found.differences if each.metric == judge.name]
    differences.sort(key=lambda each: each.method == FLOOR)
    warning = "" if judge.comparable else "<p>⚠ Raw values of different models do not mean the same.</p>"
    return (
        f'<article><div class="top"><h3>{name(judge.name)}</h3>'
        f'<div class="id">{spec_link(found.metrics, judge.name)}</div></div>'
        f"<p>{escaped(judge.meaning)} {soft(direction(judge).capitalize() + '.')}</p>{warning}"
        f"{_differences(differences, judge)}</article>\n"
    )


def _differences(differences: Sequence[Difference], judge: Judge) -> str:
    axis, drawn = dots([_dot(each, judge) for each in differences], FLOOR, 0.0)
    head = ["Method", f"First{unit(judge)}", "Second", "Difference", axis, "p", "Rank-biserial", "n", "Verdict"]
    rows = [_row(each, judge, strip) for each, strip in zip(differences, drawn, strict=True)]
    quiet = {index for index, each in enumerate(differences) if each.method == FLOOR}
    return table([*head, "Documents needed"], rows, f"{judge.name}: {direction(judge)}", words={4, 8}, quiet=quiet)


def _dot(each: Difference, judge: Judge) -> Dot:
    contrast = each.contrast
    return Dot(each.method, *(printed(value, judge) for value in (contrast.mean, contrast.low, contrast.high)))


def _row(each: Difference, judge: Judge, strip: str) -> list[str]:
    found = each.contrast
    return [
        name(each.method),
        _estimate(each.first, judge),
        _estimate(each.second, judge),
        under(score(found.mean, judge), interval(found.low, found.high, judge)),
        strip,
        escaped(p_value(found.adjusted)),
        plain_number(found.rank_biserial),
        f"{found.n:,}",
        found.verdict if found.verdict == "cannot tell" else f"<strong>{found.verdict}</strong>",
        needed(found),
    ]


def _estimate(found: Estimate, judge: Judge) -> str:
    return under(score(found.mean, judge), interval(found.low, found.high, judge))


def _likeness(found: Comparison) -> Section:
    rows = [[name(method), plain_number(value)] for method, value in found.likeness.items()]
    shown = table(["Method", "Likeness"], rows, "How alike the explanations of both models are") if rows else ""
    intro = (
        "How far both models point at the same words: the share of their most important words that they have in common."
    )
    return Section("likeness", "Do both models give the same reasons?", shown, intro)
