"""A classifier that is a formula: its explanations can be worked out with a pencil."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import torch
from torch import Tensor

from veridical.core.values import TEXT, Example, Unit
from veridical.models import Ability, Batch, Classifier, Output, PassOptions, Rows
from veridical.models.text_rows import word_spans

_NOTHING = 0


class Formula(Classifier):
    """Each word has a number, its one-dimensional embedding; the logits [R, C] are a function of these numbers [R, L].

    Erased words count 0, however they are erased. There are no special tokens.

    >>> Formula({"good": 2.0, "bad": -1.0}, lambda x: torch.stack([torch.zeros(len(x)), x.sum(1)], 1))
    """

    kind = "formula"
    provides = frozenset(
        {
            Ability.GRADIENTS,
            Ability.EMBEDDINGS,
            Ability.EMBEDDING_OUTPUT,
            Ability.HIDDEN,
            Ability.DELETE,
            Ability.MASK,
            Ability.PAD,
            Ability.PAD_ATTN,
            Ability.ZERO,
        }
    )

    def __init__(
        self, values: Mapping[str, float], function: Callable[[Tensor], Tensor], labels: Sequence[str] = ("no", "yes")
    ) -> None:
        self.labels = tuple(labels)
        self.function = function
        self.ids = {word: index + 1 for index, word in enumerate(values)}
        self.table = torch.tensor([0.0, *values.values()], dtype=torch.float64)

    @classmethod
    def linear(cls, weights: Mapping[str, float], bias: float = 0.0) -> Formula:
        """The logit of `yes` is the sum of the weights of the words plus a bias; that of `no` is 0."""
        return cls(weights, lambda x: torch.stack([torch.zeros_like(x[:, 0]), x.sum(1) + bias], 1))

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "units": "word"}

    def encode(self, examples: Sequence[Example]) -> Batch:
        texts = [str(example.inputs[TEXT]) for example in examples]
        units = tuple(tuple(Unit(TEXT, span, text[slice(*span)]) for span in word_spans(text)) for text in texts)
        counts = torch.tensor([len(each) for each in units])
        width = int(counts.max())
        known = [[self.ids[unit.text] for unit in each] for each in units]
        ids = torch.tensor([each + [_NOTHING] * (width - len(each)) for each in known])
        places = torch.arange(width).expand(len(examples), -1)
        places = places.masked_fill(places >= counts[:, None], -1)
        rows = Rows({"ids": ids.view(len(examples), width)}, places, torch.arange(len(examples)), counts)
        return Batch(tuple(examples), units, rows, (0,) * len(examples))

    def run(self, rows: Rows, **options: Unpack[PassOptions]) -> Output:
        embeds, enter, shift = options.get("embeds"), options.get("enter"), options.get("shift")
        values = self.embed(rows) if embeds is None else embeds
        values = values if enter is None else enter(values)
        values = values if shift is None else values + shift
        return Output(self.function(values[..., 0]), hidden=(values,) if options.get("hidden") else None)

    def embed(self, rows: Rows) -> Tensor:
        values = self.table[rows.inputs["ids"]][..., None]
        return values if rows.gate is None else values * rows.gate[..., None]

    def no_shift(self, rows: Rows) -> Tensor:
        return torch.zeros_like(self.embed(rows))

    def drop(self, rows: Rows, gone: Tensor) -> Rows:
        return self.substitute(rows, gone, "mask")

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        return replace(rows, inputs={"ids": rows.inputs["ids"].masked_fill(gone, _NOTHING)})

    def hide(self, rows: Rows, weight: Tensor) -> Rows:
        return replace(rows, gate=weight.double())
