"""Made pairs of texts whose true reasons are known: one word on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from veridical.core.example import PAIR, TEXT, Example, Unit
from veridical.data.dataset import Dataset, Source
from veridical.data.planted import Difficulty, Planted, grow, lay_out, require, write
from veridical.data.planted_vocabulary import MOST_TOPICS, fillers, topic
from veridical.data.splits import Chance

LABELS = ("match", "mismatch")
_FIRST = 2
"""Topics 0 and 1 are sentiment; the topics of pairs are things: animals, colours, food ..."""


@dataclass(frozen=True)
class PlantedPairs(Source):
    """Made pairs: match when both texts hold a word of the same topic, else mismatch.

    Like entailment, neither text alone tells the label. Evidence is the topic word of each side. `topics` is how many
    there are; `difficulty` sets the words per topic and the fillers as in `planted`.
    """

    length: int = 12
    topics: int = 4
    difficulty: Difficulty = "easy"
    train: int = 1000
    dev: int = 200
    test: int = 200
    seed: int = 0

    task: ClassVar[str] = "pair classification"

    def load(self, split: str) -> Dataset:
        most = MOST_TOPICS - _FIRST
        require(2 <= self.topics <= most, f"topics={self.topics} is not possible", f"Use 2 to {most}.")
        require(self.length >= 1, f"length={self.length} is too short", "Use at least 1.")
        chance = Chance("planted-pairs", self.seed, split)
        examples = grow(split, getattr(self, split), lambda at: self._example(chance, split, at))
        return Dataset(f"planted-pairs:{split}", examples, LABELS)

    def _example(self, chance: Chance, split: str, at: int) -> Example:
        first = chance.below(self.topics)
        label = LABELS[at % 2]
        second = first if label == "match" else (first + 1 + chance.below(self.topics - 1)) % self.topics
        text, evidence = self._side(chance, first, TEXT)
        pair, more = self._side(chance, second, PAIR)
        return Example(f"planted-pairs-{split}-{at}", {TEXT: text, PAIR: pair}, label, (*evidence, *more))

    def _side(self, chance: Chance, number: int, field: str) -> tuple[str, list[Unit]]:
        word = Planted(chance.pick(topic(_FIRST + number, self.difficulty)))
        text, units = write(lay_out([(word,)], self.length, fillers(self.difficulty), chance), field)
        return text, units["reason"]
