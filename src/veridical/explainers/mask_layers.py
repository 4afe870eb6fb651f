"""Mask layers: small networks beside a model that have learned, with it, which of its tokens matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.core.component import Count, Seed, option
from veridical.core.errors import UnsupportedError
from veridical.explainers.base import Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces
from veridical.models import Ability, Output, Rows
from veridical.models.weights import Learned, read_weights

_MEANING = "The probability that the word is kept, by the layer trained with the model. Never negative."

PIECES_OF_A_MASK = (
    "How a word's score is made from those of its pieces; probabilities do not add up, so it is the mean."
)

_ABSENT = "absent"

_WEAKNESS = (
    "It says what the training that it went through found, for texts like those of that training; it says the same for "
    "every class, and a layer that was trained with the model may tell the label by what it keeps."
)


@dataclass(frozen=True)
class MaskLayer(Learned, Explainer):
    """A network that reads hidden states and gives each token a logit: should it be kept?

    It reads the states of the pass that predicts, so that an explanation costs little more than a prediction. By its
    name alone it has learned nothing; the objective of the same name trains it with a model, and leaves it there.
    """

    size: Count = option(64, "How many numbers a hidden state of the model has.")
    states: Count = option(3, "How many hidden states the model has: one for each layer, and the embeddings.")
    width: Count = option(100, "How many units the hidden layer of the network has.")
    pieces: Pieces = option("mean", PIECES_OF_A_MASK)
    seed: Seed = option(0, "Seed of the network's first weights.")
    normalise: bool = option(
        False, "Read states at mean 0 and deviation 1, for models that do so themselves at the start of each layer."
    )
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.HIDDEN})
    adjustable: ClassVar[tuple[str, ...]] = ("pieces",)
    learned_by: ClassVar[str] = "veridical train --objective {name}"
    cost: ClassVar[str] = "a small network; its states are those of the prediction"
    weakness: ClassVar[str] = _WEAKNESS

    @property
    def absent(self) -> Tensor | None:
        """What stands for a masked word in front of the first layer, [d]; None: nothing at all, as zeros."""
        found: Tensor | None = getattr(self.network, _ABSENT, None)
        return found

    def stand_in(self, absent: Tensor) -> None:
        """Let a vector [d] stand for masked words; it is kept with the weights."""
        self.network.register_buffer(_ABSENT, absent)

    def load_weights(self, folder: str | PathLike[str], told: Mapping[str, Any]) -> None:
        if _ABSENT in read_weights(folder):
            self.stand_in(torch.zeros(self.size))
        super().load_weights(folder, told)

    def scores(self, case: Case) -> Scores:
        return Scores(case.to_units(case.read(self), self.pieces) * case.live)

    def read(self, rows: Rows, output: Output) -> Tensor:
        """The importance of each token [R, L], from what the model showed."""
        assert output.hidden is not None
        with torch.no_grad():
            found = self.importance(output.hidden, rows.unit_of >= 0)
        return found[:, : rows.unit_of.shape[1]]

    def importance(self, hidden: Sequence[Tensor], words: Tensor) -> Tensor:
        """How important each token is [R, T], from hidden states [R, T, d]; `words` [R, L] are those that may go."""
        return self.logits(hidden).sigmoid()

    def logits(self, hidden: Sequence[Tensor]) -> Tensor:
        """The logit of keeping each token, [R, T]."""
        if len(hidden) != self.states or hidden[0].shape[-1] != self.size:
            raise UnsupportedError(
                f"this layer reads {self.states} states of {self.size} numbers, and the model has {len(hidden)} of "
                f"{hidden[0].shape[-1]}",
                remedy="Train one with this model: `veridical train --objective ...`.",
            )
        states = torch.stack(self.read_from(hidden)).float()  # [S, R, T, d]: the model may have less precision
        if self.normalise:
            states = functional.layer_norm(states, states.shape[-1:])
        found: Tensor = self.network.to(states.device)(states)  # [R, T, 1]
        return found[..., 0].float()  # masks are drawn by them: in bfloat16 a chance of .005 would never be drawn

    def read_from(self, hidden: Sequence[Tensor]) -> list[Tensor]:
        """The states that the network reads: of the embeddings alone, unless a layer reads more."""
        return [hidden[0]]


class SparseCoding(nn.Module):
    """Gated features of each hidden state by maps that all states share, or that each has, and a logit of them all."""

    def __init__(self, size: int, states: int, width: int, separate: bool) -> None:
        super().__init__()
        maps = states if separate else 1
        self.gate = nn.ModuleList(nn.Linear(size, width) for _ in range(maps))
        self.feature = nn.ModuleList(nn.Linear(size, width) for _ in range(maps))
        self.last = nn.Linear(width * states, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        coded = [
            self.gate[at % len(self.gate)](state).tanh() * self.feature[at % len(self.feature)](state)
            for at, state in enumerate(hidden)  # [R, T, d] each
        ]
        found: Tensor = self.last(torch.cat(coded, -1))  # [R, T, 1]
        return found


@dataclass(frozen=True)
class SCCLayer(MaskLayer):
    """The probability that a token is kept, by a sparse coding layer over all hidden states of the model."""

    separate: bool = option(False, "Give each hidden state maps of its own; by default all share one pair of maps.")
    meaning: ClassVar[str] = _MEANING

    def build(self) -> nn.Module:
        return SparseCoding(self.size, self.states, self.width, self.separate)

    def read_from(self, hidden: Sequence[Tensor]) -> list[Tensor]:
        return list(hidden)


class TwoLayers(nn.Module):
    """A hidden layer for each state, by a map that all share, and a logit of them all."""

    def __init__(self, size: int, states: int, width: int, bias: float = 0.0) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(size, width), nn.Linear(width * states, 1)
        nn.init.constant_(self.last.bias, bias)

    def forward(self, hidden: Tensor) -> Tensor:
        found: Tensor = self.last(torch.cat([self.first(state).tanh() for state in hidden], -1))
        return found


@dataclass(frozen=True)
class VMaskLayer(MaskLayer):
    """The probability that a token is kept, by a network over its embedding (Chen and Ji 2020, VMASK)."""

    every_layer: bool = option(False, "Read the hidden states of all layers, as E-VarM does.")
    meaning: ClassVar[str] = _MEANING

    def build(self) -> nn.Module:
        return TwoLayers(self.size, self.states if self.every_layer else 1, self.width)

    def read_from(self, hidden: Sequence[Tensor]) -> list[Tensor]:
        return list(hidden) if self.every_layer else [hidden[0]]


@dataclass(frozen=True)
class L2XLayer(MaskLayer):
    """The share of each token in a draw of one, by a network over its embedding (Chen et al. 2018, L2X)."""

    meaning: ClassVar[str] = "How likely the word is to be drawn first, among all words of the text. Never negative."

    def build(self) -> nn.Module:
        return TwoLayers(self.size, 1, self.width)

    def importance(self, hidden: Sequence[Tensor], words: Tensor) -> Tensor:
        logits = self.logits(hidden)
        words = functional.pad(words, (0, logits.shape[1] - words.shape[1]), value=False).to(logits.device)
        return logits.masked_fill(~words, -torch.inf).softmax(-1).nan_to_num()
