"""The explanations of an audit: in one file, and in memory the scores that judging needs of them."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from veridical.audits.record import MODEL, document_id
from veridical.core.errors import InputError, UsageError
from veridical.core.files import ExplanationWriter, read, spec_key
from veridical.core.files.rows import Key, RowKey, Seen, spec_data, targets_of
from veridical.core.values import FAMILIAR, HUMAN, UNFAMILIAR, Example, Explanation, Unit, content_hash
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.run.handle import ModelHandle

Place = tuple[str, str]
"""What an explanation is about: the id of an example, and the target."""

Targets = Mapping[str, tuple[str, ...]]
"""The targets that are judged, by example."""

Reasons = dict[str, dict[str, str]]
"""Why something failed, by example and by method."""


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """What is kept of an explanation: its scores, and in `content` a hash of all that a metric could depend on.

    `document` is the id of the document that it explains. `difference` and `residual` are its measures of these names,
    0 where its scores need not add up; `unfamiliar` says that a student never met such a text. `packed` is the rest of
    the explanation in a twentieth of the memory, but for its inputs, which the example has.
    """

    document: str
    target: str
    scores: NDArray[np.float64]
    content: str
    queries: float
    probability: float
    truncated: bool
    unfamiliar: bool = False
    difference: float = 0.0
    residual: float = 0.0
    packed: bytes = b""

    @classmethod
    def of(cls, explanation: Explanation, example: Example, key: str, model: str, document: str) -> ScoredDocument:
        """Keep the explanation of a document; `key` is that of its spec, `model` describes the model."""
        scores = np.array(explanation.scores, dtype=np.float64)
        told = (key, model, example.id, explanation.target, content_hash(example.inputs))
        return cls(
            document=document,
            target=explanation.target,
            scores=scores,
            content=digest(scores, *told, repr(explanation.units), repr(example.evidence), repr(example.label)),
            queries=explanation.measures.get("queries", float("nan")),
            probability=explanation.probabilities.get(explanation.target, float("nan")),
            truncated=explanation.measures.get("truncated_units", 0) > 0,
            unfamiliar=explanation.measures.get(FAMILIAR, 1.0) < UNFAMILIAR,
            difference=explanation.measures.get("difference", 0.0),
            residual=explanation.measures.get("residual", 0.0),
            packed=_packed(explanation),
        )

    def explanation(self, example: Example, spec: Mapping[str, Any]) -> Explanation:
        """The explanation that was kept."""
        told = json.loads(zlib.decompress(self.packed))
        units = tuple(Unit(field, tuple(span), text) for field, span, text in told.pop("units"))
        margins, label = told.pop("margins"), told.pop("label")
        return Explanation(
            example_id=example.id,
            inputs=dict(example.inputs),
            target=self.target,
            units=units,
            scores=tuple(self.scores.tolist()),
            label=tuple(label) if isinstance(label, list) else label,
            margins=None if margins is None else tuple(margins),
            spec=spec,
            **told,
        )


def _packed(explanation: Explanation) -> bytes:
    told = {
        "source": explanation.source,
        "label": explanation.label,
        "probabilities": dict(explanation.probabilities),
        "measures": dict(explanation.measures),
        "margins": explanation.margins,
        "units": [(unit.field, unit.span, unit.text) for unit in explanation.units],
    }
    return zlib.compress(json.dumps(told).encode(), level=1)


@dataclass
class MethodScores:
    """The explanations of one method in an audit; `name` is how tables print it."""

    name: str
    spec: Mapping[str, Any]
    scored: dict[Place, ScoredDocument] = field(default_factory=dict)

    @property
    def queries(self) -> float:
        """Questions per document, on average."""
        found = [each.queries for each in self.scored.values()]
        return sum(found) / len(found) if found else float("nan")

    @property
    def missed(self) -> float:
        """What the scores of all documents miss of the differences that they share out, as a part of these."""
        residual = sum(abs(each.residual) for each in self.scored.values())
        return residual / (sum(abs(each.difference) for each in self.scored.values()) or float("inf"))

    @property
    def unfamiliar(self) -> float:
        """The share of documents that are unlike those that a student learned from."""
        return sum(each.unfamiliar for each in self.scored.values()) / max(1, len(self.scored))

    def scores(self, case: Case) -> Tensor:
        """The scores of a case's units, [B, U]; 0 for examples that the method did not explain."""
        scores = torch.zeros(case.live.shape)
        for index, example in enumerate(case.batch.examples):
            found = self.scored.get((example.id, case.classifier.target_name(int(case.targets[index]))))
            if found is not None:
                scores[index, : len(found.scores)] = torch.from_numpy(found.scores)
        return scores

    def explained(self, examples: Iterable[Example], targets: Targets) -> list[tuple[Example, ScoredDocument]]:
        """What there is of some examples, for each of their targets."""
        places = ((example, (example.id, target)) for example in examples for target in targets.get(example.id, ()))
        return [(example, self.scored[place]) for example, place in places if place in self.scored]


