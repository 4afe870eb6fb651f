"""Students: small networks that have learned from a slow explainer what it says, and say it in one pass.

L2E (Situ et al. 2021, "Learning to Explain") teaches them order or levels; our own form is the scores themselves.
`veridical distil` makes them; their folder is a method like any other.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.core.component import Count, Number, Positive, Probability, Seed, option
from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.values import FAMILIAR, IMAGE, PAIR, TEXT, Gives, Unit
from veridical.explainers.base import Explainer, Scores, adding_up
from veridical.explainers.coalitions import all_pairs, ask_each, drawn_pairs, number_of_pairs
from veridical.explainers.shapley import exact, unbiased
from veridical.masking import Case, EraserName
from veridical.masking.case import Scale
from veridical.masking.erasure import NEUTRAL
from veridical.models import Ability, Output, Rows
from veridical.models.black_box import BlackBox
from veridical.models.text_rows import word_spans
from veridical.models.weights import Learned

Form = Literal["scores", "ranking", "labels"]
"""What a student has learned: signed scores, the order of their sizes, or their levels."""

_GIVES: Mapping[str, Gives] = {"scores": "signed", "ranking": "shares", "labels": "levels"}

_AT_ONCE = 16_384
"""Positions of words that a student reads in one batch: it is small, and keeps nothing for a way back."""

_FEWEST_TO_TELL = 4
"""With fewer questions, which come in pairs, `refine` cannot tell how far off it is."""

PADDING, UNKNOWN, SPECIALS = 0, 1, 2
"""Words of a vocabulary that are none, and how many there are of these. Label tokens come after the words."""


@dataclass(frozen=True)
class Student(Learned, Explainer):
    """What every student is: sizes, what it has learned, and how its outputs become scores.

    Its network gives `outputs` numbers for each position; those of a class are `per_class` of them.
    """

    labels: tuple[str, ...] = option((), "The classes of the model in the order of its outputs; none for a number.")
    form: Form = option(
        "scores", "What it has learned: signed scores for every class, the order of their sizes, or their levels."
    )
    levels: Literal[3, 5] = option(5, "How many levels `labels` has: 3 for teachers that are never negative.")
    scale: Positive = option(1.0, "The size of the teacher's scores; outputs are multiplied by it.")
    width: Count = option(48, "How many numbers a state of the network has.")
    depth: Count = option(1, "How many layers the network has.")
    heads: Count = option(4, "How many heads attend in each layer at most; they share its width evenly.")
    dropout: Probability = option(0.0, "The share of states that is dropped in training.")
    taught: tuple[str, ...] = option((), "The classes that its lessons explained; none for all of them.")
    game: Scale | None = option(
        None, "The output that its teacher asked about with words taken away; none if that is not known."
    )
    eraser: EraserName = option("mask", "How its teacher took words away; `refine` does so, too.")
    refine: Number = option(
        0,
        "How many questions to ask the model to turn the student's scores into Shapley values without bias; the better "
        "the student, the less noise. 0 asks none.",
    )
    any_model: bool = option(False, "Use it with another model, too; its scores are about the one it was made for.")
    seed: Seed = option(0, "Seed of the network's first weights.")
    adjustable: ClassVar[tuple[str, ...]] = ("refine", "any_model")
    learned_by: ClassVar[str] = "veridical distil MODEL --teacher lime --data DATA --out FOLDER"
    weakness: ClassVar[str] = (
        "It says what it learned from its teacher, and is no better than that. Texts unlike those it learned from may "
        "get scores that mean nothing; the measure `familiar` says how unlike a text is."
    )

    @property
    def body(self) -> StudentNetwork:
        """The network, as what it is."""
        return cast("StudentNetwork", self.network)

    @property
    def classes(self) -> int:
        """How many classes it tells apart; one for a number."""
        return max(1, len(self.labels))

    @property
    def per_class(self) -> int:
        """How many numbers a position has for one class."""
        return self.levels if self.form == "labels" else 1

    @property
    def gives(self) -> Gives:
        return _GIVES[self.form]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refine and self.form != "scores":
            raise UsageError(
                f"this student cannot be refined: it has learned {self.form}, and not scores",
                remedy="Distil one with --form scores.",
            )
        if self.refine and self.game is None:
            raise UsageError(
                "this student cannot be refined: it is not known how its teacher took words away and what it asked",
                remedy="Distil one from kernel-shap, permutation-shap, lime or occlusion, or from several of them with "
                "the same output and eraser.",
            )
        if self.refine == 1:
            raise UsageError("one question corrects nothing", remedy="Give at least refine=2: they come in pairs.")

    def passes(self, units: int) -> int:
        return self.refine + 2  # one reads the states where nobody has read them yet, one is for the empty text

    def check_labels(self, case: Case) -> None:
        """Refuse a model with other classes than those the student has learned."""
        if self.labels != case.classifier.labels:
            unseen = [label for label in case.classifier.labels if label not in self.labels]
            told = f"never saw the label {unseen[0]!r}" if unseen else f"learned the labels {', '.join(self.labels)}"
            raise UnsupportedError(f"the student {told}", remedy="Distil one from this model.")
        self._check_taught(case)

    def _check_taught(self, case: Case) -> None:
        """Refuse a class that no lesson explained: what the student says of it would be about nothing."""
        for example, target in zip(case.batch.examples, case.targets.tolist(), strict=True):
            name = case.classifier.target_name(target)
            if self.taught and name not in self.taught:
                known = ", ".join(self.taught)
                raise InputError(
                    f"the student never learned what speaks for {name!r}: its lessons explained {known}",
                    example=example.id,
                    remedy="Distil one with --target every, or from data with texts of this class.",
                )

    def values(self, found: Tensor, live: Tensor) -> Tensor:
        """The scores [B, U] that are made of a network's numbers [B, U, K] for the target of each entry."""
        if self.form == "scores":
            return found[..., 0] * self.scale * live
        if self.form == "ranking":  # by the model of Bradley and Terry, the chance of each word to come first
            return found[..., 0].masked_fill(~live, -torch.inf).softmax(-1).nan_to_num()
        if self.levels == 3:  # high, medium, low
            return (2 - found.argmax(-1)).float() * live
        return (found.argmax(-1) - NEUTRAL).float() * live  # from -2, highly negative, to 2

    def scored(self, case: Case, found: Tensor, pooled: Tensor) -> Scores:
        """The scores, and how familiar each text is, from numbers [B, U, K] and mean states of texts [B, w]."""
        values, familiar = self.values(found, case.live), self.body.familiarity(pooled)
        if not self.refine:
            return Scores(values, measures={FAMILIAR: familiar})
        better = refined(case.with_eraser(self.eraser), values, self)
        return replace(better, measures={FAMILIAR: familiar, **better.measures})


