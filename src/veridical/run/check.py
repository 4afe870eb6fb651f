"""Check a model: can its scores be repeated, do they add up, does the eraser matter, which methods work with it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from veridical.core.example import IMAGE, PAIR, Example
from veridical.data import Dataset
from veridical.explainers import EXPLAINERS
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.run.checks import invariance
from veridical.run.checks.erasure import ATTENTION, EMPTY, RANKING, same_emptiness, same_ranking, special_attention
from veridical.run.checks.finding import Finding, attempt
from veridical.run.checks.samples import own_examples, readable
from veridical.run.checks.trials import VARIANT, Trial, completeness, try_out, verdict_on
from veridical.run.portions import Given, as_examples


@dataclass(frozen=True)
class Checkup:
    """What a check found: about the model, and about each method with it, on so many `examples` of some `data`."""

    data: str
    examples: int
    kind: str
    checks: tuple[Finding, ...]
    methods: tuple[Finding, ...]

    @property
    def problems(self) -> list[Finding]:
        """What makes scores worthless; warnings are not among them."""
        return [found for found in (*self.checks, *self.methods) if found.verdict == "problem"]

    @property
    def used(self) -> str:
        """What it was checked with: 8 texts from reviews:test."""
        return f"{self.examples} {self.kind}{'' if self.examples == 1 else 's'} from {self.data}"

    def __str__(self) -> str:
        lines = [f"checked with {self.used}"]
        for found in self.checks:
            number = f" {found.measured} ({found.allowed})" if found.measured else ""
            lines.append(f"{found.name}: {found.verdict}{number}: {found.words}")
        return "\n".join([*lines, *(f"{found.name}: {found.verdict}: {found.words}" for found in self.methods)])


def check(
    classifier: Classifier,
    examples: Given | Iterable[Given] | None = None,
    *,
    engine: Engine | None = None,
    progress: Callable[[int, int, str], None] = lambda _done, _steps, _name: None,
) -> Checkup:
    """Check a model on a few examples, and try every method out on them.

    >>> print(check(Classifier.load("runs/base")))

    Without examples, a few short ones are taken from the test or dev split of the data that the model was trained on,
    or made up. Of many examples the first 32 are used. `progress` is called with the number of steps done, how many
    there are, and the name of the next.
    """
    given = own_examples(classifier) if examples is None else examples
    used = readable(classifier, as_examples(given))
    found = _work_through(_steps(Case.bind(classifier, used, engine=engine), used), progress)
    methods = {name: found[name] for name in _methods()}
    checks = {name: each for name, each in found.items() if name not in methods and isinstance(each, Finding)}
    trials = [each for each in methods.values() if isinstance(each, Trial)]
    sums = [each for trial in trials if (each := completeness(trial)) is not None]
    return Checkup(
        data=given.name if isinstance(given, Dataset) else "what was given",
        examples=len(used),
        kind=_kind(used[0]),
        checks=(*checks.values(), *sums),
        methods=tuple(verdict_on(each, checks) if isinstance(each, Trial) else each for each in methods.values()),
    )


def _steps(case: Case, examples: list[Example]) -> dict[str, Callable[[], Finding | Trial]]:
    return {
        invariance.TWICE: partial(invariance.repeatability, case.classifier, examples),
        invariance.BATCH: partial(invariance.batch_invariance, case.classifier, examples),
        invariance.PADDING: partial(invariance.padding_invariance, case.classifier, examples),
        RANKING: partial(same_ranking, case),
        EMPTY: partial(same_emptiness, case),
        ATTENTION: partial(special_attention, case),
        **{name: partial(try_out, name, case) for name in _methods()},
    }


def _work_through(
    steps: dict[str, Callable[[], Finding | Trial]], progress: Callable[[int, int, str], None]
) -> dict[str, Finding | Trial]:
    found: dict[str, Finding | Trial] = {}
    for done, (name, step) in enumerate(steps.items()):
        progress(done, len(steps), name)
        found[name] = attempt(name, step)
    return found


def _methods() -> list[str]:
    """Every registered method, and the variant that adds up after the one that does not."""
    return [name for each in EXPLAINERS for name in ((each, VARIANT) if each == "deep-lift" else (each,))]


def _kind(example: Example) -> str:
    return "image" if IMAGE in example.inputs else "pair" if PAIR in example.inputs else "text"
