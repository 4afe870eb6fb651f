"""Scores to be judged, read from explanations and checked to be of these texts and this model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from veridical.core.errors import InputError
from veridical.core.example import Example, Image
from veridical.core.explanation import HUMAN, Explanation
from veridical.core.files import spec_key
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.models import Classifier


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


def gather(explanations: Iterable[Explanation], examples: Iterable[Example], classifier: Classifier) -> list[Method]:
    """The explanations by method, checked; those of examples that are not asked for are left out."""
    wanted = {example.id: example for example in examples}
    methods: dict[str, Method] = {}
    model = classifier.describe()
    for explanation in explanations:
        if explanation.example_id not in wanted:
            continue
        key = spec_key(explanation.spec)
        if key not in methods:
            _check_model(explanation, model)
            methods[key] = Method(_name(explanation, methods.values(), key), explanation.spec)
        _check_text(explanation, wanted[explanation.example_id])
        methods[key].scored[explanation.example_id] = _scored(explanation, key)
    return list(methods.values())


def _scored(explanation: Explanation, key: str) -> Scored:
    scores = np.array(explanation.scores, dtype=np.float64)
    digest = hashlib.blake2b(digest_size=16)
    for part in (key, explanation.example_id, explanation.target, repr(explanation.units)):
        digest.update(part.encode("utf-8", "surrogatepass") + b"|")
    digest.update(scores.tobytes())
    return Scored(
        target=explanation.target,
        scores=scores,
        content=digest.hexdigest(),
        queries=explanation.measures.get("queries", float("nan")),
        probability=explanation.probabilities.get(explanation.target, float("nan")),
        truncated=explanation.measures.get("truncated_units", 0) > 0,
    )


def _name(explanation: Explanation, others: Iterable[Method], key: str) -> str:
    """How the method is written in tables; told apart by its key where only the rest of the spec differs."""
    spec = explanation.spec.get("method", {})
    known = isinstance(spec, Mapping) and spec.get("name") in EXPLAINERS
    name = EXPLAINERS.written(EXPLAINERS.from_spec(spec)) if known else explanation.source
    return f"{name} {key[:6]}" if name in {other.name for other in others} else name


def _check_fit(name: str, example: str, scored: Scored, units: int, target: str) -> None:
    if len(scored.scores) != units:
        remedy = "Load the model with the `units` that the explanations were made with."
        raise InputError(f"{name} has {len(scored.scores)} scores for {units} units", example=example, remedy=remedy)
    if scored.target != target:
        remedy = "Audit with the `target` that the explanations were made for."
        raise InputError(f"{name} explains {scored.target!r}, but {target!r} is judged", example=example, remedy=remedy)


def _check_model(explanation: Explanation, model: Mapping[str, Any]) -> None:
    """Human rationales are about texts; everything else is about the one model that was asked."""
    if explanation.source == HUMAN:
        return
    told = explanation.spec.get("model", {})
    mine, theirs = model.get("fingerprint", model.get("name")), told.get("fingerprint", told.get("name"))
    if mine != theirs:
        remedy = "Audit explanations with the model that they explain, or explain again with this one."
        raise InputError(
            f"the explanations by {explanation.source} are of another model: its hash is {theirs}, not {mine}",
            example=explanation.example_id,
            remedy=remedy,
        )


def _check_text(explanation: Explanation, example: Example) -> None:
    changed = [name for name, value in example.inputs.items() if explanation.inputs.get(name) != value]
    if changed:
        theirs, mine = content_hash(explanation.inputs), content_hash(example.inputs)
        raise InputError(
            f"{explanation.source} explained another text: its hash is {theirs}, not {mine}",
            example=example.id,
            field=changed[0],
            remedy="Name the data that was explained, or explain this data again.",
        )


def content_hash(inputs: Mapping[str, str | Image]) -> str:
    """A short name for what an example says."""
    digest = hashlib.blake2b(digest_size=8)
    for name, value in sorted(inputs.items()):
        digest.update(name.encode() + b"|")
        digest.update(value.pixels.tobytes() if isinstance(value, Image) else value.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
