"""A `Case`: a classifier, some examples, the outputs to explain and an eraser, bound together once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, Unpack

import torch
from torch import Tensor

from veridical.core.errors import ModelError
from veridical.core.values import Example, Image
from veridical.masking.engine import Engine, Reader
from veridical.masking.erasure import ERASERS, Eraser
from veridical.masking.questions import Pieces, RowQuestions, Scale, entries_of, targets_of
from veridical.models import Batch, Classifier, Output, PassOptions, Rows
from veridical.models.classifier import average_windows

__all__ = ["Case", "Pieces", "Scale"]

_ROWS_AT_ONCE = 16_384

T = TypeVar("T")

Door = Callable[[Rows, Sequence[Tensor]], Callable[[Tensor], Tensor]]
"""Given rows and their hidden states, what becomes of what enters the first layer, [R, T, d]."""


@dataclass(frozen=True, kw_only=True)
class Case(RowQuestions):
    """Whatever asks a model about examples, or parts of them, asks a case.

    `targets` [B] are output indices; `asked` [B] counts the questions about each example so far. Questions about parts
    of examples are flattened, equal model inputs asked once, sorted by length, packed into batches by the engine and
    counted; memory is bounded by the engine's token budget.
    """

    eraser: Eraser
    _answers: dict[bytes, Tensor] = field(default_factory=dict, repr=False)
    _known: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of_output(
        cls, classifier: Classifier, batch: Batch, output: Output, target: str = "gold", eraser: str | Eraser = "mask"
    ) -> Case:
        """The case of a forward pass that was already made, as a training step makes it, with its gradients."""
        return cls(
            classifier=classifier,
            batch=batch,
            targets=targets_of(classifier, batch, output, target),
            engine=Engine(),
            output=output,
            asked=torch.ones(len(batch), dtype=torch.long),
            eraser=ERASERS.create(eraser),
        )

    @classmethod
    def bind(
        cls,
        classifier: Classifier,
        examples: Sequence[Example],
        *,
        target: str = "predicted",
        eraser: str | Eraser = "mask",
        engine: Engine | None = None,
        reader: Reader | None = None,
    ) -> Case:
        """Encode examples and choose what to explain: the `predicted` class, the `gold` one, or a label by name.

        Of a multi-label model, each predicted or gold label of an example is an entry of the case by itself. A `reader`
        is shown the pass that predicts, and `read` gives what it has read without another one.
        """
        engine = engine or Engine()
        chosen = ERASERS.create(eraser)
        batch = classifier.encode(examples)
        answers: dict[bytes, Tensor] = {}  # kept for the case: the whole text is asked about again and again
        known: dict[Hashable, Any] = {}
        if reader:
            rows, known[_Itself(reader)] = engine.read(classifier, batch.rows, reader, answers)
        else:
            rows = engine.logits(classifier, batch.rows, answers)
        output = Output(average_windows(rows, batch.rows.owner, len(batch)))
        _check_finite(output, batch)
        engine.cost.queries += len(batch)
        example, targets = entries_of(classifier, batch, output, target)
        if not torch.equal(example, torch.arange(len(batch))):  # several labels: an example stands there for each
            read = {key: tokens[batch.row_index(example)] for key, tokens in known.items()}
            batch, output, known = batch.repeated(example), Output(output.logits[example]), read
        asked = torch.ones(len(batch), dtype=torch.long)  # the prediction itself
        return cls(
            classifier=classifier,
            batch=batch,
            targets=targets,
            engine=engine,
            output=output,
            asked=asked,
            eraser=chosen,
            _answers=answers,
            _known=known,
        )

    @property
    def gold(self) -> Tensor:
        """The gold labels [B]: output indices, or the numbers a regression model should give."""
        return self.classifier.gold(self.batch.examples)

    def with_eraser(self, eraser: str | Eraser) -> Case:
        """The same case with another way to take words away."""
        return replace(self, eraser=ERASERS.create(eraser))

    def seen_by(self, classifier: Classifier) -> Case:
        """The same examples as another model sees them, asked and counted by the same engine; made once."""

        def bind() -> Case:
            return Case.bind(classifier, self.batch.examples, engine=self.engine)

        return self.once(("seen by", id(classifier)), bind)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, computed at the first call with this key: for what depends on the case alone.

        Cases that differ in their eraser share it, so a key has to name the eraser if it matters.
        """
        if key not in self._known:
            self._known[key] = compute()
        found: T = self._known[key]
        return found

    def read(self, reader: Reader) -> Tensor:
        """What a reader reads off the model's pass over each whole text, [R, L] or [R, L, K]."""

        def ask() -> Tensor:
            self._count(torch.ones_like(self.asked))
            return self.engine.read(self.classifier, self.batch.rows, reader, {})[1]

        return self.once(_Itself(reader), ask)

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
        self._require_eraser()
        self._count(torch.bincount(example, minlength=len(self)))
        parts = [self._portion(example[part], keep[part]) for part in self._portions(example)]
        return torch.cat(parts) if parts else torch.empty(0, self.output.logits.shape[1])

    def blank(self, scale: Scale = "prob") -> Tensor:
        """The target's value when nothing is left, [B]: no unit, and no special token or held field either."""
        self._require_eraser()
        rows = self.batch.rows
        one_unit = replace(rows, unit_of=torch.zeros_like(rows.unit_of))  # erasers spare what belongs to no unit
        return self.value_of(self.eraser(self.classifier, one_unit, torch.zeros(len(rows), 1, dtype=torch.bool)), scale)

    def value_of(self, rows: Rows, scale: Scale = "prob") -> Tensor:
        """The target's value when rows that were made of the case's own take their place, [B]."""
        self._count(torch.ones_like(self.asked))
        found = self.engine.logits(self.classifier, rows, self._answers)
        return self.scaled(average_windows(found, rows.owner, len(self)), self.targets, scale)

    def ask_with_gradients(
        self, example: Tensor | None = None, keep: Tensor | None = None, **options: Unpack[PassOptions]
    ) -> Output:
        """What a model in training says of examples of which only some units are kept, in one differentiable pass.

        `example` [N] are the examples of the questions (None: each once) and `keep` [N, U] what is left of them (None:
        all). Numbers between 0 and 1 keep a part of a unit, and gradients flow into them as into the weights. The
        output has logits [N, C]; all else that it shows is of the rows, as in `output`. Nothing is remembered, and the
        model stays in its mode.
        """
        rows, question = (self.batch.rows, self.batch.rows.owner) if example is None else self._rows_for(example)
        count = len(self) if example is None else len(example)
        if keep is not None:
            self._require_eraser()
            rows = self.eraser(self.classifier, rows, keep.cpu()[question])
            rows = rows.select(torch.arange(len(rows)))  # where words are deleted, texts are shorter
        output = self.run(rows, **options)
        return replace(output, logits=average_windows(output.logits, question, count))

    def logits_through(self, door: Door) -> Tensor:
        """All outputs [B, C] when what enters the first layer is changed, given the states of the whole text.

        That takes two passes of the model.
        """

        def read(rows: Rows) -> Tensor:
            hidden = self.classifier.run(rows, hidden=True).hidden
            assert hidden is not None
            return self.classifier.run(rows, enter=door(rows, hidden)).logits

        rows = self.batch.rows
        self._count(torch.full_like(self.asked, 2))
        found = self.engine.run(self.classifier, rows, torch.arange(len(rows)), read)
        self.engine.cost.forwards += len(rows)  # the second pass
        return average_windows(found, rows.owner, len(self))

    def logits_of_rewritten(self, example: Tensor, rewritten: Sequence[Example]) -> Tensor:
        """All outputs for other texts in the place of some examples [N]: [N, C]."""
        self.asked.add_(torch.bincount(example, minlength=len(self)))
        return self.engine.predict(self.classifier, rewritten)

    def generator(self, index: int, seed: int) -> torch.Generator:
        """A random generator for one example that depends on its content, not on its neighbours."""
        digest = hashlib.sha256(str(seed).encode())
        for name, value in sorted(self.batch.examples[index].inputs.items()):
            digest.update(name.encode())
            digest.update(
                value.pixels.tobytes() if isinstance(value, Image) else value.encode("utf-8", "surrogatepass")
            )
        # A seed has 63 bits: one more would be a negative number to torch.
        return torch.Generator().manual_seed(int.from_bytes(digest.digest()[:8], "big") >> 1)

    def _require_eraser(self) -> None:
        self.classifier.require(self.eraser.needs, asker=f"erasing by {ERASERS.name_of(self.eraser)!r}")

    def _portions(self, example: Tensor) -> Iterator[slice]:
        """Slices of the questions whose rows fit in memory at once."""
        windows = self._windows[example]  # [N], the rows that each question takes
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
        if len(owner) == len(self):  # no example has more than one window
            return self.batch.rows.select(example), torch.arange(len(example))
        of = [torch.nonzero(owner == index)[:, 0] for index in range(len(self))]
        index = torch.cat([of[which] for which in example.tolist()])
        question = torch.cat([torch.full((len(of[which]),), at) for at, which in enumerate(example.tolist())])
        return self.batch.rows.select(index), question


class _Itself:
    """A key for a reader, which is equal to that of no other: two with the same settings may have learned differently.

    It holds the reader. An address alone would be that of another one as soon as the first is gone.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.reader is other.reader

    def __hash__(self) -> int:
        return id(self.reader)


def _check_finite(output: Output, batch: Batch) -> None:
    for example, logits in zip(batch.examples, output.logits, strict=True):
        if not torch.isfinite(logits).all():
            raise ModelError(
                f"the model gave {logits.tolist()}",
                example=example.id,
                remedy="Its weights or this input make it overflow; try fp32, or train again with a lower rate.",
            )
