"""What a peer is to the benchmark: a method of ours, and ways to run theirs on a workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from timing import Run
from torch import Tensor
from workload import Document, Workload

Options = dict[str, Any]


class Unavailable(Exception):  # noqa: N818
    """A peer that is not there, and why."""


@dataclass(frozen=True)
class Variant:
    """A peer's method as its users get it, or (`tuned`) with the best of several options.

    `make(work, **options)` gives a run that explains every text once. `rival` is the method of ours it is held against.
    """

    peer: str
    name: str
    rival: str
    make: Callable[..., Run]
    tuned: bool = False
    options: tuple[Options, ...] = field(default=({},))

    @property
    def title(self) -> str:
        return f"{self.rival}: {self.peer} {self.name}, {'best-tuned' if self.tuned else 'default'}"


def framed(work: Workload, content: Tensor) -> Tensor:
    """Content ids [N, L] between the special tokens, which no method may erase: [N, L + 2]."""
    ends = torch.tensor([work.tokenizer.cls_token_id, work.tokenizer.sep_token_id]).expand(len(content), 2)
    return torch.cat([ends[:, :1], content, ends[:, 1:]], dim=1)


def probabilities(work: Workload, content: Tensor) -> Tensor:
    """What the model says of content ids, [N, C]."""
    ids = framed(work, content)
    return torch.as_tensor(work.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.softmax(-1))


def read(work: Workload, texts: list[str]) -> Tensor:
    """What the model says of strings, [N, C], all in one pass."""
    with torch.no_grad():
        inputs = work.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        return torch.as_tensor(work.model(**inputs).logits.softmax(-1))


def read_batched(work: Workload, texts: list[str], batch: int) -> Tensor:
    """The same in batches of texts of similar length."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    found = torch.cat([read(work, [texts[at] for at in order[i : i + batch]]) for i in range(0, len(order), batch)])
    return found[torch.tensor(order).argsort()]


def masked(work: Workload, document: Document, keep: Tensor) -> Tensor:
    """Content ids [N, L] with the mask token in place of the words that are not kept, [N, W]."""
    return torch.where(keep[:, document.word_of], document.ids, work.tokenizer.mask_token_id)
