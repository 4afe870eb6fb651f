"""Made texts whose true reasons are known, because the words that decide were planted."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from veridical.core.component import Seed, Within, option
from veridical.core.errors import UsageError
from veridical.core.values import TEXT, Example, Unit
from veridical.data.dataset import Chance, Dataset, Source

# Words for made texts: fillers that mean nothing, and topics whose words decide. All lists are our own. Where more
# words are needed than they hold, made-up words of three syllables are used.
FILLERS = tuple(
    """
    about above across again along also and another around as at away back before behind below beside between beyond
    both but by came could day down during each early either end even ever every few find first for from gave go half
    hand have here how if in inside into it just keep last late later left less line long look made many may might more
    morning most much name near next now of off often on once one only open or other out over own page part place
    point put quite rather right round said same say second see seem side since so some soon still such take than that
    the then there these they thing this those though through time to today together too took toward turn two under
    until up upon use very walk was way week well were what when where while who why will with word work would year yet
    """.split()  # noqa: SIM905 - a list of 150 quoted words is unreadable
)

TOPICS = tuple(
    tuple(line.split())
    for line in """
    awful boring clumsy dreadful horrible lousy painful terrible
    amazing beautiful brilliant charming delightful excellent superb wonderful
    cat cow dog goat horse lion rabbit wolf
    blue brown green orange pink purple red yellow
    apple bread cheese lemon onion pepper potato sugar
    axe drill hammer nail pliers saw shovel wrench
    cloud fog frost hail rain snow storm thunder
    boot coat glove hat scarf shirt skirt sock
    cello drum flute guitar harp piano trumpet violin
    boat bus canoe lorry plane train tram truck
    bench carpet chair cupboard desk lamp shelf sofa
    ankle chin elbow finger knee shoulder thumb wrist
    """.strip().splitlines()
)

LEVELS = {"easy": (2, 40), "medium": (8, 150), "hard": (32, 1000)}
"""Words per topic and number of different fillers, by difficulty."""

MOST_TOPICS = 300
"""For how many topics there are enough made-up words."""

_SYLLABLES = tuple(first + vowel + last for first in "bdfgkmvz" for vowel, last in ("al", "en", "ix"))  # 24
_PSEUDO = len(_SYLLABLES) ** 3
_STRIDE = 7919  # prime, so that it visits every one, and neighbours do not look alike


@lru_cache
def fillers(difficulty: str) -> tuple[str, ...]:
    """The fillers of a difficulty."""
    count = LEVELS[difficulty][1]
    made = tuple(pseudo_word(number) for number in range(count - len(FILLERS)))
    return (FILLERS + made)[:count]


@lru_cache
def topic(number: int, difficulty: str) -> tuple[str, ...]:
    """The words of a topic; no word belongs to two topics or is a filler."""
    count, offset = LEVELS[difficulty][0], LEVELS["hard"][1]
    real = TOPICS[number] if number < len(TOPICS) else ()
    made = tuple(pseudo_word(offset + number * LEVELS["hard"][0] + at) for at in range(count - len(real)))
    return (real + made)[:count]


def pseudo_word(number: int) -> str:
    """A word that means nothing; another for each number up to 13,823."""
    rest = number * _STRIDE % _PSEUDO
    size = len(_SYLLABLES)
    return "".join(_SYLLABLES[part] for part in (rest // size**2, rest // size % size, rest % size))


Difficulty = Literal["easy", "medium", "hard"]

Size = Annotated[int, Within(1, 100_000)]
"""How many examples a split of made data may have: all of them are held in memory."""

Length = Annotated[int, Within(1, 2_000)]
"""How many words a made text may have."""

MOST_WORDS = 20_000_000
"""How many words a split may have in all."""


def check_words(most: int, length: int) -> None:
    """Refuse options that ask for a split of more words than fit into memory and patience."""
    if most * length > MOST_WORDS:
        problem = f"the largest split would have {most * length:,} words, and {MOST_WORDS:,} are the most"
        raise UsageError(problem, remedy="Ask for fewer or shorter texts.")


_TRIES = 200


@dataclass(frozen=True)
class Planted:
    """A word that was put into a text on purpose.

    A reason decides the label, a shortcut often comes along with it, and a decoy does not matter.
    """

    text: str
    role: Literal["reason", "shortcut", "decoy"] = "reason"


Block = tuple[Planted, ...]
"""Planted words that stand directly after each other."""


def lay_out(blocks: Sequence[Block], length: int, fillers: Sequence[str], chance: Chance) -> list[Planted | str]:
    """Words of a text: the blocks in their order, at random places among fillers."""
    spare = length - sum(map(len, blocks))  # how many fillers there are
    # A block takes one slot however long it is, so that its words stay together; fillers take one each.
    slots = sorted(chance.shuffled(range(spare + len(blocks)))[: len(blocks)])
    words: list[Planted | str] = []
    for slot in range(spare + len(blocks)):
        words += blocks[slots.index(slot)] if slot in slots else [chance.pick(fillers)]
    return words


def write(words: Sequence[Planted | str], field: str) -> tuple[str, dict[str, list[Unit]]]:
    """The text of the words, and the units of what was planted by role."""
    units: dict[str, list[Unit]] = {"reason": [], "shortcut": [], "decoy": []}
    text = ""
    for word in words:
        text += " " if text else ""
        if isinstance(word, Planted):
            units[word.role].append(Unit(field, (len(text), len(text) + len(word.text)), word.text))
        text += word.text if isinstance(word, Planted) else word
    return text, units


def grow(split: str, count: int, make: Callable[[int], Example]) -> tuple[Example, ...]:
    """Make `count` different examples whose texts belong to the split.

    The text itself decides which split may have it (by its checksum), so splits never share a text, and none depends
    on the size of another. `make(at)` is asked again until the text fits; it gives another one each time.
    """
    found: dict[str, Example] = {}
    for at in range(count):
        for _ in range(_TRIES):
            example = make(at)
            key = "\n".join(map(str, example.inputs.values()))
            if key not in found and _home(key) == split:
                found[key] = example
                break
        else:
            problem = f"there are not {count} different texts for {split} with these options"
            raise UsageError(problem, remedy="Ask for longer texts, a harder set or fewer examples.")
    return tuple(found.values())


def _home(text: str) -> str:
    """The one split that may have a text; half of all texts may be in train."""
    return ("train", "train", "dev", "test")[zlib.crc32(text.encode()) % 4]


def names_of(classes: int) -> tuple[str, ...]:
    """Class names by number: negative and positive for two, else `class-0`, `class-1`, ..."""
    return ("negative", "positive") if classes == 2 else tuple(f"class-{number}" for number in range(classes))


NOT = "not"
AGREEMENT = 0.95
"""How often the shortcut word goes with the label in train."""

_APART = 2
"""Topics 0 and 1 mean negative and positive; conjunction uses others, as its words alone mean nothing."""

_MOST_CLASSES = (MOST_TOPICS - _APART) // 2
"""A conjunction needs two topics for each class."""


@dataclass(frozen=True)
class Setting:
    """What a rule needs to know to plant words."""

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
    second = (label - first) % setting.classes  # whatever the first is, every second is equally likely over all labels
    words = [setting.word(_APART + first), setting.word(_APART + setting.classes + second)]
    return setting.chance.shuffled([(Planted(word),) for word in words])


def position(setting: Setting, label: int) -> list[Block]:
    """A word of the class, and later a word of another class, which does not count."""
    # 1 to classes - 1 further on, around the circle of classes: any class but this one, each as likely as the others.
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

MOST_PLANTED = {"keyword": 1, "negation": 6, "conjunction": 2, "position": 2, "shortcut": 2}
"""The most words each rule plants, which is the shortest text it can have."""


@dataclass(frozen=True)
class PlantedTexts(Source):
    """Made texts with known reasons: a keyword, a negation, a conjunction, a position or a shortcut.

    The rules, from easy to hard to explain:

    - `keyword`: one class word among fillers.
    - `negation`: `not` directly before the class word moves the class to the next one; other `not`s do not matter.
      Evidence is the class word and its `not`.
    - `conjunction`: words A_i and B_j, class (i + j) mod classes; no single word tells anything. Evidence is both.
    - `position`: two words of different classes, the earlier decides and is the evidence.
    - `shortcut`: a class word, which is the evidence, and a word that agrees with the label in 95% of train and at
      chance in dev and test; its place is in `extra["shortcut"]`.

    Classes are equally frequent and take turns. Splits never share a text.
    """

    rule: Literal["keyword", "negation", "conjunction", "position", "shortcut"] = option(
        "keyword", "What decides the label, from easy to hard to explain."
    )
    length: Length = option(20, "How many words a text has.")
    classes: Annotated[int, Within(2, _MOST_CLASSES)] = option(2, "How many classes there are.")
    difficulty: Difficulty = option(
        "easy",
        "How many words a class has, and how many fillers exist: easy 2 and 40, medium 8 and 150, hard 32 and 1000.",
    )
    train: Size = option(1000, "How many texts are in train.")
    dev: Size = option(200, "How many texts are in dev.")
    test: Size = option(200, "How many texts are in test.")
    seed: Seed = option(0, "Another seed gives other texts by the same rule.")

    def __post_init__(self) -> None:
        super().__post_init__()
        least = MOST_PLANTED[self.rule]
        if self.length < least:
            problem = f"length={self.length} is too short for rule={self.rule}, which plants up to {least} words"
            raise UsageError(problem, remedy=f"Use at least {least}.")
        check_words(max(self.train, self.dev, self.test), self.length)

    def load(self, split: str) -> Dataset:
        chance = Chance("planted", self.rule, self.seed, split)
        setting = Setting(self.classes, self.difficulty, split, fillers(self.difficulty), chance)
        examples = grow(split, getattr(self, split), lambda at: self._example(setting, at))
        return Dataset(f"planted:{split}", examples, tuple(sorted(names_of(self.classes))))

    def _example(self, setting: Setting, at: int) -> Example:
        label = at % self.classes  # classes take turns, so that any beginning of a split is balanced
        blocks = RULES[self.rule](setting, label)
        text, units = write(lay_out(blocks, self.length, setting.fillers, setting.chance), TEXT)
        extra = {"shortcut": list(units["shortcut"][0].span)} if units["shortcut"] else {}
        id = f"planted-{setting.split}-{at}"
        return Example(id, {TEXT: text}, names_of(self.classes)[label], tuple(units["reason"]), extra)
