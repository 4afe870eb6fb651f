"""IBA: an information bottleneck tells how much of each word a model needs, by a layer or for one text alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.component import Count, Positive, Seed, Weight, option
from veridical.core.errors import InputError, UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.data.dataset import Chance
from veridical.explainers.base import SEED, Explainer, Scores
from veridical.explainers.mask_layers import PIECES_OF_A_MASK, MaskLayer, TwoLayers
from veridical.masking import Case
from veridical.masking.case import Pieces
from veridical.models import Ability, Classifier, Rows

LIMIT = 5.0
"""The logit of what is let through at first, which is nearly all."""

_LEAST_SPREAD = 0.01

Told = Literal["nats", "kept"]
"""What a score of a word is: the information about it that is let through, or how much of it is kept."""

_TOLD = "What a score is: the nats about a word that are let through, or the share of it that is kept, from 0 to 1."


def information(logits: Tensor, standard: Tensor) -> Tensor:
    """How many nats about each number are left when a share of it is kept, which logits give, and the rest is noise.

    `standard` [..., d] are the numbers in standard deviations from their mean; `logits` are of the same shape, or
    [..., 1].
    """
    kept, log_rest = logits.sigmoid(), 2 * functional.logsigmoid(-logits)  # log (1 - kept)^2, also where kept is 1
    # The divergence of N(kept x, (1 - kept)^2) from N(0, 1).
    return -0.5 * (1 + log_rest - (kept * standard) ** 2 - log_rest.exp())


@dataclass(frozen=True)
class Usual:
    """What embeddings are like: the `mean` and the `spread` of each of their numbers, [d] each."""

    mean: Tensor
    spread: Tensor

    @classmethod
    def of(cls, classifier: Classifier, examples: Sequence[Example]) -> Usual:
        """Of what enters the first layer at the words of some examples."""
        with torch.no_grad(), classifier.evaluating():
            every = torch.cat([_words_of(classifier, example) for example in examples])  # [N, d]
        if not len(every):
            raise InputError(
                f"{len(examples)} texts have no words at all, and should tell how embeddings usually are",
                remedy="Give data with words in it.",
            )
        return cls(every.mean(0), every.std(0, correction=0).clamp(min=_LEAST_SPREAD))

    def standard(self, embeds: Tensor) -> Tensor:
        """Embeddings [..., d] as distances from their mean, in standard deviations."""
        return (embeds - self.mean.to(embeds)) / self.spread.to(embeds)

    def blended(self, embeds: Tensor, kept: Tensor, noise: Tensor) -> Tensor:
        """Embeddings [..., d] of which a share is kept; `noise` is in standard deviations from the mean."""
        other = self.mean.to(embeds) + self.spread.to(embeds) * noise
        return (kept * embeds + (1 - kept) * other).to(embeds)


def _words_of(classifier: Classifier, example: Example) -> Tensor:
    """What enters the first layer at the words of an example, [N, d]."""
    rows = classifier.encode([example]).rows
    shown = classifier.run(rows, hidden=True).hidden
    assert shown is not None
    return shown[0][:, : rows.unit_of.shape[1]][rows.unit_of >= 0].float().cpu()


class Bottleneck(TwoLayers):
    """Two layers whose last bias lets nearly everything through, and what embeddings are usually like."""

    mean: Tensor
    spread: Tensor

    def __init__(self, size: int, width: int) -> None:
        super().__init__(size, 1, width, bias=LIMIT)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))

    @property
    def usual(self) -> Usual:
        return Usual(self.mean, self.spread)


@dataclass(frozen=True)
class IBALayer(MaskLayer):
    """The information about each token that is let through a bottleneck, in nats (Schulz et al. 2020, IBA)."""

    score: Told = option("nats", _TOLD)
    adjustable: ClassVar[tuple[str, ...]] = ("pieces", "score")
    meaning: ClassVar[str] = "How many nats about the word are let through the bottleneck. Never negative."

    def build(self) -> Bottleneck:
        return Bottleneck(self.size, self.width)

    def logits(self, hidden: Sequence[Tensor]) -> Tensor:
        return super().logits(hidden).clamp(-LIMIT, LIMIT)

    def importance(self, hidden: Sequence[Tensor], words: Tensor) -> Tensor:
        logits = self.logits(hidden)
        if self.score == "kept":
            return logits.sigmoid()
        return information(logits[..., None], self.usual.standard(hidden[0])).sum(-1)

    @property
    def usual(self) -> Usual:
        """What embeddings are usually like, as it was told before it was trained."""
        network = self.network
        assert isinstance(network, Bottleneck)
        return network.usual


@dataclass(frozen=True)
class IBAPerSample(Explainer):
    """The information about each word that the model needs to say the same, found by a search for each text.

    Each number of what enters the first layer is mixed with noise that is as embeddings usually are. Some gradient
    steps find how much noise each number bears: they make the target likely and let through little information. The
    model stays as it is, and nothing is trained before. `iba` is a layer that has learned to say it at once. Schulz et
    al. 2020, without their smoothing, as words are no pixels.
    """

    steps: Count = option(10, "How many gradient steps are made.")
    copies: Count = option(10, "How often noise is drawn in each step.")
    rate: Positive = option(1.0, "The rate of the steps, which are Adam's.")
    information: Weight = option(10.0, "The weight of the mean information that is let through.")
    background: str | None = option(
        None, "The data that tells how embeddings usually are, such as reviews:train; without it, the training data."
    )
    samples: Count = option(256, "How many examples of that data are looked at.")
    score: Told = option("nats", _TOLD)
    pieces: Pieces = option("mean", PIECES_OF_A_MASK)
    seed: Seed = option(0, SEED)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS, Ability.HIDDEN, Ability.EMBEDDING_OUTPUT})
    cost: ClassVar[str] = "steps x copies x (1 forward, 1 backward)"
    meaning: ClassVar[str] = "How many nats about the word the model needs to say the same. Never negative."
    weakness: ClassVar[str] = (
        "A few steps from letting everything through need not end at the least information, and their rate and the "
        "weight of information decide how far they come. Texts full of noise are unlike any that the model has seen."
    )

    def passes(self, units: int) -> int:
        return self.steps * self.copies + 1

    def quick(self, units: int) -> IBAPerSample:
        return replace(self, steps=2, copies=2)

    def scores(self, case: Case) -> Scores:
        usual = case.once(("usual", self.background, self.samples, self.seed), lambda: self._usual(case))
        standard = usual.standard(case.rowwise(lambda rows, _: _entering(case, rows), passes=0))  # [R, L, d]
        words = (case.batch.rows.unit_of >= 0)[..., None]  # [R, L, 1]
        logits, seeds = torch.full_like(standard, LIMIT), self._seeds(case)
        search = torch.optim.Adam([logits], lr=self.rate)
        for step in range(self.steps):
            logits.grad = self._told(logits, standard, words) + self._missed(case, usual, logits, seeds[:, step])
            search.step()
        kept = logits.sigmoid().mean(-1, keepdim=True)  # each number of a word has a share of its own
        told = kept if self.score == "kept" else information(logits, standard)
        return Scores(case.to_units((told * words).sum(-1), self.pieces))  # [R, L] before

    def _told(self, logits: Tensor, standard: Tensor, words: Tensor) -> Tensor:
        """The gradient of the mean information about the words of each row, with its weight, [R, L, d]."""
        with torch.enable_grad():
            leaf = logits.detach().requires_grad_()
            count = (words.sum((1, 2)) * standard.shape[-1]).clamp(min=1)
            mean = (information(leaf, standard) * words).sum((1, 2)) / count  # [R]: a row's mean is its own
            (gradient,) = torch.autograd.grad(self.information * mean.sum(), leaf)
        return gradient

    def _missed(self, case: Case, usual: Usual, logits: Tensor, seeds: Tensor) -> Tensor:
        """The gradient of what is missed when noise is mixed in, its mean over copies, [R, L, d]; seeds are [R, K]."""
        row = torch.arange(len(seeds)).repeat_interleave(self.copies)

        def missed(rows: Rows, visit: Tensor) -> Tensor:
            width = rows.unit_of.shape[1]
            leaf = logits.detach()[row[visit], :width].to(case.classifier.device).requires_grad_()  # [v, l, d]
            noise = _noise(seeds.flatten()[visit], rows.lengths, leaf.shape)
            output = case.classifier.run(rows, enter=_mixed(rows, usual, leaf.sigmoid(), noise.to(leaf)))
            (gradient,) = torch.autograd.grad(_loss(case, rows, output.logits).sum() / self.copies, leaf)
            return gradient

        return case.rowsum(missed, row)

    def _usual(self, case: Case) -> Usual:
        name = self.background or case.classifier.trained_on
        if name is None:
            raise UsageError(
                "iba-per-sample has to know how embeddings usually are, and the model does not say what it was "
                "trained on",
                remedy="Name some data: iba-per-sample(background=reviews:train).",
            )
        drawn = Chance("background", self.seed).shuffled(load(name).examples)
        return Usual.of(case.classifier, drawn[: self.samples])

    def _seeds(self, case: Case) -> Tensor:
        """Chance for each row, step and copy, [R, S, K]; it is the example's own, and each window has another."""
        owner = case.batch.rows.owner
        found = torch.empty(len(owner), self.steps, self.copies, dtype=torch.long)
        for index in range(len(case)):
            of = torch.nonzero(owner == index)[:, 0]
            size = (len(of), self.steps, self.copies)
            found[of] = torch.randint(2**62, size, generator=case.generator(index, self.seed))
        return found


