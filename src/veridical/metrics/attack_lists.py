"""Lists of names and places, from which an attack takes replacements for those in a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Protocol

from veridical.core.component import Component
from veridical.core.errors import UsageError
from veridical.core.registry import Registry
from veridical.data.dataset import Chance

Groups = tuple[tuple[str, ...], ...]
"""Names in groups; a name is replaced by one of its own group."""


class Lists(Protocol):
    """First names by gender, last names, and places by kind."""

    def first_names(self) -> Groups:
        """Names of women, names of men."""
        ...

    def last_names(self) -> Groups:
        """One group."""
        ...

    def places(self) -> Groups:
        """Cities, countries."""
        ...


@dataclass(frozen=True)
class FakerLists(Component):
    """The lists of the library Faker: frequent names in the United States, the world's countries and capitals.

    The places of `short` are added, because many large cities are no capitals.
    """

    def first_names(self) -> Groups:
        women, men, _, _, _ = _faker()
        return women, men

    def last_names(self) -> Groups:
        return (_faker()[2],)

    def places(self) -> Groups:
        return tuple((*more, *few) for more, few in zip(_faker()[3:], ShortLists().places(), strict=True))


@dataclass(frozen=True)
class ShortLists(Component):
    """A few names and places of each kind, for small trials: they need no library."""

    def first_names(self) -> Groups:
        return _WOMEN, _MEN

    def last_names(self) -> Groups:
        return (_SURNAMES,)

    def places(self) -> Groups:
        return _CITIES, _COUNTRIES


LISTS: Registry[Lists] = Registry("list of names", "veridical.lists", {"library": FakerLists, "short": ShortLists})

ListsName = Annotated[str, LISTS.name_option("a")]


def others(word: str, groups: Groups, chance: Chance, count: int) -> list[str]:
    """Up to `count` other names of the word's own group, or of all where no group has it, in the word's case."""
    plain = word.casefold()
    own = [group for group in groups if plain in map(str.casefold, group)] or groups
    known = [name for name in _joined(own) if name.casefold() != plain]
    return [like(word, name) for name in chance.shuffled(known)[:count]]


def _joined(groups: Sequence[tuple[str, ...]]) -> list[str]:
    """The names of all groups, each once, in the order of the alphabet."""
    return sorted({name for group in groups for name in group})


@lru_cache(maxsize=1)
def _faker() -> Groups:
    try:
        from faker.providers.date_time import Provider as World
        from faker.providers.person.en_US import Provider as Person
    except ImportError as error:
        raise UsageError(
            "lists of names and places need the library Faker",
            remedy='Run: pip install "veridical[attack]", or use lists=short.',
        ) from error
    people = Person.first_names_female, Person.first_names_male, Person.last_names
    places = (country.capital for country in World.countries), (country.name for country in World.countries)
    # Only names that are plain words: some of the others are spelt in the wrong encoding.
    return tuple(tuple(filter(_is_plain, group)) for group in (*people, *places))


def _is_plain(name: str) -> bool:
    return name.isascii() and name.replace(" ", "").isalpha()


_WOMEN = (
    *("Alice", "Amy", "Anna", "Barbara", "Claire", "Diana", "Elena", "Emma", "Grace", "Helen", "Jane", "Julia"),
    *("Karen", "Kate", "Laura", "Linda", "Lisa", "Maria", "Mary", "Nancy", "Olivia", "Rachel", "Sarah", "Susan"),
)
_MEN = (
    *("Adam", "Andrew", "Brian", "Charles", "Daniel", "David", "Edward", "Eric", "George", "Henry", "Jack", "James"),
    *("John", "Kevin", "Martin", "Michael", "Oliver", "Paul", "Peter", "Richard", "Robert", "Steven", "Thomas", "Tom"),
)
_SURNAMES = (
    *("Adams", "Allen", "Anderson", "Baker", "Bennett", "Campbell", "Clark", "Cooper", "Davis", "Evans", "Fisher"),
    *("Green", "Hughes", "Johnson", "Kelly", "Lewis", "Martinez", "Miller", "Morgan", "Murphy", "Nelson", "Parker"),
    *("Roberts", "Smith", "Taylor", "Thompson", "Walker", "Watson", "Williams", "Wilson"),
)
_CITIES = (
    *("Amsterdam", "Athens", "Berlin", "Boston", "Cairo", "Chicago", "Dublin", "Houston", "Lisbon", "London"),
    *("Los Angeles", "Madrid", "Moscow", "New York", "Oslo", "Paris", "Prague", "Rome", "San Francisco", "Seattle"),
    *("Stockholm", "Sydney", "Tokyo", "Toronto", "Vienna", "Warsaw"),
)
_COUNTRIES = (
    *("Argentina", "Australia", "Austria", "Brazil", "Canada", "China", "Denmark", "Egypt", "Finland", "France"),
    *("Germany", "Greece", "India", "Ireland", "Italy", "Japan", "Kenya", "Mexico", "Norway", "Peru", "Poland"),
    *("Portugal", "Russia", "South Africa", "Spain", "Sweden", "Switzerland", "Vietnam"),
)


def like(old: str, new: str) -> str:
    """A replacement in the case of what it replaces: lower, UPPER, or Capitalised."""
    if old.islower():
        return new.lower()
    if old.isupper() and sum(map(str.isalpha, old)) > 1:
        return new.upper()
    return new[:1].upper() + new[1:]
