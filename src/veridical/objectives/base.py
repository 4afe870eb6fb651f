"""What every objective is: settings, what it wants from the forward pass, and a call that gives named losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

from veridical.core.example import Example
from veridical.masking import Case
from veridical.models import Ability, Batch, Classifier, Output

ATTENTIONS = frozenset({Ability.ATTENTIONS, Ability.CLS_ATTENTIONS})
"""The needs for which the forward pass returns attentions; while it is trained, the model drops none of them out."""


class Objective(Protocol):
    """A training loss on a case whose `output` carries gradients.

    `needs` are abilities of the classifier; with `attentions`, `cls-attentions` or `hidden` the forward pass also
    returns those. They may depend on settings: a term of weight 0 is not computed and needs nothing. An objective
    that is a torch module has its own weights trained, saved and resumed with the model. One that has to see the
    training data first also has `prepared`, see `Preparing`.

    Objectives can be added, and all built-in ones include the plain loss under the name `cross_entropy` (or
    `squared_error`), which then counts once. One that gives the plain loss another weight than 1 says so as `base`.
    `weights` may name the options that weigh what is added to the plain loss: with all of them at 0, nothing is.
    """

    @property
    def needs(self) -> frozenset[Ability]: ...

    def __call__(self, case: Case) -> dict[str, Tensor]:
        """Named terms; the trainer minimises their sum."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """An objective that looks at the model and the training data once, before training."""

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Objective:
        """The objective to train with, which knows what it needs of the data; this one stays as it is."""
        ...


def prepare(objective: Objective, classifier: Classifier, examples: Sequence[Example]) -> Objective:
    """The objective made ready for some training data, if it wants to be."""
    return objective.prepared(classifier, examples) if isinstance(objective, Preparing) else objective


def forward(classifier: Classifier, batch: Batch, needs: frozenset[Ability]) -> Output:
    """The forward pass of a training step, with what an objective needs of it."""
    return classifier.forward(batch, attentions=bool(needs & ATTENTIONS), hidden=Ability.HIDDEN in needs)
