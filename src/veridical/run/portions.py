"""Working through many examples in portions, so that one bad example costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard, TypeVar, cast

from veridical.core.errors import InputError, ModelError, VeridicalError
from veridical.core.example import Example, Image

T = TypeVar("T")

Given = str | tuple[str, str] | Image | Example
"""What a caller may hand over as an example."""

_CHARACTERS_AT_ONCE = 60_000
_EXAMPLES_AT_ONCE = 256
_INPUTS_AT_ONCE = 10_000
_CHARACTERS_OF_A_WORD = 5


@dataclass(frozen=True)
class Failure:
    """An example that could not be done, and why."""

    example_id: str
    error: VeridicalError


def as_examples(given: Given | Iterable[Given]) -> list[Example]:
    """Examples of bare texts, pairs or images, numbered in their order; one alone is a list of one."""
    several: Iterable[Given] = [given] if _is_one(given) else cast("Iterable[Given]", given)
    return [Example.of(value, str(index)) for index, value in enumerate(several)]


def _is_one(given: Given | Iterable[Given]) -> TypeGuard[Given]:
    pair = isinstance(given, tuple) and all(isinstance(part, str) for part in given)
    return pair or isinstance(given, str | Image | Example)


def portions(examples: Iterable[Example], passes: Callable[[int], int] = lambda _: 1) -> Iterator[list[Example]]:
    """Neighbouring examples that are done together, so that they share batches; bounded by their size and work.

    `passes` says how many model inputs an example of so many units takes. What is lost when a job is killed is the
    portion it was at, and the same examples always make the same portions.
    """
    held: list[Example] = []
    size = work = 0
    for example in examples:
        length = sum(len(value) for value in example.inputs.values() if isinstance(value, str))
        inputs = passes(length // _CHARACTERS_OF_A_WORD + 1)
        full = size + length > _CHARACTERS_AT_ONCE or work + inputs > _INPUTS_AT_ONCE or len(held) == _EXAMPLES_AT_ONCE
        if held and full:
            yield held
            held, size, work = [], 0, 0
        held.append(example)
        size += length
        work += inputs
    if held:
        yield held


def each(examples: list[Example], work: Callable[[list[Example]], Sequence[T | Failure]]) -> list[T | Failure]:
    """Do a portion; when one of it cannot be done, find it by halves, so that the others are not lost."""
    try:
        return list(work(examples))
    except (InputError, ModelError) as error:
        if len(examples) == 1:
            return [Failure(examples[0].id, error)]
        half = len(examples) // 2
        return [*each(examples[:half], work), *each(examples[half:], work)]


def all_or_raise(results: Iterable[T | Failure]) -> list[T]:
    """The results, or the error of the first example that failed."""
    found: list[T] = []
    for result in results:
        if isinstance(result, Failure):
            raise result.error
        found.append(result)
    return found
