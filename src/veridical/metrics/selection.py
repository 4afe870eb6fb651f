"""Selections: which words scores keep, as options that several metrics share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from veridical.core.component import Component, Count, Share, Weight, option
from veridical.masking.erasure import places, share


@dataclass(frozen=True)
class Selecting(Component):
    """Metrics of selections: scores say which words are kept, and the others are not read."""

    words: Literal["top", "top-k", "above"] = option(
        "top", "Which words are selected: the first share, the first `k`, or all that score above a limit."
    )
    ratio: Share = option(0.2, "The share of the text's words that `words=top` selects.")
    k: Count = option(4, "How many words `words=top-k` selects.")
    limit: Weight = option(0.5, "What a word must score more than to be selected by `words=above`.")

    def selected(self, scores: Tensor, live: Tensor) -> Tensor:
        """Which units are selected, [B, U]."""
        if self.words == "above":
            return live & (scores > self.limit)
        units = live.sum(1)
        counts = share(self.ratio, units) if self.words == "top" else torch.full_like(units, self.k)
        return live & (places(scores, live) < counts[:, None])
