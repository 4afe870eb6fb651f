"""Scores to be judged, read from explanations and checked to be of these texts and this model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from veridical.core.errors import InputError, UsageError
from veridical.core.example import Example, Image
from veridical.core.explanation import HUMAN, Explanation
from veridical.core.files import spec_key
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.models import Classifier
from veridical.report.audit.record import MODEL


@dataclass(frozen=True)
class Scored:
    """What is kept of an explanation in memory: its scores, and a hash of everything that a metric could depend on."""

    target: str
    scores: NDArray[np.float64]
    content: str
    queries: float
    probability: float
    truncated: bool


@dataclass
class Method:
    """The explanations of one method, by example."""

    name: str
    spec: Mapping[str, Any]
    scored: dict[str, Scored] = field(default_factory=dict)

    @property
    def queries(self) -> float:
        """Questions per document, on average."""
        found = [each.queries for each in self.scored.values()]
        return sum(found) / len(found) if found else float("nan")

    def scores(self, case: Case) -> Tensor:
        """The scores of a case's units, [B, U]; 0 for examples that the method did not explain."""
        scores = torch.zeros(case.live.shape)
        for index, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
            if example.id in self.scored:
                found = self.scored[example.id]
                _check_fit(
                    self.name, example.id, found, len(units), case.classifier.target_name(int(case.targets[index]))
                )
                scores[index, : len(units)] = torch.from_numpy(found.scores)
        return scores


def gather(
    explanations: Iterable[Explanation],
    examples: Iterable[Example],
    classifier: Classifier,
    keys: Sequence[str] | None = None,
) -> list[Method]:
    """The explanations by method, checked: all as they come, or those with the `keys` of their specs in that order."""
    wanted = {example.id: example for example in examples}
    reader = json.dumps(classifier.describe(), sort_keys=True, default=str)
    found: dict[str, Method] = {}
    for explanation in checked(explanations, wanted.values(), classifier):
        key = spec_key(explanation.spec)
        if explanation.example_id in wanted and (keys is None or key in keys):
            method = found.setdefault(key, Method(explanation.source, explanation.spec))
            example = wanted[explanation.example_id]
            method.scored[example.id] = _scored(explanation, example, key, reader)
    methods: list[Method] = []
    for key in dict.fromkeys(each for each in (found if keys is None else keys) if each in found):
        found[key].name = _name(found[key], methods, key)
        methods.append(found[key])
    return methods


def model_itself(methods: Iterable[Method], examples: Iterable[Example], classifier: Classifier) -> Method:
    """What stands in the place of a method for metrics of the model: no scores, for every example that has some."""
    model = classifier.describe()
    reader = json.dumps(model, sort_keys=True, default=str)
    found = Method(MODEL, {"model": model})
    known = {example: scored for method in methods for example, scored in method.scored.items()}
    for example in examples:
        if example.id in known:
            own = known[example.id]
            nothing = np.zeros_like(own.scores)
            content = _digest(nothing, reader, own.target, content_hash(example.inputs), repr(example.label))
            found.scored[example.id] = replace(own, scores=nothing, content=content, queries=float("nan"))
    return found


def checked(
    explanations: Iterable[Explanation], examples: Iterable[Example], classifier: Classifier
) -> Iterator[Explanation]:
    """The same explanations; one of these examples that is of another model or another text is refused."""
    wanted, model = {example.id: example for example in examples}, classifier.describe()
    for explanation in explanations:
        if explanation.example_id in wanted:
            _check_model(explanation, model)
            _check_text(explanation, wanted[explanation.example_id])
        yield explanation


def _scored(explanation: Explanation, example: Example, key: str, reader: str) -> Scored:
    scores = np.array(explanation.scores, dtype=np.float64)
    told = (key, reader, example.id, explanation.target, content_hash(example.inputs))
    return Scored(
        target=explanation.target,
        scores=scores,
        content=_digest(scores, *told, repr(explanation.units), repr(example.evidence)),
        queries=explanation.measures.get("queries", float("nan")),
        probability=explanation.probabilities.get(explanation.target, float("nan")),
        truncated=explanation.measures.get("truncated_units", 0) > 0,
    )


def _digest(scores: NDArray[np.float64], *told: str) -> str:
    digest = hashlib.blake2b(scores.tobytes(), digest_size=16)
    for part in told:
        digest.update(b"|" + part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _name(method: Method, others: Iterable[Method], key: str) -> str:
    """How the method is written in tables; told apart by its key where only the rest of the spec differs."""
    name = _written(method.spec.get("method")) or method.name
    return f"{name} {key[:6]}" if name in {other.name for other in others} else name


def _written(spec: Any) -> str | None:
    """A method of ours as a person would write it; other programs and versions may have other methods and options."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        return None
    try:
        return EXPLAINERS.written(EXPLAINERS.from_spec(spec))
    except UsageError:
        return None


def _check_fit(name: str, example: str, scored: Scored, units: int, target: str) -> None:
    if len(scored.scores) != units:
        remedy = "Load the model with the `units` that the explanations were made with."
        raise InputError(f"{name} has {len(scored.scores)} scores for {units} units", example=example, remedy=remedy)
    if scored.target != target:
        remedy = "Audit with the `target` that the explanations were made for."
        raise InputError(f"{name} explains {scored.target!r}, but {target!r} is judged", example=example, remedy=remedy)


def _check_model(explanation: Explanation, model: Mapping[str, Any]) -> None:
    """Human rationales are about texts; everything else is about the one model that was asked."""
    mine, theirs = _identity(model), _identity(explanation.spec.get("model"))
    if explanation.source == HUMAN or mine == theirs:
        return
    told = "do not say of which model" if theirs is None else f"are of another model: its hash is {theirs}, not {mine}"
    raise InputError(
        f"the explanations by {explanation.source} {told}",
        example=explanation.example_id,
        remedy="Audit explanations with the model that they explain, or explain again with this one.",
    )


def _identity(model: Any) -> Any:
    """What tells a model from others: the hash of its weights, or the name of a function."""
    return model.get("fingerprint", model.get("name")) if isinstance(model, Mapping) else model


def _check_text(explanation: Explanation, example: Example) -> None:
    changed = [name for name, value in example.inputs.items() if explanation.inputs.get(name) != value]
    if changed:
        theirs, mine = content_hash(explanation.inputs), content_hash(example.inputs)
        raise InputError(
            f"{explanation.source} explained another text: its hash is {theirs}, not {mine}",
            example=example.id,
            field=changed[0],
            remedy="Audit the data that was explained; other data needs another folder.",
        )


def content_hash(inputs: Mapping[str, str | Image]) -> str:
    """A short name for what an example says."""
    digest = hashlib.blake2b(digest_size=8)
    for name, value in sorted(inputs.items()):
        digest.update(name.encode() + b"|")
        digest.update(value.pixels.tobytes() if isinstance(value, Image) else value.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
