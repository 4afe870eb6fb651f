"""The plan of an audit: what was asked for, as far as the model and its data allow it, and its tasks."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from veridical.audits.explanations import MethodScores, Place
from veridical.audits.record import DRAWS, FLOOR, MODEL, AuditedMetric, Measurement, Order
from veridical.core.component import unknown
from veridical.core.errors import InputError, UnsupportedError, UsageError
from veridical.core.files import spec_key
from veridical.core.files.rows import spec_data
from veridical.core.folders import has_weights
from veridical.core.registry import Registry
from veridical.core.syntax import Term, parse_one, parse_several
from veridical.core.values import HUMAN, IMAGE, Example
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import ERASERS
from veridical.metrics import METRICS, CorpusMetric, Measured, Metric
from veridical.metrics.base import Need
from veridical.metrics.sets import DEFAULT, OF_NUMBERS, SETS
from veridical.models import Classifier
from veridical.run.handle import ModelHandle, with_model

T = TypeVar("T")
AnyMetric = Metric | CorpusMetric

Methods = str | Iterable[str | os.PathLike[str] | Explainer]
"""Methods as they are asked for: a text as on the command line, or a list of names, folders and objects."""

Metrics = str | Iterable[str | os.PathLike[str] | AnyMetric]
"""Metrics as they are asked for: like methods, and the name of a set stands for several."""

_INSTEAD = ("mask", "delete")
"""Erasers to take, in this order, where a model has no means for the one asked for. Words can always be deleted."""


@dataclass(frozen=True)
class Plan:
    """The methods and metrics of an audit by the names that tables print, and what was left out and why."""

    methods: Mapping[str, Explainer]
    metrics: Mapping[str, AnyMetric]
    skipped: Mapping[str, str]


def plan(
    classifier: Classifier, examples: Sequence[Example], methods: Sequence[Explainer], metrics: Sequence[AnyMetric]
) -> Plan:
    """Keep what is possible. The floor is always among the methods."""
    _check_ids(examples)
    methods, missing = _with_own(classifier, methods)
    asked = named(EXPLAINERS, _with_floor(methods))
    able = {name: _with_fitting_eraser(classifier, each) for name, each in asked.items()}
    unable = {name: why for name, each in able.items() if (why := _cannot_explain(classifier, each))}
    wanted = named(METRICS, metrics)
    fitting = {
        name: each if _lacking(classifier, examples, each) else _with_fitting_eraser(classifier, each)
        for name, each in wanted.items()
    }
    unfit = {name: why for name, each in fitting.items() if (why := _cannot_measure(classifier, examples, each))}
    if not wanted:
        raise UsageError(
            "there is no metric to judge by", remedy="Name some, or leave them out to have the usual ones."
        )
    if not fitting.keys() - unfit.keys():
        raise UsageError("there is nothing to measure: " + "; ".join(f"{name}: {why}" for name, why in unfit.items()))
    return Plan(
        methods=named(EXPLAINERS, (each for name, each in able.items() if name not in unable)),
        metrics=named(METRICS, (each for name, each in fitting.items() if name not in unfit)),
        skipped={
            **missing,
            **unable,
            **_changes(EXPLAINERS, asked, able, unable),
            **_changes(METRICS, wanted, fitting, unfit),
            **unfit,
        },
    )


def _with_own(classifier: Classifier, methods: Sequence[Explainer]) -> tuple[list[Explainer], dict[str, str]]:
    """The methods, with the model's own mask layers in the place of their names; and why some are missing."""
    found, missing = list[Explainer](), dict[str, str]()
    for method in methods:
        try:
            found.append(with_model(classifier, method))
        except UnsupportedError as error:
            missing[EXPLAINERS.name_of(method)] = error.problem
    return found, missing


def named(registry: Registry[T], things: Iterable[T]) -> dict[str, T]:
    """Components by the names that tables print. Equal specs are one component; different ones get different names."""
    found: dict[str, T] = {}
    known: dict[str, T] = {}
    for thing in things:
        key = spec_key(registry.spec(thing))
        if key not in known:
            name = registry.written(thing)
            found[name if name not in found else f"{name} {key[:6]}"] = thing
        elif type(known[key]) is not type(thing):
            raise UsageError(
                f"two different classes are both the {registry.kind} {registry.written(thing)}",
                remedy="Register them under different names.",
            )
        known.setdefault(key, thing)
    return found


def methods_of(asked: Methods) -> tuple[list[Explainer], bool]:
    """The methods that are asked for, and whether people are among them."""
    several = _asked(asked)
    methods = [each for each in several if not _is_people(each)]
    return [_made(EXPLAINERS, "explainer", each, [HUMAN]) for each in methods], len(methods) < len(several)


