"""Options: declared once, checked when a thing is made, in Python as on the command line, and told as data."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pytest

from veridical.core.component import (
    Component,
    Count,
    Positive,
    Seed,
    Share,
    check,
    check_options,
    first_paragraph,
    option,
    options_of,
    required,
    schema_of,
    unknown,
)
from veridical.core.errors import UsageError
from veridical.core.extraction import Extraction
from veridical.objectives import OBJECTIVES
from veridical.training import Schedule


@dataclass(frozen=True)
class Thing(Component):
    """A thing with
    options of all kinds.

    And more about it.
    """

    ratio: Share = option(0.5, "Which part is taken.")
    steps: Count | None = option(None, "How many steps there are.")
    rate: Positive = option(1.0, "How large a step is.")
    name: str = option("thing", "What it is called.")
    sizes: tuple[int, ...] = option((1, 2), "How large it is.")
    kind: Literal["old", "new"] = option("old", "How old it is.")
    about: ClassVar[str] = "no option"
    computed: int = field(init=False, default=3)


@pytest.mark.parametrize("options", [{}, {"ratio": 1.0}, {"steps": 1}, {"ratio": 1e-9, "steps": 10**9, "rate": 1e9}])
def test_what_is_within_the_limits(options):
    assert Thing(**options)


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({"ratio": 20}, "ratio is more than 0 and at most 1"),
        ({"ratio": 0.0}, "ratio is more than 0"),
        ({"steps": 0}, "steps is 1 or more"),
        ({"rate": -1.0}, "rate is more than 0"),
    ],
)
def test_what_is_beyond_them(options, limits):
    (name, value), *_ = options.items()
    with pytest.raises(UsageError, match=rf"Thing\({name}={value}\) is beyond its limits.*{limits}"):
        Thing(**options)


def test_what_is_no_number():
    with pytest.raises(UsageError, match=r"Thing\(ratio=nan\) is not a finite number"):
        Thing(ratio=float("nan"))


def test_values_that_mean_the_same_are_the_same():
    assert Thing(ratio=1, sizes=[3]) == Thing(ratio=1.0, sizes=(3,))
    assert hash(Thing(sizes=[3])) == hash(Thing(sizes=(3,)))


def test_a_thing_that_inherits_nothing_can_be_checked():
    @dataclass
    class Loose:
        sizes: tuple[int, ...] = (1,)

    loose = Loose([4, 5])
    check(loose)
    assert loose.sizes == (4, 5)
    with pytest.raises(UsageError, match=r"Loose\(sizes=\['a'\]\) has the wrong type"):
        check(Loose(["a"]))


@dataclass(frozen=True)
class Needy(Component):
    seed: Seed = required("Where to start.")


def test_options_by_name():
    assert check_options(Thing, "thing", {"ratio": 1, "sizes": [1]}) == {"ratio": 1.0, "sizes": (1,)}
    with pytest.raises(UsageError, match=r"unknown option of thing 'ration'. Did you mean 'ratio'\? There are: kind,"):
        check_options(Thing, "thing", {"ration": 1})
    with pytest.raises(UsageError, match=r"thing\(kind=odd\) is not possible. kind is one of: old, new"):
        check_options(Thing, "thing", {"kind": "odd"})
    with pytest.raises(UsageError, match=r"needy needs the option 'seed'. Write needy\(seed=\.\.\.\)"):
        check_options(Needy, "needy", {})
    assert options_of(Needy)["seed"].is_required


def test_options_say_what_they_are():
    options = options_of(Thing)
    assert list(options) == ["ratio", "steps", "rate", "name", "sizes", "kind"]  # no constants, nothing computed
    assert options["ratio"].takes == "a number, more than 0 and at most 1"
    assert options["ratio"].help == "Which part is taken."
    assert options_of(int) == {}


def test_a_class_as_json_schema():
    found = schema_of(Thing)
    assert found["title"] == "Thing"
    assert found["description"] == "A thing with options of all kinds."
    assert found["additionalProperties"] is False
    assert found["required"] == []
    assert found["properties"]["sizes"] == {
        "type": "array",
        "items": {"type": "integer"},
        "description": "How large it is.",
        "default": [1, 2],
    }
    assert found["properties"]["kind"] == {"enum": ["old", "new"], "description": "How old it is.", "default": "old"}
    needy = schema_of(Needy)
    assert needy["required"] == ["seed"]
    assert "default" not in needy["properties"]["seed"]
    assert needy["description"] == ""  # what dataclasses write there themselves is no sentence


def test_the_first_paragraph_is_the_description():
    assert first_paragraph(Thing) == "A thing with options of all kinds."


def test_types_that_cannot_be_found_are_named():
    @dataclass(frozen=True)
    class Hidden:
        size: "Missing" = 1  # noqa: F821

    with pytest.raises(UsageError, match="types of the options of Hidden cannot be read: name 'Missing' is not"):
        options_of(Hidden)


def test_an_unknown_name_without_any_to_choose_from():
    assert str(unknown("thing", "x", {})) == "unknown thing 'x'. There are: none."


@pytest.mark.parametrize(
    "text",
    [
        "cross-entropy(smoothing=2)",
        "saloss(lam=-1)",
        "regex(steps=0)",
        "regex(every=0)",
        "regex(ratio=15)",
        "regex(l2=-1)",
        "input-gradient(every=0)",
        "virtual-adversarial(steps=-1)",
        "virtual-adversarial(eps=0)",
        "explanation-guided(ratio=15)",
        "random-erasure(chance=1.5)",
        "rationale(ratio=20)",
        "rationale(temperature=0)",
        "saloss + rationale(ratio=20)",
    ],
)
def test_objectives_say_so_before_anything_is_trained(text):
    with pytest.raises(UsageError, match="is beyond its limits"):
        OBJECTIVES.create(text)


@pytest.mark.parametrize(
    "options",
    [{"epochs": 0}, {"batch_size": 0}, {"checks": 0}, {"patience": 0}, {"accumulate": 0}, {"rate": 0.0}, {"seed": -1}],
)
def test_schedules(options):
    with pytest.raises(UsageError, match=rf"Schedule\({next(iter(options))}=.*is beyond its limits"):
        Schedule(**options)


def test_a_percentage_is_no_ratio():
    with pytest.raises(UsageError, match=r"Extraction\(ratio=20\).*at most 1"):
        Extraction("attention", 20)
