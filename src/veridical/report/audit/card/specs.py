"""How every number was made: specs of metrics, methods and model, versions, settings, each at a place to link to."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.core.drawing import escaped
from veridical.report.audit.card.markup import Section, data, details, name, soft
from veridical.report.audit.record import Audit, Judge

INTRO = "Two numbers can be compared when their specs are the same."


def metric_id(judges: Sequence[Judge], metric: str) -> str:
    """Where the spec of a metric stands. Names may hold anything, so places are numbered."""
    return f"spec-metric-{[each.name for each in judges].index(metric) + 1}"


def spec_link(judges: Sequence[Judge], metric: str, words: str = "spec") -> str:
    """The way from a table or plot to how its numbers were made."""
    return f'<a class="spec" href="#{metric_id(judges, metric)}">{name(words)}</a>'


def specs(audit: Audit) -> Section:
    """The last part of a card."""
    methods = [
        details(f"Method {name(method.name)}", data(method.spec), f"spec-method-{index}")
        for index, method in enumerate(audit.methods, start=1)
    ]
    model = details(f"Model {name(audit.model_name)}", data(audit.model), "spec-model")
    inside = _again(audit) + metric_specs(audit.metrics) + "".join(methods) + model
    return Section("specs", "How every number was made", inside, INTRO)


def metric_specs(judges: Sequence[Judge]) -> str:
    """The spec of each metric, where the links lead."""
    return "".join(
        details(f"Metric {name(judge.name)}", data(judge.spec), metric_id(judges, judge.name)) for judge in judges
    )


def _again(audit: Audit) -> str:
    """What to ask for to get the same again."""
    command = audit.settings.get("command")
    asked = f"<pre>{escaped(str(command))}</pre>" if command else ""
    versions = ", ".join(f"{name(package)} {escaped(version)}" for package, version in audit.versions.items())
    told = f"<p>{soft('Made with')} {versions}</p>" if versions else ""
    settings = {key: value for key, value in audit.settings.items() if key != "command"}
    return asked + told + (details("Settings of the audit", data(settings), "settings") if settings else "")
