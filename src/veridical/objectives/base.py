"""What every objective is, the plain loss that all of them share, and sums of objectives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.core.component import Component, Probability, option
from veridical.core.errors import UsageError
from veridical.core.registry import Registry
from veridical.core.syntax import parse
from veridical.core.values import Example
from veridical.explainers import Explainer
from veridical.masking import ERASERS, Case
from veridical.models import Ability, Batch, Classifier, Output, Task
from veridical.models.weights import Learned

ATTENTIONS = frozenset({Ability.ATTENTIONS, Ability.CLS_ATTENTIONS})
"""The needs for which the forward pass returns attentions; in training they are those before dropout."""


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
    def base(self) -> float | None:
        """The weight of the plain loss; None: it has none, and in a sum it takes that of the others."""
        return 1.0

    @property
    def reads_output(self) -> bool:
        """Whether it reads the model's output for the whole text; a step in which nothing does saves that pass."""
        return True

    def begin_epoch(self, epoch: int, epochs: float) -> None:
        """Hear that an epoch begins, from 0 on, and of how many; also when training goes on in the middle of it."""

    @property
    def rate(self) -> float | None:
        """The learning rate of its own weights; None: that of the model's head."""
        return None

    @property
    def frozen(self) -> frozenset[str]:
        """The model's weights, by name, that stay as they are while it is trained: neither steps nor decay move them.

        Asked of the objective that `prepared` gives.
        """
        return frozenset()

    def best_by(self, classifier: Classifier) -> str | None:
        """The dev figure that the best checkpoint is kept by, unless the schedule says; None: that of the model."""
        return None

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that somebody should know before it is trained. Asked of the objective that `prepared` gives."""
        return ()

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


def base_of(objective: Objective) -> float | None:
    """The weight an objective gives to the plain loss; None if it has none."""
    found: float | None = getattr(objective, "base", 1.0)
    return found


def tell_epoch(objective: Objective, epoch: int, epochs: float) -> None:
    """Tell an objective that an epoch begins, if it wants to hear of it."""
    getattr(objective, "begin_epoch", lambda *_: None)(epoch, epochs)


def figures_of(objective: Objective, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
    """An objective's own figures on some examples."""
    found: dict[str, float] = getattr(objective, "evaluate", lambda *_: {})(classifier, examples)
    return found


def frozen_by(objective: Objective) -> frozenset[str]:
    """The model's weights that an objective leaves as they are."""
    found: frozenset[str] = getattr(objective, "frozen", frozenset())
    return found


def notes_of(objective: Objective) -> Sequence[str]:
    """What an objective has to say before it is trained."""
    found: Sequence[str] = getattr(objective, "notes", ())
    return found


def best_by(objective: Objective, classifier: Classifier) -> str | None:
    """The dev figure by which an objective wants the best checkpoint kept, if it says."""
    found: str | None = getattr(objective, "best_by", lambda _: None)(classifier)
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


def forward(classifier: Classifier, batch: Batch, objective: Objective) -> Output:
    """The forward pass of a training step, with what an objective needs of it."""
    if not getattr(objective, "reads_output", True):
        # Nobody asks for it. Should somebody read it all the same, the loss is no number, and training says so.
        return Output(torch.full((len(batch), max(1, len(classifier.labels))), torch.nan))
    needs = objective.needs
    return classifier.forward(
        batch,
        attentions=bool(needs & ATTENTIONS),
        hidden=Ability.HIDDEN in needs,
        pooled=Ability.POOLED in needs,
    )


_SUM = "sum"

T = TypeVar("T")


