"""Audit a model: explain its decisions by several methods, judge the explanations by several metrics, write a card."""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path

from veridical.audits.card import write_cards
from veridical.audits.explanations import (
    AuditExplanations,
    MethodScores,
    Reasons,
    Targets,
    leave_out_misfits,
    model_itself,
)
from veridical.audits.measurement import Counting, MeasuringJob, measure_corpus, measure_documents
from veridical.audits.plan import (
    Methods,
    Metrics,
    Plan,
    audited_metric,
    corpus_tasks,
    digest,
    document_tasks,
    methods_of,
    metrics_of,
    plan,
    usual_metrics,
)
from veridical.audits.record import DRAWS, FLOOR, MODEL, Audit, AuditedMethod, Document, Measurement
from veridical.audits.sources import check_marks, human_job, only_gold, take_in
from veridical.audits.statistics.findings import Agreement
from veridical.audits.statistics.groups import agreement
from veridical.audits.store import EXPLANATIONS, Journal, save_audit
from veridical.audits.timing import costs_once
from veridical.core.errors import InputError, UnsupportedError, UsageError
from veridical.core.files import ExplanationWriter, read, spec_key
from veridical.core.progress import Watch
from veridical.core.values import HUMAN, UNFAMILIAR, Example, Explanation, content_hash
from veridical.explainers import Explainer
from veridical.masking import Engine
from veridical.masking.questions import EVERY
from veridical.metrics import METRICS
from veridical.report.drawing import MISSED
from veridical.run.explain import ExplainJob, content_of, explain_into
from veridical.run.given import Given, as_examples, data_name
from veridical.run.handle import Model, ModelHandle, versions
from veridical.run.job import EngineSettings

METHODS = "attention, integrated-gradients, occlusion"

AnyPath = str | PathLike[str]


