"""Training with a mask layer: the model reads a text of which a layer hides a part, and both learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.component import Count, Positive, Seed, Weight, option
from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.explainers import Explainer
from veridical.explainers.iba import Usual
from veridical.explainers.mask_layers import MaskLayer
from veridical.masking import Case, Engine
from veridical.models import Ability, Classifier, Output, Rows
from veridical.models.classifier import average_windows
from veridical.models.transformer import Transformer
from veridical.objectives.base import CrossEntropy, Objective, plain_loss
from veridical.objectives.contrast import Reduction, alike_labels, contrastive, three_anchors
from veridical.objectives.portion import mean_over_examples

_AT_ONCE = 512

LOOKED_AT = 256
"""How many training texts tell how embeddings usually are."""

MASKED_LOSS, MASKED_ACCURACY = "masked_loss", "masked_accuracy"

Anneal = Literal["epochs", "training"]
"""Whether a weight falls with each epoch as published, or over this training, however long it is."""


def concrete(logits: Tensor, temperature: float, hard: bool) -> Tensor:
    """A mask that is drawn from probabilities, with gradients: the binary concrete distribution (Maddison 2017).

    A `hard` mask is 0 or 1, and its gradient is that of the soft one.
    """
    # The difference of two Gumbel draws is logistic.
    drawn = torch.rand_like(logits).clamp(torch.finfo(logits.dtype).tiny, 1 - torch.finfo(logits.dtype).eps)
    return (
        hardened(relaxed(logits, drawn.logit(), temperature)) if hard else relaxed(logits, drawn.logit(), temperature)
    )


def relaxed(logits: Tensor, noise: Tensor, temperature: float) -> Tensor:
    """The soft mask for logistic noise."""
    return ((logits + noise) / temperature).sigmoid()


def hardened(soft: Tensor) -> Tensor:
    """0 or 1 forwards, and the gradient of the soft mask backwards."""
    return (soft > 0.5).to(soft) + (soft - soft.detach())  # the last part is 0


def gumbel(*shape: int) -> Tensor:
    """Gumbel's noise."""
    tiny = torch.finfo(torch.float32).tiny
    return -(-torch.rand(*shape).clamp(min=tiny).log()).clamp(min=tiny).log()


def some_of(logits: Tensor, noise: Tensor, temperature: float) -> Tensor:
    """A mask of about k tokens, [R, T], from k draws of one token each (L2X): `noise` [k, R, T] is Gumbel's."""
    return ((logits + noise) / temperature).softmax(-1).amax(0)


def negative_entropy(logits: Tensor) -> Tensor:
    """p log p + (1 - p) log (1 - p) of probabilities that are given by their logits."""
    p = logits.sigmoid()
    return p * functional.logsigmoid(logits) + (1 - p) * functional.logsigmoid(-logits)


@dataclass(frozen=True)
class MaskObjective(Objective):
    """What objectives with a mask layer share: what masks spare, and how the layer learns."""

    special: bool = option(False, "Let special tokens be masked, too.")
    ce_full: Weight = option(0.0, "The weight of the plain loss on the whole text.")
    best_masked: bool = option(
        False, "Keep the checkpoint that decides best with the mask in place; by default the best one without it."
    )
    width: Count = option(100, "How many units the hidden layer of the network has.")
    rate: Positive | None = option(None, "The learning rate of the layer; none: that of the model's head.")
    seed: Seed = option(0, "Seed of the layer's first weights.")
    name: ClassVar[str]

    @property
    def base(self) -> float | None:
        return self.ce_full or None

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset({Ability.HIDDEN, Ability.EMBEDDING_OUTPUT})

    def layer(self, size: int, states: int) -> MaskLayer:
        """A new layer for a model with so many states of so many numbers."""
        raise NotImplementedError

    def with_layer(self, layer: MaskLayer) -> MaskTraining:
        """The objective with its layer, which may have been trained already."""
        raise NotImplementedError

    def of(self, layer: MaskLayer, classifier: Classifier, examples: Sequence[Example]) -> MaskTraining:
        """The objective with a new layer, for a model and its training data."""
        return self.with_layer(layer)

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> MaskTraining:
        shown = classifier.forward(classifier.encode(examples[:1]), hidden=True).hidden
        assert shown is not None
        # States that nobody norms grow in training, until every mask is 1 and the sparse loss has no gradient left.
        layer = replace(self.layer(shown[0].shape[-1], len(shown)), normalise=classifier.norms_first)
        if layer.normalise:
            # A layer that norms first sees the direction of a vector only. By a mask it changes from all to nothing at
            # 0, where its gradient has no bound and drowns every other; so masked words get the usual vector there.
            layer.stand_in(Usual.of(classifier, examples[:LOOKED_AT]).mean)
        return self.of(layer, classifier, examples)

    def __call__(self, case: Case) -> dict[str, Tensor]:
        return self.prepared(case.classifier, case.batch.examples)(case)