def _entering(case: Case, rows: Rows) -> Tensor:
    """What enters the first layer, [r, l, d]."""
    shown = case.classifier.run(rows, hidden=True).hidden
    assert shown is not None
    return shown[0][:, : rows.unit_of.shape[1]]  # models may add positions at the end


def _mixed(rows: Rows, usual: Usual, kept: Tensor, noise: Tensor) -> Callable[[Tensor], Tensor]:
    """What becomes of what enters the first layer when noise is mixed into words; all else stays as it is."""
    words = (rows.unit_of >= 0)[..., None].to(kept.device)

    def enter(states: Tensor) -> Tensor:
        width = kept.shape[1]
        mixed = usual.blended(states[:, :width], kept.masked_fill(~words, 1.0), noise)
        return torch.cat([mixed, states[:, width:]], 1)

    return enter


def _noise(seeds: Tensor, lengths: Tensor, shape: torch.Size) -> Tensor:
    """Standard normal noise [v, l, d], that of each row by its own seed; padding has none."""
    found = torch.zeros(shape)
    for at, (seed, length) in enumerate(zip(seeds.tolist(), lengths.tolist(), strict=True)):
        found[at, :length] = torch.randn(length, shape[-1], generator=torch.Generator().manual_seed(seed))
    return found


def _loss(case: Case, rows: Rows, logits: Tensor) -> Tensor:
    """How far what is said of rows is from the target, [v]: its log-probability, or the distance of a number."""
    if case.classifier.is_regression:
        return (logits[:, 0] - case.output.logits[rows.owner, 0].to(logits)) ** 2
    return -case.scaled(logits, case.targets[rows.owner].to(logits.device), "logprob")
