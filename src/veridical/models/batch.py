"""Encoded examples: `Rows` is what a model reads, `Batch` adds the units that people read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, TypedDict

import torch
from torch import Tensor

from veridical.core.values import Example, Unit

ENTRY = "entry"
"""The `fill` of rows whose gate acts on what enters the first layer, position and all, and not on embeddings."""


@dataclass(frozen=True)
class Rows:
    """Model inputs, one row per text window or image; an example has one row, a long document several.

    `unit_of` [R, L] gives the unit at each position, -1 at special tokens, padding and held fields. `owner` [R] gives
    the example of each row. `gate` [R, L] blends each position's embedding with the `fill` vector (1 keeps it); with
    the fill `ENTRY` it shrinks what enters the first layer instead. `context` is private to the classifier that made
    the rows.
    """

    inputs: Mapping[str, Tensor]
    unit_of: Tensor
    owner: Tensor
    lengths: Tensor
    gate: Tensor | None = None
    fill: str = "zero"
    context: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.owner)

    def select(self, index: Tensor) -> Rows:
        """Some of the rows, without the padding that only the others needed."""
        longest = int(self.lengths[index].max()) if len(index) else 0
        width = self.unit_of.shape[1]

        def cut(values: Tensor) -> Tensor:
            picked = values[index]
            return picked[:, :longest] if picked.dim() > 1 and picked.shape[1] == width else picked

        return replace(
            self,
            inputs={name: cut(values) for name, values in self.inputs.items()},
            unit_of=cut(self.unit_of),
            owner=self.owner[index],
            lengths=self.lengths[index],
            gate=None if self.gate is None else cut(self.gate),
        )

    def to(self, device: torch.device | str) -> Rows:
        """The same rows with their model inputs on another device; bookkeeping stays on the CPU."""
        return replace(self, inputs={name: values.to(device) for name, values in self.inputs.items()})

    def keys(self) -> list[bytes]:
        """One short key per row, equal when the model would read the same thing."""
        parts = [values.cpu() for _, values in sorted(self.inputs.items())]
        parts += [] if self.gate is None else [self.gate.detach().cpu()]
        width, lengths = self.unit_of.shape[1], self.lengths.tolist()
        # Padding is cut off, or the same text would have another key beside a longer neighbour.
        columns = [
            [row[:length].numpy().tobytes() for row, length in zip(part, lengths, strict=True)]
            if part.dim() > 1 and part.shape[1] == width
            else [row.numpy().tobytes() for row in part]
            for part in parts
        ]
        start = b"" if self.gate is None else self.fill.encode()
        return [blake2b(b"|".join((start, *row)), digest_size=16).digest() for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Batch:
    """Examples with their units and the rows a model reads for them.

    `live` [B, U] says which unit slots are real; examples with fewer units than the longest have empty slots.
    `truncated` counts, per example, the units beyond the model's limit, which it never sees.
    """

    examples: tuple[Example, ...]
    units: tuple[tuple[Unit, ...], ...]
    rows: Rows
    truncated: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def live(self) -> Tensor:
        counts = torch.tensor([len(units) for units in self.units], dtype=torch.long)
        width = int(counts.max()) if len(counts) else 0
        return torch.arange(width)[None, :] < counts[:, None]  # [B, U]

    def row_index(self, index: Tensor) -> Tensor:
        """The rows of the examples at some places [N], one after the other."""
        owner = self.rows.owner
        return torch.cat([torch.nonzero(owner == place)[:, 0] for place in index.tolist()])

    def repeated(self, index: Tensor) -> Batch:
        """The examples at some places [N], each with its own rows; a place may come more than once."""
        at, windows = index.tolist(), torch.bincount(self.rows.owner, minlength=len(self))
        entry = torch.arange(len(at)).repeat_interleave(windows[index])
        rows = replace(self.rows.select(self.row_index(index)), owner=entry)
        return Batch(
            tuple(self.examples[place] for place in at),
            tuple(self.units[place] for place in at),
            rows,
            tuple(self.truncated[place] for place in at),
        )


class PassOptions(TypedDict, total=False):
    """What a forward pass may be given beside its rows, and what it may be asked to show.

    `embeds` [R, L, e] takes the place of the input embeddings. What enters the first layer, the first of the hidden
    states, is what `enter` makes of it [R, T, d], with `shift` [R, L, d] added; the gradient by a shift of 0 is the
    gradient by that. `attentions`, `hidden` and `pooled` ask for these parts of the output.
    """

    embeds: Tensor | None
    enter: Callable[[Tensor], Tensor] | None
    shift: Tensor | None
    attentions: bool
    hidden: bool
    pooled: bool


@dataclass(frozen=True)
class Output:
    """What a model said of rows or examples: `logits` [B, C], and on request more of what it computed.

    `attentions` has one [B, H, T, T] tensor per layer, after the softmax; `hidden` one [B, T, d] tensor per layer and
    one for the embeddings. A model whose attention is `local` only tells [B, H, T, G]: how much each of its G global
    tokens, the first of which is the classification token, attends to each position. `readers` [B, T] is the share of
    each position in the vector that the head reads; None means that it reads the first token's. `pooled` [B, h] is what
    the last layer of the head reads.
    """

    logits: Tensor
    attentions: tuple[Tensor, ...] | None = None
    hidden: tuple[Tensor, ...] | None = None
    local: bool = False
    readers: Tensor | None = None
    pooled: Tensor | None = None

    def part(self, which: slice) -> Output:
        """What was said of some of the rows."""

        def cut(layers: tuple[Tensor, ...] | None) -> tuple[Tensor, ...] | None:
            return None if layers is None else tuple(layer[which] for layer in layers)

        readers = None if self.readers is None else self.readers[which]
        pooled = None if self.pooled is None else self.pooled[which]
        return Output(self.logits[which], cut(self.attentions), cut(self.hidden), self.local, readers, pooled)

    @property
    def head_state(self) -> Tensor:
        """The last hidden state that the head reads, [B, d]: the first token's, or the mean over readers."""
        assert self.hidden is not None
        last = self.hidden[-1]
        return last[:, 0] if self.readers is None else (last * self.readers.to(last)[..., None]).sum(1)

    def as_read(self, weights: Tensor) -> Tensor:
        """What the head's vector attends to in a layer, [B, H, T]: the first token's row, or the mean over readers."""
        if self.readers is None:
            return weights[..., 0] if self.local else weights[:, :, 0]
        return (weights * self.readers.to(weights)[:, None, :, None]).sum(2)

    def as_read_gradient(self, gradient: Tensor) -> Tensor:
        """The derivative by `as_read`, [B, H, T]: how the output changes when all that read look there more."""
        return self.as_read(gradient) if self.readers is None else gradient.sum(2)
