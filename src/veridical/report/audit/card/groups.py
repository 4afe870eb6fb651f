"""Do the scores hold everywhere? By class, by length, and under other ways of taking words away."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.core.drawing import escaped
from veridical.report.audit.card.figures import NONE, arrow, interval, plain_number, score, unit
from veridical.report.audit.card.markup import Section, details, name, soft, table, under
from veridical.report.audit.card.specs import spec_link
from veridical.report.audit.findings import Part, Ranking, Removal, Summary
from veridical.report.audit.record import FLOOR, Audit, Judge


def groups(audit: Audit, summary: Summary) -> Section:
    """Each metric by class and by length, the first one unfolded."""
    metrics = list(dict.fromkeys(part.metric for part in summary.parts))
    blocks = [_metric(audit, summary, metric, index == 0) for index, metric in enumerate(metrics)]
    intro = "Means with 95% intervals and the number of documents scored. Differences between groups are not tested."
    return Section("groups", "By class and by length", "".join(blocks), intro)


def _metric(audit: Audit, summary: Summary, metric: str, opened: bool) -> str:
    judge = audit.metric(metric)
    parts = [part for part in summary.parts if part.metric == metric]
    link = spec_link(audit.metrics, metric)
    return details(
        f"{name(metric)} {arrow(judge)}{unit(judge)}", f"{_groups(parts, judge)}<p>{link}</p>", opened=opened
    )


def _groups(parts: Sequence[Part], judge: Judge) -> str:
    columns = list(dict.fromkeys((part.by, part.group) for part in parts))
    methods = sorted(dict.fromkeys(part.method for part in parts), key=lambda method: method == FLOOR)
    found = {(part.method, part.by, part.group): part for part in parts}
    rows = [[name(method), *(_cell(found.get((method, *column)), judge) for column in columns)] for method in methods]
    head = ["Method", *(under(name(group), by) for by, group in columns)]
    quiet = {index for index, method in enumerate(methods) if method == FLOOR}
    return table(head, rows, f"{judge.name} by class and by length", quiet=quiet)


def _cell(part: Part | None, judge: Judge) -> str:
    if part is None or not part.estimate.n:
        return soft(NONE)
    found = part.estimate
    return under(score(found.mean, judge), f"{interval(found.low, found.high, judge)}, n {found.n:,}")


def removals(audit: Audit, summary: Summary) -> Section:
    """Rankings under each eraser side by side, and what survives."""
    intro = (
        "The same metric with other ways of taking words away. Where the ranking changes, it speaks of the eraser as "
        "much as of the methods."
    )
    blocks = "".join(_removal(audit, each) for each in summary.removals)
    return Section("removal", "Does the ranking survive?", blocks, intro)


def _removal(audit: Audit, found: Removal) -> str:
    head = ["Place", *(f"{name(each.eraser)} {spec_link(audit.metrics, each.metric)}" for each in found.rankings)]
    places = range(max((len(each.methods) for each in found.rankings), default=0))
    rows = [[str(place + 1), *(_placed(audit, each, place) for each in found.rankings)] for place in places]
    shown = table(head, rows, f"{found.kind}: rankings under each eraser", words=set(range(1, len(head))))
    return f"<article><h3>{name(found.kind)}</h3><p>{_survival(found)}</p>{shown}{_kendall(found)}</article>\n"


def _placed(audit: Audit, ranking: Ranking, place: int) -> str:
    if place >= len(ranking.methods):
        return soft(NONE)
    mean = score(ranking.means[place], audit.metric(ranking.metric))
    return f"{name(ranking.methods[place])} {soft(mean)}"


def _survival(found: Removal) -> str:
    if found.survives and found.rankings and found.rankings[0].methods:
        return f"<strong>{name(found.rankings[0].methods[0])}</strong> is on top under every eraser."
    if found.best:
        names = ", ".join(f"<strong>{name(method)}</strong>" for method in found.best)
        return f"The top changes with the eraser. Best, or not told apart from the best, under every eraser: {names}."
    return "No method is among the best under every eraser: the ranking does not survive."


def _kendall(found: Removal) -> str:
    erasers = [each.eraser for each in found.rankings]
    pairs = [
        f"{escaped(erasers[row])} and {escaped(erasers[column])} {plain_number(found.kendall[row][column])}"
        for row in range(len(erasers))
        for column in range(row + 1, len(erasers))
    ]
    return f'<p class="legend">Kendall\'s tau between rankings: {", ".join(pairs)}.</p>' if pairs else ""
