"""Explain examples: a few at once from Python, thousands to a file."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from veridical.core.errors import InputError
from veridical.core.files import ExplanationWriter, spec_key
from veridical.core.files.rows import TARGETS
from veridical.core.progress import Watch
from veridical.core.values import Example, Explanation
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import Case, Engine
from veridical.run.handle import Model, ModelHandle
from veridical.run.job import (
    EngineSettings,
    Failure,
    Given,
    Job,
    Result,
    Runner,
    all_or_raise,
    as_examples,
    charge,
    data_name,
    serially,
)
from veridical.run.sink import Explained, ExplanationSink, ResultSink

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
    learned. `target` is the class to explain: the `predicted` one, the `gold` one, or a label. Of a model that gives
    several labels, each predicted or gold label of an example gets an explanation of its own. The first example that
    cannot be explained raises its error; `explain_to_file` goes on with the rest instead.
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
        warnings.warn(_cut_message(cut), stacklevel=2)
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
    for portion, result in zip(todo, runner(job, todo, watch), strict=True):
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
        handle, explainer = ModelHandle.of(model), EXPLAINERS.create(method)
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
        case = Case.bind(self.model.classifier, examples, target=self.target, engine=engine)
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
            measures=_measures(case, index, scores),
            margins=None if scores.margins is None else tuple(scores.margins[index, : len(units)].tolist()),
        )


def _probabilities(case: Case) -> list[dict[str, float]]:
    """The probabilities of labels by name, for each entry of a case; none for regression."""
    if case.classifier.is_regression:
        return [{}] * len(case)
    found = case.classifier.probabilities(case.output.logits).tolist()  # [B, C]
    return [dict(zip(case.classifier.labels, values, strict=True)) for values in found]


def _measures(case: Case, index: int, scores: Scores) -> dict[str, float]:
    found = {"queries": float(case.asked[index]), "truncated_units": float(case.batch.truncated[index])}
    found |= {name: float(values[index]) for name, values in scores.measures.items()}
    if case.classifier.is_multi_label:
        return {**found, TARGETS: float(_targets(case)[id(case.batch.examples[index])])}
    return {**found, "output": float(case.output.logits[index, 0])} if case.classifier.is_regression else found


def _targets(case: Case) -> Counter[int]:
    """How many entries of a case each example has, by its identity: in Python, two examples may have one name."""
    return case.once("targets", lambda: Counter(map(id, case.batch.examples)))


def _cut_message(examples: Sequence[str]) -> str:
    named = ", ".join(examples[:5]) + (", ..." if len(examples) > 5 else "")
    return (
        f"{len(examples)} texts are longer than the model reads and were cut: {named}. long='window' reads them whole."
    )