def model_itself(methods: Sequence[MethodScores], examples: Iterable[Example], model: ModelHandle) -> MethodScores:
    """What stands in the place of a method for metrics of the model: scores of 0 for each example that was explained.

    The values of such metrics do not depend on explanations, and so their `content` does not either.
    """
    found = MethodScores(MODEL, {"model": dict(model.description)})
    known = {place: scored for method in methods for place, scored in method.scored.items()}
    labels = {example.id: (content_hash(example.inputs), repr(example.label)) for example in examples}
    described = model_text(model)
    for (example, target), scored in known.items():
        nothing = np.zeros_like(scored.scores)
        content = digest(nothing, described, target, *labels[example])
        found.scored[example, target] = replace(
            scored, scores=nothing, content=content, queries=float("nan"), packed=b""
        )
    return found


def leave_out_misfits(methods: Sequence[MethodScores], floor: MethodScores, reasons: Reasons) -> None:
    """Drop explanations of another target, or with other units, than the audit judges, and add why to the reasons.

    The floor was explained with this very model, target and units. What differs from it was made in another way.
    """
    judged: dict[str, dict[str, ScoredDocument]] = {}  # by example and target
    for (example, target), scored in floor.scored.items():
        judged.setdefault(example, {})[target] = scored
    for method in methods:
        for (example, target), scored in list(method.scored.items()):
            why = _misfit(method.name, scored, judged[example]) if example in judged else _unknown(example, reasons)
            if why:
                del method.scored[example, target]
            if why and not (example in judged and all((example, each) in method.scored for each in judged[example])):
                reasons.setdefault(example, {}).setdefault(method.name, why)


def _misfit(name: str, scored: ScoredDocument, judged: Mapping[str, ScoredDocument]) -> str | None:
    """Why the scores of a method cannot be judged, or nothing; `judged` are the floor's, by target."""
    units = len(next(iter(judged.values())).scores)
    if len(scored.scores) != units:
        problem = f"{name} has {len(scored.scores)} scores for {units} units"
        return InputError(
            problem, remedy="Load the model with the `units` that the explanations were made with."
        ).reason
    if scored.target not in judged:
        meant = ", ".join(map(repr, judged)) + (" is" if len(judged) == 1 else " are")
        problem = f"{name} explains {scored.target!r}, but {meant} judged"
        return InputError(problem, remedy="Audit with the `target` that the explanations were made for.").reason
    return None


def _unknown(example: str, reasons: Reasons) -> str:
    """Why the model could not even be asked about an example, which the floor does and nothing else."""
    return next(iter(reasons.get(example, {}).values()), "the model could not be asked about it")


def model_text(model: ModelHandle) -> str:
    """The description of a model as one text, to be hashed."""
    return json.dumps(dict(model.description), sort_keys=True, default=str)


def digest(scores: NDArray[np.float64], *told: str) -> str:
    """A hash of scores and of everything else that their values by a metric could depend on."""
    found = hashlib.blake2b(scores.tobytes(), digest_size=16)
    for part in told:
        found.update(b"|" + part.encode("utf-8", "surrogatepass"))
    return found.hexdigest()


