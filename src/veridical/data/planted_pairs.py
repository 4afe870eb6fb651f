"""Made pairs of texts whose true reasons are known: one word on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from veridical.core.component import Seed, Within, option
from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.data.dataset import Chance, Dataset, Source
from veridical.data.planted import (
    MOST_TOPICS,
    Difficulty,
    Length,
    Planted,
    Size,
    check_words,
    fillers,
    grow,
    lay_out,
    topic,
    write,
)

LABELS = ("match", "mismatch")
_FIRST = 2
"""Topics 0 and 1 are sentiment; the topics of pairs are things: animals, colours, food ..."""


@dataclass(frozen=True)
class PlantedPairs(Source):
    """Made pairs: match when both texts hold a word of the same topic, else mismatch.

    As in entailment, neither text alone tells the label. Evidence is the topic word of each text. Splits never share a
    pair.
    """

    length: Length = option(12, "How many words each of the two texts has.")
    topics: Annotated[int, Within(2, MOST_TOPICS - _FIRST)] = option(4, "How many topics there are.")
    difficulty: Difficulty = option(
        "easy",
        "How many words a topic has, and how many fillers exist: easy 2 and 40, medium 8 and 150, hard 32 and 1000.",
    )
    train: Size = option(1000, "How many pairs are in train.")
    dev: Size = option(200, "How many pairs are in dev.")
    test: Size = option(200, "How many pairs are in test.")
    seed: Seed = option(0, "Another seed gives other pairs by the same rule.")

    task: ClassVar[str] = "pair classification"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_words(max(self.train, self.dev, self.test), 2 * self.length)

    def load(self, split: str) -> Dataset:
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
