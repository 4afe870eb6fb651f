"""Audit a model: explain its decisions by several methods, and judge the explanations by several metrics."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from veridical.core.errors import InputError, UsageError
from veridical.core.example import Example
from veridical.core.explanation import HUMAN, Explanation
from veridical.core.files import read, spec_key
from veridical.core.progress import Progress
from veridical.data import Dataset
from veridical.explainers import EXPLAINERS
from veridical.masking import Engine
from veridical.metrics import METRICS, CorpusMetric
from veridical.metrics.base import judges
from veridical.models import Classifier
from veridical.report.audit import Audit, Suspect
from veridical.report.audit.record import FLOOR, MODEL
from veridical.report.audit.storing import EXPLANATIONS, save_audit
from veridical.run.audit.assembling import documents_of, judge_of, warnings_about
from veridical.run.audit.efficiency import efficiency
from veridical.run.audit.human import human_explanations
from veridical.run.audit.importing import take_in
from veridical.run.audit.journal import Journal
from veridical.run.audit.judging import Bench, Work, judge_corpus
from veridical.run.audit.planning import Plan, methods_of, metrics_of, plan
from veridical.run.audit.scored import Method, checked, gather, model_itself
from veridical.run.batching import Failure, Given, as_examples, each, portions
from veridical.run.explaining import explain_to_file
from veridical.run.specs import explanation_spec, versions

METHODS = "attention, integrated-gradients, occlusion"


def audit(
    classifier: Classifier,
    examples: Given | Iterable[Given],
    methods: str = METHODS,
    metrics: str = "default",
    *,
    explanations: Sequence[str | PathLike[str]] = (),
    out: str | PathLike[str] | None = None,
    target: str = "predicted",
    timed: int = 10,
    reverse: bool = True,
    engine: Engine | None = None,
    progress: Progress = lambda _what, _done, _total: None,
) -> Audit:
    """Judge explanation methods on a model and some examples.

    >>> found = audit(Classifier.load("runs/base"), load_data("reviews:test[:100]"), "attention, kernel-shap")
    >>> summarise(found)

    `methods` and `metrics` are lists as on the command line; `human` among the methods judges the examples' evidence.
    `explanations` are files to judge beside the methods. With a folder `out` everything finished is kept there, and the
    same call goes on where an earlier one stopped. `timed` documents are explained one by one to take times. `reverse`
    judges each method's order turned round, too: what tells whether a metric sees anything, at half of the cost.
    """
    engine = engine or Engine()
    given = as_examples(examples)
    if not given:
        raise InputError("there is nothing to audit", remedy="Give at least one example.")
    explainers, people = methods_of(methods) if methods.strip() else ([], False)
    if not explainers and not people and not explanations:
        raise UsageError("there is no method to audit", remedy="Name some, or give a file of explanations.")
    todo = plan(classifier, given, explainers, metrics_of(metrics))
    if people and not any(example.evidence for example in given):
        people, todo.skipped[HUMAN] = False, "people marked nothing in this data"
    data = examples.name if isinstance(examples, Dataset) else None
    with ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        journal = stack.enter_context(Journal(folder))
        job = _Job(classifier, given, data, todo, target, reverse, engine, folder, journal, progress)
        return job.run([*map(Path, explanations)], people, timed)


@dataclass
class _Job:
    """What stays the same from phase to phase."""

    classifier: Classifier
    examples: list[Example]
    data: str | None
    plan: Plan
    target: str
    reverse: bool
    engine: Engine
    folder: Path
    journal: Journal
    progress: Progress

    def run(self, files: list[Path], people: bool, timed: int) -> Audit:
        taken = self._take_in(files, people)  # first: what is wrong with a file should be known before any work
        failures = self._explain()
        methods = gather(self._explanations(), self.examples, self.classifier, [*self._own_keys(), *taken])
        if any(judges(metric) == "model" for metric in self.plan.metrics):
            methods.append(model_itself(methods, self.examples, self.classifier))
        rows, unjudged = self._judge(methods)
        rows += [key for work in self._corpus_works(methods) for key in self._judge_corpus(work)]
        if not rows:
            why = next(iter((failures | unjudged).values()), "there are no explanations of them")
            raise InputError(f"no example could be audited: {why}")
        self.journal.spend(queries=self.engine.cost.queries, forwards=self.engine.cost.forwards)
        found = self._audit(methods, rows, failures | unjudged, timed)
        save_audit(found, self.folder)
        return found

    def _explain(self) -> dict[str, str]:
        """Explain by each method, into one file; why some examples could not be."""
        failures: dict[str, str] = {}
        for explainer in self.plan.explainers:
            done = explain_to_file(
                self.classifier,
                self.examples,
                explainer,
                self.folder / EXPLANATIONS,
                target=self.target,
                engine=self.engine,
                data=self.data,
                progress=self._counting(f"explaining by {EXPLAINERS.name_of(explainer)}"),
            )
            failures |= {failure.example_id: failure.error.reason for failure in done.failures}
        return failures

    def _own_keys(self) -> list[str]:
        return [
            spec_key(explanation_spec(self.classifier, explainer, self.target, self.engine, self.data))
            for explainer in self.plan.explainers
        ]

    def _take_in(self, files: list[Path], people: bool) -> list[str]:
        """Explanations from files and people, for which nothing has to be computed."""
        sources: list[Iterable[Explanation]] = [read(file) for file in files]
        if people:
            sources.append(human_explanations(self.classifier, self.examples, self.target, self.engine))
        wanted = {example.id for example in self.examples}
        taken = (checked(source, self.examples, self.classifier) for source in sources)
        return [key for source in taken for key in take_in(source, wanted, self.folder / EXPLANATIONS)]

    def _explanations(self) -> Iterator[Explanation]:
        return read(self.folder / EXPLANATIONS)

    def _judge(self, methods: list[Method]) -> tuple[list[str], dict[str, str]]:
        """Measure all metrics that judge documents one by one: the keys of the rows, and what could not be judged."""
        metrics = [metric for metric in self.plan.metrics if not isinstance(metric, CorpusMetric)]
        bench = Bench(self.classifier, methods, metrics, self.target, self.reverse, self.engine, self.journal)
        count, keys, failures = self._counting("judging"), list[str](), dict[str, str]()
        judged = [example for example in self.examples if any(example.id in method.scored for method in methods)]
        for portion in portions(judged, bench.questions):
            for result in each(portion, bench):
                if isinstance(result, Failure):
                    failures[result.example_id] = result.error.reason
                else:
                    keys += result
            count(len(portion))
        return keys, failures

    def _corpus_works(self, methods: list[Method]) -> list[Work]:
        metrics = [metric for metric in self.plan.metrics if isinstance(metric, CorpusMetric)]
        judged = [method for method in methods if method.name not in (FLOOR, MODEL)]
        return [Work(metric, method) for metric in metrics for method in judged]

    def _judge_corpus(self, work: Work) -> list[str]:
        self.progress(f"{METRICS.name_of(work.metric)} of {work.method.name}", 0, 1)
        key = spec_key(work.method.spec)
        made = {each.example_id: each for each in self._explanations() if spec_key(each.spec) == key}
        known = [example for example in self.examples if example.id in made]
        return judge_corpus(work, known, [made[example.id] for example in known], self.journal)

    def _audit(self, methods: list[Method], keys: list[str], failures: dict[str, str], timed: int) -> Audit:
        rows = tuple(self.journal.rows[key] for key in keys)
        return Audit(
            model=self.classifier.describe(),
            data=self.data or "examples given in Python",
            documents=documents_of(self.examples, methods, {row.document for row in rows}),
            methods=tuple(Suspect(each.name, each.spec, self._costs(each, timed)) for each in methods),
            metrics=tuple(
                judge_of(metric, self.journal.steps.get(METRICS.written(metric), ())) for metric in self.plan.metrics
            ),
            rows=rows,
            skipped=self.plan.skipped,
            failures=failures,
            warnings=tuple(warnings_about(methods)),
            work=dict(self.journal.work),
            versions=versions(),
            settings={"target": self.target, "precision": self.engine.precision, "timed": timed},
        )

    def _costs(self, method: Method, timed: int) -> dict[str, float]:
        costs = {} if method.name == MODEL else {"queries": method.queries}
        explainer = next((each for each in self.plan.explainers if EXPLAINERS.written(each) == method.name), None)
        known = [example for example in self.examples if example.id in method.scored][:timed]
        if explainer is None or not known:
            return costs
        self.progress(f"timing {method.name}", 0, 1)
        return costs | efficiency(self.classifier, known, explainer)

    def _counting(self, what: str) -> Callable[[int], None]:
        """A function that is told of each portion and passes on how many are done in all."""
        done, total = 0, len(self.examples)
        self.progress(what, 0, total)

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.progress(what, done, total)

        return count
