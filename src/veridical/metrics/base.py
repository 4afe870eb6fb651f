"""What every metric is: settings, what it needs, and one number per example with the parts it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Literal, Protocol

import torch
from torch import Tensor

from veridical.core.component import Component
from veridical.core.errors import InputError
from veridical.core.progress import Watch
from veridical.core.values import Example, Explanation
from veridical.masking import Case
from veridical.models import Classifier


class Need(StrEnum):
    """What a metric may need of a model and its data."""

    CLASSES = "classes"
    ONE_CLASS = "one class per example"  # and not any number of labels
    EVIDENCE = "evidence"  # examples in which people marked their reasons
    TEXT = "text"  # words, and not patches of images


@dataclass(frozen=True)
class Measured:
    """What a metric found: `values` [B], NaN where it is undefined.

    Where the value summarises several steps, `curve` [B, K] has the parts, and `steps` what each stands for, such as
    the share of words erased. `details` are further numbers [B] by name, NaN where there is none.
    """

    values: Tensor
    curve: Tensor | None = None
    steps: tuple[float, ...] = ()
    details: Mapping[str, Tensor] = field(default_factory=dict)


Subject = Literal["explanations", "model"]
"""What is judged: explanations, or the model itself without them."""


class About(Component):
    """What each metric says of itself.

    - `meaning`: what a value is. `weakness`: what it cannot show.
    - `fewest`: texts with fewer units are undefined, because one word cannot be ranked.
    - `percent`: values are printed times 100; not those `of_output` of a regression, which has no probabilities.
    - `of_output`: values are changes of what the model gives, a probability or the number of a regression.
    - `ranks`: it judges the order of scores, so that the reversed order must get a worse value.
    - `describes`: it tells what explanations are like, and no value of it is better than another.
    - `comparable`: values of different models mean the same. Plain changes of probabilities do not.
    - `subject`: what it judges. A metric that judges the model does not read scores.
    - `floored`: scores by chance should do worst, and are judged beside the others as their floor.
    - `alarm`: what a card warns of where the whole interval of a method's mean lies above 0; empty where it may.
    """

    needs: ClassVar[frozenset[Need]] = frozenset()
    meaning: ClassVar[str] = ""
    weakness: ClassVar[str] = ""
    fewest: ClassVar[int] = 2
    percent: ClassVar[bool] = False
    of_output: ClassVar[bool] = False
    ranks: ClassVar[bool] = True
    describes: ClassVar[bool] = False
    comparable: ClassVar[bool] = False
    subject: ClassVar[Subject] = "explanations"
    floored: ClassVar[bool] = True
    alarm: ClassVar[str] = ""

    @property
    def greater_is_better(self) -> bool:
        """The direction; it may depend on the settings."""
        return True

    @property
    def models(self) -> Mapping[str, str]:
        """The fingerprints of further models that are asked, by the options that name them: values depend on them."""
        return {}

    def require(self, classifier: Classifier) -> None:
        """Refuse a model that cannot be judged, for reasons that `needs` does not tell, before any work is done."""


class Metric(About):
    """Judges scores [B, U] of a case's units by asking the case, or by the examples' evidence."""

    def questions(self, units: int) -> int:
        """The most questions about an example of so many units, for each order that is judged."""
        raise NotImplementedError

    def questions_once(self, units: int) -> int:
        """The most questions beside these, which all orders of an example share."""
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        """The metric of each example."""
        raise NotImplementedError

    def mean(self, draws: Sequence[Measured]) -> Measured:
        """The mean of several orders by chance; details, such as a class, are those of the first."""
        curves = [each.curve for each in draws if each.curve is not None]
        return replace(
            draws[0],
            values=torch.stack([each.values for each in draws]).nanmean(0),
            curve=torch.stack(curves).nanmean(0) if curves else None,
        )

    def together(self, found: Sequence[Measured]) -> Sequence[Measured]:
        """What was found for all orders of the same examples, once all of it is known; by default as it is.

        For metrics whose values depend on what other orders reach. Values and details are NaN where an order was not
        judged.
        """
        return found


class CorpusJudge(Protocol):
    """Whatever judges all explanations of a method together."""

    def over(self, examples: Sequence[Example], explanations: Sequence[Explanation]) -> Measured:
        """The metric of each explanation; `examples` are those that were explained, in the same order."""
        ...


class CorpusMetric(About):
    """Judges all explanations of one method together: by each other, or by what can be done with them."""

    def judge(self, classifier: Classifier, watch: Watch) -> CorpusJudge:
        """What judges explanations of a model; a metric that only reads explanations does so itself."""
        return self

    def over(self, examples: Sequence[Example], explanations: Sequence[Explanation]) -> Measured:
        """The metric of each explanation; `examples` are those that were explained, in the same order."""
        raise NotImplementedError


def measure(metric: Metric, case: Case, scores: Tensor) -> Measured:
    """Apply a metric to checked scores; examples with fewer units than the metric asks for become NaN."""
    if scores.shape != case.live.shape:
        raise InputError(f"there are scores for {tuple(scores.shape)} units, not for {tuple(case.live.shape)}")
    bad = ~torch.isfinite(scores).all(1)
    if bad.any():
        which = case.batch.examples[int(bad.nonzero()[0])].id
        raise InputError("a score is not a finite number", example=which, remedy="Explain this example again.")
    return undefined(metric(case, scores), (case.live.sum(1) < metric.fewest) | _unmarked(metric, case))


def _unmarked(metric: Metric, case: Case) -> Tensor:
    """Where evidence says nothing of the target, [B]: people mark the reasons for the gold labels of an example."""
    if Need.EVIDENCE not in metric.needs or not case.classifier.is_multi_label:
        return torch.zeros(len(case), dtype=torch.bool)
    names = [case.classifier.target_name(target) for target in case.targets.tolist()]
    pairs = zip(names, case.batch.examples, strict=True)
    return torch.tensor([isinstance(each.label, tuple) and name not in each.label for name, each in pairs])


def known_gold(case: Case) -> list[int | None]:
    """The right class of each example, where it is known."""
    return [
        None if example.label is None else case.classifier.target_index(example.label, example.id)
        for example in case.batch.examples
    ]


def check_pairs(examples: Sequence[Example], explanations: Sequence[Explanation]) -> None:
    """Refuse explanations that are not of these examples, in the same order."""
    for example, explanation in zip(examples, explanations, strict=True):
        if example.id != explanation.example_id:
            raise InputError(
                f"its explanation is of example {explanation.example_id}",
                example=example.id,
                remedy="Give examples and explanations in the same order.",
            )


def undefined(found: Measured, where: Tensor) -> Measured:
    """The same numbers with NaN for some examples [B]."""
    return Measured(
        values=found.values.float().masked_fill(where, torch.nan),
        curve=None if found.curve is None else found.curve.float().masked_fill(where[:, None], torch.nan),
        steps=found.steps,
        details={name: values.float().masked_fill(where, torch.nan) for name, values in found.details.items()},
    )
