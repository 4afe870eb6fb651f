"""The rules by which a planted text gets its class: one function per rule, from a class to the words to plant.

Each returns blocks of words in the order they shall have; whatever is around them are fillers without meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veridical.data.chance import Chance
from veridical.data.planting import Block, Planted
from veridical.data.words import topic

NOT = "not"
AGREEMENT = 0.95
"""How often the shortcut word goes with the label in train."""

_APART = 2
"""Topics 0 and 1 mean negative and positive; conjunction uses others, as its words alone mean nothing."""


@dataclass(frozen=True)
class Setting:
    """What a rule may depend on."""

    classes: int
    difficulty: str
    split: str
    fillers: tuple[str, ...]
    chance: Chance

    def word(self, number: int) -> str:
        """A random word of a topic."""
        return self.chance.pick(topic(number, self.difficulty))


def keyword(setting: Setting, label: int) -> list[Block]:
    """One word of the class."""
    return [(Planted(setting.word(label)),)]


def negation(setting: Setting, label: int) -> list[Block]:
    """One word of the class, or `not` and a word of the class before; further `not`s stand before fillers."""
    chance = setting.chance
    negated = chance.happens(0.5)
    cue = Planted(setting.word((label - negated) % setting.classes))
    block = (Planted(NOT), cue) if negated else (cue,)
    decoys = [(Planted(NOT, "decoy"), Planted(chance.pick(setting.fillers), "decoy")) for _ in range(chance.below(3))]
    return chance.shuffled([block, *decoys])


def conjunction(setting: Setting, label: int) -> list[Block]:
    """A word A_i and a word B_j with i + j = label (modulo the classes), in any order: neither alone tells anything."""
    first = setting.chance.below(setting.classes)
    second = (label - first) % setting.classes
    words = [setting.word(_APART + first), setting.word(_APART + setting.classes + second)]
    return setting.chance.shuffled([(Planted(word),) for word in words])


def position(setting: Setting, label: int) -> list[Block]:
    """A word of the class, and later a word of another class, which does not count."""
    other = (label + 1 + setting.chance.below(setting.classes - 1)) % setting.classes
    return [(Planted(setting.word(label)),), (Planted(setting.word(other), "decoy"),)]


def shortcut(setting: Setting, label: int) -> list[Block]:
    """A word of the class, and a word that goes with the class in train but not in dev and test."""
    companion = _companion(setting, label)
    spurious = topic(setting.classes + companion, setting.difficulty)[0]
    return setting.chance.shuffled([(Planted(setting.word(label)),), (Planted(spurious, "shortcut"),)])


def _companion(setting: Setting, label: int) -> int:
    """The class whose shortcut word is planted: nearly always the true one in train, any one elsewhere."""
    if setting.split != "train":
        return setting.chance.below(setting.classes)
    if setting.chance.happens(AGREEMENT):
        return label
    return (label + 1 + setting.chance.below(setting.classes - 1)) % setting.classes


RULES: dict[str, Callable[[Setting, int], list[Block]]] = {
    "keyword": keyword,
    "negation": negation,
    "conjunction": conjunction,
    "position": position,
    "shortcut": shortcut,
}

LONGEST = {"keyword": 1, "negation": 6, "conjunction": 2, "position": 2, "shortcut": 2}
"""The most words each rule plants, which is the shortest text it can have."""