class StudentNetwork(nn.Module):
    """What networks of students share: what they know of the texts that they learned from."""

    quantiles: int = 101
    centre: Tensor
    spread: Tensor
    distances: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))
        # Distances of dev texts, sorted; at first all texts are familiar.
        self.register_buffer("distances", torch.full((self.quantiles,), torch.inf))

    def pooled(self, vectors: Tensor, live: Tensor) -> Tensor:
        """The mean state of each text's words, [B, w], from states [B, U, w]."""
        mask = live.to(vectors)[..., None]
        return (vectors * mask).sum(1) / mask.sum(1).clamp(min=1)

    def distance(self, pooled: Tensor) -> Tensor:
        """How far texts [B, w] are from those that it learned from, [B]: in each direction by the spread there."""
        return ((pooled - self.centre) / self.spread).pow(2).mean(1).sqrt()

    def familiarity(self, pooled: Tensor) -> Tensor:
        """The share of dev texts that are at least as far from the training texts, [B]."""
        nearer = torch.searchsorted(self.distances, self.distance(pooled))
        return 1 - nearer.float() / self.quantiles

    def remember(self, seen: Tensor, dev: Tensor) -> None:
        """Take in the pooled states [N, w] of the texts that it learned from, and of others by which it is judged."""
        self.centre.copy_(seen.mean(0))
        self.spread.copy_(seen.std(0, unbiased=False).clamp(min=1e-6))
        found = self.distance(dev)
        self.distances.copy_(torch.quantile(found, torch.linspace(0, 1, self.quantiles).to(found)))


class Ladder(StudentNetwork):
    """A narrow network beside a frozen model: each rung takes in some of the model's states, and attends."""

    def __init__(self, size: int, states: int, student: Student) -> None:
        super().__init__(student.width)
        self.groups = torch.arange(states).tensor_split(student.depth)
        self.maps = nn.ModuleList(nn.Linear(size * len(group), student.width) for group in self.groups)
        self.rungs = nn.ModuleList(Layer(student) for _ in self.groups)
        self.last = nn.Linear(student.width, student.classes * student.per_class)

    def forward(self, hidden: Sequence[Tensor], padding: Tensor | None) -> tuple[Tensor, Tensor]:
        """Numbers [R, T, C K] and states [R, T, w], from hidden states [R, T, d]; `padding` [R, T] is not attended."""
        state: Tensor | None = None
        for group, map_, rung in zip(self.groups, self.maps, self.rungs, strict=True):
            taken = map_(torch.cat([hidden[at] for at in group.tolist()], -1))
            state = rung(taken if state is None else state + taken, padding)
        assert state is not None
        return self.last(state), state


