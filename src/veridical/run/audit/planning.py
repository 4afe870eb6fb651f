"""What an audit can do with a model and its data; what it cannot is said, and the rest goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from veridical.core.errors import InputError, UnsupportedError, UsageError
from veridical.core.example import IMAGE, Example
from veridical.core.explanation import HUMAN
from veridical.core.registry import unknown
from veridical.core.syntax import Term, parse_several
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import ERASERS
from veridical.metrics import METRICS, CorpusMetric, Metric
from veridical.metrics.presets import PRESETS
from veridical.models import Classifier
from veridical.report.audit.record import FLOOR

AnyMetric = Metric | CorpusMetric

_INSTEAD = ("mask", "delete")
"""Erasers for models that the one asked for is not possible with: texts can always be cut."""


@dataclass(frozen=True)
class Plan:
    """The methods and metrics of an audit, and what was left out and why."""

    explainers: tuple[Explainer, ...]
    metrics: tuple[AnyMetric, ...]
    skipped: dict[str, str]


def plan(
    classifier: Classifier, examples: Sequence[Example], methods: Sequence[Explainer], metrics: Sequence[AnyMetric]
) -> Plan:
    """Keep what is possible. The floor is always among the methods."""
    _check_ids(examples)
    floor = EXPLAINERS.create(FLOOR)
    asked = {EXPLAINERS.written(each): each for each in [*methods, *([] if floor in methods else [floor])]}
    unable = {name: why for name, each in asked.items() if (why := _no_method(classifier, each))}
    fitting = [each if _lacking(classifier, examples, each) else _fitted(classifier, each) for each in metrics]
    judges = {METRICS.written(each): each for each in fitting}
    changed = {
        METRICS.written(old): _instead(old, new) for old, new in zip(metrics, fitting, strict=True) if old != new
    }
    unfit = {name: why for name, each in judges.items() if (why := _no_metric(classifier, examples, each))}
    if not judges.keys() - unfit.keys():
        raise UsageError("there is nothing to measure: " + "; ".join(f"{name}: {why}" for name, why in unfit.items()))
    return Plan(
        tuple(each for name, each in asked.items() if name not in unable),
        tuple(each for name, each in judges.items() if name not in unfit),
        unable | changed | unfit,
    )


def metrics_of(text: str) -> list[AnyMetric]:
    """The metrics that a list names, each once; the name of a preset stands for several."""
    found: dict[str, AnyMetric] = {}
    for term in parse_several(text):
        made = [METRICS.create(part) for part in _parts(term)]
        found |= {METRICS.written(each): each for each in made}
    return list(found.values())


def _parts(term: Term) -> tuple[str, ...]:
    if term.name in PRESETS and term.options:
        remedy = "Name the metrics that should have options one by one."
        raise UsageError(f"{term.name} is a set of metrics, and takes no options", remedy=remedy)
    if term.name not in PRESETS and term.name not in METRICS:
        raise unknown("metric or set of metrics", term.name, {**METRICS, **PRESETS})
    return PRESETS.get(term.name, (str(term),))


def methods_of(text: str) -> tuple[list[Explainer], bool]:
    """The methods that a list names, and whether people are among them."""
    terms = parse_several(text)
    asked = [_method(term) for term in terms if str(term) != HUMAN]
    return asked, len(asked) < len(terms)


def _method(term: Term) -> Explainer:
    if term.name == HUMAN:
        raise UsageError(f"{HUMAN} stands for the evidence of the data, and takes no options")
    if term.name not in EXPLAINERS:
        raise unknown("explainer", term.name, {**EXPLAINERS, HUMAN: None})
    return EXPLAINERS.create(str(term))


def _check_ids(examples: Sequence[Example]) -> None:
    seen = set[str]()
    for example in examples:
        if example.id in seen:
            raise InputError("another example has the same id", example=example.id, remedy="Ids must differ.")
        seen.add(example.id)


def _fitted(classifier: Classifier, metric: AnyMetric) -> AnyMetric:
    """The metric with an eraser that the model has the means for; the same where that is so, or none has."""
    eraser = getattr(metric, "eraser", None)
    able = [name for name in _INSTEAD if ERASERS[name].needs in classifier.provides]
    if eraser is None or ERASERS[eraser].needs in classifier.provides or not able:
        return metric
    return cast("AnyMetric", replace(cast("Any", metric), eraser=able[0]))


def _instead(old: AnyMetric, new: AnyMetric) -> str:
    return f"erasing by {cast('Any', old).eraser!r} is not possible; {METRICS.written(new)} is measured instead"


def _no_method(classifier: Classifier, explainer: Explainer) -> str | None:
    try:
        classifier.require(*explainer.needs, asker=EXPLAINERS.name_of(explainer))
    except UnsupportedError as error:
        return error.problem
    return None


def _no_metric(classifier: Classifier, examples: Sequence[Example], metric: AnyMetric) -> str | None:
    """Why a metric cannot be measured, or nothing."""
    eraser = getattr(metric, "eraser", None)
    if lacking := _lacking(classifier, examples, metric):
        return lacking
    if eraser is not None and ERASERS[eraser].needs not in classifier.provides:
        return f"erasing by {eraser!r} is not possible with {classifier.family} models"
    return None


def _lacking(classifier: Classifier, examples: Sequence[Example], metric: AnyMetric) -> str | None:
    """What a metric needs and there is not, whatever its eraser."""
    if "classes" in metric.needs and classifier.is_regression:
        return "it needs a model with classes, and this one gives a number"
    if "evidence" in metric.needs and not any(example.evidence for example in examples):
        return "it needs human rationales or other evidence, and this data has none"
    if "text" in metric.needs and any(IMAGE in example.inputs for example in examples):
        return "it needs words, and these are images"
    return None
