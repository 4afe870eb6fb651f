"""Explainers that are taught by how well students learn from them: mixtures of attention heads, or of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from veridical.core.component import Count, Number, option
from veridical.core.errors import UnsupportedError
from veridical.explainers.base import PIECES, Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces
from veridical.models import Ability, Classifier, Rows
from veridical.models.weights import Learned
from veridical.simulation.mixtures import Mixture, head_logits, shares
from veridical.simulation.plans import Weighing

WEIGHING = "How its parameters become weights of its sources: by sparsemax and entmax15 most of them get none."


@dataclass(frozen=True)
class MixtureExplainer(Learned, Explainer):
    """Shares of a text's tokens that sources of the model give together; `veridical scaffold` learns their weights."""

    weighing: Weighing = option("sparsemax", WEIGHING)
    pieces: Pieces = option("sum", PIECES)
    learned_by: ClassVar[str] = "veridical scaffold MODEL --data DATA --out FOLDER"

    @property
    def sources(self) -> int:
        """How many sources it weighs."""
        raise NotImplementedError

    def build(self) -> nn.Module:
        return Mixture(self.sources, self.weighing)

    @property
    def mixture(self) -> Mixture:
        """What it has learned, or begins with."""
        return cast("Mixture", self.network)

    def sources_of(self, classifier: Classifier, rows: Rows, logit_gradient: Tensor) -> Tensor:
        """The sources of each row, [R, J, T], which do not depend on what is learned.

        `logit_gradient` [R, C] is the derivative of what is explained by each row's logits.
        """
        raise NotImplementedError

    def weights(self) -> Tensor:
        """The weight of each source, [J]."""
        with torch.no_grad():
            return self.mixture.weights()

    def table(self) -> tuple[list[str], list[tuple[str, list[float]]]]:
        """The weights by row and column: the names of the columns, and each row with its name."""
        raise NotImplementedError

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        # Shares of each window add up to 1, so those of a text of several windows are averaged.
        windows = torch.bincount(case.batch.rows.owner, minlength=len(case))

        def explained(rows: Rows, logit_gradient: Tensor) -> Tensor:
            with torch.no_grad():
                sources = self.sources_of(case.classifier, rows, logit_gradient)
                return shares(self.mixture(sources), rows)[:, : rows.unit_of.shape[1]]

        tokens = case.rowwise(explained, passes=0)
        return Scores(case.to_units(tokens / windows[case.batch.rows.owner][:, None], self.pieces))


@dataclass(frozen=True)
class AttentionMixture(MixtureExplainer):
    """Attention logits, averaged over queries, weighed head by head, and made into shares once (SMaT).

    Which heads matter is learned: those from whose attention students of the model learn best.
    """

    layers: Count = option(2, "How many layers the model has.")
    heads: Count = option(4, "How many heads each layer has.")
    last_layer: bool = option(False, "Weigh the heads of the last layer only.")
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.ATTENTIONS})
    cost: ClassVar[str] = "1 forward"
    meaning: ClassVar[str] = (
        "How much all words look at the word, by the heads from which students of the model learn best. Never negative."
    )
    weakness: ClassVar[str] = (
        "It says what helps to learn the model's decisions, which may be another thing than what the model decided by. "
        "It says the same for every class."
    )

    @property
    def sources(self) -> int:
        return self.heads * (1 if self.last_layer else self.layers)

    def table(self) -> tuple[list[str], list[tuple[str, list[float]]]]:
        parts = self.weights().view(-1, self.heads)
        first = self.layers - len(parts) + 1
        rows = [(f"layer {first + at}", part.tolist()) for at, part in enumerate(parts)]
        return [f"head {at + 1}" for at in range(self.heads)], rows

    def sources_of(self, classifier: Classifier, rows: Rows, logit_gradient: Tensor) -> Tensor:
        attentions = classifier.run(rows, attentions=True).attentions
        assert attentions is not None
        if len(attentions) != self.layers or attentions[0].shape[1] != self.heads:
            raise UnsupportedError(
                f"this explainer weighs {self.layers} layers of {self.heads} heads, and the model has "
                f"{len(attentions)} of {attentions[0].shape[1]}",
                remedy="Learn one for this model: `veridical scaffold`.",
            )
        return head_logits(attentions[-1:] if self.last_layer else attentions, rows)

    @classmethod
    def of(
        cls, classifier: Classifier, rows: Rows, weighing: Weighing = "sparsemax", last_layer: bool = False
    ) -> AttentionMixture:
        """One for a model, which has learned nothing yet."""
        with torch.no_grad():
            attentions = classifier.run(rows, attentions=True).attentions
        assert attentions is not None
        heads = int(attentions[0].shape[1])
        return cls(layers=len(attentions), heads=heads, last_layer=last_layer, weighing=weighing)


