"""The order of training examples: random, with texts of similar length together, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler

_BATCHES_TOGETHER = 50


class ByLength(Sampler[int]):
    """Shuffles each epoch, then sorts within stretches of some batches, so that batches carry little padding.

    The order depends on seed and epoch only, so a resumed training sees what the interrupted one would have seen.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        self.lengths = torch.tensor(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        shuffled = torch.randperm(len(self.lengths), generator=generator)
        stretches = shuffled.split(_BATCHES_TOGETHER * self.batch_size)
        ordered = torch.cat([stretch[self.lengths[stretch].argsort(stable=True)] for stretch in stretches])
        batches = list(ordered.split(self.batch_size))
        # Only full batches move: a short one in the middle would shift the cuts between all that follow.
        last = [batches.pop()] if len(batches[-1]) < self.batch_size else []
        order = torch.randperm(len(batches), generator=generator)
        for batch in [*(batches[index] for index in order.tolist()), *last]:
            yield from batch.tolist()