@dataclass(frozen=True)
class SideStudent(Student):
    """Scores by a narrow network that reads the hidden states of the pass that predicts."""

    size: Count = option(64, "How many numbers a hidden state of the model has.")
    states: Count = option(3, "How many hidden states the model has: one for each layer, and the embeddings.")
    normalise: bool = option(
        False, "Read states at mean 0 and deviation 1, for models that do so themselves at the start of each layer."
    )
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.HIDDEN})
    cost: ClassVar[str] = "a small network; its states are those of the prediction"
    meaning: ClassVar[str] = (
        "What its teacher would say: scores on the teacher's scale. Of an order it says each word's share of what "
        "counts, for or against, and of levels a number from -2 to 2."
    )

    def build(self) -> nn.Module:
        return Ladder(self.size, self.states, self)

    def scores(self, case: Case) -> Scores:
        self.check_labels(case)
        tokens = case.read(self)  # [R, L, C K + w]
        numbers = tokens[..., : self.classes * self.per_class]
        owner = case.batch.rows.owner
        columns = case.targets[owner][:, None, None] * self.per_class + torch.arange(self.per_class)  # [R, 1, K]
        chosen = numbers.gather(2, columns.expand(-1, numbers.shape[1], -1))
        found = case.to_units(chosen)  # [B, U, K]
        vectors = case.to_units(tokens[..., self.classes * self.per_class :], "mean")
        return self.scored(case, found, self.body.pooled(vectors, case.live))

    def read(self, rows: Rows, output: Output) -> Tensor:
        """Numbers and states of each token, [R, L, C K + w], from what the model showed."""
        assert output.hidden is not None
        with torch.no_grad():
            found = torch.cat(self.tokens(output.hidden, rows.lengths), -1)
        return found[:, : rows.unit_of.shape[1]]

    def tokens(self, hidden: Sequence[Tensor], lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers [R, T, C K] and states [R, T, w] of each token, from hidden states of rows of some lengths."""
        if len(hidden) != self.states or hidden[0].shape[-1] != self.size:
            raise UnsupportedError(
                f"this student reads {self.states} states of {self.size} numbers, and the model has {len(hidden)} of "
                f"{hidden[0].shape[-1]}",
                remedy="Distil one from this model.",
            )
        states = [state.float() for state in hidden]  # the model may have less precision
        if self.normalise:
            states = [functional.layer_norm(state, state.shape[-1:]) for state in states]
        width = states[0].shape[1]
        lengths = lengths.to(states[0].device)
        # Padding must not be attended to. Without any, a faster kernel is taken.
        padding = None
        if int(lengths.min()) < width:
            padding = torch.arange(width, device=lengths.device) >= lengths[:, None]
        if self.body.centre.device != states[0].device:  # asking each weight would take half the time of the network
            self.network.to(states[0].device)
        found: tuple[Tensor, Tensor] = self.network(states, padding)
        return found


class WordNetwork(StudentNetwork):
    """A transformer over words of a vocabulary, with a label token at both ends where it is told the class."""

    vocabulary: Tensor
    level: Tensor

    def __init__(self, student: WordStudent) -> None:
        super().__init__(student.width + 1)  # and the share of unknown words
        self.scale = student.width**0.5
        self.words, self.width, self.positions = student.words, student.width, student.positions
        tokens = SPECIALS + student.words + student.classes
        self.embedding = nn.Embedding(tokens, student.width, padding_idx=PADDING)
        self.fields = nn.Embedding(2, student.width)
        nn.init.zeros_(self.fields.weight)
        self.layers = nn.ModuleList(Layer(student) for _ in range(student.depth))
        self.last = nn.Linear(student.width, student.outputs)
        self.decide = nn.Linear(student.width, student.classes) if student.predicts else None
        # The mean and the deviation of the numbers that a regression gives; of logits 0 and 1.
        self.register_buffer("level", torch.tensor([0.0, 1.0]))
        # Hashes of words, sorted: nobody reads the training texts off a student.
        self.register_buffer("vocabulary", torch.zeros(student.words, dtype=torch.long))

    def forward(self, words: Tensor, fields: Tensor, label: Tensor | None) -> tuple[Tensor, Tensor]:
        """Numbers [B, n, K'] and states [B, n, w], from tokens [B, n], the fields they stand in, and labels [B].

        With a label there are two more positions, the first and the last: its tokens.
        """
        vectors = self.embedding(words) * self.scale + self.fields(fields)
        padding = words == PADDING
        if self.positions:
            places = (0 if label is None else 1) + torch.arange(words.shape[1], device=words.device)
            vectors = vectors + sinusoids(places, self.width).to(vectors)
        if label is not None:
            tag = self.embedding(SPECIALS + self.words + label)[:, None] * self.scale  # [B, 1, w]
            start = end = tag
            if self.positions:  # the last stands after the text's own words, and not after the longest text's
                after = 1 + (~padding).sum(1)
                start = tag + sinusoids(torch.zeros_like(after), self.width)[:, None].to(tag)
                end = tag + sinusoids(after, self.width)[:, None].to(tag)
            vectors = torch.cat([start, vectors, end], 1)
            padding = functional.pad(padding, (1, 1), value=False)
        # Without padding a faster kernel is taken; a graph must not depend on what is in a batch.
        state, mask = vectors, padding if torch.compiler.is_exporting() or bool(padding.any()) else None
        if label is None and mask is not None:  # a text without words must not make every key a padding
            mask = mask & ~mask.all(1, keepdim=True)
        for layer in self.layers:
            state = layer(state, mask)
        return self.last(state), state

    def decisions(self, states: Tensor, live: Tensor) -> Tensor:
        """What the model would decide, as logits [B, C], from states [B, n, w] that were made without a label."""
        assert self.decide is not None
        found: Tensor = self.decide(self.pooled(states, live))
        return found * self.level[1] + self.level[0]


@dataclass(frozen=True)
class WordStudent(Student):
    """Scores by a small transformer over whole words: it needs the model for its decision only, and works with any."""

    words: Count = option(1, "How many words its vocabulary has.")
    window: Count = option(512, "Words that are read together; a longer text is read in windows that overlap.")
    positions: bool = option(False, "Whether it is told by sinusoids where words stand; published students are not.")
    predicts: bool = option(False, "Whether it has learned the model's decisions, too: then it is a model itself.")
    several: bool = option(False, "Whether any number of the model's labels may hold.")
    threshold: Probability = option(0.5, "The probability from which one of several labels holds.")
    needs: ClassVar[frozenset[Ability]] = frozenset()
    cost: ClassVar[str] = "a small network, and the prediction"
    meaning: ClassVar[str] = (
        "What its teacher would say: scores on the teacher's scale. Of an order it says each word's share of what "
        "counts, for or against, and of levels a number from -2 to 2."
    )

    @property
    def is_told_class(self) -> bool:
        """Whether label tokens say which class is explained; scores have a column for each class instead."""
        return self.form != "scores"

    @property
    def outputs(self) -> int:
        """How many numbers a position has."""
        return self.per_class if self.is_told_class else self.classes

    def build(self) -> nn.Module:
        return WordNetwork(self)

    def scores(self, case: Case) -> Scores:
        if IMAGE in case.batch.examples[0].inputs:
            raise UnsupportedError("this student reads words, and these are images", remedy="Distil with --body side.")
        self.check_labels(case)
        places = [(at, *span) for at, units in enumerate(case.batch.units) for span in self.windows(len(units))]
        found = torch.zeros(*case.live.shape, self.per_class)
        pooled = torch.zeros(len(case), self.width + 1)
        times, windows = torch.zeros(case.live.shape), torch.zeros(len(case), 1)  # how often each was read
        for part in self._packs([end - start for _, start, end in places]):
            chosen = [places[which] for which in part]
            tokens, fields = self.encode([case.batch.units[at][start:end] for at, start, end in chosen])
            with torch.no_grad():
                numbers, states = self.answers(tokens, fields, case.targets[[at for at, _, _ in chosen]])
            means = self.pooled(states, tokens)
            for row, (at, start, end) in enumerate(chosen):
                found[at, start:end] += numbers[row, : end - start]
                times[at, start:end] += 1
                pooled[at] += means[row]
                windows[at] += 1
        found, pooled = found / times.clamp(min=1)[..., None], pooled / windows.clamp(min=1)
        return self.scored(case, found, pooled)

    def windows(self, units: int) -> list[tuple[int, int]]:
        """Where the windows of a text of so many units begin and end; each begins in the middle of the one before."""
        if units <= self.window:
            return [(0, units)]
        step = max(1, self.window // 2)
        return [(start, min(units, start + self.window)) for start in range(0, units - self.window + step, step)]

    def answers(self, tokens: Tensor, fields: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers [B, U, K] for the target of each text, and states [B, U, w]."""
        if not self.is_told_class:
            numbers, states = self.network(tokens, fields, None)
            return numbers.gather(2, targets[:, None, None].expand(-1, numbers.shape[1], 1)), states
        numbers, states, _ = self.tagged(tokens, fields, targets)
        return numbers, states

    def tagged(self, tokens: Tensor, fields: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same of a student that is told the class, and the numbers of the label tokens at both ends, [B, 2, K]."""
        numbers, states = self.network(tokens, fields, targets)
        return numbers[:, 1:-1], states[:, 1:-1], numbers[:, [0, -1]]

    def decisions(self, texts: Sequence[str | tuple[str, str]]) -> Tensor:
        """What the model would say of texts or pairs: probabilities [B, C], or numbers [B, 1] of a regression."""
        cut = [_words(text) for text in texts]
        places = [(at, *span) for at, units in enumerate(cut) for span in self.windows(len(units))]
        total, windows = torch.zeros(len(texts), self.classes), torch.zeros(len(texts), 1)
        network = cast("WordNetwork", self.network)
        for part in self._packs([end - start for _, start, end in places]):
            tokens, fields = self.encode([cut[at][start:end] for at, start, end in (places[which] for which in part)])
            with torch.no_grad():
                found = network.decisions(network(tokens, fields, None)[1], tokens != PADDING)
            at = torch.tensor([places[which][0] for which in part])
            total.index_add_(0, at, found)
            windows.index_add_(0, at, torch.ones(len(part), 1))
        logits = total / windows
        if not self.labels:
            return logits
        return logits.sigmoid() if self.several else logits.softmax(1)

    def as_model(self, name: str, **settings: Any) -> BlackBox:
        """The model that it is, if it has learned decisions, too."""
        if not self.predicts:
            raise ModelError(
                f"{name} holds a method, and no model",
                remedy="Give the model that it explains. `veridical distil --predicts` makes a student that is both.",
            )
        several: dict[str, Any] = {"multi_label": True, "threshold": self.threshold} if self.several else {}
        made = BlackBox(self.decisions, self.labels, name=name, **several, **settings)
        made.fingerprint = self.fingerprint  # by which one knows that it explains itself
        return made

    def pooled(self, states: Tensor, tokens: Tensor) -> Tensor:
        """What a text is compared with others by, [B, w + 1]: its mean state, and the share of unknown words."""
        live = tokens != PADDING
        unknown = ((tokens == UNKNOWN).sum(1) / live.sum(1).clamp(min=1))[:, None]
        return torch.cat([self.body.pooled(states, live), unknown.to(states)], 1)

    def encode(self, texts: Sequence[Sequence[Unit]]) -> tuple[Tensor, Tensor]:
        """The tokens of texts given as units, [B, n], and the field of each: 0 for a text, 1 for the second of two."""
        longest = max((len(units) for units in texts), default=0)
        tokens, fields = torch.full((len(texts), longest), PADDING), torch.zeros(len(texts), longest, dtype=torch.long)
        for row, units in enumerate(texts):
            tokens[row, : len(units)] = torch.tensor([self._numbers.get(hashed(unit.text), UNKNOWN) for unit in units])
            fields[row, : len(units)] = torch.tensor([int(unit.field == PAIR) for unit in units], dtype=torch.long)
        return tokens, fields

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        return {
            word: SPECIALS + place for place, word in enumerate(cast("WordNetwork", self.network).vocabulary.tolist())
        }

    def _packs(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Indices of texts of similar lengths that are read together."""
        order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
        while order:
            several = max(1, _AT_ONCE // max(1, lengths[order[0]] + 2))
            yield order[:several]
            order = order[several:]


def refined(case: Case, guess: Tensor, student: Student) -> Scores:
    """Shapley values [B, U] of the game that the teacher played: a guess, and an unbiased estimate of what it leaves.

    The guess is taken for a game of its own in which each word adds its score. What is left of the model's game has the
    Shapley values that the guess lacks, and the better the guess, the less noisy is an estimate of them.
    """
    scale = student.game
    assert scale is not None
    whole = case.scaled(case.output.logits, case.targets, scale).double()
    empty = case.value(torch.zeros_like(case.live)[:, None], scale)[:, 0].double()
    drawn = [_questions(case, index, student) for index in range(len(case))]
    found = ask_each(case, range(len(case)), [torch.cat([pairs, ~pairs]) for pairs in drawn], scale)
    scores, margins = guess.clone(), torch.zeros(guess.shape)
    for index, (pairs, values) in enumerate(zip(drawn, found, strict=True)):
        words = pairs.shape[1]
        own = guess[index, :words].double()
        here, there = values.double().chunk(2)
        gaps = (here - there) / 2 - torch.where(pairs, own, -own).sum(1) / 2
        left, errors = _left_over(pairs, gaps, float(whole[index] - empty[index] - own.sum()))
        scores[index, :words] = (own + left).float()
        margins[index, :words] = 1.96 * errors.float()
    # One pair tells nothing of its error. Whether there are margins must not depend on the texts beside this one.
    tells = student.refine >= _FEWEST_TO_TELL
    return Scores(scores, margins if tells else None, adding_up(scores.sum(1), (whole - empty).float()))


def _left_over(pairs: Tensor, gaps: Tensor, total: float) -> tuple[Tensor, Tensor]:
    """The Shapley values of what a guess leaves over, [n], and their standard errors."""
    words = pairs.shape[1]
    if words < 2:  # a single word has the whole total, and an empty text has no word
        return torch.full((words,), total, dtype=torch.float64), torch.zeros(words, dtype=torch.float64)
    estimate = exact if len(pairs) == number_of_pairs(words) else unbiased
    return estimate(pairs, gaps, total)


def _questions(case: Case, index: int, student: Student) -> Tensor:
    """The pairs of coalitions that are asked about, [m, n]: all of them where they fit."""
    words, wanted = len(case.batch.units[index]), student.refine // 2
    if words < 2:
        return torch.zeros(0, words, dtype=torch.bool)
    if number_of_pairs(words) <= wanted:
        return all_pairs(words)
    return drawn_pairs(words, wanted, case.generator(index, student.seed))


def sinusoids(places: Tensor, width: int) -> Tensor:
    """Where words stand, [n] or [B], as numbers of a state, [n, w]: waves of ever greater length (Vaswani 2017)."""
    waves = torch.arange(0, width, 2, device=places.device)
    angles = places[:, None] * (10_000.0 ** (-waves / width))  # [n, w / 2]
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]


def _words(text: str | tuple[str, str]) -> list[Unit]:
    """The words of a text, or of both texts of a pair."""
    fields = {TEXT: text} if isinstance(text, str) else {TEXT: text[0], PAIR: text[1]}
    return [Unit(field, span, given[slice(*span)]) for field, given in fields.items() for span in word_spans(given)]


def hashed(word: str) -> int:
    """The number that stands for a word in a vocabulary."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Layer(nn.TransformerEncoderLayer):
    """The library's layer with a forward of its own, which takes two thirds of the time for such narrow states."""

    def __init__(self, student: Student) -> None:
        self.parts = math.gcd(student.width, student.heads)  # heads that share the width evenly
        super().__init__(student.width, self.parts, 4 * student.width, student.dropout, "relu", batch_first=True)

    def forward(self, states: Tensor, padding: Tensor | None) -> Tensor:  # type: ignore[override]
        """The next states [B, n, w]; positions of `padding` [B, n] are not attended to."""
        state = self.norm1(states + self.dropout1(self._attended(states, padding)))
        found: Tensor = self.norm2(state + self.dropout2(self.linear2(self.dropout(self.linear1(state).relu()))))
        return found

    def _attended(self, states: Tensor, padding: Tensor | None) -> Tensor:
        attention, (texts, words, width) = self.self_attn, states.shape
        mapped = functional.linear(states, attention.in_proj_weight, attention.in_proj_bias)
        query, key, value = mapped.view(texts, words, 3, self.parts, width // self.parts).permute(2, 0, 3, 1, 4)
        allowed = None if padding is None else ~padding[:, None, None]
        dropout = attention.dropout if self.training else 0.0
        found = functional.scaled_dot_product_attention(query, key, value, allowed, dropout)
        mixed: Tensor = attention.out_proj(found.transpose(1, 2).reshape(texts, words, width))
        return mixed
