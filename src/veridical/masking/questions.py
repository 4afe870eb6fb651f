"""What is explained of an output, and the questions of a case that go row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Unpack

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.errors import UsageError
from veridical.masking.engine import Engine
from veridical.models import Batch, Classifier, Output, PassOptions, Rows

Scale = Literal["logit", "prob", "logprob"]
"""What a value is: the target's logit, its probability, or the logarithm of that. Regression has only its output."""


EVERY = "every"
"""The target that stands for all classes: each gets an entry, and all share the questions about an example."""


def targets_of(classifier: Classifier, batch: Batch, output: Output, target: str) -> Tensor:
    """One output index to explain for each example, [B]: the `predicted` class, the `gold` one, or a label by name.

    Where several labels are predicted or gold, it is the one with the highest logit.
    """
    if classifier.is_regression:
        return torch.zeros(len(batch), dtype=torch.long)
    if target == "predicted":
        return output.logits.argmax(-1)
    if target == "gold":
        return _highest_gold(output.logits, classifier.gold(batch.examples))
    if target not in classifier.labels:
        known = ", ".join(classifier.labels)
        raise UsageError(
            f"the model has no class {target!r}", remedy=f"Choose predicted, gold, every or one of: {known}."
        )
    return torch.full((len(batch),), classifier.labels.index(target))


def entries_of(classifier: Classifier, batch: Batch, output: Output, target: str) -> tuple[Tensor, Tensor]:
    """What is explained: an example and an output index for each entry, [N] each.

    It is one entry for each example, but for the `predicted` or `gold` labels of a multi-label model: each of them has
    its own entry. An example without any such label is explained for its highest one. With the target `every`, each
    class has an entry.
    """
    if target == EVERY and not classifier.is_regression:
        labels, rows = len(classifier.labels), torch.arange(len(batch))
        return rows.repeat_interleave(labels), torch.arange(labels).repeat(len(batch))
    highest = targets_of(classifier, batch, output, target)
    if not classifier.is_multi_label or target not in ("predicted", "gold"):
        return torch.arange(len(batch)), highest
    gold = target == "gold"
    meant = classifier.gold(batch.examples).bool() if gold else classifier.chosen(output.logits).cpu()  # [B, C]
    rows = torch.arange(len(batch))
    meant[rows, highest.cpu()] |= ~meant.any(1)
    example, label = torch.nonzero(meant, as_tuple=True)
    return example, label


def values_of(logits: Tensor, targets: Tensor, scale: Scale, independent: bool = False) -> Tensor:
    """The values of targets [N] on a scale, from logits [N, C]: [N]. `independent` labels have a sigmoid each."""
    if scale == "prob":
        logits = logits.sigmoid() if independent else logits.softmax(-1)
    elif scale == "logprob":
        logits = functional.logsigmoid(logits) if independent else logits.log_softmax(-1)
    return logits.gather(1, targets[:, None])[:, 0]


def derivative_of(logits: Tensor, targets: Tensor, scale: Scale, independent: bool = False) -> Tensor:
    """The derivative of `values_of` by the logits, [N, C]."""
    chosen = torch.zeros_like(logits).scatter(1, targets[:, None], 1.0)  # d logit_t / d logit_c
    if scale == "logit":
        return chosen
    probabilities = logits.sigmoid() if independent else logits.softmax(-1)
    # d log p_t / d logit_c; where labels are independent, only the target's own logit has a part in it.
    chosen = chosen * (1 - probabilities) if independent else chosen - probabilities
    # The chain rule for p_t = exp(log p_t).
    return chosen * probabilities.gather(1, targets[:, None]) if scale == "prob" else chosen


def _highest_gold(logits: Tensor, gold: Tensor) -> Tensor:
    """The gold class of each example, [B]; of several the one with the highest logit, and without any the highest."""
    if gold.dim() == 1:
        return gold
    held = gold.bool().to(logits.device)
    return logits.detach().masked_fill(~held & held.any(1, keepdim=True), -torch.inf).argmax(-1).cpu()


