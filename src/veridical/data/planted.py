"""Made texts whose true reasons are known, because we put them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veridical.core.example import TEXT, Example
from veridical.data.chance import Chance
from veridical.data.dataset import Dataset
from veridical.data.planted_rules import LONGEST, RULES, Setting
from veridical.data.planting import Difficulty, grow, lay_out, names_of, require, write
from veridical.data.source import Source
from veridical.data.words import MOST_TOPICS, fillers


@dataclass(frozen=True)
class PlantedTexts(Source):
    """Made texts with known reasons: a keyword, a negation, a conjunction, a position or a shortcut.

    Rules, from easy to hard to explain:

    - `keyword`: one class word among fillers.
    - `negation`: `not` directly before the class word moves the class to the next one; other `not`s do not matter.
      Evidence is the class word and its `not`.
    - `conjunction`: words A_i and B_j, class (i + j) mod classes; no single word tells anything. Evidence is both.
    - `position`: two words of different classes, the earlier decides and is the evidence.
    - `shortcut`: a class word, which is the evidence, and a word that agrees with the label in 95% of train and at
      chance in dev and test; its place is in `extra["shortcut"]`.

    `difficulty` sets the words per class and the different fillers: easy 2 and 40, medium 8 and 150, hard 32 and 1000.
    Classes are equally frequent and take turns. Splits never share a text.
    """

    rule: Literal["keyword", "negation", "conjunction", "position", "shortcut"] = "keyword"
    length: int = 20
    classes: int = 2
    difficulty: Difficulty = "easy"
    train: int = 1000
    dev: int = 200
    test: int = 200
    seed: int = 0

    def load(self, split: str) -> Dataset:
        self._check()
        chance = Chance("planted", self.rule, self.seed, split)
        setting = Setting(self.classes, self.difficulty, split, fillers(self.difficulty), chance)
        examples = grow(split, getattr(self, split), lambda at: self._example(setting, at))
        return Dataset(f"planted:{split}", examples, tuple(sorted(names_of(self.classes))))

    def _example(self, setting: Setting, at: int) -> Example:
        label = at % self.classes
        blocks = RULES[self.rule](setting, label)
        text, units = write(lay_out(blocks, self.length, setting.fillers, setting.chance), TEXT)
        extra = {"shortcut": list(units["shortcut"][0].span)} if units["shortcut"] else {}
        id = f"planted-{setting.split}-{at}"
        return Example(id, {TEXT: text}, names_of(self.classes)[label], tuple(units["reason"]), extra)

    def _check(self) -> None:
        most, least = (MOST_TOPICS - 2) // 2, LONGEST[self.rule]
        require(2 <= self.classes <= most, f"classes={self.classes} is not possible", f"Use 2 to {most}.")
        require(
            self.length >= least, f"length={self.length} is too short for rule={self.rule}", f"Use at least {least}."
        )