def metrics_of(asked: Metrics, default: str = DEFAULT) -> list[AnyMetric]:
    """The metrics that are asked for, each once; the name of a set stands for several.

    `default` is the set that this word stands for.
    """
    several = [part for each in _asked(asked) for part in _of_set(each, default)]
    made = (_made(METRICS, "metric or set of metrics", each, SETS) for each in several)
    return list(named(METRICS, made).values())


def _asked(asked: Any) -> list[Any]:
    """Terms for what is written as text; folders and objects as they are. One thing alone is a list of one."""
    if isinstance(asked, str):
        return list(parse_several(asked))
    return [_term(each) for each in (asked if isinstance(asked, Iterable) else [asked])]


def _term(asked: Any) -> Any:
    # A folder that exists needs no quotes, whatever is in its name.
    is_folder = isinstance(asked, str) and not _is_word(asked) and os.path.isdir(asked)
    return parse_one(asked) if isinstance(asked, str) and not is_folder else asked


def _is_people(asked: Any) -> bool:
    if not isinstance(asked, Term) or asked.name != HUMAN:
        return False
    if asked.options:
        raise UsageError(f"{HUMAN} stands for the evidence of the data, and takes no options")
    return True


def _made(registry: Registry[T], kind: str, asked: Any, more: Iterable[str]) -> T:
    """The component of a term, a folder or an object; `more` are names that would be right here, too."""
    if not isinstance(asked, Term):
        return registry.create(asked)
    if asked.name not in registry and _is_word(asked.name) and not os.path.isdir(asked.name):
        raise unknown(kind, asked.name, {**registry, **dict.fromkeys(more)})
    return registry.build(asked.name, asked.options)


def _is_word(text: str) -> bool:
    return re.fullmatch(r"[\w-]+", text) is not None


def usual_metrics(classifier: Classifier) -> str:
    """The set of metrics that is the default for a model."""
    return OF_NUMBERS if classifier.is_regression else DEFAULT


def _of_set(asked: Any, default: str) -> list[Any]:
    if not isinstance(asked, Term) or asked.name not in SETS:
        return [asked]
    if asked.options:
        remedy = "Name the metrics that should have options one by one."
        raise UsageError(f"{asked.name} is a set of metrics, and takes no options", remedy=remedy)
    return [parse_one(each) for each in SETS[default if asked.name == DEFAULT else asked.name].metrics]


def _with_floor(methods: Sequence[Explainer]) -> list[Explainer]:
    """The methods and the floor, which has its own name even if somebody asks for it by that of a folder."""
    floor = EXPLAINERS.create(FLOOR)
    return [*(floor if EXPLAINERS.spec(each) == EXPLAINERS.spec(floor) else each for each in methods), floor]


def _check_ids(examples: Sequence[Example]) -> None:
    seen = set[str]()
    for example in examples:
        if example.id in seen:
            raise InputError("another example has the same id", example=example.id, remedy="Ids must differ.")
        seen.add(example.id)


def _with_fitting_eraser(classifier: Classifier, thing: T) -> T:
    """The method or metric with an eraser that the model has the means for.

    It stays the same where its own eraser is possible, or none is. One that has learned something with its eraser
    cannot have another.
    """
    able = [name for name in _INSTEAD if ERASERS[name].needs in classifier.provides]
    if not able or has_weights(thing) or not _impossible_eraser(classifier, thing):
        return thing
    return cast("T", replace(cast("Any", thing), eraser=able[0]))


def _impossible_eraser(classifier: Classifier, thing: Any) -> str | None:
    """The eraser of a method or metric, if it has one and the model has no means for it."""
    eraser = getattr(thing, "eraser", None)
    return eraser if eraser is not None and ERASERS.create(eraser).needs not in classifier.provides else None


def _changes(
    registry: Registry[T], before: Mapping[str, T], after: Mapping[str, T], out: Container[str]
) -> dict[str, str]:
    """What is measured with another eraser than was asked for."""
    return {
        name: f"erasing by {cast('Any', old).eraser!r} is not possible; {registry.written(after[name])} is measured "
        "instead"
        for name, old in before.items()
        if after[name] is not old and name not in out
    }


def _cannot_explain(classifier: Classifier, explainer: Explainer) -> str | None:
    """Why a method cannot explain this model, or nothing."""
    try:
        ModelHandle(classifier).require(explainer)
    except UnsupportedError as error:
        return error.problem
    return _no_eraser(classifier, explainer)


def _cannot_measure(classifier: Classifier, examples: Sequence[Example], metric: AnyMetric) -> str | None:
    """Why a metric cannot be measured, or nothing."""
    return _lacking(classifier, examples, metric) or _no_eraser(classifier, metric) or _refused(classifier, metric)


def _refused(classifier: Classifier, metric: AnyMetric) -> str | None:
    """Why a metric refuses a model, or nothing; what is wrong with its own options is an error."""
    try:
        metric.require(classifier)
    except UnsupportedError as error:
        return error.problem
    return None


