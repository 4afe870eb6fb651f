"""What must hold of every metric, built in or plugged in; failures say what is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from veridical.core.progress import Watch
from veridical.core.values import IMAGE, Example
from veridical.explainers import Random
from veridical.masking import Case
from veridical.metrics import METRICS, CorpusMetric, Measured, Metric
from veridical.metrics import measure as measure_scores
from veridical.metrics.base import Need
from veridical.models import Classifier
from veridical.run.explain import explain
from veridical.testing.contracts import TOLERANCE, untouched
from veridical.testing.samples import Sample, text_classifier

Measure = Callable[[Sequence[Example]], Measured]
Entry = tuple[Example, int]
"""An example and the index of the output that is explained; a multi-label model has several outputs to explain."""


def check_metric(
    metric: Metric | CorpusMetric, sample: Callable[[], Sample] = text_classifier, tolerance: float = TOLERANCE
) -> None:
    """A metric gives one number per example, or NaN, in whatever order they come, and leaves no trace.

    Of a multi-label model it gives one number for each label of an example that is explained.
    `tolerance` is for rounding: a metric that divides by small differences of probabilities makes it larger.
    """
    _check_words(metric)
    classifier, examples = sample()
    examples = _completed(classifier, examples, empty=not isinstance(metric, CorpusMetric))
    measure = _measure(metric, classifier)
    with untouched(classifier):
        entries = _entries(classifier, examples)
        found = measure(examples)
        _check_shapes(found, len(entries))
        _check_undefined(metric, classifier, examples, measure)
        _same(_numbers(measure(examples)), _numbers(found), 0.0, "the same call gave other numbers")
        places = _entries(classifier, examples[::-1])
        backwards = _numbers(measure(examples[::-1]))[[places.index(entry) for entry in entries]]
        _same(backwards, _numbers(found), tolerance, "the order of the examples changes the numbers")
        if not isinstance(metric, CorpusMetric):
            _check_alone(measure, entries, found, tolerance)
            _check_asking(metric, classifier, examples)
    if type(metric) in METRICS.values():
        assert METRICS.from_spec(METRICS.spec(metric)) == metric, "the spec does not rebuild the metric"


def _completed(classifier: Classifier, examples: Sequence[Example], empty: bool) -> list[Example]:
    """The examples with evidence, and an empty one where there can be such a thing; it cannot be explained."""
    units = classifier.encode(examples).units
    marked = [replace(each, evidence=own[::3]) for each, own in zip(examples, units, strict=True)]
    if IMAGE in examples[0].inputs or not empty:
        return marked
    return [*marked, replace(examples[0], id="empty", inputs=dict.fromkeys(examples[0].inputs, ""), evidence=())]


def _entries(classifier: Classifier, examples: Sequence[Example]) -> list[Entry]:
    """What is measured: each example with each of its targets, in this order."""
    case = Case.bind(classifier, examples)
    return list(zip(case.batch.examples, case.targets.tolist(), strict=True))


def _measure(metric: Metric | CorpusMetric, classifier: Classifier) -> Measure:
    """The metric of scores by chance, which are an example's own."""
    if isinstance(metric, CorpusMetric):
        return lambda examples: metric.judge(classifier, Watch()).over(
            [example for example, _ in _entries(classifier, examples)], explain(classifier, examples, Random())
        )

    def measure(examples: Sequence[Example]) -> Measured:
        case = Case.bind(classifier, examples)
        return measure_scores(metric, case, Random().scores(case).values)

    return measure


def _check_words(metric: Metric | CorpusMetric) -> None:
    name = type(metric).__name__
    assert metric.meaning.strip(), f"{name} does not say what a value means"
    assert metric.weakness.strip(), f"{name} does not say what it is weak at"
    assert metric.fewest >= 1, f"{name} judges texts without words"
    assert isinstance(metric.greater_is_better, bool), f"{name} does not say which direction is better"


def _check_shapes(found: Measured, count: int) -> None:
    assert found.values.shape == (count,), f"values are {tuple(found.values.shape)} for {count} examples"
    steps = () if found.curve is None else found.curve.shape
    assert steps == ((count, len(found.steps)) if found.steps else ()), f"the curve is {tuple(steps)}"
    for name, numbers in found.details.items():
        assert numbers.shape == (count,), f"the detail {name} is {tuple(numbers.shape)}, not one per example"
    assert not _numbers(found).isinf().any(), "a number is infinite"


def _check_undefined(
    metric: Metric | CorpusMetric, classifier: Classifier, examples: list[Example], measure: Measure
) -> None:
    case = Case.bind(classifier, examples)
    for example, own, value in zip(
        case.batch.examples, case.batch.units, measure(examples).values.tolist(), strict=True
    ):
        if len(own) < metric.fewest:
            assert value != value, f"example {example.id} has {len(own)} units, and yet a value"
    if Need.EVIDENCE in metric.needs:
        bare = [replace(example, evidence=()) for example in examples]
        assert measure(bare).values.isnan().all(), "there is a value without evidence"


def _check_alone(measure: Measure, entries: list[Entry], found: Measured, tolerance: float) -> None:
    examples = [example for example, _ in entries]
    for index in range(len(entries)):
        # The targets of an example stand side by side: `own` counts those before this one.
        own = examples[:index].count(examples[index])
        alone, among = _numbers(measure([examples[index]]))[own], _numbers(found)[index]
        _same(alone, among, tolerance, f"example {examples[index].id} alone has other numbers than in a batch")


def _check_asking(metric: Metric, classifier: Classifier, examples: list[Example]) -> None:
    case = Case.bind(classifier, examples)
    scores = Random().scores(case).values
    found = measure_scores(metric, case, scores)
    for units, asked in zip(case.batch.units, (case.asked - 1).tolist(), strict=True):
        most = metric.questions(len(units)) + metric.questions_once(len(units))
        assert asked <= most, f"{asked} questions were asked about {len(units)} units, at most {most} were said"
    if metric.ranks:
        # Four times a float is exact, so that no tie is made or broken.
        scaled = _numbers(measure_scores(metric, case, 4 * scores))
        _same(scaled, _numbers(found), 0.0, "larger scores in the same order are judged otherwise")


def _numbers(found: Measured) -> Tensor:
    """All numbers of each example, [B, N]."""
    columns = [found.values, *(found.details[name] for name in sorted(found.details))]
    curve = [] if found.curve is None else [found.curve]
    return torch.cat([torch.stack(columns, 1), *curve], 1)


def _same(found: Tensor, expected: Tensor, tolerance: float, problem: str) -> None:
    assert torch.equal(found.isnan(), expected.isnan()), f"{problem} (NaN in other places)"
    difference = float((found - expected).nan_to_num().abs().max())
    assert difference <= tolerance, f"{problem} (by {difference:.2e})"