@dataclass(frozen=True)
class GradientMixture(MixtureExplainer):
    """Gradients times states, of all layers and at some points of the way to the input, weighed and made into shares.

    Integrated gradients take all points of the way alike, and the first state only. Here it is learned how much each
    layer and each point counts: by how well students of the model learn from what comes of it. With `heads` also how
    much each head's attention times its gradient counts.
    """

    states: Count = option(3, "How many hidden states the model has: one for each layer, and the embeddings.")
    points: Count = option(4, "How many points of the straight way from zero embeddings to the input there are.")
    heads: Number = option(0, "How many heads all layers have together, of which attention times gradient is a source.")
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS, Ability.EMBEDDINGS, Ability.HIDDEN})
    cost: ClassVar[str] = "as many forwards and backwards as points"
    meaning: ClassVar[str] = (
        "The share of the word in gradients times states, by the layers and points from which students of the model "
        "learn best. Never negative."
    )
    weakness: ClassVar[str] = (
        "It says what helps to learn the model's decisions. Shares are never negative: what speaks against the class "
        "has the least."
    )

    @property
    def sources(self) -> int:
        return self.states * self.points + self.heads

    def table(self) -> tuple[list[str], list[tuple[str, list[float]]]]:
        states, heads = self.weights()[: self.states * self.points], self.weights()[self.states * self.points :]
        names = [f"{point}/{self.points}" for point in range(1, self.points + 1)]
        by_point = states.view(self.points, self.states).T  # one row for each state
        rows = [(f"state {at}", row.tolist()) for at, row in enumerate(by_point)]
        if self.heads:
            rows.append((f"all {self.heads} heads", [0.0] * (self.points - 1) + [float(heads.sum())]))
        return names, rows

    def passes(self, units: int) -> int:
        return self.points

    def sources_of(self, classifier: Classifier, rows: Rows, logit_gradient: Tensor) -> Tensor:
        with torch.enable_grad():
            embeds = classifier.embed(rows).detach()
            found: list[Tensor] = []
            for point in range(1, self.points + 1):
                at = (embeds * (point / self.points)).requires_grad_()
                whole = point == self.points and self.heads > 0
                output = classifier.run(rows, embeds=at, hidden=True, attentions=whole)
                assert output.hidden is not None
                seen = [*output.hidden, *((output.attentions or ()) if whole else ())]
                explained = (output.logits * logit_gradient.to(output.logits)).sum()
                gradients = torch.autograd.grad(explained, seen, allow_unused=True, materialize_grads=True)
                states = len(output.hidden)
                self._check(states, seen[states:])
                pairs = list(zip(seen, gradients, strict=True))
                found += [(state * gradient).sum(-1)[:, None] for state, gradient in pairs[:states]]
                found += [(weights * gradient).sum(2) for weights, gradient in pairs[states:]]  # over queries
        return _of_one_size(torch.cat([each.detach().float() for each in found], 1), rows)

    def _check(self, states: int, attentions: list[Tensor]) -> None:
        heads = sum(each.shape[1] for each in attentions)
        if states != self.states or (attentions and heads != self.heads):
            raise UnsupportedError(
                f"this explainer weighs {self.states} states and {self.heads} heads, and the model has {states} states"
                + (f" and {heads} heads" if attentions else ""),
                remedy="Learn one for this model: `veridical scaffold`.",
            )

    @classmethod
    def of(
        cls, classifier: Classifier, rows: Rows, weighing: Weighing = "sparsemax", points: int = 4
    ) -> GradientMixture:
        """One for a model, which has learned nothing yet; with heads where they can be differentiated by."""
        heads = Ability.ATTENTION_GRADIENTS in classifier.provides
        with torch.no_grad():
            output = classifier.run(rows, hidden=True, attentions=heads)
        assert output.hidden is not None
        count = sum(each.shape[1] for each in output.attentions or ())
        return cls(states=len(output.hidden), points=points, heads=count, weighing=weighing)


def _of_one_size(sources: Tensor, rows: Rows) -> Tensor:
    """Sources [R, J, T] with a mean of 0 and a deviation of 1 over the tokens of each row, so that they can mix."""
    live = (rows.inputs["attention_mask"] > 0).to(sources)[:, None]  # [R, 1, T]
    count = live.sum(-1, keepdim=True)
    middle = (sources * live).sum(-1, keepdim=True) / count
    spread = (((sources - middle) * live).square().sum(-1, keepdim=True) / count).sqrt()
    return (sources - middle) * live / spread.clamp(min=1e-12)
