"""Words for made texts: fillers that mean nothing and topics whose words decide.

All lists are our own. Where more words are needed than they hold, made-up words of three syllables are used.
"""

from __future__ import annotations

from functools import lru_cache

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