def audit(
    model: Model,
    examples: Given | Iterable[Given],
    methods: Methods = METHODS,
    metrics: Metrics = "default",
    *,
    explanations: AnyPath | Iterable[AnyPath] = (),
    out: AnyPath | None = None,
    target: str = "predicted",
    timed: int = 10,
    reverse: bool = True,
    draws: int = DRAWS,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> Audit:
    """Judge explanation methods on a model and some examples.

    >>> found = audit("runs/base", load_data("reviews:test[:100]"), ["attention", MyMethod(), "runs/learned"])
    >>> print(*found.summary.verdict, sep="\\n")

    The model is a classifier, a folder or a hub id. `methods` is a text as on the command line, or a list of names,
    folders and objects; the name `human` stands for the evidence of the examples. `metrics` is the same for metrics and
    sets of them. `explanations` are files to judge beside the methods.

    With a folder `out` everything finished is kept there, the same call goes on where an earlier one stopped, and the
    report card is written in the end. `timed` documents are explained one by one to take times. With `reverse` the
    reversed order of each method is judged, too: that shows whether a metric sees anything, and is half of the work.
    The random floor is the mean of so many `draws` of an order.
    """
    handle, given = ModelHandle.of(model), as_examples(examples)
    files = [Path(explanations)] if isinstance(explanations, str | PathLike) else [*map(Path, explanations)]
    if not given:
        raise InputError("there is nothing to audit", remedy="Give at least one example.")
    if not isinstance(timed, int) or timed < 0:
        raise UsageError(
            f"times cannot be taken of {timed!r} documents", remedy="Give a number of documents, 0 for none."
        )
    if not isinstance(draws, int) or draws < 1:
        raise UsageError(
            f"the floor cannot be the mean of {draws!r} draws", remedy="Give a number of draws, at least 1."
        )
    if target == EVERY:
        raise UsageError(
            "an audit judges the reasons for one class of each example, and not for every class",
            remedy="Choose predicted, gold or a label.",
        )
    is_blank = isinstance(methods, str) and not methods.strip()
    explainers, people = ([], False) if is_blank else methods_of(methods)
    if not explainers and not people and not files:
        raise UsageError("there is no method to audit", remedy="Name some, or give a file of explanations.")
    judges = metrics_of(metrics, usual_metrics(handle.classifier))
    todo = plan(handle.classifier, given, explainers, judges)
    with ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        journal = stack.enter_context(Journal(folder))
        settings = _Settings(target, timed, reverse, draws, people, data_name(examples))
        job = _AuditJob(handle, given, todo, settings, engine or Engine(), folder, journal, watch or Watch())
        return job.run(files, is_kept=out is not None)


@dataclass(frozen=True)
class _Settings:
    """What was asked for beside methods and metrics; `people` says that their evidence is judged, too."""

    target: str
    timed: int
    reverse: bool
    draws: int
    people: bool
    data: str | None


@dataclass
class _AuditJob:
    """What the phases of an audit share: explaining, judging, taking times, and putting all of it together.

    `methods` and `targets` are known after explaining. `reasons` says what failed in any phase. Both are by example.
    """

    model: ModelHandle
    examples: list[Example]
    plan: Plan
    settings: _Settings
    engine: Engine
    folder: Path
    journal: Journal
    watch: Watch
    methods: list[MethodScores] = field(default_factory=list)
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def run(self, files: list[Path], is_kept: bool) -> Audit:
        """All phases; an audit that is kept gets its card."""
        jobs = {name: self._job(explainer) for name, explainer in self.plan.methods.items()}
        self._explain(jobs, files)
        rows = self._measure()
        costs = {method.name: self._costs(method, jobs.get(method.name)) for method in self.methods}
        found = self._audit(rows, costs)
        save_audit(found, self.folder)
        if is_kept:
            self.watch.tell("writing the card")
            write_cards(found, self._shown, self.folder)
        return found

    def _job(self, explainer: Explainer) -> ExplainJob:
        return ExplainJob.of(self.model, explainer, self.settings.target, self.engine, self.settings.data)

    def _explain(self, jobs: Mapping[str, ExplainJob], files: Sequence[Path]) -> None:
        """Gather the explanations of files, methods and people; what fits together is judged."""
        sources = [read(file) for file in files]
        with ExplanationWriter(self.folder / EXPLANATIONS) as writer:
            kept = AuditExplanations(writer, self.examples, self.model)
            # First: what is wrong with a file should be known before any work.
            taken = [key for source in sources for key in take_in(source, kept)]
            marks = self._marks(kept)
            names = {job.key: name for name, job in jobs.items() if self._explain_by(job, name, self.examples, kept)}
        others = {key: None for key in [*taken, *marks] if key not in names}
        self.methods = kept.methods({**names, **others})
        for method in self.methods:
            if spec_key(method.spec) in marks:
                only_gold(method, self.examples)
        self._agree_on_targets()

    def _explain_by(self, job: ExplainJob, name: str, examples: Sequence[Example], kept: AuditExplanations) -> bool:
        """Explain what is missing; a method that turns out to be impossible is left out."""
        try:
            counting = Counting(self.journal, partial(_portion_key, job))
            done = explain_into(kept, job, examples, engine=self.engine, runner=counting, watch=self.watch)
        except UnsupportedError as error:
            self.skipped[name] = error.problem
            return False
        for failure in done.failures:
            self.reasons.setdefault(failure.example_id, {})[name] = failure.error.reason
        return True

    def _marks(self, kept: AuditExplanations) -> list[str]:
        """The key of what people marked, once that is among the explanations."""
        marked = [example for example in self.examples if example.evidence]
        if not self.settings.people:
            return []
        if not marked:
            self.skipped[HUMAN] = "people marked nothing in this data"
            return []
        job = human_job(self.model, self.settings.target, self.engine)
        check_marks(job, kept)
        return [job.key] if self._explain_by(job, HUMAN, marked, kept) else []

    def _agree_on_targets(self) -> None:
        floor = next((method for method in self.methods if method.name == FLOOR), MethodScores(FLOOR, {}))
        leave_out_misfits(self.methods, floor, self.reasons)
        for example, target in floor.scored:
            self.targets[example] = (*self.targets.get(example, ()), target)
        if any(metric.subject == "model" for metric in self.plan.metrics.values()):
            self.methods.append(model_itself(self.methods, self.examples, self.model))

    def _measure(self) -> list[Measurement]:
        """Judge all methods by all metrics."""
        judged = [example for example in self.examples if example.id in self.targets]
        asked, precision = self.settings, self.engine.precision
        tasks = document_tasks(self.plan.metrics, self.methods, asked.reverse, precision, asked.draws)
        job = MeasuringJob(
            self.model,
            self.settings.target,
            EngineSettings.of(self.engine),
            tuple(tasks),
            self.targets,
            {*self.journal.rows, *self.journal.failures},
        )
        rows = measure_documents(job, judged, self.journal, engine=self.engine, watch=self.watch, reasons=self.reasons)
        for task in corpus_tasks(self.plan.metrics, self.methods):
            what = f"{METRICS.name_of(task.metric)} of {task.method.name}"
            self.watch.tell(what, 0, 1)
            part = self.watch.within(what)
            rows += measure_corpus(task, judged, self.targets, self.journal, self.model.classifier, part)
        if not rows:
            why = next((why for told in self.reasons.values() for why in told.values()), "there are no explanations")
            raise InputError(f"no example could be audited: {why}")
        return rows

    def _costs(self, method: MethodScores, job: ExplainJob | None) -> dict[str, float]:
        """What a method costs per document; times are taken of methods that run here."""
        costs = {} if method.name == MODEL else {"queries": method.queries}
        known = [each for each in self.examples if method.explained([each], self.targets)]
        if job is None or not known[: self.settings.timed]:
            return costs
        self.watch.tell(f"timing {method.name}", 0, 1)
        return costs | costs_once(job, known[: self.settings.timed], self.journal, self.engine, self.watch)

    def _audit(self, rows: Sequence[Measurement], costs: Mapping[str, Mapping[str, float]]) -> Audit:
        documents = documents_of(self.examples, self.targets, self.methods, {row.document for row in rows})
        steps, of_numbers = self.journal.steps, self.model.classifier.is_regression
        return Audit(
            model=self.model.description,
            data=self.settings.data or "examples given in Python",
            documents=documents,
            methods=tuple(AuditedMethod(each.name, each.spec, costs[each.name]) for each in self.methods),
            metrics=tuple(
                audited_metric(name, each, steps.get(name, ()), of_numbers) for name, each in self.plan.metrics.items()
            ),
            rows=tuple(rows),
            skipped={**self.plan.skipped, **self.skipped},
            failures=self.reasons,
            warnings=tuple(warnings_about(self.methods)),
            likeness=likeness_of(self.methods, documents),
            work=dict(self.journal.work),
            versions=versions(),
            settings={
                "target": self.settings.target,
                "precision": self.engine.precision,
                "timed": self.settings.timed,
                "draws": {FLOOR: self.settings.draws},
            },
        )

    def _shown(self, documents: set[str]) -> dict[str, list[Explanation]]:
        """The explanations of some documents by method."""
        return {
            method.name: [
                scored.explanation(example, method.spec)
                for example, scored in method.explained(self.examples, self.targets)
                if scored.document in documents
            ]
            for method in self.methods
            if method.name != MODEL
        }


def _portion_key(job: ExplainJob, portion: Sequence[Example]) -> str:
    """What tells a portion of examples that are explained from others."""
    return digest(job.key, *(f"{example.id} {content_of(example)}" for example in portion))


_TOP = 0.25
"""The share of the words of a text that count as its first words."""


def documents_of(
    examples: Sequence[Example], targets: Targets, methods: Sequence[MethodScores], judged: Container[str]
) -> tuple[Document, ...]:
    """The documents with an id among the `judged` ones, in the order of the examples."""
    found = []
    for example, target in ((each, target) for each in examples for target in targets.get(each.id, ())):
        place = (example.id, target)
        scored = next((method.scored[place] for method in methods if place in method.scored), None)
        if scored is not None and scored.document in judged:
            units, digest = len(scored.scores), content_hash(example.inputs)
            found.append(Document(scored.document, target, units, example.label, scored.probability, digest))
    return tuple(found)


def likeness_of(methods: Sequence[MethodScores], documents: Sequence[Document]) -> Agreement | None:
    """How many of their first words methods share, over the documents that all of them explain."""
    scores = {
        method.name: {scored.document: scored.scores.tolist() for scored in method.scored.values()}
        for method in methods
        if method.scored and method.name != MODEL
    }
    shared = [each.id for each in documents if all(each.id in found for found in scores.values())]
    if len(scores) < 2 or not shared:
        return None
    values = agreement({name: [found[id] for id in shared] for name, found in scores.items()}, _TOP)
    meaning = f"The share of their first {_TOP:.0%} of words that two methods have in common (Jaccard)."
    return Agreement("top words", meaning, tuple(scores), tuple(tuple(row) for row in values.tolist()))


_MANY_UNFAMILIAR = 5 * UNFAMILIAR
"""From this share of unfamiliar texts on, a student is asked about other texts than it learned from."""


def warnings_about(methods: Sequence[MethodScores]) -> Iterator[str]:
    """What makes the scores themselves doubtful."""
    for method in [each for each in methods if each.name != MODEL]:
        flat = [scored.document for scored in method.scored.values() if not scored.scores.any()]
        if flat:
            where = f"in {len(flat):,} document{'s' * (len(flat) != 1)} ({_some(flat)})"
            yield f"{method.name} scores every word 0 {where}: the order that was judged is that of the text."
        if method.missed > MISSED:
            yield (
                f"The scores of {method.name} miss {method.missed:.0%} of the differences that they share out, so what "
                "was judged is not what the method promises; `veridical check` says what to do."
            )
        if method.unfamiliar > _MANY_UNFAMILIAR:
            yield (
                f"{method.unfamiliar:.0%} of the texts are unlike those that {method.name} learned from, where "
                f"{UNFAMILIAR:.0%} would be usual: distil it anew with texts like these."
            )
    cut = sorted({example for method in methods for (example, _), each in method.scored.items() if each.truncated})
    if cut:
        texts = "1 text was" if len(cut) == 1 else f"{len(cut):,} texts were"
        yield f"{texts} longer than the model reads, and cut ({_some(cut)}). long='window' reads all."


def _some(examples: Sequence[str]) -> str:
    return ", ".join(examples[:3]) + (", ..." if len(examples) > 3 else "")
