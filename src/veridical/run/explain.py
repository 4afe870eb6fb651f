"""Explain examples: a few at once from Python, thousands to a file, with what failed remembered beside it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from veridical.core.errors import InputError, VeridicalWarning
from veridical.core.files import ExplanationWriter, spec_key
from veridical.core.files.rows import TARGETS, Key
from veridical.core.progress import Watch
from veridical.core.storage import FailureFile
from veridical.core.values import Example, Explanation, content_hash
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import Case, Cost, Engine
from veridical.masking.engine import Reader
from veridical.masking.questions import EVERY
from veridical.run.given import Given, as_examples, data_name
from veridical.run.handle import Model, ModelHandle, with_model
from veridical.run.job import (
    EngineSettings,
    Failure,
    Job,
    Result,
    Runner,
    all_or_raise,
    charge,
    serially,
    while_it_answers,
)

Method = str | PathLike[str] | Explainer
"""A method of explanation: its name with or without options, the folder of one that was learned, or an object."""


def explain(
    model: Model,
    examples: Given | Iterable[Given],
    method: Method = "integrated-gradients",
    *,
    target: str = "predicted",
    engine: Engine | None = None,
    runner: Runner = serially,
    watch: Watch | None = None,
) -> list[Explanation]:
    """Explain a model's decisions on some texts, pairs, images or examples.

    >>> explain(classifier, ["A gorgeous, witty, seductive movie."], method="occlusion")[0]

    The model is a classifier, a folder or a hub id; the method is a name, an object, or the folder of one that was
    learned. `target` is the class to explain: the `predicted` one, the `gold` one, a label, or `every` class by itself.
    Of a model that gives several labels, each predicted or gold label of an example gets an explanation of its own. The
    first example that cannot be explained raises its error; `explain_to_file` goes on with the rest instead.
    """
    watch, engine, wanted = watch or Watch(), engine or Engine(), as_examples(examples)
    job = ExplainJob.of(model, method, target, engine, data_name(examples))
    count = watch.counter(f"explaining by {job.name}", len(wanted))

    def results() -> Iterator[Result[Explanation]]:
        todo = list(job.portions(wanted))
        for portion, result in zip(todo, runner(job, todo, watch), strict=True):
            charge(engine.cost, result.cost)
            count(len(portion))
            yield result

    found = all_or_raise(results())
    if cut := list(dict.fromkeys(made.example_id for made in found if made.measures["truncated_units"])):
        warnings.warn(_cut_message(cut), VeridicalWarning, stacklevel=2)
    return found


def explain_to_file(
    model: Model,
    examples: Given | Iterable[Given],
    method: Method,
    out: str | PathLike[str],
    *,
    target: str = "predicted",
    engine: Engine | None = None,
    data: str | None = None,
    runner: Runner = serially,
    watch: Watch | None = None,
) -> Explained:
    """Explain many examples into a file; what is in it already, by the same spec, is not done again.

    An example that fails is reported and the others go on. The name of the data is written into the spec, and tells
    apart examples of different data sets that have the same id: a `Dataset` has one, other examples get it by `data`.
    """
    watch, engine, wanted = watch or Watch(), engine or Engine(), as_examples(examples)
    job = ExplainJob.of(model, method, target, engine, data or data_name(examples))
    with ExplanationWriter(out) as writer:
        return explain_into(writer, job, wanted, engine=engine, runner=runner, watch=watch)


def explain_into(
    sink: ExplanationSink,
    job: ExplainJob,
    examples: Sequence[Example],
    *,
    engine: Engine,
    runner: Runner = serially,
    watch: Watch,
) -> Explained:
    """Do a job for the examples that a sink does not hold yet, and write what comes of it there."""
    count = watch.counter(f"explaining by {job.name}", len(examples))
    results = ResultSink(sink, job.key)
    # A portion is done whole or not at all: beside other neighbours the last digits could be others.
    todo = [portion for portion in job.portions(examples) if not results.is_done(portion)]
    count(len(examples) - sum(map(len, todo)))
    outcomes = while_it_answers(runner(job, todo, watch), lambda: results.safe(examples))
    for portion, result in zip(todo, outcomes, strict=True):
        charge(engine.cost, result.cost)
        results.take(portion, result)
        count(len(portion))
    return results.account(examples)


@dataclass(frozen=True)
class ExplainJob(Job[Explanation]):
    """Explain by one method; the spec is everything that two scores must share to be comparable."""

    explainer: Explainer
    spec: dict[str, Any]

    @classmethod
    def of(cls, model: Model, method: Method, target: str, engine: Engine, data: str | None) -> ExplainJob:
        """Build the method and see whether the model has what it needs."""
        handle = ModelHandle.of(model)
        explainer = with_model(handle.classifier, EXPLAINERS.create(method))
        handle.require(explainer)
        spec = handle.explanation_spec(explainer, target, engine, data)
        return cls(handle, target, EngineSettings.of(engine), explainer, spec)

    @property
    def name(self) -> str:
        return str(self.spec["method"]["name"])

    @property
    def key(self) -> str:
        return spec_key(self.spec)

    def passes(self, units: int) -> int:
        return self.explainer.passes(units)

    def work(self, examples: list[Example], engine: Engine) -> list[Explanation | Failure]:
        # An explainer that reads the model's states is shown them in the pass that predicts.
        reader = self.explainer if isinstance(self.explainer, Reader) else None
        case = Case.bind(self.model.classifier, examples, target=self.target, engine=engine, reader=reader)
        scores = self.explainer.scores(case)
        probabilities = _probabilities(case)
        return [self._explanation(case, index, scores, probabilities[index]) for index in range(len(case))]

    def _explanation(
        self, case: Case, index: int, scores: Scores, probabilities: dict[str, float]
    ) -> Explanation | Failure:
        example, units = case.batch.examples[index], case.batch.units[index]
        if not units:
            error = InputError("there are no words to explain", example=example.id, remedy="Remove or fill this text.")
            return Failure(example.id, error)
        return Explanation(
            example_id=example.id,
            inputs=dict(example.inputs),
            target=case.classifier.target_name(int(case.targets[index])),
            units=units,
            scores=tuple(scores.values[index, : len(units)].tolist()),
            probabilities=probabilities,
            source=self.name,
            spec=self.spec,
            label=example.label,
            measures=_measures(case, index, scores, self.target),
            margins=None if scores.margins is None else tuple(scores.margins[index, : len(units)].tolist()),
        )


def _probabilities(case: Case) -> list[dict[str, float]]:
    """The probabilities of labels by name, for each entry of a case; none for regression."""
    if case.classifier.is_regression:
        return [{}] * len(case)
    found = case.classifier.probabilities(case.output.logits).tolist()  # [B, C]
    return [dict(zip(case.classifier.labels, values, strict=True)) for values in found]


def _measures(case: Case, index: int, scores: Scores, target: str) -> dict[str, float]:
    found = {"queries": float(case.asked[index]), "truncated_units": float(case.batch.truncated[index])}
    found |= {name: float(values[index]) for name, values in scores.measures.items()}
    if case.classifier.is_multi_label or target == EVERY:
        found[TARGETS] = float(_targets(case)[id(case.batch.examples[index])])
    return {**found, "output": float(case.output.logits[index, 0])} if case.classifier.is_regression else found


def _targets(case: Case) -> Counter[int]:
    """How many entries of a case each example has, by its identity: in Python, two examples may have one name."""
    return case.once("targets", lambda: Counter(map(id, case.batch.examples)))


def _cut_message(examples: Sequence[str]) -> str:
    named = ", ".join(examples[:5]) + (", ..." if len(examples) > 5 else "")
    return (
        f"{len(examples)} texts are longer than the model reads and were cut: {named}. long='window' reads them whole."
    )


@dataclass(frozen=True)
class Explained:
    """What an explaining job did, what went wrong, and the cost.

    `written` counts explanations, of which an example may have several; `resumed` counts the examples of which all
    explanations were there before.
    """

    written: int
    resumed: int
    failures: tuple[Failure, ...]
    truncated: tuple[str, ...]
    cost: Cost = field(default_factory=Cost)


class ExplanationSink(Protocol):
    """Takes explanations to a file at `path`.

    `seen` has the id and the spec key of each example that it holds with all targets, and `begun` the targets that it
    holds of others.
    """

    @property
    def path(self) -> Path: ...

    @property
    def seen(self) -> set[Key]: ...

    @property
    def begun(self) -> dict[Key, set[str]]: ...

    def write(self, explanations: Iterable[Explanation]) -> None:
        """Keep some more."""
        ...


class ResultSink:
    """Takes results of one spec into a file: writes what was missing there, and remembers what failed."""

    def __init__(self, writer: ExplanationSink, spec: str) -> None:
        self.done = {example for example, key in writer.seen if key == spec}
        self._begun = {example: set(targets) for (example, key), targets in writer.begun.items() if key == spec}
        self._writer = writer
        self._failures = FailureFile(writer.path, spec)
        self._failed: dict[str, Failure] = {}
        self._truncated: list[str] = []
        self._written = 0
        self._kept = set(self.done)
        self._cost = Cost()

    def is_done(self, portion: list[Example]) -> bool:
        """Whether each example is in the file, or known to fail."""
        missing = [example for example in portion if example.id not in self.done]
        known = {example.id: self._failures.known(example.id, content_of(example)) for example in missing}
        self._failed |= {id: Failure(id, error) for id, error in known.items() if error is not None}
        return None not in known.values()

    def take(self, portion: list[Example], result: Result[Explanation]) -> None:
        """Keep what came of a portion."""
        made = [each for each in result.made if not self._has(each)]
        self._writer.write(made)
        failed = {failure.example_id: failure for failure in result.failures}
        errors = {id: each.error for id, each in failed.items()}
        tried = {outcome.example_id for outcome in result.outcomes}
        self._failures.remember({each.id: content_of(each) for each in portion if each.id in tried}, errors)
        self._kept |= tried - failed.keys()
        self._failed |= failed
        cut = [each.example_id for each in made if each.measures["truncated_units"]]
        self._truncated += dict.fromkeys(cut)  # once, however many targets an example has
        self._written += len(made)
        charge(self._cost, result.cost)

    def _has(self, made: Explanation) -> bool:
        """Whether the file held an explanation when the job began."""
        return made.example_id in self.done or made.target in self._begun.get(made.example_id, ())

    def safe(self, wanted: Sequence[Example]) -> str:
        """How many of the wanted examples are kept, and where."""
        kept = sum(example.id in self._kept for example in wanted)
        return f"{kept:,} of {len(wanted):,} examples are safe in {self._writer.path}"

    def account(self, wanted: Sequence[Example]) -> Explained:
        """What was done for some examples in all."""
        resumed = sum(example.id in self.done for example in wanted)
        failures = tuple(self._failed[example.id] for example in wanted if example.id in self._failed)
        return Explained(self._written, resumed, failures, tuple(self._truncated), self._cost)


def content_of(example: Example) -> str:
    """All of an example that its failure could depend on."""
    return f"{content_hash(example.inputs)} {example.label!r}"
