"""The checkpoints of a training: which one to go on from, what is wrong with a damaged one, and a disk that is full."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from veridical.core.errors import StorageError
from veridical.core.storage import cannot_write

_STATE, _WEIGHTS = "trainer_state.json", "model.safetensors"
_ZIPPED = ("optimizer.pt", "scheduler.pt", "rng_state*.pth")  # of several processes, each has its own random state


@dataclass(frozen=True)
class Found:
    """The newest whole checkpoint, if any, and why newer ones are passed over."""

    path: Path | None = None
    damaged: tuple[str, ...] = ()

    @property
    def step(self) -> int:
        """The step that it was written after; 0 without one."""
        return _step(self.path) if self.path else 0


def last_checkpoint(folder: Path) -> Found:
    """The checkpoint to go on from. Where all are damaged, the newest is named with what is wrong with it.

    The state is written last: a checkpoint without one was never finished, and is none.
    """
    found = sorted((path.parent for path in folder.glob(f"checkpoint-*/{_STATE}")), key=_step, reverse=True)
    damaged: list[str] = []
    for checkpoint in found:
        problem = _problem(checkpoint)
        if problem is None:
            return Found(checkpoint, tuple(damaged))
        damaged.append(problem)
    if damaged:
        raise StorageError(
            f"no checkpoint can be used: {damaged[0]}",
            remedy=f"Restore the file, or delete {found[0]} and train anew with the same command.",
        )
    return Found()


def remove_checkpoints(out: str | PathLike[str]) -> None:
    """Free the space of a finished training; its best weights are saved apart."""
    for folder in Path(out).glob("checkpoint-*"):
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def written(checkpoint: Path) -> Iterator[None]:
    """A checkpoint that cannot be written is said to be so, and leaves no torn files that would take the space."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:  # torch says of a full disk that it lost its place
        said = cannot_write(checkpoint, error)  # before space is freed again
        shutil.rmtree(checkpoint, ignore_errors=True)
        raise said from error


def _problem(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint, or with the one that it says is the best so far."""
    try:
        state = _checked(checkpoint / _STATE, _read_state)
        best = checkpoint.with_name(f"checkpoint-{state.get('best_global_step') or _step(checkpoint)}")
        # The best may be gone if a later one, now damaged, was better: then it will be better again.
        for folder in (checkpoint, best) if best.exists() else (checkpoint,):
            _checked(folder / _WEIGHTS, _open_weights)
        for pattern in _ZIPPED:
            for file in sorted(checkpoint.glob(pattern)) or [checkpoint / pattern.replace("*", "")]:
                _checked(file, _open_zip)
    except _DamageError as damage:
        return str(damage)
    return None


class _DamageError(Exception):
    """A file of a checkpoint cannot be read."""


def _checked(path: Path, read: Callable[[Path], Any]) -> Any:
    """What a reader gives of a file; whatever it raises is damage to this file."""
    try:
        return read(path)
    except FileNotFoundError:
        raise _DamageError(f"{path} is missing") from None
    except (OSError, ValueError, SafetensorError, zipfile.BadZipFile) as error:
        raise _DamageError(f"{path} is damaged: {error}") from error


def _read_state(path: Path) -> dict[str, Any]:
    state = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(state, dict) or not isinstance(state.get("global_step"), int):
        raise ValueError("it holds no state of a training")
    return state


def _open_weights(path: Path) -> None:
    with safe_open(path, "pt"):  # compares the length of the file with what its head says
        pass


def _open_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as file:  # torch's files are zips, with a checksum of each part
        if (broken := file.testzip()) is not None:
            raise ValueError(f"the checksum of {broken} is wrong")


def _step(checkpoint: Path) -> int:
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