@dataclass(frozen=True)
class Sum(Objective):
    """All terms of some objectives. A term that several of them have, as the plain loss, counts once."""

    parts: tuple[Objective, ...]

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset().union(*(part.needs for part in self.parts))

    @property
    def base(self) -> float | None:
        return next((base for part in self.parts if (base := base_of(part)) is not None), None)

    @property
    def reads_output(self) -> bool:
        return any(getattr(part, "reads_output", True) for part in self.parts)

    def begin_epoch(self, epoch: int, epochs: float) -> None:
        for part in self.parts:
            tell_epoch(part, epoch, epochs)

    @property
    def frozen(self) -> frozenset[str]:
        return frozenset().union(*map(frozen_by, self.parts))

    def best_by(self, classifier: Classifier) -> str | None:
        return next((found for part in self.parts if (found := best_by(part, classifier)) is not None), None)

    @property
    def notes(self) -> Sequence[str]:
        return [note for part in self.parts for note in notes_of(part)]

    @property
    def explainers(self) -> Mapping[str, Explainer]:
        return _joined("explainer", [explainers_of(part) for part in self.parts])

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Sum:
        return Sum(tuple(prepare(part, classifier, examples) for part in self.parts))

    def evaluate(self, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
        return _joined("figure", [figures_of(part, classifier, examples) for part in self.parts])

    def __call__(self, case: Case) -> dict[str, Tensor]:
        terms: dict[str, Tensor] = {}
        for part in self.parts:
            for name, value in part(case).items():
                # Equal but for rounding: each part has computed a shared term by itself.
                if not torch.allclose(terms.setdefault(name, value), value, equal_nan=True):
                    raise UsageError(
                        f"two objectives disagree about the term {name!r}: {terms[name].item():.4g}, and "
                        f"{value.item():.4g} in {type(part).__name__}",
                        remedy="A term of a sum counts once, so its options have to be the same everywhere.",
                    )
        return terms


def parts_of(objective: Objective) -> tuple[Objective, ...]:
    """The summands of a sum, or the objective itself."""
    return objective.parts if isinstance(objective, Sum) else (objective,)


def _joined(kind: str, parts: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """All that some objectives have; a name that two of them use is refused."""
    names = [name for part in parts for name in part]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two objectives of a sum leave the {kind} {twice[0]!r}", remedy="Train them one by one.")
    return {name: value for part in parts for name, value in part.items()}


class Objectives(Registry[Objective]):
    """The table of objectives, which also reads and writes sums: `saloss(lam=0.01) + regex`."""

    def create(self, what: str | os.PathLike[str] | Objective) -> Objective:
        if not isinstance(what, str):
            return super().create(what)
        return self._added([self.build(term.name, term.options) for term in parse(what)])

    def spec(self, thing: Objective) -> dict[str, Any]:
        if not isinstance(thing, Sum):
            return super().spec(thing)
        return {"name": _SUM, "parts": [self.spec(part) for part in thing.parts]}

    def from_spec(self, spec: Mapping[str, Any]) -> Objective:
        if spec["name"] != _SUM:
            return super().from_spec(spec)
        return self._added([self.from_spec(part) for part in spec["parts"]])

    def written(self, thing: Objective) -> str:
        return " + ".join(super(Objectives, self).written(part) for part in parts_of(thing))

    def _added(self, parts: Sequence[Objective]) -> Objective:
        """A sum whose parts agree; what cannot be summed is refused before anything is trained."""
        names = [self.name_of(part) for part in parts]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(f"{twice[0]} is added to itself", remedy="Give it once, with its weight as an option.")
        bases = {name: base for part, name in zip(parts, names, strict=True) if (base := base_of(part)) is not None}
        for name, base in bases.items():
            if base != (first := next(iter(bases.values()))):
                raise UsageError(
                    f"{next(iter(bases))} weighs the plain loss by {first:g}, {name} by {base:g}",
                    remedy="It counts once in a sum, so they have to agree.",
                )
        return Sum(tuple(parts)) if len(parts) > 1 else parts[0]


def plain_loss(
    classifier: Classifier,
    logits: Tensor,
    gold: Tensor,
    smoothing: float = 0.0,
    reduction: Literal["mean", "sum"] = "mean",
) -> Tensor:
    """The loss of plain training for logits [N, C]; `gold` [N] are classes or numbers, or [N, C] probabilities.

    A multi-label model has a binary cross-entropy for each label, and an example the mean of them.
    """
    gold = gold.to(logits.device)
    if classifier.is_multi_label:
        spread = gold * (1 - smoothing) + smoothing / 2
        each = functional.binary_cross_entropy_with_logits(logits, spread.to(logits), reduction="none").mean(1)  # [N]
        return each.mean() if reduction == "mean" else each.sum()
    if classifier.is_regression:
        return functional.mse_loss(logits[:, 0], gold, reduction=reduction)
    return functional.cross_entropy(logits, gold, label_smoothing=smoothing, reduction=reduction)


_NAMES = {Task.NUMBER: "squared_error", Task.CLASSES: "cross_entropy", Task.LABELS: "binary_cross_entropy"}


@dataclass(frozen=True)
class CrossEntropy(Objective):
    """The baseline that every explanation-aware objective adds to: cross-entropy, or squared error for regression."""

    smoothing: Probability = option(0.0, "The share of the target's mass that is spread over all classes.")

    def __call__(self, case: Case) -> dict[str, Tensor]:
        return {
            _NAMES[case.classifier.task]: plain_loss(case.classifier, case.output.logits, case.gold, self.smoothing)
        }
