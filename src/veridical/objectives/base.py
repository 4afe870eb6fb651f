"""What every objective is: settings, what it wants from the forward pass, and a call that gives named losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from veridical.core.component import Component
from veridical.core.errors import UsageError
from veridical.core.example import Example
from veridical.explainers import Explainer
from veridical.masking import ERASERS, Case
from veridical.models import Ability, Batch, Classifier, Output
from veridical.models.learned import Learned

ATTENTIONS = frozenset({Ability.ATTENTIONS, Ability.CLS_ATTENTIONS})
"""The needs for which the forward pass returns attentions; while it is trained, the model drops none of them out."""


class Objective(Component):
    """A training loss on a case whose `output` carries gradients.

    Objectives can be added, and all built-in ones include the plain loss under the name `cross_entropy` (or
    `squared_error`), which then counts once.

    An objective may have weights of its own: it is a torch module itself, or it holds modules or learned components in
    its attributes. They are trained, saved in checkpoints and resumed with the model.

    A class that does not inherit from this one, such as a torch module, must have `needs` and the call. For every other
    member that it lacks, the default of this class is taken.

    `weights` names the options that weigh what is added to the plain loss: with all of them at 0, nothing is.
    """

    weights: ClassVar[tuple[str, ...]] = ()

    @property
    def needs(self) -> frozenset[Ability]:
        """Abilities of the classifier; with `attentions`, `cls-attentions` or `hidden` the output also has those.

        They may depend on settings: a term of weight 0 is not computed and needs nothing.
        """
        return frozenset()

    @property
    def base(self) -> float:
        """The weight of the plain loss."""
        return 1.0

    @property
    def rate(self) -> float | None:
        """The learning rate of its own weights; None: that of the model's head."""
        return None

    @property
    def explainers(self) -> Mapping[str, Explainer]:
        """What it leaves behind when it has been trained: explainers by name, which are saved below the model."""
        return MappingProxyType({})

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Objective:
        """The objective to train with, after a look at the model and the training data; this one stays as it is."""
        return self

    def evaluate(self, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
        """Its own figures on the dev split, by name; greater is better, unless the name ends in `loss`."""
        return {}

    def __call__(self, case: Case) -> dict[str, Tensor]:
        """Named terms; the trainer minimises their sum."""
        raise NotImplementedError


def prepare(objective: Objective, classifier: Classifier, examples: Sequence[Example]) -> Objective:
    """The objective made ready for some training data."""
    ready: Objective = getattr(objective, "prepared", lambda *_: objective)(classifier, examples)
    return ready


def base_of(objective: Objective) -> float:
    """The weight an objective gives to the plain loss."""
    return float(getattr(objective, "base", 1.0))


def figures_of(objective: Objective, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
    """An objective's own figures on some examples."""
    found: dict[str, float] = getattr(objective, "evaluate", lambda *_: {})(classifier, examples)
    return found


def explainers_of(objective: Objective) -> Mapping[str, Explainer]:
    """The explainers that an objective leaves behind."""
    found: Mapping[str, Explainer] = getattr(objective, "explainers", {})
    return found


def modules_in(thing: Any) -> Iterator[nn.Module]:
    """The modules that an objective is or holds: in its attributes, in lists of them, in learned components."""
    if isinstance(thing, nn.Module):
        yield thing
    elif isinstance(thing, Learned):
        yield thing.network
    elif isinstance(thing, Mapping):
        yield from modules_in(list(thing.values()))
    elif isinstance(thing, list | tuple):
        for member in thing:
            yield from modules_in(member)
    elif hasattr(thing, "needs") and hasattr(thing, "__dict__"):
        # Objectives and explainers are looked into, not examples and classifiers: a model is no part of its objective.
        yield from modules_in(list(vars(thing).values()))


def check_soft(eraser: str) -> None:
    """Refuse an eraser that cannot take away a part of a word."""
    if ERASERS.create(eraser).needs == Ability.DELETE:
        raise UsageError("a word cannot be half deleted", remedy="Use eraser=mask, pad, pad_attn or zero.")


def forward(classifier: Classifier, batch: Batch, needs: frozenset[Ability]) -> Output:
    """The forward pass of a training step, with what an objective needs of it."""
    return classifier.forward(batch, attentions=bool(needs & ATTENTIONS), hidden=Ability.HIDDEN in needs)
