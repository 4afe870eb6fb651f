"""SimCSE: two passes over a text, which differ by dropout alone, should agree on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from veridical.core.component import Positive, Seed, Weight, option
from veridical.core.values import Example
from veridical.masking import Case
from veridical.models import Ability, Classifier, Output
from veridical.models.transformer import Transformer
from veridical.objectives.base import CrossEntropy, Objective
from veridical.objectives.contrast import two_views

_AT_ONCE = 64
"""How many dev texts are told apart: as many as the published code has in a batch."""

_NO_DROPOUT = (
    "This model has no dropout, so both views of a text are the same, and simcse learns from the other texts of a "
    "batch alone. Take a model whose config has dropout, as those of pretrained encoders have."
)


@dataclass(frozen=True)
class SimCSE(Objective):
    """Plain training, and vectors by which a text is known from all others of its batch (Gao et al. 2021).

    The second view of a text is another pass, with other dropout; without dropout there is nothing to learn. Vectors
    are the states that the head reads, after a layer that only this training has. With `plain=0` no label is read, and
    the best checkpoint is the one whose views agree best: that trains an encoder for `veridical train --model` to begin
    with.
    """

    weight: Weight = option(0.1, "The weight of the contrastive loss.")
    temperature: Positive = option(0.05, "What similarities are divided by.")
    plain: Weight = option(1.0, "The weight of the plain loss.")
    seed: Seed = option(0, "Seed of the layer's first weights.")
    weights: ClassVar[tuple[str, ...]] = ("weight",)

    @property
    def needs(self) -> frozenset[Ability]:
        # One vector for each text: models that decide on the last token have none that all of them read.
        return frozenset({Ability.HIDDEN, Ability.POOLED}) if self.weight else frozenset()

    @property
    def base(self) -> float | None:
        return self.plain or None

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Objective:
        if not self.weight:
            return self
        one, other = _two_states(classifier, examples[0])
        size = one.shape[-1]
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            layer = nn.Sequential(nn.Linear(size, size), nn.Tanh())
        return SimCSETraining(self, layer, notes=(_NO_DROPOUT,) if torch.equal(one, other) else ())

    def __call__(self, case: Case) -> dict[str, Tensor]:
        if self.weight:
            return self.prepared(case.classifier, case.batch.examples)(case)
        return self.labelled(case)

    def labelled(self, case: Case) -> dict[str, Tensor]:
        """The plain loss, if it has a weight."""
        return {name: self.plain * value for name, value in CrossEntropy()(case).items()} if self.plain else {}


@dataclass(frozen=True)
class SimCSETraining(Objective):
    """The objective with the layer that vectors go through while it is trained."""

    settings: SimCSE
    projection: nn.Module
    notes: tuple[str, ...] = ()

    @property
    def needs(self) -> frozenset[Ability]:
        return self.settings.needs

    @property
    def base(self) -> float | None:
        return self.settings.base

    def best_by(self, classifier: Classifier) -> str | None:
        return None if self.settings.plain else "views_loss"

    def evaluate(self, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
        """How badly views of dev texts agree, always with the same dropout; nothing where labels tell what is good."""
        if self.settings.plain:
            return {}
        assert isinstance(classifier, Transformer)
        losses = []
        with torch.random.fork_rng(), dropping_out(classifier.model):
            torch.manual_seed(self.settings.seed)
            for start in range(0, len(examples), _AT_ONCE):
                batch = classifier.encode(examples[start : start + _AT_ONCE])
                losses.append(self._loss(*(classifier.forward(batch, hidden=True) for _ in range(2))))
        return {"views_loss": float(torch.stack(losses).mean())}

    def __call__(self, case: Case) -> dict[str, Tensor]:
        views = self._loss(case.output, case.run(case.batch.rows, hidden=True))
        return {**self.settings.labelled(case), "views": self.settings.weight * views}

    def _loss(self, first: Output, second: Output) -> Tensor:
        one, other = (self.projection(output.head_state.float()) for output in (first, second))
        return two_views(one, other, self.settings.temperature)


def _two_states(classifier: Classifier, example: Example) -> tuple[Tensor, Tensor]:
    """What the head reads of a text in two passes of training, [1, d] each; no other chance is used up."""
    assert isinstance(classifier, Transformer)
    batch = classifier.encode([example])
    with torch.no_grad(), torch.random.fork_rng(), dropping_out(classifier.model):
        one, other = (classifier.forward(batch, hidden=True).head_state for _ in range(2))
    return one, other


@contextmanager
def dropping_out(model: nn.Module) -> Iterator[None]:
    """While inside, a model drops out as in training."""
    resting = [module for module in model.modules() if not module.training]
    model.train()
    try:
        yield
    finally:
        for module in resting:
            module.training = False
