"""Jobs: work on any number of examples, cut into portions, done by a runner, handed over with what it cost.

    portions(examples) -> runner(job, portions, watch) -> results -> whoever takes them: a file, a list

A job is a value, so a runner may do its portions anywhere: one after the other, as here, or in other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeGuard, TypeVar, cast

from veridical.core.errors import InputError, ModelError, VeridicalError
from veridical.core.progress import Watch
from veridical.core.values import Example, Image
from veridical.data import Dataset
from veridical.masking import Engine
from veridical.masking.engine import Cost, Precision
from veridical.models import Classifier
from veridical.run.handle import ModelHandle

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


@dataclass(frozen=True)
class Result(Generic[T]):
    """What came of a portion, in the order of its examples, and what that cost.

    An example may have several outcomes: one explanation for each of its targets.
    """

    outcomes: tuple[T | Failure, ...]
    cost: Cost = field(default_factory=Cost)

    @property
    def made(self) -> list[T]:
        return [each for each in self.outcomes if not isinstance(each, Failure)]

    @property
    def failures(self) -> list[Failure]:
        return [each for each in self.outcomes if isinstance(each, Failure)]


@dataclass(frozen=True)
class EngineSettings:
    """How model inputs are run, as a value: an engine without its counts."""

    tokens: int
    precision: Precision
    remember: int

    @classmethod
    def of(cls, engine: Engine | None) -> EngineSettings:
        engine = engine or Engine()
        return cls(engine.tokens, engine.precision, engine.remember)

    def engine(self) -> Engine:
        return Engine(self.tokens, self.precision, remember=self.remember)


@dataclass(frozen=True)
class Job(ABC, Generic[T]):
    """What stays the same from portion to portion: a model, what is asked of it, and how it is run."""

    model: ModelHandle
    target: str
    settings: EngineSettings

    @abstractmethod
    def work(self, examples: list[Example], engine: Engine) -> Sequence[T | Failure]:
        """What is made of some examples, in their order; an example that cannot be done may raise for all of them."""

    def passes(self, units: int) -> int:
        """How many model inputs an example of so many units takes."""
        return 1

    def portions(self, examples: Iterable[Example]) -> Iterator[list[Example]]:
        """The portions of some examples; the same examples always make the same portions."""
        return portions(examples, self.passes)

    def do(self, portion: list[Example], after_batch: Callable[[Cost], None] = lambda _cost: None) -> Result[T]:
        """Do a portion. `after_batch` is told the cost so far after each batch, and may raise to stop."""
        engine = self.settings.engine()
        engine.watch = lambda _rows: after_batch(engine.cost)
        return Result(tuple(each(portion, lambda some: self.work(some, engine))), engine.cost)


class Runner(Protocol):
    """Does the portions of a job somewhere, and gives their results in the order of the portions."""

    def __call__(self, job: Job[T], portions: Iterable[list[Example]], watch: Watch) -> Iterator[Result[T]]:
        """Results as soon as they are there; the watch is told of the work, and may stop it."""
        ...


def serially(job: Job[T], portions: Iterable[list[Example]], watch: Watch) -> Iterator[Result[T]]:
    """Do one portion after the other in this process."""
    forwards = 0
    for portion in portions:
        watch.check()
        result = job.do(portion, partial(_tell, watch, forwards))
        forwards += result.cost.forwards
        yield result


def _tell(watch: Watch, before: int, cost: Cost) -> None:
    watch.note(f"{before + cost.forwards:,} model inputs")


def charge(cost: Cost, more: Cost) -> None:
    """Add what a portion cost to what was spent before."""
    cost.queries += more.queries
    cost.forwards += more.forwards
    cost.backwards += more.backwards


def as_examples(given: Given | Iterable[Given]) -> list[Example]:
    """Examples of bare texts, pairs or images, numbered in their order; one alone is a list of one."""
    several: Iterable[Given] = [given] if _is_one(given) else cast("Iterable[Given]", given)
    return [Example.of(value, str(index)) for index, value in enumerate(several)]


def data_name(given: Given | Iterable[Given]) -> str | None:
    """The name of the data that examples are of; examples that were made in Python have none."""
    return given.name if isinstance(given, Dataset) else None


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


def one_target(classifier: Classifier) -> str:
    """A target that every example has exactly once, for questions about examples and not about their labels."""
    return classifier.labels[0] if classifier.is_multi_label else "predicted"


def all_or_raise(results: Iterable[Result[T]]) -> list[T]:
    """All that was made, or the error of the first example that failed."""
    found: list[T] = []
    for result in results:
        if result.failures:
            raise result.failures[0].error
        found += result.made
    return found
