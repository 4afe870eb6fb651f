"""Words that say nothing by themselves: the project's one list of English stop words."""

from __future__ import annotations

from veridical.core.values import IMAGE, Unit

STOP_WORDS = frozenset(
    """
    a about above across after again against all along also although am among an and another any anyone anything are
    aren't around as at be because been before behind being below beside between beyond both but by can cannot can't
    could couldn't d despite did didn't do does doesn't doing don't down during each either else every everyone
    everything few for from further had hadn't has hasn't have haven't having he he'd he'll her here here's hers herself
    he's him himself his how how's i i'd if i'll i'm in into is isn't it it'd it'll it's its itself i've just let's ll m
    many may me might more most much must mustn't my myself neither no nobody nor not nothing now n't of off on once
    only onto or other ought our ours ourselves out over own re s same shall shan't she she'd she'll she's should
    shouldn't since so some someone something such t than that that's the their theirs them themselves then there
    there's these they they'd they'll they're they've this those though through till to too toward towards under unless
    until up upon us ve very via was wasn't we we'd we'll we're were weren't we've what what's when when's where where's
    whether which while who whom who's whose why why's will with within without won't would wouldn't yet you you'd
    you'll your you're yours yourself yourselves you've
    """.split()  # noqa: SIM905 - a list of 200 quoted words is unreadable
)
"""English words that hold a sentence together and say nothing by themselves.

With the ends of contractions that stand alone in texts whose words were cut before: "does n't", "it 's".
"""


def is_stop_word(unit: Unit) -> bool:
    """Whether a unit is an English stop word or has neither letter nor digit, as punctuation; patches never are."""
    if unit.field == IMAGE:
        return False
    word = unit.text.casefold().replace("’", "'")
    return word in STOP_WORDS or not any(map(str.isalnum, word))