def _no_eraser(classifier: Classifier, thing: Any) -> str | None:
    eraser = _impossible_eraser(classifier, thing)
    return eraser and f"erasing by {eraser!r} is not possible with {classifier.family} models"


def _lacking(classifier: Classifier, examples: Sequence[Example], metric: AnyMetric) -> str | None:
    """What a metric needs and the model or the data does not have, whatever its eraser."""
    if {Need.CLASSES, Need.ONE_CLASS} & metric.needs and classifier.is_regression:
        return "it needs a model with classes, and this one gives a number"
    if Need.ONE_CLASS in metric.needs and classifier.is_multi_label:
        return "it needs a model that gives one class per example, and this one gives any number of labels"
    if Need.EVIDENCE in metric.needs and not any(example.evidence for example in examples):
        return "it needs human rationales or other evidence, and this data has none"
    if Need.TEXT in metric.needs and any(IMAGE in example.inputs for example in examples):
        return "it needs words, and these are images"
    return None


@dataclass(frozen=True)
class MeasuringTask:
    """One metric for the scores of one method, in one order; `name` is that of the metric in tables.

    `precision` is that of the model, if it is asked: a number measured in another one is another number. A value is the
    mean of so many orders of the method as it has `draws`.
    """

    name: str
    metric: AnyMetric
    method: MethodScores
    order: Order = "given"
    precision: str = ""
    draws: int = 1

    def keys(self, documents: Sequence[Place]) -> dict[Place, str]:
        """The key of each document that the method has explained: a hash of everything that its value depends on."""
        scored = self.method.scored
        own = {place: digest(self._kind, scored[place].content) for place in documents if place in scored}
        if not isinstance(self.metric, CorpusMetric):
            return own
        # Each value depends on all the others: with one more document, all are measured anew.
        return {place: digest(key, *own.values()) for place, key in own.items()}

    def rows(self, documents: Sequence[Place], found: Measured) -> dict[Place, Measurement]:
        """What was measured, by document."""
        curves = [()] * len(documents) if found.curve is None else [tuple(curve) for curve in found.curve.tolist()]
        return {
            place: Measurement(
                document=self.method.scored[place].document,
                method=self.method.name,
                metric=self.name,
                value=float(found.values[index]),
                order=self.order,
                curve=curves[index],
                details={name: float(values[index]) for name, values in found.details.items()},
            )
            for index, place in enumerate(documents)
            if place in self.method.scored
        }

    @cached_property
    def _kind(self) -> str:
        spec = json.dumps(METRICS.spec(self.metric), sort_keys=True)
        # The names are part of a row, and beside other methods a method may have another one.
        own = (f"{self.draws} draws",) if self.draws > 1 else ()
        models = [f"{name} {fingerprint}" for name, fingerprint in self.metric.models.items()]
        return digest(spec, self.order, self.precision, self.name, self.method.name, *own, *models)


def document_tasks(
    metrics: Mapping[str, AnyMetric], methods: Sequence[MethodScores], reverse: bool, precision: str, draws: int = DRAWS
) -> Iterator[MeasuringTask]:
    """The tasks of the metrics that judge documents one by one; with `reverse` also of reversed orders.

    The floor is the mean of so many `draws`.
    """
    for name, metric in metrics.items():
        for method in [] if isinstance(metric, CorpusMetric) else methods:
            if (method.name == MODEL) == (metric.subject == "model") and (method.name != FLOOR or metric.floored):
                yield MeasuringTask(name, metric, method, "given", precision, draws if method.name == FLOOR else 1)
                if reverse and metric.ranks and method.name != FLOOR:
                    yield MeasuringTask(name, metric, method, "reversed", precision)


def corpus_tasks(metrics: Mapping[str, AnyMetric], methods: Sequence[MethodScores]) -> Iterator[MeasuringTask]:
    """The tasks of the metrics that judge all explanations of a method together."""
    for name, metric in metrics.items():
        for method in methods if isinstance(metric, CorpusMetric) else []:
            if method.name not in (FLOOR, MODEL):
                yield MeasuringTask(name, metric, method)


def audited_metric(name: str, metric: AnyMetric, steps: tuple[float, ...], of_numbers: bool) -> AuditedMetric:
    """What an audit says of a metric; `steps` are what the points of its curves stand for.

    `of_numbers` says that the model gives a number, whose changes have no percent.
    """
    return AuditedMetric(
        name=name,
        spec=spec_data(METRICS.spec(metric) | ({"models": dict(metric.models)} if metric.models else {})),
        greater_is_better=metric.greater_is_better,
        percent=metric.percent and not (metric.of_output and of_numbers),
        meaning=metric.meaning,
        weakness=metric.weakness,
        comparable=metric.comparable,
        describes=metric.describes,
        alarm=metric.alarm,
        steps=steps,
    )


def digest(*parts: str) -> str:
    """A hash of some texts."""
    return hashlib.blake2b("|".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
