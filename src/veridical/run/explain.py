"""Explain examples: a few at once from Python, thousands to a file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from veridical.core.errors import InputError
from veridical.core.example import Example
from veridical.core.explanation import Explanation
from veridical.core.files import ExplanationWriter, spec_key
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.run.handle import ModelHandle
from veridical.run.portions import Failure, Given, all_or_raise, as_examples, each, portions


@dataclass(frozen=True)
class Explained:
    """What an explaining job did: how many are in the file, how many were there before, and what went wrong."""

    written: int
    resumed: int
    failures: tuple[Failure, ...]
    truncated: tuple[str, ...]


def explain(
    classifier: Classifier,
    examples: Given | Iterable[Given],
    method: str | Explainer = "integrated-gradients",
    *,
    target: str = "predicted",
    engine: Engine | None = None,
) -> list[Explanation]:
    """Explain a classifier's decisions on some texts, pairs, images or examples.

    >>> explain(classifier, ["A gorgeous, witty, seductive movie."], method="occlusion")[0]

    `target` is the class to explain: the `predicted` one, the `gold` one, or a label. The first example that cannot be
    explained raises its error; `explain_to_file` goes on with the rest instead.
    """
    job = _Job.of(classifier, method, target, engine)
    results = all_or_raise(job.results(as_examples(examples)))
    if cut := [made.example_id for made in results if made.measures["truncated_units"]]:
        warnings.warn(_cut_message(cut), stacklevel=2)
    return results


def explain_to_file(
    classifier: Classifier,
    examples: Iterable[Example],
    method: str | Explainer,
    out: str | PathLike[str],
    *,
    target: str = "predicted",
    engine: Engine | None = None,
    data: str | None = None,
    progress: Callable[[int], None] = lambda _done: None,
) -> Explained:
    """Explain many examples into a file; what is in it already, by the same spec, is not done again.

    An example that fails is reported and the others go on. `data` is written into the spec, and tells apart examples
    of different data sets that have the same id. `progress` is called with the number of examples done.
    """
    job = _Job.of(classifier, method, target, engine, data)
    failures, truncated, written = [], [], 0
    with ExplanationWriter(out) as writer:
        done = {example for example, key in writer.seen if key == spec_key(job.spec)}
        wanted = list(examples)
        for portion in portions(wanted, job.explainer.passes):
            missing = {example.id for example in portion} - done
            # A portion is done whole or not at all: beside other neighbours the last digits could be others.
            results = each(portion, job) if missing else []
            good = [made for made in results if isinstance(made, Explanation) and made.example_id in missing]
            writer.write(good)
            written += len(good)
            failures += [result for result in results if isinstance(result, Failure)]
            truncated += [made.example_id for made in good if made.measures["truncated_units"]]
            progress(len(portion))
    resumed = sum(example.id in done for example in wanted)
    return Explained(written, resumed, tuple(failures), tuple(truncated))


@dataclass(frozen=True)
class _Job:
    """What stays the same from portion to portion; called with one, it explains it."""

    classifier: Classifier
    explainer: Explainer
    target: str
    engine: Engine
    spec: dict[str, Any]

    @classmethod
    def of(
        cls,
        classifier: Classifier,
        method: str | Explainer,
        target: str,
        engine: Engine | None,
        data: str | None = None,
    ) -> _Job:
        engine, explainer = engine or Engine(), EXPLAINERS.create(method)
        classifier.require(*explainer.needs, asker=EXPLAINERS.name_of(explainer))
        spec = ModelHandle.of(classifier).explanation_spec(explainer, target, engine, data)
        return cls(classifier, explainer, target, engine, spec)

    def __call__(self, examples: list[Example]) -> list[Explanation | Failure]:
        case = Case.bind(self.classifier, examples, target=self.target, engine=self.engine)
        scores = self.explainer.scores(case)
        return [self._seal(case, index, scores) for index in range(len(case))]

    def results(self, examples: Iterable[Example]) -> Iterator[Explanation | Failure]:
        """Explain any number of examples, in their order, holding only a portion of them in memory."""
        for portion in portions(examples, self.explainer.passes):
            yield from each(portion, self)

    def _seal(self, case: Case, index: int, scores: Scores) -> Explanation | Failure:
        """Close one example's scores into an explanation."""
        example, units = case.batch.examples[index], case.batch.units[index]
        if not units:
            error = InputError("there are no words to explain", example=example.id, remedy="Remove or fill this text.")
            return Failure(example.id, error)
        labels = case.classifier.labels
        return Explanation(
            example_id=example.id,
            inputs=dict(example.inputs),
            target=case.classifier.target_name(int(case.targets[index])),
            units=units,
            scores=tuple(scores.values[index, : len(units)].tolist()),
            probabilities=dict(zip(labels, case.output.probabilities[index].tolist(), strict=True)) if labels else {},
            source=self.spec["method"]["name"],
            spec=self.spec,
            label=example.label,
            measures=_measures(case, index, scores),
            margins=None if scores.margins is None else tuple(scores.margins[index, : len(units)].tolist()),
        )


def _measures(case: Case, index: int, scores: Scores) -> dict[str, float]:
    found = {"queries": float(case.asked[index]), "truncated_units": float(case.batch.truncated[index])}
    found |= {name: float(values[index]) for name, values in scores.measures.items()}
    return {**found, "output": float(case.output.logits[index, 0])} if case.classifier.is_regression else found


def _cut_message(examples: Sequence[str]) -> str:
    named = ", ".join(examples[:5]) + (", ..." if len(examples) > 5 else "")
    return (
        f"{len(examples)} texts are longer than the model reads and were cut: {named}. long='window' reads them whole."
    )
