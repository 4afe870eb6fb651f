"""What tells one function from another that has the same name: a hash of its code, or of a fitted estimator."""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

_SIMPLE = (str, bytes, int, float, complex, bool, type(None))


def function_hash(function: Callable[..., Any]) -> str | None:
    """A hash that is the same in every process, or None where only the name of a function is known.

    It covers the code, and the simple values and functions that it closes over. It does not cover objects, such as the
    client of a service: they may hold what differs from run to run, and a job could not go on after a crash. A fitted
    estimator of scikit-learn is told by what it has learned.
    """
    owner = getattr(function, "__self__", None)
    if hasattr(owner, "predict_proba"):
        return _digest(_learned(owner))
    plain = function.__func__ if isinstance(function, MethodType) else function
    return _digest(_parts(plain)) if isinstance(plain, FunctionType) else None


def _digest(parts: Iterator[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _learned(value: Any) -> Iterator[str]:
    """What an estimator, or a part of one, was told and has learned; objects of other kinds count by their class."""
    if hasattr(value, "get_params"):
        yield type(value).__qualname__
        for name, part in sorted(vars(value).items()):
            # Private names hold addresses and caches, which are others in each process, but also whole estimators.
            if not name.startswith("_") or hasattr(part, "get_params"):
                yield name
                yield from _learned(part)
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            yield repr(key)
            yield from _learned(value[key])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _learned(part)
    elif isinstance(value, set | frozenset):
        yield " ".join(sorted(map(repr, value)))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype} {value.shape} {hashlib.blake2b(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    else:
        yield repr(value) if isinstance(value, (*_SIMPLE, np.generic)) else type(value).__qualname__


def _parts(function: FunctionType) -> Iterator[str]:
    yield from _code(function.__code__)
    # A variable that the function itself changes, such as a counter, is another one in each run.
    changed = {each.argval for each in dis.get_instructions(function) if each.opname == "STORE_DEREF"}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held = [cell.cell_contents for name, cell in cells if name not in changed and _is_filled(cell)]
    for value in [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *held]:
        if isinstance(value, FunctionType):
            if value is not function:  # one that calls itself
                yield from _code(value.__code__)
        else:
            yield repr(value) if isinstance(value, _SIMPLE) else type(value).__name__


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:  # the order of a set's members is another in each process
            yield " ".join(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a variable that has no value yet
        return False
