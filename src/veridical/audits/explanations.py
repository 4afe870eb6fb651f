"""The explanations that an audit judges: all of them in its file, and what judging needs of each in memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from veridical.audits.method_scores import MethodScores, ScoredDocument, model_text
from veridical.audits.record import document_id
from veridical.core.errors import InputError, UsageError
from veridical.core.example import Example, content_hash
from veridical.core.explanation import HUMAN, Explanation
from veridical.core.files import ExplanationWriter, read, spec_key
from veridical.core.files.rows import Key, RowKey, Seen, spec_data, targets_of
from veridical.explainers import EXPLAINERS
from veridical.run.handle import ModelHandle


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
