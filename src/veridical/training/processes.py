"""Several processes that train together: they share the work of a look at data, and all know what came of it."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor, distributed

from veridical.core.values import Example
from veridical.masking import Engine
from veridical.models import Classifier

T = TypeVar("T")


def gathered(own: T) -> list[T]:
    """What each process has, in their order; all of them must call this. A process on its own has its own only."""
    if _count() == 1:
        return [own]
    found: list[T | None] = [None] * _count()
    distributed.all_gather_object(found, own)
    return [each for each in found if each is not None]


def from_first(compute: Callable[[], T]) -> T:
    """What the first process computes; the others wait for it."""
    found: list[T | None] = [compute() if _place() == 0 else None]
    if _count() > 1:
        distributed.broadcast_object_list(found, src=0)
    (result,) = found
    assert result is not None
    return result


def predict_together(classifier: Classifier, examples: Sequence[Example], engine: Engine) -> Tensor:
    """The logits of examples, [N, C], of which each process computes its share."""
    own = list(examples)[_place() :: _count()]
    parts = gathered(engine.predict(classifier, own) if own else torch.empty(0, max(1, len(classifier.labels))))
    whole = torch.empty(len(examples), parts[0].shape[1])
    for place, part in enumerate(parts):
        whole[place :: _count()] = part
    return whole


def processes_started() -> int:
    """How many processes were started to train together, as `torchrun` says, also before they know of each other."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@cache
def leave_at_exit() -> None:
    """Let this process take leave of the others when it ends: threads that still wait for them would abort it."""
    atexit.register(_leave)


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _count() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1


def _place() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0
