"""A `Case`: a classifier, some examples, the outputs to explain and an eraser, bound together once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from veridical.core.errors import ModelError, UsageError
from veridical.core.example import Example, Image
from veridical.masking.engine import Engine
from veridical.masking.erasers import ERASERS, Eraser
from veridical.models import Batch, Classifier, Output, Rows
from veridical.models.classifier import average_windows

Scale = Literal["logit", "prob", "logprob"]
"""What a value is: the target's logit, its probability, or the logarithm of that. Regression has only its output."""

Pieces = Literal["sum", "mean", "max", "first"]
"""How the scores of word pieces make the score of a word."""

_ROWS_AT_ONCE = 16_384

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """Whatever asks a model about examples, or parts of them, asks a case.

    `targets` [B] are output indices; `asked` [B] counts the questions about each example so far. Questions are
    flattened, equal model inputs asked once, sorted by length, packed into batches by the engine and counted; memory is
    bounded by the engine's token budget.
    """

    classifier: Classifier
    batch: Batch
    targets: Tensor
    eraser: Eraser
    engine: Engine
    output: Output
    asked: Tensor
    _answers: dict[bytes, Tensor] = field(default_factory=dict, repr=False)
    _known: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of_output(
        cls, classifier: Classifier, batch: Batch, output: Output, target: str = "gold", eraser: str | Eraser = "mask"
    ) -> Case:
        """The case of a forward pass that was already made, as a training step makes it, with its gradients."""
        targets = _targets(classifier, batch, output, target)
        asked = torch.ones(len(batch), dtype=torch.long)
        return cls(classifier, batch, targets, ERASERS.create(eraser), Engine(), output, asked)

    @classmethod
    def bind(
        cls,
        classifier: Classifier,
        examples: Sequence[Example],
        *,
        target: str = "predicted",
        eraser: str | Eraser = "mask",
        engine: Engine | None = None,
    ) -> Case:
        """Encode examples and choose what to explain: the `predicted` class, the `gold` one, or a label by name."""
        engine = engine or Engine()
        chosen = ERASERS.create(eraser)
        batch = classifier.encode(examples)
        answers: dict[bytes, Tensor] = {}
        rows = engine.logits(classifier, batch.rows, answers)
        output = Output(average_windows(rows, batch.rows.owner, len(batch)))
        _check_finite(output, batch)
        targets = _targets(classifier, batch, output, target)
        engine.cost.queries += len(batch)
        asked = torch.ones(len(batch), dtype=torch.long)
        return cls(classifier, batch, targets, chosen, engine, output, asked, answers)

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def live(self) -> Tensor:
        """Which unit slots [B, U] are real."""
        return self.batch.live

    @property
    def gold(self) -> Tensor:
        """The gold labels [B]: output indices, or the numbers a regression model should give."""
        return self.classifier.gold(self.batch.examples)

    def with_eraser(self, eraser: str | Eraser) -> Case:
        """The same case with another way to take words away."""
        return replace(self, eraser=ERASERS.create(eraser))

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, computed at the first call with this key: for what depends on the case alone.

        Cases that differ in their eraser share it, so a key has to name the eraser if it matters.
        """
        if key not in self._known:
            self._known[key] = compute()
        found: T = self._known[key]
        return found

    def value(self, keep: Tensor, scale: Scale = "prob") -> Tensor:
        """The target's value when only some units are kept: `keep` [B, K, U] gives [B, K]."""
        count, several, _ = keep.shape
        example = torch.arange(count).repeat_interleave(several)
        return self.ask(example, keep.flatten(0, 1), scale).view(count, several)

    def ask(self, example: Tensor, keep: Tensor, scale: Scale = "prob") -> Tensor:
        """The target's value for any number of (example, keep) questions: [N] and [N, U] give [N]."""
        return self.scaled(self.logits(example, keep), self.targets[example], scale)

    def logits(self, example: Tensor, keep: Tensor) -> Tensor:
        """All outputs for any number of (example, keep) questions: [N] and [N, U] give [N, C]."""
        self.classifier.require(self.eraser.needs, asker=f"erasing by {ERASERS.name_of(self.eraser)!r}")
        self._count(torch.bincount(example, minlength=len(self)))
        parts = [self._portion(example[part], keep[part]) for part in self._portions(example)]
        return torch.cat(parts) if parts else torch.empty(0, self.output.logits.shape[1])

    def blank(self, scale: Scale = "prob") -> Tensor:
        """The target's value when nothing is left, [B]: no unit, and no special token or held field either."""
        self.classifier.require(self.eraser.needs, asker=f"erasing by {ERASERS.name_of(self.eraser)!r}")
        rows = self.batch.rows
        one_unit = replace(rows, unit_of=torch.zeros_like(rows.unit_of))  # erasers spare what belongs to no unit
        erased = self.eraser(self.classifier, one_unit, torch.zeros(len(rows), 1, dtype=torch.bool))
        self._count(torch.ones_like(self.asked))
        found = self.engine.logits(self.classifier, erased, self._answers)
        return self.scaled(average_windows(found, rows.owner, len(self)), self.targets, scale)

    def scaled(self, logits: Tensor, targets: Tensor, scale: Scale) -> Tensor:
        """The values of targets [N] on a scale, from logits [N, C]."""
        if scale == "logit" or self.classifier.is_regression:
            chosen = logits
        else:
            chosen = logits.softmax(-1) if scale == "prob" else logits.log_softmax(-1)
        return chosen.gather(1, targets[:, None])[:, 0]

    def rowwise(
        self, score: Callable[[Rows, Tensor], Tensor], scale: Scale = "logit", passes: int = 1, copies: int = 1
    ) -> Tensor:
        """Apply a function to bounded portions of rows and gather its token scores, [R, L].

        The function gets rows and their `pull` [r, C], the derivative of the explained value by each row's logits, and
        gives [r, l]. Gradients are enabled inside. `passes` says how many backward passes it makes, `copies` how many
        rows it runs for each that it is given.
        """
        rows = self.batch.rows
        logit_gradient = self.logit_gradient(self.output.logits, scale)
        result = torch.zeros(rows.unit_of.shape)

        def work(pack: Tensor) -> None:
            scored = score(rows.select(pack), logit_gradient[pack].to(self.classifier.device))
            result[pack, : scored.shape[1]] = scored.detach().float().cpu()

        self._work(torch.arange(len(rows)), work, passes, copies)
        self._count(torch.full_like(self.asked, copies))
        return result

    def rowsum(self, term: Callable[[Rows, Tensor], Tensor], row: Tensor) -> Tensor:
        """Sum a function over visits to rows, in bounded portions: [R, L, d], 0 for rows without a visit.

        `row` [V] says which row each visit is to. The function gets the rows of some visits and their indices into
        `row`, and gives [v, l, d]. Visits to different rows share batches. Gradients are enabled inside.
        """
        rows = self.batch.rows
        total = torch.zeros(*rows.unit_of.shape, 1)

        def work(pack: Tensor) -> None:
            nonlocal total
            part = term(rows.select(row[pack]), pack).detach().float().cpu()
            if total.shape[2] != part.shape[2]:  # known only now
                total = torch.zeros(*rows.unit_of.shape, part.shape[2])
            total[:, : part.shape[1]].index_add_(0, row[pack], part)

        self._work(row, work)
        self._count(torch.bincount(rows.owner[row], minlength=len(self)))
        return total

    def outputs(self, embeds: Callable[[Rows], Tensor]) -> Tensor:
        """All outputs of the examples when their rows have other embeddings [r, l, d]: [B, C], without gradients."""
        rows = self.batch.rows
        found = torch.empty(len(rows), self.output.logits.shape[1])

        def work(pack: Tensor) -> None:
            part = rows.select(pack)
            with torch.no_grad():
                found[pack] = self.classifier.run(part, embeds=embeds(part)).logits.float().cpu()

        self._work(torch.arange(len(rows)), work, passes=0)
        self._count(torch.ones_like(self.asked))
        return average_windows(found, rows.owner, len(self))

    def rowvisits(self, score: Callable[[Rows, Tensor], Tensor], wanted: Tensor, copies: int = 1) -> Tensor:
        """Apply a function to the `wanted` [B, V] visits to each example and keep its token scores apart: [V, R, L].

        The function gets rows and which visit this is to each of them, and gives [r, l]; visits that are not wanted
        score 0. Visits to different rows share batches. Gradients are enabled inside. `copies` is as for `rowwise`.
        """
        rows = self.batch.rows
        row, visit = torch.nonzero(wanted[rows.owner], as_tuple=True)
        result = torch.zeros(wanted.shape[1], *rows.unit_of.shape)

        def work(pack: Tensor) -> None:
            scored = score(rows.select(row[pack]), visit[pack])
            result[visit[pack], row[pack], : scored.shape[1]] = scored.detach().float().cpu()

        self._work(row, work, copies=copies)
        self._count(copies * wanted.sum(1))
        return result

    def shares(self, rows: Rows) -> Tensor:
        """The part each row has in its example's output: 1, or 1 / windows of a long document."""
        return (1 / torch.bincount(self.batch.rows.owner, minlength=len(self)))[rows.owner]

    def logit_gradient(self, logits: Tensor, scale: Scale) -> Tensor:
        """The derivative of each row's part in the explained value by the row's logits, [R, C].

        A document of several windows has the mean of their logits, so each window has its share.
        """
        rows, targets = self.batch.rows, self.targets.to(logits.device)
        chosen = torch.zeros_like(logits).scatter(1, targets[:, None], 1.0)  # [B, C]
        if scale != "logit" and not self.classifier.is_regression:
            probabilities = logits.softmax(-1)
            chosen = chosen - probabilities
            if scale == "prob":
                chosen = chosen * probabilities.gather(1, targets[:, None])
        return chosen[rows.owner.to(chosen.device)] * self.shares(rows)[:, None].to(chosen)

    def to_units(self, tokens: Tensor, pieces: Pieces = "sum") -> Tensor:
        """Gather token scores [R, L] into unit scores [B, U]; positions without a unit are left out."""
        rows, live = self.batch.rows, self.live
        real = rows.unit_of >= 0
        slot = (rows.owner[:, None] * live.shape[1] + rows.unit_of)[real]
        values = tokens[real]
        flat = torch.zeros(live.numel())
        if pieces in ("sum", "mean"):
            flat = flat.index_add(0, slot, values)
            counts = torch.zeros(live.numel()).index_add(0, slot, torch.ones(len(values))) if pieces == "mean" else None
            flat = flat if counts is None else flat / counts.clamp(min=1)
        elif pieces == "max":
            flat = flat.scatter_reduce(0, slot, values, "amax", include_self=False)
        else:
            flat[slot.flip(0)] = values.flip(0)  # written backwards, so that the first piece is written last
        return flat.view(live.shape)

    def generator(self, index: int, seed: int) -> torch.Generator:
        """A random generator for one example that depends on its content, not on its neighbours."""
        digest = hashlib.sha256(str(seed).encode())
        for name, value in sorted(self.batch.examples[index].inputs.items()):
            digest.update(name.encode())
            digest.update(
                value.pixels.tobytes() if isinstance(value, Image) else value.encode("utf-8", "surrogatepass")
            )
        return torch.Generator().manual_seed(int.from_bytes(digest.digest()[:8], "big") >> 1)

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

    def _portions(self, example: Tensor) -> Iterator[slice]:
        """Slices of the questions whose rows fit in memory at once."""
        windows = torch.bincount(self.batch.rows.owner, minlength=len(self))[example]
        start = 0
        while start < len(example):
            fitting = int((windows[start:].cumsum(0) <= _ROWS_AT_ONCE).sum())
            yield slice(start, start + max(1, fitting))
            start += max(1, fitting)

    def _portion(self, example: Tensor, keep: Tensor) -> Tensor:
        rows, question = self._rows_for(example)
        erased = self.eraser(self.classifier, rows, keep[question])
        found = self.engine.logits(self.classifier, erased, self._answers)
        return average_windows(found, question, len(example))

    def _rows_for(self, example: Tensor) -> tuple[Rows, Tensor]:
        """The rows of each question's example, and the question each row belongs to."""
        owner = self.batch.rows.owner
        if len(owner) == len(self):
            return self.batch.rows.select(example), torch.arange(len(example))
        of = [torch.nonzero(owner == index)[:, 0] for index in range(len(self))]
        index = torch.cat([of[which] for which in example.tolist()])
        question = torch.cat([torch.full((len(of[which]),), at) for at, which in enumerate(example.tolist())])
        return self.batch.rows.select(index), question


def _targets(classifier: Classifier, batch: Batch, output: Output, target: str) -> Tensor:
    if classifier.is_regression:
        return torch.zeros(len(batch), dtype=torch.long)
    if target == "predicted":
        return output.logits.argmax(-1)
    if target == "gold":
        return classifier.gold(batch.examples)
    if target not in classifier.labels:
        known = ", ".join(classifier.labels)
        raise UsageError(f"the model has no class {target!r}", remedy=f"Choose predicted, gold or one of: {known}.")
    return torch.full((len(batch),), classifier.labels.index(target))


def _check_finite(output: Output, batch: Batch) -> None:
    for example, logits in zip(batch.examples, output.logits, strict=True):
        if not torch.isfinite(logits).all():
            raise ModelError(
                f"the model gave {logits.tolist()}",
                example=example.id,
                remedy="Its weights or this input make it overflow; try fp32, or train again with a lower rate.",
            )
