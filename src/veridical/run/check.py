"""Check a model: can its scores be repeated, do they add up, does the eraser matter, which methods work with it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from veridical.core.errors import InputError, VeridicalError
from veridical.core.progress import Watch
from veridical.core.values import IMAGE, PAIR, Example, Image
from veridical.data import Dataset, in_split, load
from veridical.explainers import EXPLAINERS
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.models.image_classifier import ImageClassifier
from veridical.report.style import overview
from veridical.run.checks import invariance
from veridical.run.checks.erasure import ATTENTION, EMPTY, RANKING, same_emptiness, same_ranking, special_attention
from veridical.run.checks.finding import Finding, attempt
from veridical.run.checks.trials import Trial, completeness, try_out, verdict_on
from veridical.run.given import Given, as_examples
from veridical.run.handle import Model, ModelHandle

FEW = 8
MOST = 32

_LOOKED_AT = 200
_SENTENCES = (
    "A gorgeous, witty and moving film.",
    "The delivery was late again, and nobody answered my letters.",
    "It rained.",
    "Don't buy this: the battery died after two days!",
    "The meeting has been moved to Thursday at ten in the small room upstairs.",
    "Scientists have found water on a planet that circles a distant star.",
    "I was not happy with the room, but the staff could not have been kinder to us.",
    "Prices rose by three percent last year, more than anyone had expected.",
)


def own_examples(classifier: Classifier) -> Dataset:
    """Short examples of the data a model was trained on, held out from its training; made-up ones where unknown."""
    for split in ("test", "dev"):
        if (held_out := _held_out(classifier, split)) is not None:
            return held_out
    if isinstance(classifier, ImageClassifier):
        return Dataset("random noise", tuple(_noise(classifier)))
    return Dataset("built-in sentences", tuple(Example.of(text, str(i)) for i, text in enumerate(_SENTENCES)))


def readable(classifier: Classifier, examples: Sequence[Example]) -> list[Example]:
    """The first examples that the model can read and that have something to explain, at most `MOST`."""
    found: list[Example] = []
    problem: InputError | None = None
    for example in examples:
        try:
            if classifier.encode([example]).units[0]:
                found.append(example)
        except InputError as error:
            problem = problem or error
        if len(found) == MOST:
            break
    if not found:
        raise problem or InputError(
            "there is nothing to explain in this data", remedy="Check the model with other data."
        )
    return found


def _held_out(classifier: Classifier, split: str) -> Dataset | None:
    if classifier.trained_on is None:
        return None
    try:
        data = load(in_split(classifier.trained_on, split))
    except VeridicalError:  # there is no such split, or the file has moved
        return None
    shown = data[:_LOOKED_AT]
    short = sorted(shown, key=_size)[: max(FEW, len(shown) // 4)]
    step = max(1, len(short) // FEW)
    chosen = short[::step][:FEW]
    return Dataset(data.name, tuple(chosen), data.labels) if chosen else None


def _size(example: Example) -> int:
    return sum(len(value) for value in example.inputs.values() if isinstance(value, str))


def _noise(classifier: ImageClassifier) -> list[Example]:
    config = classifier.model.config
    shape = (FEW, config.image_size, config.image_size, config.num_channels)
    pixels = np.random.RandomState(0).randint(0, 256, shape)
    return [Example.of(Image(each), str(index)) for index, each in enumerate(pixels)]


Step = Callable[[], Finding | Trial]


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        warned = sum(found.verdict == "warning" for found in (*self.checks, *self.methods))
        return f"Checkup({self.used}: {len(self.problems)} problems, {warned} warnings)"

    def __str__(self) -> str:
        fine = [found.name for found in (*self.checks, *self.methods) if found.verdict == "ok"]
        told = [f"{found.name}: {found.verdict}{_number(found)}: {found.words}" for found in self._doubtful]
        return "\n".join([repr(self), *told, f"ok: {', '.join(fine) or 'nothing'}"])

    def _repr_html_(self) -> str:
        rows = [[found.name, found.verdict + _number(found), found.words] for found in (*self.checks, *self.methods)]
        return overview(repr(self), (), ["check", "verdict", "what it means"], rows)

    @property
    def _doubtful(self) -> list[Finding]:
        return [found for found in (*self.checks, *self.methods) if found.verdict != "ok"]


def check(
    model: Model,
    examples: Given | Iterable[Given] | None = None,
    *,
    methods: Sequence[str] | None = None,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> Checkup:
    """Check a model on a few examples, and try every method out on them, or those that are named.

    >>> print(check("runs/base"))
    >>> print(check("runs/base", methods=["runs/l2e"]))    # the folder of one that was learned

    Without examples, a few short ones are taken from the test or dev split of the data that the model was trained on,
    or made up. Of many examples the first 32 are used.
    """
    classifier = ModelHandle.of(model).classifier
    given = own_examples(classifier) if examples is None else examples
    used = readable(classifier, as_examples(given))
    case = Case.bind(classifier, used, engine=engine)
    trials_by_name = _trials(case, methods)
    found = _work_through({**_questions(case, used), **trials_by_name}, watch or Watch())
    tried = {name: found[name] for name in trials_by_name}
    checks = {name: each for name, each in found.items() if name not in tried and isinstance(each, Finding)}
    trials = [each for each in tried.values() if isinstance(each, Trial)]
    sums = [each for trial in trials if (each := completeness(trial)) is not None]
    return Checkup(
        data=given.name if isinstance(given, Dataset) else "what was given",
        examples=len(used),
        kind=_kind(used[0]),
        checks=(*checks.values(), *sums),
        methods=tuple(verdict_on(each, checks) if isinstance(each, Trial) else each for each in tried.values()),
    )


def _number(found: Finding) -> str:
    return f" {found.measured} ({found.allowed})" if found.measured else ""


def _questions(case: Case, examples: list[Example]) -> dict[str, Step]:
    """What is asked about the model."""
    return {
        invariance.TWICE: partial(invariance.repeatability, case.classifier, examples),
        invariance.BATCH: partial(invariance.batch_invariance, case.classifier, examples),
        invariance.PADDING: partial(invariance.padding_invariance, case.classifier, examples),
        RANKING: partial(same_ranking, case),
        EMPTY: partial(same_emptiness, case),
        ATTENTION: partial(special_attention, case),
    }


def _trials(case: Case, methods: Sequence[str] | None) -> dict[str, Step]:
    """A trial of each method that is named, or of every one that has a name.

    Of those that are learned for a model, these are the ones that this model has.
    """
    names = methods or [
        name
        for name, cls in EXPLAINERS.items()
        if not getattr(cls, "learned_by", "") or name in case.classifier.learned
    ]
    return {name: partial(try_out, name, case) for name in names}


def _work_through(steps: dict[str, Step], watch: Watch) -> dict[str, Finding | Trial]:
    found: dict[str, Finding | Trial] = {}
    for done, (name, step) in enumerate(steps.items()):
        watch.tell("checking", done, len(steps), name)
        found[name] = attempt(name, step)
    return found


def _kind(example: Example) -> str:
    return "image" if IMAGE in example.inputs else "pair" if PAIR in example.inputs else "text"
