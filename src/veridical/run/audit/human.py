"""People's reasons as explanations, so that they can be judged like any method's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from veridical.core.example import Example
from veridical.core.explanation import HUMAN, Explanation
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.run.batching import Failure, each, portions


def human_explanations(
    classifier: Classifier, examples: Iterable[Example], target: str, engine: Engine
) -> Iterator[Explanation]:
    """Units that people marked score 1, the others 0; examples without evidence are left out."""
    spec = {"method": {"name": HUMAN}, "target": target, "model": classifier.describe()}

    def work(portion: list[Example]) -> list[Explanation | Failure]:
        case = Case.bind(classifier, portion, target=target, engine=engine)
        return [_explanation(case, index, spec) for index in range(len(case)) if case.batch.units[index]]

    for portion in portions(example for example in examples if example.evidence):
        yield from (made for made in each(portion, work) if isinstance(made, Explanation))


def _explanation(case: Case, index: int, spec: dict[str, Any]) -> Explanation:
    example, units = case.batch.examples[index], case.batch.units[index]
    marked = [any(unit.overlaps(reason) for reason in example.evidence) for unit in units]
    labels = case.classifier.labels
    return Explanation(
        example_id=example.id,
        inputs=dict(example.inputs),
        target=case.classifier.target_name(int(case.targets[index])),
        units=units,
        scores=tuple(float(each) for each in marked),
        probabilities=dict(zip(labels, case.output.probabilities[index].tolist(), strict=True)) if labels else {},
        source=HUMAN,
        spec=spec,
        label=example.label,
        measures={"queries": 0.0},
    )