class AuditExplanations:
    """Explanations of some examples by one model, which are written to a file and kept in memory.

    The file is read here, and not again: explanations of earlier audits are in it, and those added later are known.
    An explanation of another model or another text is refused. Explanations of other examples are passed over.
    """

    def __init__(self, writer: ExplanationWriter, examples: Iterable[Example], model: ModelHandle) -> None:
        self._writer = writer
        self.examples = {example.id: example for example in examples}
        self._model = model
        self._methods: dict[str, MethodScores] = {}
        self._model_text = model_text(model)
        self._kept: dict[Key, dict[str, ScoredDocument]] = {}
        self._seen = Seen()
        for explanation in read(self.path) if writer.count else ():
            if explanation.example_id in self.examples:
                self.check(explanation)
                self._keep(explanation)

    @property
    def path(self) -> Path:
        return self._writer.path

    @property
    def seen(self) -> set[Key]:
        """The `(example id, spec key)` of every one of these examples that is explained for all of its targets."""
        return self._seen.whole

    @property
    def begun(self) -> dict[Key, set[str]]:
        """The targets that are explained of examples that have more of them."""
        return self._seen.begun

    def get(self, example: str, key: str) -> Mapping[str, ScoredDocument]:
        """What is kept of an example's explanations by the spec with this key, by target."""
        return self._kept.get((example, key), {})

    def write(self, explanations: Iterable[Explanation]) -> None:
        """Check some explanations of these examples, write them to the file and keep them in memory."""
        for explanation in explanations:
            self.check(explanation)
            self._writer.write(explanation)
            self._keep(explanation)

    def check(self, explanation: Explanation) -> None:
        """Refuse an explanation that is of another model, or of another text under the id of an example."""
        _check_model(explanation, self._model.description)
        _check_text(explanation, self.examples[explanation.example_id])

    def methods(self, names: Mapping[str, str | None]) -> list[MethodScores]:
        """What is there of the specs with these keys. A method without a name gets one that no other has."""
        found: list[MethodScores] = []
        for key, name in names.items():
            if key in self._methods:
                method = self._methods[key]
                method.name = name or _name(method, {each.name for each in found}, key)
                found.append(method)
        return found

    def _keep(self, explanation: Explanation) -> None:
        key, example = spec_key(explanation.spec), self.examples[explanation.example_id]
        document = document_id(example.id, explanation.target, self._model.description)
        scored = ScoredDocument.of(explanation, example, key, self._model_text, document)
        method = self._methods.setdefault(key, MethodScores(explanation.source, spec_data(explanation.spec)))
        method.scored[example.id, explanation.target] = scored
        self._kept.setdefault((example.id, key), {})[explanation.target] = scored
        self._seen.add(RowKey(example.id, key, explanation.target, targets_of(explanation.measures)))


def _name(method: MethodScores, taken: Container[str], key: str) -> str:
    """How the method is written in tables; told apart by its key where only the rest of the spec differs."""
    name = _written(method.spec.get("method")) or method.name
    return f"{name} {key[:6]}" if name in taken else name


def _written(spec: Any) -> str | None:
    """A method of ours as a person would write it; other programs and versions may have other methods and options."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        return None
    try:
        return EXPLAINERS.written(EXPLAINERS.from_spec(spec))
    except UsageError:
        return None


def _check_model(explanation: Explanation, model: Mapping[str, Any]) -> None:
    """Human rationales are about texts; everything else is about the one model that was asked."""
    mine, theirs = _identity(model), _identity(explanation.spec.get("model"))
    if explanation.source == HUMAN or mine == theirs:
        return
    told = "do not say of which model" if theirs is None else f"are of another model: its hash is {theirs}, not {mine}"
    raise InputError(
        f"the explanations by {explanation.source} {told}",
        example=explanation.example_id,
        remedy="Audit explanations with the model that they explain; another model needs another folder.",
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
