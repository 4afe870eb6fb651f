"""How a command starts, and ends, without waiting for Python's search for garbage."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_USUAL = gc.get_threshold()
_SELDOM = 100_000


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """While inside, objects are seldom searched for garbage, until a job asks for it by `collect_as_usual`.

    Torch and transformers make a million objects that stay as long as Python runs. Python would look through them
    dozens of times while they are made, and once more at the end: a third of the time of `veridical predict`.
    """
    atexit.register(gc.freeze)  # the last search passes over what is frozen
    gc.set_threshold(_SELDOM)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*_USUAL)


def collect_as_usual() -> None:
    """Search as often as Python does by itself, so that a long job gathers no garbage, but not in what is loaded."""
    gc.freeze()
    gc.set_threshold(*_USUAL)