Pieces = Literal["sum", "mean", "max", "first"]
"""How the scores of word pieces make the score of a word."""

RowFunction = Callable[[Rows, Tensor], Tensor]
"""Gives token scores for some rows; what the tensor beside them is, the caller of the function says."""


@dataclass(frozen=True)
class RowQuestions:
    """Examples as the rows that a model reads, and the questions that are asked row by row.

    `run` asks at once and as the model is, for training. The others are for explaining: they switch dropout off, go
    through the rows in portions that the engine bounds, and hand each portion to a function, with gradients enabled.
    """

    classifier: Classifier
    batch: Batch
    targets: Tensor
    engine: Engine
    output: Output
    asked: Tensor

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def live(self) -> Tensor:
        """Which unit slots [B, U] are real."""
        return self.batch.live

    def run(self, rows: Rows, **options: Unpack[PassOptions]) -> Output:
        """What the model says of rows that were made of the case's own, all at once: logits per row, [R, C].

        Gradients flow into the weights, the embeddings, the shift and the rows' gate, and the model stays in its mode:
        while it is trained, it drops out.
        """
        self._count(self._questions(rows.owner))
        self.engine.cost.forwards += len(rows)
        return self.classifier.run(rows, **options)

    def rowwise(self, score: RowFunction, scale: Scale = "logit", passes: int = 1, copies: int = 1) -> Tensor:
        """Apply a function to each row once and gather its token scores, [R, L].

        The function gets rows and the derivative of the explained value by each row's logits [r, C], and gives [r, l].
        `passes` says how many backward passes it makes, `copies` how many rows it runs for each that it is given.
        """
        gradient = self.logit_gradient(self.output.logits, scale)
        row = torch.arange(len(self.batch.rows))

        def term(rows: Rows, visit: Tensor) -> Tensor:
            return score(rows, gradient[visit].to(self.classifier.device))

        return self._gather(term, row, torch.zeros_like(row), passes=passes, copies=copies)[0]

    def rowsum(self, term: RowFunction, row: Tensor) -> Tensor:
        """Sum a function over visits to rows: [R, L, d], 0 for rows without a visit.

        `row` [V] says which row each visit is to. The function gets the rows of some visits and their indices into
        `row`, and gives [v, l, d]. Visits to different rows share batches.
        """
        return self._gather(term, row, torch.zeros_like(row))[0]

    def rowvisits(self, score: RowFunction, wanted: Tensor, copies: int = 1) -> Tensor:
        """Apply a function to the `wanted` [B, V] visits to each example and keep its token scores apart: [V, R, L].

        The function gets rows and which visit this is to each of them, and gives [r, l]; visits that are not wanted
        score 0. Visits to different rows share batches. `copies` is as for `rowwise`.
        """
        row, visit = torch.nonzero(wanted[self.batch.rows.owner], as_tuple=True)
        return self._gather(lambda rows, at: score(rows, visit[at]), row, visit, wanted.shape[1], copies=copies)

    def scaled(self, logits: Tensor, targets: Tensor, scale: Scale) -> Tensor:
        """The values of targets [N] on a scale, from logits [N, C]."""
        scale = "logit" if self.classifier.is_regression else scale
        return values_of(logits, targets, scale, self.classifier.is_multi_label)

    def decisions(self, logits: Tensor, example: Tensor) -> Tensor:
        """What logits [N, C] decide about some entries [N] of the case: the highest class, [N].

        About a label of a multi-label model they decide whether it is chosen, 1 or 0. A change of this is a flip.
        """
        if not self.classifier.is_multi_label:
            return logits.argmax(1)
        return self.classifier.chosen(logits).gather(1, self.targets[example][:, None])[:, 0].long()

    def logit_gradient(self, logits: Tensor, scale: Scale) -> Tensor:
        """The derivative of each row's part in the explained value by the row's logits, [R, C].

        A document of several windows has the mean of their logits, so each window has its share.
        """
        rows = self.batch.rows
        scale = "logit" if self.classifier.is_regression else scale
        whole = derivative_of(logits, self.targets.to(logits.device), scale, self.classifier.is_multi_label)  # [B, C]
        return whole[rows.owner.to(whole.device)] * self.shares(rows)[:, None].to(whole)

    def shares(self, rows: Rows) -> Tensor:
        """The part each row has in its example's output: 1, or 1 / windows of a long document."""
        return (1 / self._windows)[rows.owner]

    def to_units(self, tokens: Tensor, pieces: Pieces = "sum") -> Tensor:
        """Gather token scores [R, L] into unit scores [B, U]; positions without a unit are left out.

        Tokens may have several numbers each, [R, L, K]; then their sums or means are [B, U, K].
        """
        rows, live = self.batch.rows, self.live
        real = rows.unit_of >= 0
        slot = (rows.owner[:, None] * live.shape[1] + rows.unit_of)[real]
        values = tokens[real]  # [N, ...]
        flat = torch.zeros(live.numel(), *values.shape[1:])
        if pieces in ("sum", "mean"):
            flat = flat.index_add(0, slot, values)
            if pieces == "mean":
                counts = torch.bincount(slot, minlength=live.numel()).clamp(min=1)
                flat = flat / counts.view(-1, *(1 for _ in values.shape[1:]))
        elif pieces == "max":
            flat = flat.scatter_reduce(0, slot, values, "amax", include_self=False)
        else:
            flat[slot.flip(0)] = values.flip(0)  # written backwards, so that the first piece is written last
        return flat.view(*live.shape, *values.shape[1:])

    def _gather(
        self, term: RowFunction, row: Tensor, layer: Tensor, layers: int = 1, *, passes: int = 1, copies: int = 1
    ) -> Tensor:
        """Sum a function over visits [V] to rows, in several layers: [layers, R, L, ...]."""
        rows = self.batch.rows
        count, width = rows.unit_of.shape
        total = torch.zeros(layers * count, width)

        def work(pack: Tensor) -> None:
            nonlocal total
            part = term(rows.select(row[pack]), pack).detach().float().cpu()  # [v, l, ...]
            if total.shape[2:] != part.shape[2:]:  # known only now
                total = torch.zeros(layers * count, width, *part.shape[2:])
            total[:, : part.shape[1]].index_add_(0, layer[pack] * count + row[pack], part)

        self._work(row, work, passes, copies)
        self._count(copies * self._questions(rows.owner[row]))
        return total.view(layers, count, *total.shape[1:])

    def _work(self, row: Tensor, work: Callable[[Tensor], None], passes: int = 1, copies: int = 1) -> None:
        """Do something for each of many rows [N], with gradients; `work` gets indices into them, a pack at a time."""
        lengths = self.batch.rows.lengths[row] * copies
        with torch.enable_grad(), self.classifier.evaluating(), self.engine.casting(self.classifier):
            for pack in self.engine.packs(lengths):
                work(pack)
                self.engine.cost.forwards += copies * len(pack)
                self.engine.cost.backwards += passes * len(pack)
                self.engine.watch(len(pack))

    def _count(self, questions: Tensor) -> None:
        self.asked.add_(questions)
        self.engine.cost.queries += int(questions.sum())

    def _questions(self, owner: Tensor) -> Tensor:
        """How often each example [B] is asked about when rows of these owners [R] are run.

        An example of several windows is asked about once when each of them is run.
        """
        return -(-torch.bincount(owner, minlength=len(self)) // self._windows)

    @property
    def _windows(self) -> Tensor:
        """The number of rows of each example, [B]."""
        return torch.bincount(self.batch.rows.owner, minlength=len(self))