@dataclass(frozen=True)
class DrawnMask(MaskObjective):
    """What SCC and VMASK share: each word is kept or not by a draw of its own, and the entropy of that has a weight."""

    temperature: Positive = option(1.0, "How far drawn masks are from 0 and 1: small numbers make them hard.")
    hard: bool = option(True, "Draw masks of 0 and 1, with the gradient of soft ones; or soft masks.")
    anneal: Anneal = option(
        "epochs", "Let the weight of the entropy fall with each epoch as published, or over this training."
    )

    def draw(self, logits: Tensor) -> Tensor:
        """A mask [R, T] for the logits of keeping each token."""
        return concrete(logits, self.temperature, self.hard)


@dataclass
class Clock:
    """How far training has come."""

    epoch: int = 0
    epochs: float = 10.0

    def weight(self, anneal: Anneal) -> float:
        """The weight of the entropy: it starts at 1 and falls to .01."""
        if anneal == "epochs":
            return max(0.01, 1 - 0.099 * self.epoch)
        return 1 - 0.99 * min(1.0, self.epoch / max(1.0, self.epochs - 1))


@dataclass(frozen=True)
class MaskTraining(Objective):
    """An objective with the layer that is trained."""

    settings: MaskObjective
    layer: MaskLayer
    clock: Clock = field(default_factory=Clock)

    @property
    def needs(self) -> frozenset[Ability]:
        return self.settings.needs

    @property
    def base(self) -> float | None:
        return self.settings.base

    @property
    def reads_output(self) -> bool:
        return self.settings.reads_output

    @property
    def rate(self) -> float | None:
        return self.settings.rate

    def best_by(self, classifier: Classifier) -> str | None:
        if not self.settings.best_masked:
            return None
        return MASKED_LOSS if classifier.is_regression else MASKED_ACCURACY

    @property
    def explainers(self) -> Mapping[str, Explainer]:
        return {self.settings.name: self.layer}

    def begin_epoch(self, epoch: int, epochs: float) -> None:
        self.clock.epoch, self.clock.epochs = epoch, epochs

    def words(self, rows: Rows, width: int) -> Tensor:
        """The positions that may be masked, [R, T]: those of words, and with `special` all that are no padding."""
        words = rows.unit_of >= 0
        if self.settings.special:
            words = torch.arange(words.shape[1]) < rows.lengths[:, None]
        return functional.pad(words, (0, width - words.shape[1]), value=False)

    def whole(self, case: Case) -> dict[str, Tensor]:
        """The plain loss, if it has a weight."""
        weight = self.settings.ce_full
        return {name: weight * value for name, value in CrossEntropy()(case).items()} if weight else {}

    def loss(self, case: Case, output: Output) -> Tensor:
        """The plain loss of an output for the rows of a case, [R, C]."""
        logits = average_windows(output.logits, case.batch.rows.owner, len(case))
        return plain_loss(case.classifier, logits, case.gold)

    def masked(self, mask: Tensor, words: Tensor) -> Callable[[Tensor], Tensor]:
        """What becomes of what enters the first layer when words are kept as far as a mask [R, T] says."""

        def enter(states: Tensor) -> Tensor:
            kept = kept_of(states, mask, words).to(states)
            absent = self.layer.absent
            return states * kept if absent is None else states * kept + (1 - kept) * absent.to(states)

        return enter

    def tested(self, rows: Rows, hidden: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        """The same for a model that is tested with its layer in place, given the states of the whole text.

        Nothing is drawn: words are kept as far as they are probable.
        """
        logits = self.layer.logits(hidden)
        return self.masked(logits.sigmoid(), self.words(rows, logits.shape[1]))

    def evaluate(self, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
        """How good decisions are when texts are read through the layer."""
        reader = self.reader(classifier)

        def through(rows: Rows) -> Tensor:
            hidden = classifier.run(rows, hidden=True).hidden
            assert hidden is not None
            return reader.run(rows, enter=self.tested(rows, hidden)).logits

        found, engine = [], Engine()
        for start in range(0, len(examples), _AT_ONCE):
            batch = classifier.encode(examples[start : start + _AT_ONCE])
            logits = engine.run(classifier, batch.rows, torch.arange(len(batch.rows)), through)
            found.append(average_windows(logits, batch.rows.owner, len(batch)))
        return _figures(classifier, torch.cat(found), self.aims(classifier, examples))

    def reader(self, classifier: Classifier) -> Classifier:
        """Who reads masked texts: the model itself."""
        return classifier

    def aims(self, classifier: Classifier, examples: Sequence[Example]) -> Tensor:
        """What decisions about masked texts should be: the gold labels."""
        return classifier.gold(examples)

    def contrasted(
        self,
        case: Case,
        outputs: Sequence[Output],
        temperature: float = 1.0,
        normalise: bool = True,
        reduction: Reduction = "mean",
    ) -> Tensor:
        """The contrastive loss of what the head reads of texts, their foregrounds and, as third, their backgrounds."""
        vectors = [output.pooled for output in outputs if output.pooled is not None]
        gold = case.gold[case.batch.rows.owner]  # windows of a long text are of its class, too
        belong = three_anchors(alike_labels(gold.to(vectors[0].device)), background=len(vectors) == 3)
        return contrastive(torch.cat(vectors), belong, temperature, normalise, reduction)


def require_finished(classifier: Classifier, asker: str, why: str) -> Transformer:
    """The model, if it was trained before; one that begins with a new head is refused."""
    assert isinstance(classifier, Transformer)
    if classifier.has_new_head:
        raise UsageError(
            f"{asker} {why} a model that was trained before, and this one has a new head",
            remedy="Train it first, and name its folder: --model runs/base.",
        )
    return classifier


def _figures(classifier: Classifier, logits: Tensor, gold: Tensor) -> dict[str, float]:
    """How good decisions about masked texts are, and their loss; sets of labels have to be right as a whole."""
    found = {MASKED_LOSS: float(plain_loss(classifier, logits, gold))}
    if classifier.is_regression:
        return found
    right = (classifier.chosen(logits) == gold.bool()).all(1) if gold.dim() == 2 else logits.argmax(1) == gold
    return {**found, MASKED_ACCURACY: float(right.float().mean())}


def kept_of(states: Tensor, mask: Tensor, words: Tensor) -> Tensor:
    """How much of each position of states [R, T', d] a mask [R, T] keeps, [R, T', 1]: all of what is no word.

    Longformer pads what enters its first layer to whole windows, and shows its states without that padding.
    """
    kept = mask.to(states.device).masked_fill(~words.to(states.device), 1.0)
    return functional.pad(kept, (0, states.shape[1] - kept.shape[1]), value=1.0)[..., None]


def mean_of_words(case: Case, values: Tensor, words: Tensor) -> Tensor:
    """The mean over the words of each row, and over examples, of values [R, T]."""
    words = words.to(values.device)
    return mean_over_examples(case, (values * words).sum(1) / words.sum(1).clamp(min=1))
