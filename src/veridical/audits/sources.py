"""Explanations that no method makes here: those that files hold, and the words that people marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from veridical.audits.explanations import AuditExplanations, MethodScores
from veridical.core.errors import InputError
from veridical.core.files import spec_key
from veridical.core.values import HUMAN, Example, Explanation, Unit
from veridical.explainers import Explainer, Scores
from veridical.masking import Case, Engine
from veridical.run.explain import ExplainJob
from veridical.run.handle import ModelHandle
from veridical.run.job import EngineSettings

_TOLERANCE = 1e-5
"""Beside other neighbours in a batch, the last digits of the same score may be others."""


def take_in(explanations: Iterable[Explanation], kept: AuditExplanations) -> list[str]:
    """Copy explanations into those of an audit, and give the keys of their specs in order of appearance.

    An explanation that is there already is left as it is; one with other scores than there is refused, for nobody could
    say which of the two was judged. Explanations of other examples only are refused, too.
    """
    keys: dict[str, None] = {}
    other: Explanation | None = None
    for explanation in explanations:
        if explanation.example_id not in kept.examples:
            other = other or explanation
            continue
        key = spec_key(explanation.spec)
        keys[key] = None
        kept.check(explanation)
        known = kept.get(explanation.example_id, key).get(explanation.target)
        if known is None:
            kept.write([explanation])
        else:
            _check_same(explanation, known.scores.tolist(), explanation.scores)
    if other is not None and not keys:
        raise _strange(other, min(kept.examples))
    return list(keys)


@dataclass(frozen=True)
class HumanMarks(Explainer):
    """Units that people marked score 1, the others 0."""

    meaning: ClassVar[str] = "1 for a word that people marked as evidence, 0 for any other."

    def scores(self, case: Case) -> Scores:
        values = torch.zeros(case.live.shape)
        for index, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
            values[index, : len(units)] = torch.tensor(_marks(units, example))
        return Scores(values, measures={"queries": torch.zeros(len(case))})  # people ask the model nothing


def human_job(model: ModelHandle, target: str, engine: Engine) -> ExplainJob:
    """The job of turning evidence into explanations: the model is asked only for its prediction and its units."""
    spec = {"method": {"name": HUMAN}, "target": target, "model": dict(model.description)}
    return ExplainJob(model, target, EngineSettings.of(engine), HumanMarks(), spec)


def check_marks(job: ExplainJob, kept: AuditExplanations) -> None:
    """Refuse examples whose evidence has changed since an earlier audit took it in."""
    for example in kept.examples.values():
        for scored in kept.get(example.id, job.key).values():
            explanation = scored.explanation(example, job.spec)
            _check_same(explanation, explanation.scores, _marks(explanation.units, example))


def only_gold(marks: MethodScores, examples: Iterable[Example]) -> None:
    """Drop what people marked for labels that an example does not have: they mark the reasons for those it has."""
    gold = {example.id: example.label for example in examples if isinstance(example.label, tuple)}
    for example, target in list(marks.scored):
        if example in gold and target not in gold[example]:
            del marks.scored[example, target]


def _marks(units: Sequence[Unit], example: Example) -> list[float]:
    return [float(any(unit.overlaps(reason) for reason in example.evidence)) for unit in units]


def _check_same(explanation: Explanation, known: Sequence[float], scores: Sequence[float]) -> None:
    pairs = zip(known, scores, strict=False)
    if len(known) != len(scores) or any(abs(mine - other) > _TOLERANCE for mine, other in pairs):
        raise InputError(
            f"an earlier audit in this folder has other scores by {explanation.source}",
            example=explanation.example_id,
            remedy="Choose another folder, or delete this one.",
        )


def _strange(explanation: Explanation, example: str) -> InputError:
    return InputError(
        f"the explanations by {explanation.source} are of other examples, such as {explanation.example_id!r}; "
        f"here is {example!r}",
        remedy="Audit the data that was explained.",
    )
