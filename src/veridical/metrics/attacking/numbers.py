"""Numbers in digits, and other numbers for them."""

from __future__ import annotations

import regex

from veridical.data.chance import Chance
from veridical.models.words import Span

_UNTOUCHED = (0, 2, 4)
"""In chats, 2 and 4 are words: "to" and "for"."""

# More digits than these are a name of something and not how many there are of it.
_NUMBER = regex.compile(
    r"(?<!\w|[0-9][.,])(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})(?:\.[0-9]{1,4})?(?!\w|[.,][0-9])"
)


def numbers(text: str, chance: Chance, count: int) -> list[tuple[Span, str]]:
    """For every number `count` others, anywhere from nothing to twice as much, written in the same way."""
    return [
        (match.span(), other)
        for match in _NUMBER.finditer(text)
        if float(match.group().replace(",", "")) not in _UNTOUCHED
        for other in _others(match.group(), chance, count)
    ]


def _others(number: str, chance: Chance, count: int) -> list[str]:
    """Other numbers with as many decimals, each as likely as any."""
    decimals = len(number.partition(".")[2])
    value = int(number.replace(",", "").replace(".", ""))  # in units of the last digit
    found: dict[int, None] = {}
    while len(found) < min(count, 2 * value):
        drawn = chance.below(2 * value + 1)
        if drawn != value:
            found[drawn] = None
    return [_written(drawn, decimals, number) for drawn in found]


def _written(value: int, decimals: int, like: str) -> str:
    whole, rest = divmod(value, 10**decimals)
    before = like.partition(".")[0]
    separated = f"{whole:,}" if "," in before else str(whole)
    padded = separated.zfill(len(before)) if before.startswith("0") else separated
    return f"{padded}.{rest:0{decimals}}" if decimals else padded
