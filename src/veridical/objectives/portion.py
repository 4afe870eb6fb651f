"""Terms of some examples of a case, with their part of its output, and how far two outputs are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from veridical.masking import Case
from veridical.models import Ability, Batch, Output, Rows
from veridical.models.classifier import average_windows
from veridical.objectives.base import CrossEntropy, Objective

_FLOOR = 1e-10


class PortionTerms(Objective):
    """Plain training, and terms of one `weight` that are computed for one in `every` examples of a batch.

    With weight 0 nothing is computed or needed. A subclass says what its terms need and what they are.
    """

    weight: float
    every: int
    weights: ClassVar[tuple[str, ...]] = ("weight",)

    @property
    def needs(self) -> frozenset[Ability]:
        return self.abilities if self.weight else frozenset()

    def __call__(self, case: Case) -> dict[str, Tensor]:
        return {**CrossEntropy()(case), **self.terms(case)}

    def terms(self, case: Case) -> dict[str, Tensor]:
        """The weighted terms without the plain loss; none for weight 0."""
        if not self.weight:
            return {}
        return {name: self.weight * value for name, value in self.unweighted(portion(case, self.every)).items()}

    @property
    def abilities(self) -> frozenset[Ability]:
        """What the terms need of a classifier."""
        raise NotImplementedError

    def unweighted(self, case: Case) -> dict[str, Tensor]:
        """The terms of the examples of a case, by name."""
        raise NotImplementedError


def kl(p: Tensor, q: Tensor) -> Tensor:
    """The divergence of shares from others, [..., N] and [..., N] give [...]; shares of 0 count as tiny ones."""
    return (p * (p.clamp(min=_FLOOR).log() - q.clamp(min=_FLOOR).log())).sum(-1)


def symmetric_kl(logits: Tensor, others: Tensor, independent: bool = False) -> Tensor:
    """KL(p||q) + KL(q||p) of the classes that logits stand for, [..., C] and [..., C] give [...].

    `independent` labels are each a choice between yes and no, and their divergences add up.
    """
    if independent:
        # For two answers, KL(p||q) + KL(q||p) is (p - q) (logit p - logit q).
        p, q = logits.float(), others.float()
        return ((p.sigmoid() - q.sigmoid()) * (p - q)).sum(-1)
    logs, other_logs = logits.float().log_softmax(-1), others.float().log_softmax(-1)
    return ((logs.exp() - other_logs.exp()) * (logs - other_logs)).sum(-1)


def gap(case: Case, logits: Tensor, others: Tensor) -> Tensor:
    """How far two outputs for each example are apart, [B]: symmetric divergence, or squared error for regression."""
    if case.classifier.is_regression:
        return functional.mse_loss(logits[:, 0], others[:, 0], reduction="none")
    return symmetric_kl(logits, others, case.classifier.is_multi_label)


T = TypeVar("T")


def portion(case: Case, every: int) -> Case:
    """One in `every` examples of a case, chosen by chance, with their part of its output; all of them for 1.

    The mean of a term over such a portion is, but for chance, that over the batch: the term keeps its weight and costs
    less. Chance is torch's own, whose state checkpoints keep, so a resumed training chooses the same examples.
    """
    if every == 1:
        return case
    chosen = torch.randperm(len(case))[: -(-len(case) // every)].sort().values
    return _part(case, chosen)


def embeddings_of(case: Case) -> Tensor:
    """The embeddings [R, L, d] of a case's rows, with gradients; looked up once for all terms that start from them."""
    return case.once("embeddings", lambda: case.classifier.embed(case.batch.rows))


def averaged(case: Case, values: Tensor) -> Tensor:
    """Values per row [R, C] as values per example [B, C]; an example of several windows has their mean."""
    return average_windows(values, case.batch.rows.owner, len(case))


def mean_over_examples(case: Case, values: Tensor) -> Tensor:
    """The mean over examples of values per row [R]."""
    return averaged(case, values[:, None]).mean()


def _part(case: Case, chosen: Tensor) -> Case:
    index = torch.nonzero(torch.isin(case.batch.rows.owner, chosen))[:, 0]
    rows = case.batch.rows.select(index)
    rows = replace(rows, owner=torch.searchsorted(chosen, rows.owner))
    batch = case.batch
    part = Batch(_pick(batch.examples, chosen), _pick(batch.units, chosen), rows, _pick(batch.truncated, chosen))
    made = Case.of_output(case.classifier, part, _part_of_output(case.output, chosen, index, rows), eraser=case.eraser)
    return replace(made, engine=case.engine)  # so that one engine counts what a training step costs


def _part_of_output(output: Output, chosen: Tensor, index: Tensor, rows: Rows) -> Output:
    """The output of the chosen examples [N], whose rows stand at some indices [r], without the others' padding."""
    where, width = index.to(output.logits.device), rows.unit_of.shape[1]

    def attention(layer: Tensor) -> Tensor:
        queries = layer[where][:, :, :width]  # [r, H, l, T], or [r, H, l, G] of local attention
        return queries if output.local else queries[..., :width]

    return Output(
        output.logits[chosen.to(output.logits.device)],
        None if output.attentions is None else tuple(attention(layer) for layer in output.attentions),
        None if output.hidden is None else tuple(layer[where][:, :width] for layer in output.hidden),
        output.local,
        None if output.readers is None else output.readers[where][:, :width],
        None if output.pooled is None else output.pooled[where],
    )


def _pick(values: Sequence[T], chosen: Tensor) -> tuple[T, ...]:
    return tuple(values[index] for index in chosen.tolist())
