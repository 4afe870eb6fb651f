"""Jobs: work on any number of examples, cut into portions, done by a runner, handed over with what it cost.

    portions(examples) -> runner(job, portions, watch) -> results -> whoever takes them: a file, a list

A job is a value, so a runner may do its portions anywhere: one after the other, as here, or in other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from veridical.core.errors import InputError, ModelError, VeridicalError
from veridical.core.progress import Watch
from veridical.core.values import Example
from veridical.masking import Engine
from veridical.masking.engine import Cost, Precision
from veridical.models import Classifier
from veridical.run.handle import ModelHandle

T = TypeVar("T")

# The most that a portion has of each, unless a single example has more.
_EXAMPLES_AT_ONCE = 256
_CHARACTERS_AT_ONCE = 60_000
_INPUTS_AT_ONCE = 10_000
_SECONDS_AT_ONCE = 10.0  # of one core, by the model's own estimate: what a kill costs

_IN_A_ROW = 5
"""How many examples in a row a model may fail for. One or two may be bad luck, and cost only themselves. After five the
model is gone: to ask it about thousands more would take a timeout for each, and tell nothing new."""

_GO_ON = (
    "See that the model answers, and run the same command again: it goes on from there. If it is these examples that "
    "it cannot answer, leave them out."
)


@dataclass(frozen=True)
class Failure:
    """An example that could not be done, and why."""

    example_id: str
    error: VeridicalError


@dataclass(frozen=True)
class Result(Generic[T]):
    """What came of a portion, in the order of its examples, and what that cost.

    An example may have several outcomes: one explanation for each of its targets. The last examples of a portion have
    none if the model failed for too many in a row.
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


class Size(NamedTuple):
    """What doing an example takes, as far as that can be told before: its text, model inputs, and seconds of a core."""

    characters: int
    inputs: int
    seconds: float

    def and_more(self, other: Size) -> Size:
        """What two take together."""
        return Size(self.characters + other.characters, self.inputs + other.inputs, self.seconds + other.seconds)


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
        """How many model inputs an example of so many units takes, beside the one that binds it to its case."""
        return 0

    def size(self, example: Example) -> Size:
        """What an example adds to a portion."""
        positions = self.model.classifier.positions(example)
        inputs = 1 + self.passes(positions)  # one to bind it to its case
        return Size(_characters(example), inputs, inputs * self.model.classifier.seconds(positions))

    def portions(self, examples: Iterable[Example]) -> Iterator[list[Example]]:
        """The portions of some examples; the same examples always make the same portions."""
        return portions(examples, self.size)

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


def portions(examples: Iterable[Example], size: Callable[[Example], Size]) -> Iterator[list[Example]]:
    """Neighbouring examples that are done together, so that they share batches; bounded by their size and work.

    What is lost when a job is killed is the portion it was at. The same examples always make the same portions, on a
    slow machine as on a fast one: so what is done again comes out the same, to the last digit.
    """
    most = Size(_CHARACTERS_AT_ONCE, _INPUTS_AT_ONCE, _SECONDS_AT_ONCE)
    held: list[Example] = []
    total = Size(0, 0, 0.0)
    for example in examples:
        own = size(example)
        grown = total.and_more(own)
        is_full = len(held) == _EXAMPLES_AT_ONCE or any(have > may for have, may in zip(grown, most, strict=True))
        if held and is_full:
            yield held
            held, grown = [], own
        held.append(example)
        total = grown
    if held:
        yield held


def _characters(example: Example) -> int:
    return sum(len(value) for value in example.inputs.values() if isinstance(value, str))


def each(examples: list[Example], work: Callable[[list[Example]], Sequence[T | Failure]]) -> list[T | Failure]:
    """Do a portion; when one of it cannot be done, find it by halves, so that the others are not lost.

    Once the model has failed for several in a row, the rest is not tried.
    """
    found: list[T | Failure] = []
    waiting = [examples]
    while waiting and len(failed_last(found)) < _IN_A_ROW:
        some = waiting.pop()
        try:
            found += work(some)
        except (InputError, ModelError) as error:
            if len(some) == 1:
                found.append(Failure(some[0].id, error))
            else:
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
    return found


def failed_last(outcomes: Sequence[T | Failure]) -> list[Failure]:
    """The failures of the model at the end of some outcomes; what is wrong with an example is not one."""
    found: list[Failure] = []
    for outcome in reversed(outcomes):
        if not isinstance(outcome, Failure):
            break
        if isinstance(outcome.error, ModelError):
            found.insert(0, outcome)
    return found


def while_it_answers(
    results: Iterable[Result[T]], safe: Callable[[], str], remedy: str = _GO_ON
) -> Iterator[Result[T]]:
    """Hand results on until the model has failed for several examples in a row, and then stop the job with an error.

    A result is handed on before the job stops, so that what is finished is kept. `safe` then says how much that is.
    """
    failed: list[Failure] = []
    for result in results:
        yield result
        failed = failed_last([*failed, *result.outcomes])
        if len(failed) >= _IN_A_ROW:
            ids = ", ".join(failure.example_id for failure in failed)
            problem = f"the model failed for {len(failed)} examples in a row ({ids}): {failed[-1].error.problem}"
            raise ModelError(f"{problem}; {safe()}", remedy=remedy) from failed[-1].error


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
