"""L2X: a selector draws some words, and the model, or a copy of it, learns to decide by them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from veridical.core.component import Count, Positive, option
from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.explainers.mask_layers import L2XLayer, MaskLayer
from veridical.masking import Case, Engine
from veridical.models import Classifier, Rows
from veridical.models.classifier import average_windows
from veridical.models.transformer import Transformer
from veridical.objectives.base import plain_loss
from veridical.objectives.mask_layers import MASKED_LOSS, MaskObjective, MaskTraining, gumbel, require_finished, some_of


@dataclass(frozen=True)
class L2X(MaskObjective):
    """Learns from some words of each text that a selector draws (Chen et al. 2018), together with the selector.

    One pass of the model in each step. It leaves the explainer `l2x`. Texts with no more words than are drawn are read
    as they are when the model is tested.

    With `mode=posthoc`, as first published, the model was trained before and stays as it is: `--model` names its
    folder. A copy of it learns to say, from the drawn words alone, what the model says of the whole text; all that is
    kept of it is the selector. Figures of masked texts are then those of the copy, and tell how often it decides as the
    model does.
    """

    count: Count = option(4, "How many tokens are drawn: pieces of words, where words have several.")
    temperature: Positive = option(0.5, "How far the drawn mask is from 0 and 1: small numbers make it hard.")
    mode: Literal["joint", "posthoc"] = option(
        "joint", "Train the model with its selector, or a selector for a finished model that stays as it is."
    )
    name: ClassVar[str] = "l2x"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode == "posthoc" and self.ce_full:
            raise UsageError(
                "l2x(mode=posthoc) leaves the model as it is, so it cannot learn from whole texts",
                remedy="Leave ce_full out, or use mode=joint.",
            )

    @property
    def reads_output(self) -> bool:
        return bool(self.ce_full)

    def layer(self, size: int, states: int) -> MaskLayer:
        return L2XLayer(size, states, self.width, seed=self.seed)

    def with_layer(self, layer: MaskLayer) -> L2XTraining:
        if self.mode == "posthoc":
            raise UnsupportedError(
                "a selector that was trained with l2x(mode=posthoc) had a copy of the model read its words, which is "
                "not kept, and the model itself has never read through it",
                remedy="Take the figures of `veridical train`, or train with mode=joint.",
            )
        return L2XTraining(self, layer)

    def of(self, layer: MaskLayer, classifier: Classifier, examples: Sequence[Example]) -> L2XTraining:
        if self.mode == "joint":
            return self.with_layer(layer)
        finished = require_finished(classifier, "l2x(mode=posthoc)", "explains")
        return PostHocL2X(self, layer, predictor=deepcopy(finished.model))


@dataclass(frozen=True)
class L2XTraining(MaskTraining):
    """The objective with the selector that is trained."""

    settings: L2X

    def __call__(self, case: Case) -> dict[str, Tensor]:
        rows = case.batch.rows

        def enter(states: Tensor) -> Tensor:
            return self.drawn(rows, [states] * self.layer.states)(states)

        front = case.run(rows, enter=enter)
        return {**self.whole(case), "masked": self.loss(case, front)}

    def drawn(self, rows: Rows, hidden: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        """What becomes of what enters the first layer when the selector draws words."""
        logits, words = self._selected(rows, hidden)
        noise = gumbel(self.settings.count, *logits.shape).to(logits)
        return self.masked(some_of(logits, noise, self.settings.temperature).nan_to_num(), words)

    def tested(self, rows: Rows, hidden: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        """Exactly the first words stay, or all where there are no more."""
        logits, words = self._selected(rows, hidden)
        order = logits.argsort(dim=1, descending=True, stable=True)
        first = torch.zeros_like(logits).scatter(1, order[:, : self.settings.count], 1.0)
        return self.masked(first, words)

    def _selected(self, rows: Rows, hidden: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The logits of drawing each token [R, T], -inf for what is no word, and which are words."""
        logits = self.layer.logits(hidden)
        words = self.words(rows, logits.shape[1])
        return logits.masked_fill(~words.to(logits.device), -torch.inf), words


@dataclass(frozen=True, kw_only=True)
class PostHocL2X(L2XTraining):
    """A selector for a model that stays as it is, and a predictor that learns to say the same by some words.

    The predictor begins as a copy of the model: so it reads all that the model reads, texts, pairs and images, in their
    order, and what it cannot say is missing from the words and not from its powers.
    """

    predictor: PreTrainedModel

    @property
    def frozen(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.predictor.named_parameters())  # a copy: these are the model's names

    def best_by(self, classifier: Classifier) -> str | None:
        return MASKED_LOSS

    def __call__(self, case: Case) -> dict[str, Tensor]:
        rows, classifier = case.batch.rows, case.classifier
        with torch.no_grad(), classifier.evaluating():  # a finished model does not drop out
            whole = case.run(rows, hidden=True)
        assert whole.hidden is not None
        # The selector reads the model's own embeddings, as it will when it explains; the predictor's are moving.
        front = replace(case, classifier=self.reader(classifier)).run(rows, enter=self.drawn(rows, whole.hidden))
        said, wanted = (average_windows(each.logits, rows.owner, len(case)) for each in (front, whole))
        return {"masked": plain_loss(classifier, said, _as_gold(classifier, wanted))}

    def reader(self, classifier: Classifier) -> Classifier:
        """The predictor takes the place of the model."""
        assert isinstance(classifier, Transformer)
        return classifier.with_weights(dict(self.predictor.named_parameters()))

    def aims(self, classifier: Classifier, examples: Sequence[Example]) -> Tensor:
        """What the model itself decides about whole texts."""
        logits = Engine().predict(classifier, examples)
        if classifier.is_multi_label:
            return classifier.chosen(logits).float()
        return logits[:, 0] if classifier.is_regression else logits.argmax(1)


def _as_gold(classifier: Classifier, logits: Tensor) -> Tensor:
    """What a model says of examples [B, C] in the place of labels: probabilities, or the numbers of a regression."""
    return logits[:, 0] if classifier.is_regression else classifier.probabilities(logits)
