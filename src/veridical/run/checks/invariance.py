"""Whether a model says the same of a text whenever and beside whatever it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from veridical.core.values import TEXT, Example
from veridical.masking import Case, Engine
from veridical.models import Ability, Classifier
from veridical.run.checks.finding import Finding
from veridical.run.job import one_target

ROUNDING = 1e-5
"""Outputs that differ by less are the same: sums in another order."""
BROKEN = 1e-3
"""Outputs that differ by more are not the same by any rounding."""

TWICE, BATCH, PADDING = "same answer twice", "batch invariance", "padding invariance"

_AT_ONCE = 4096
_ALONE = "Wrap the model in a function that asks one text at a time: Classifier.load(function, labels=...)."


def repeatability(classifier: Classifier, examples: Sequence[Example]) -> Finding:
    """The same question twice."""
    target = one_target(classifier)
    first, second = (Case.bind(classifier, examples, target=target).output.logits for _ in range(2))
    return _judged(
        TWICE,
        _gap(first, second),
        fine="Asked twice, the model says the same.",
        wrong="Asked twice, the model gives two answers, so no score can be repeated.",
        remedy="There is chance in it: switch off dropout and sampling, or fix the seed.",
    )


def batch_invariance(classifier: Classifier, examples: Sequence[Example]) -> Finding:
    """Each example alone, and in one batch with the others."""
    engine = Engine(tokens=_AT_ONCE)
    apart = max(gaps(classifier, examples, lambda case: case.output.logits, engine))
    return _judged(
        BATCH,
        apart / _size(Case.bind(classifier, examples, engine=engine).output.logits),
        fine="An input gets the same answer alone and among others.",
        wrong="An input gets another answer alone than among others, so every score depends on its neighbours.",
        remedy=f"See padding invariance; if that is ok, something mixes the rows of a batch. {_ALONE}",
    )


def padding_invariance(classifier: Classifier, examples: Sequence[Example]) -> Finding:
    """Each example alone, as it is and with padding after it."""
    if Ability.EMBEDDINGS not in classifier.provides:
        return Finding(PADDING, "not possible", "Such a model is asked with texts, and nothing is padded.")
    found = [gap for example in examples if (gap := _padding_gap(classifier, example)) is not None]
    if not found:
        return Finding(PADDING, "not possible", "All its inputs have one length, and nothing is padded.")
    return _judged(
        PADDING,
        max(found),
        fine="Padding beside a text does not change its answer.",
        wrong="The padding beside a text changes its answer, so every score depends on the longest neighbour.",
        remedy=f"See that every layer gets the attention mask and that pooling leaves padding out. {_ALONE}",
    )


def gaps(
    classifier: Classifier,
    examples: Sequence[Example],
    answer: Callable[[Case], Tensor],
    engine: Engine | None = None,
) -> list[float]:
    """How far each example's answer (outputs, or scores) alone is from its answer among the others.

    An example with several targets has an answer for each.
    """
    together = answer(Case.bind(classifier, examples, engine=engine))
    alone = (row for example in examples for row in answer(Case.bind(classifier, [example], engine=engine)))
    return [_largest(one - several[: len(one)]) for one, several in zip(alone, together, strict=True)]


def _padding_gap(classifier: Classifier, example: Example) -> float | None:
    """How far padding moves the answer; None where there is no longer text that would bring padding."""
    text = example.inputs.get(TEXT)
    if not isinstance(text, str):
        return None
    longer = replace(example, inputs={**example.inputs, TEXT: " ".join([text] * 3)})
    case = Case.bind(classifier, [example, longer])
    rows = case.batch.rows
    own = torch.nonzero(rows.owner == 0)[:, 0]
    width = rows.unit_of.shape[1]
    if int(rows.lengths[own].min()) == width:
        return None
    padded = replace(rows, lengths=torch.full_like(rows.lengths, width)).select(own)
    with torch.no_grad(), classifier.evaluating():
        plain, beside = (case.run(each).logits.float().cpu() for each in (rows.select(own), padded))
    return _gap(plain, beside)


def _gap(one: Tensor, other: Tensor) -> float:
    return _largest(one - other) / _size(one)


def _size(outputs: Tensor) -> float:
    """What differences are measured against: the largest output, or 1 if all are smaller."""
    return max(1.0, _largest(outputs))


def _largest(values: Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 0.0


def _judged(name: str, gap: float, *, fine: str, wrong: str, remedy: str) -> Finding:
    if gap <= ROUNDING:
        return Finding(name, "ok", fine, "", gap, ROUNDING)
    if gap <= BROKEN:
        slight = f"{fine.removesuffix('.')}, but for more rounding than usual."
        return Finding(name, "warning", slight, "Scores are good to fewer digits.", gap, ROUNDING)
    return Finding(name, "problem", wrong, remedy, gap, BROKEN)
