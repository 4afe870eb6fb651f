"""The one engine: runs many rows of different lengths through a model in batches of bounded size, each row once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.values import Example
from veridical.models import Classifier, Output, Rows
from veridical.models.classifier import average_windows

Precision = Literal["fp32", "bf16"]

_BF16_FLAGS = ("avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16")

_BATCH_PRICE = 1 / 32
"""What one more batch costs, as a part of the tokens that a batch may hold: with MiniLM on a processor, as much as some
dozens of positions. Larger models pay less. On a GPU it takes longer, but there batches are larger, too."""


@dataclass
class Cost:
    """What was asked and what was run. Methods are compared on `queries`; the rest shows what sharing saved."""

    queries: int = 0
    forwards: int = 0
    backwards: int = 0


@runtime_checkable
class Reader(Protocol):
    """Something that scores tokens by what a model shows of its pass over a text."""

    def read(self, rows: Rows, output: Output) -> Tensor:
        """A number for each position, [R, L], or several [R, L, K], from an output with hidden states."""
        ...


@dataclass
class Engine:
    """How model inputs are run: `tokens` bounds a batch and so the memory; `precision` is recorded in every spec.

    `watch` is called after each batch with the number of rows done, for progress bars. `remember` bounds the number of
    answers kept to answer the same question again.
    """

    tokens: int = 1024
    precision: Precision = "fp32"
    watch: Callable[[int], None] = lambda _rows: None
    remember: int = 50_000
    cost: Cost = field(default_factory=Cost)

    def packs(self, lengths: Tensor, gradients: bool = True) -> Iterator[Tensor]:
        """Row indices in batches of similar lengths, each with at most `tokens` positions (or one row).

        Without gradients nothing has to be kept for the way back, and twice as many fit.
        """
        tokens = self.tokens if gradients else 2 * self.tokens
        order = lengths.argsort(descending=True, stable=True)
        while len(order):
            longest = max(1, int(lengths[order[0]]))
            rows = self._without_padding(lengths[order[: max(1, tokens // longest)]])
            yield order[:rows]
            order = order[rows:]

    def _without_padding(self, lengths: Tensor) -> int:
        """How many of some rows, longest first, to run at once: padding costs as much as words do."""
        rows = len(lengths)
        while True:
            # What is saved when a batch ends before a row: that row and all after it need not be as long as the first.
            saved = (lengths[0] - lengths[:rows]) * torch.arange(rows, 0, -1)
            end = int(saved.argmax())
            if saved[end] <= _BATCH_PRICE * self.tokens:
                return rows
            rows = end

    def logits(self, classifier: Classifier, rows: Rows, answers: dict[bytes, Tensor]) -> Tensor:
        """The logits of each row, [R, C]; equal rows are run once, and not at all when `answers` has them."""
        keys = rows.keys()
        first = {key: index for index, key in reversed(list(enumerate(keys))) if key not in answers}
        fresh = torch.tensor(sorted(first.values()), dtype=torch.long)
        found = self.run(classifier, rows, fresh)
        new = {keys[index]: row for index, row in zip(fresh.tolist(), found, strict=True)}
        result = torch.stack([new[key] if key in new else answers[key] for key in keys])
        if len(answers) + len(new) <= self.remember:
            answers.update(new)
        return result

    def read(
        self, classifier: Classifier, rows: Rows, reader: Reader, answers: dict[bytes, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The logits of each row, [R, C], and what a reader reads off the same pass, [R, L] or [R, L, K]."""
        width = rows.unit_of.shape[1]
        outputs = max(1, len(classifier.labels))
        several: tuple[int, ...] = ()

        def both(part: Rows) -> Tensor:
            nonlocal several
            output = classifier.run(part, hidden=True)
            tokens = reader.read(part, output).to(output.logits)
            several = tuple(tokens.shape[2:])
            flat = tokens.flatten(1)
            missing = (width - tokens.shape[1]) * math.prod(several)
            return torch.cat([output.logits, functional.pad(flat, (0, missing))], 1)

        found = self.run(classifier, rows, torch.arange(len(rows)), both)
        logits, tokens = found[:, :outputs], found[:, outputs:].view(len(rows), width, *several)
        if len(rows) <= self.remember:
            answers.update(zip(rows.keys(), logits, strict=True))
        return logits, tokens

    def predict(self, classifier: Classifier, examples: Sequence[Example], portion: int = 512) -> Tensor:
        """The logits of whole examples, [N, C]."""
        found = []
        for start in range(0, len(examples), portion):
            batch = classifier.encode(examples[start : start + portion])
            rows = self.logits(classifier, batch.rows, {})
            found.append(average_windows(rows, batch.rows.owner, len(batch)))
            self.cost.queries += len(batch)
        return torch.cat(found)

    def run(
        self, classifier: Classifier, rows: Rows, index: Tensor, read: Callable[[Rows], Tensor] | None = None
    ) -> Tensor:
        """What `read` gives for some rows [N], without gradients: [N, ...]; by default their logits, [N, C]."""
        read = read or (lambda part: classifier.run(part).logits)
        # Filled in place: a small tensor kept from each batch would lie between the large ones the next batch frees,
        # and the heap would grow with the number of batches.
        found = torch.empty(len(index), max(1, len(classifier.labels)))
        with torch.no_grad(), classifier.evaluating(), classifier.fused(), self.casting(classifier):
            for pack in self.packs(rows.lengths[index], gradients=False):
                values = read(rows.select(index[pack])).float().cpu()
                if found.shape[1:] != values.shape[1:]:  # known only now
                    found = torch.empty(len(index), *values.shape[1:])
                found[pack] = values
                self.cost.forwards += len(pack)
                self.watch(len(pack))
        return found

    def casting(self, classifier: Classifier) -> AbstractContextManager[Any]:
        """The precision as a context."""
        if self.precision == "fp32":
            return nullcontext()
        return torch.autocast(classifier.device.type, torch.bfloat16)


def bf16_instructions() -> list[str]:
    """Which of the processor's instructions compute in bf16, as Linux names them."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    flags = next((line.split() for line in lines if line.lower().startswith(("flags", "features"))), [])
    return [flag for flag in _BF16_FLAGS if flag in flags]
