"""Texts as vectors: the sum of a pretrained encoder's last hidden states over all tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from veridical.core.example import Example
from veridical.masking import Engine
from veridical.models import Classifier, Rows
from veridical.models.starting import start
from veridical.models.texts import texts_of

_REMEMBER = 20_000
_AT_ONCE = 256

Texts = tuple[str, str]


@dataclass(frozen=True)
class Encoder:
    """An encoder that remembers the vectors of texts: all methods of an audit are judged on the same ones."""

    classifier: Classifier
    known: dict[Texts, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def vectors(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """One vector per example, [N, d]."""
        texts = {texts_of(example): example for example in examples}
        fresh = [example for key, example in texts.items() if key not in self.known]
        for at in range(0, len(fresh), _AT_ONCE):
            part = fresh[at : at + _AT_ONCE]
            self.known.update(zip(map(texts_of, part), self._read(part).numpy(), strict=True))
        found = np.stack([self.known[texts_of(example)] for example in examples]).astype(np.float64)
        for key in list(self.known)[:-_REMEMBER]:  # the oldest
            del self.known[key]
        return found

    def _read(self, examples: Sequence[Example]) -> Tensor:
        rows, engine = self.classifier.encode(examples).rows, Engine()
        with torch.no_grad(), self.classifier.evaluating(), self.classifier.fused():
            packs = [(pack, self._sums(rows.select(pack))) for pack in engine.packs(rows.lengths, gradients=False)]
        total = torch.zeros(len(examples), packs[0][1].shape[1])
        for pack, sums in packs:
            total.index_add_(0, rows.owner[pack], sums)
        return total

    def _sums(self, rows: Rows) -> Tensor:
        """The sum of the last hidden states of each row, [r, d]."""
        hidden = self.classifier.run(rows, hidden=True).hidden
        assert hidden is not None
        last = hidden[-1].float().cpu()  # [r, l, d]
        real = torch.arange(last.shape[1]) < rows.lengths[:, None]  # [r, l]
        return (last * real[..., None]).sum(1)


@lru_cache(maxsize=1)
def load_encoder(source: str) -> Encoder:
    """The encoder of a folder or hub id, or the `embedded` one. It is kept until another is asked for."""
    # Only the hidden states are read, so it does not matter what the new head would say.
    return Encoder(start(source, [Example.of("")], ("no", "yes")))
