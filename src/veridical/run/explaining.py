"""Explain examples: a few at once from Python, thousands to a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from veridical.core.errors import InputError, ModelError, VeridicalError
from veridical.core.example import Example
from veridical.core.explanation import Explanation
from veridical.core.files import ExplanationWriter, spec_key
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.run.specs import explanation_spec

_CHARACTERS_AT_ONCE = 60_000
_EXAMPLES_AT_ONCE = 256


@dataclass(frozen=True)
class Failure:
    """An example that could not be explained, and why."""

    example_id: str
    error: VeridicalError


@dataclass(frozen=True)
class Explained:
    """What an explaining job did: how many are in the file, how many were there before, and what went wrong."""

    written: int
    resumed: int
    failures: tuple[Failure, ...]
    truncated: tuple[str, ...]


def explain(
    classifier: Classifier,
    examples: Sequence[str | tuple[str, str] | Example],
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
    made = [Example.of(value, str(index)) for index, value in enumerate(examples)]
    results = []
    for result in stream(classifier, made, EXPLAINERS.create(method), target=target, engine=engine):
        if isinstance(result, Failure):
            raise result.error
        results.append(result)
    if cut := [each.example_id for each in results if each.measures.get("truncated_units")]:
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
    progress: Any = None,
) -> Explained:
    """Explain many examples into a file; what is in it already, by the same spec, is not done again.

    An example that fails is reported and the others go on. `progress` is called with the number of examples done.
    """
    engine = engine or Engine()
    explainer = EXPLAINERS.create(method)
    classifier.require(*explainer.needs, asker=EXPLAINERS.name_of(explainer))
    spec = explanation_spec(classifier, explainer, target, engine, data)
    failures, truncated, written = [], [], 0
    with ExplanationWriter(out) as writer:
        done = {example for example, key in writer.seen if key == spec_key(spec)}
        todo = [example for example in examples if example.id not in done]
        for portion in portions(todo):
            results = _explain(classifier, portion, explainer, spec, target, engine)
            good = [result for result in results if isinstance(result, Explanation)]
            writer.write(good)
            written += len(good)
            failures += [result for result in results if isinstance(result, Failure)]
            truncated += [each.example_id for each in good if each.measures.get("truncated_units")]
            if progress is not None:
                progress(len(portion))
    return Explained(written, len(done), tuple(failures), tuple(truncated))


def stream(
    classifier: Classifier,
    examples: Iterable[Example],
    explainer: Explainer,
    *,
    target: str = "predicted",
    engine: Engine | None = None,
    data: str | None = None,
) -> Iterator[Explanation | Failure]:
    """Explain any number of examples, in their order, holding only a portion of them in memory."""
    engine = engine or Engine()
    classifier.require(*explainer.needs, asker=EXPLAINERS.name_of(explainer))
    spec = explanation_spec(classifier, explainer, target, engine, data)
    for portion in portions(examples):
        yield from _explain(classifier, portion, explainer, spec, target, engine)


def portions(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Neighbouring examples that are explained together, so that they share batches; bounded by their size."""
    held: list[Example] = []
    size = 0
    for example in examples:
        length = sum(len(value) for value in example.inputs.values() if isinstance(value, str))
        if held and (size + length > _CHARACTERS_AT_ONCE or len(held) == _EXAMPLES_AT_ONCE):
            yield held
            held, size = [], 0
        held.append(example)
        size += length
    if held:
        yield held


def _explain(
    classifier: Classifier,
    examples: list[Example],
    explainer: Explainer,
    spec: dict[str, Any],
    target: str,
    engine: Engine,
) -> list[Explanation | Failure]:
    """Explain a portion; when one of it cannot be, find it by halves, so that the others are not lost."""
    try:
        case = Case.bind(classifier, examples, target=target, engine=engine)
        scores = explainer.scores(case)
        return [_seal(case, index, scores[index].tolist(), spec) for index in range(len(case))]
    except (InputError, ModelError) as error:
        if len(examples) == 1:
            return [Failure(examples[0].id, error)]
        half = len(examples) // 2
        parts = (examples[:half], examples[half:])
        return [each for part in parts for each in _explain(classifier, part, explainer, spec, target, engine)]


def _seal(case: Case, index: int, scores: list[float], spec: dict[str, Any]) -> Explanation | Failure:
    """Close one example's scores into an explanation."""
    example, units = case.batch.examples[index], case.batch.units[index]
    if not units:
        error = InputError("there are no words to explain", example=example.id, remedy="Remove or fill this text.")
        return Failure(example.id, error)
    labels = case.classifier.labels
    probabilities = dict(zip(labels, case.output.probabilities[index].tolist(), strict=True)) if labels else {}
    measures = {"queries": float(case.asked[index]), "truncated_units": float(case.batch.truncated[index])}
    if not labels:
        measures["output"] = float(case.output.logits[index, 0])
    return Explanation(
        example_id=example.id,
        inputs=dict(example.inputs),
        target=case.classifier.target_name(int(case.targets[index])),
        units=units,
        scores=tuple(scores[: len(units)]),
        probabilities=probabilities,
        source=spec["method"]["name"],
        spec=spec,
        label=example.label,
        measures=measures,
    )


def _cut_message(examples: Sequence[str]) -> str:
    named = ", ".join(examples[:5]) + (", ..." if len(examples) > 5 else "")
    return (
        f"{len(examples)} texts are longer than the model reads and were cut: {named}. long='window' reads them whole."
    )
