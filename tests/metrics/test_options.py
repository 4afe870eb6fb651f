"""Every option of a metric has a sentence and limits, and wrong values are refused when the metric is made."""

from __future__ import annotations

import re
import typing
from dataclasses import MISSING

import pytest

from veridical.core.component import Option, options_of
from veridical.core.errors import UsageError
from veridical.core.registry import Registry
from veridical.core.syntax import parse_one
from veridical.metrics import METRICS, Attack, Comprehensiveness, NormalisedAOPC, PosImportance
from veridical.metrics.attack_entities import FINDERS
from veridical.metrics.attack_lists import LISTS
from veridical.metrics.pos_importance import TAGGERS

REGISTRIES: tuple[Registry[typing.Any], ...] = (METRICS, FINDERS, LISTS, TAGGERS)
ALL = [
    pytest.param(registry, name, option, id=f"{name}({option.name})")
    for registry in REGISTRIES
    for name, cls in registry.items()
    for option in options_of(cls).values()
]

FREE = {
    ("stability", "encoder"),
    ("evaluator-leak", "evaluator"),
    ("evaluator-leak", "reader"),
    ("reference-likeness", "reference"),
    ("masked-accuracy", "layer"),
    ("simulability", "student"),
}
"""Options that take any text: a folder or a hub id is looked for when it is needed."""

LEAKS = ("position-leak", "evaluator-leak")

SHARE = "{} is more than 0 and at most 1"
COUNT = "{} is 1 or more"
ERASER = "unknown eraser '{}'. There are: delete, mask, pad, pad_attn, zero"

WRONG = {
    "aopc(words=0)": "words is 1 or more and at most 1000",
    "aopc(words=1001)": "words is 1 or more and at most 1000",
    "attack(edits=[])": "Give edits at least one value",
    "attack(edits=[names, typos])": "one of: contractions, names, numbers, locations",
    "attack(replacements=0)": "replacements is 1 or more and at most 100",
    "attack(replacements=101)": "replacements is 1 or more and at most 100",
    "attack(seed=-1)": "seed is 0 or more and at most 4294967295",
    "attack(finder=spacey)": "unknown finder 'spacey'. Did you mean 'spacy'",
    "attack(finder='spacy(confidence=2)')": "confidence is 0 or more and at most 1",
    "attack(lists=libary)": "unknown list of names 'libary'. Did you mean 'library'",
    "decision-flip(step=0)": SHARE.format("step"),
    "decision-flip(step=1.5)": SHARE.format("step"),
    "log-odds(ratio=0)": SHARE.format("ratio"),
    "log-odds(clamp=0)": "clamp is more than 0 and at most 0.5",
    "log-odds(clamp=0.6)": "clamp is more than 0 and at most 0.5",
    "normalised-aopc(exact=40, most=40)": "exact is 0 or more and at most 12",
    "normalised-aopc(exact=-1)": "exact is 0 or more and at most 12",
    "normalised-aopc(beam=0)": "beam is 1 or more and at most 50",
    "normalised-aopc(beam=1000000000)": "beam is 1 or more and at most 50",
    "normalised-aopc(tried=0)": "tried is 1 or more and at most 200",
    "normalised-aopc(most=0)": "most is 1 or more and at most 200",
    "pos-importance(tagger=nltk)": "unknown tagger 'nltk'. There are: spacy",
    "position-leak(bins=0)": "bins is 1 or more and at most 100",
    "position-leak(folds=1)": "folds is 2 or more and at most 100",
    **{f"{name}(ratio=0)": SHARE.format("ratio") for name in LEAKS},
    **{f"{name}(k=0)": COUNT.format("k") for name in LEAKS},
    **{f"{name}(limit=-1)": "limit is 0 or more" for name in LEAKS},
    "post-hoc-accuracy(words=0)": COUNT.format("words"),
    "post-hoc-accuracy(curve=[0])": "curve",
    "prediction-agreement(ratio=-0.1)": SHARE.format("ratio"),
    "rationale-recall-at-k(k=0)": COUNT.format("k"),
    "simulability(seeds=0)": "seeds is 1 or more and at most 100",
    "simulability(test=0)": SHARE.format("test"),
    "simulability(dev=2)": SHARE.format("dev"),
    "simulability(beta=-1)": "beta is 0 or more",
    "simulability(temperature=0)": "temperature is more than 0",
    "simulability(rate=0)": "rate is more than 0",
    **{f"simulability({name}=0)": COUNT.format(name) for name in ("epochs", "patience", "batch_size")},
    "stability(count=0)": "count is 1 or more and at most 1000",
    "stability(longest=0)": COUNT.format("longest"),
    "reference-likeness(ratio=0)": SHARE.format("ratio"),
    "stability(ratio=1.01)": SHARE.format("ratio"),
    **{f"{name}(ratios=[])": "Give ratios at least one value" for name in ("comprehensiveness", "sufficiency")},
    **{f"{name}(ratios=[a, b])": "ratios is .*a number" for name in ("comprehensiveness", "sufficiency")},
    **{f"{name}(ratios=[0.1, 2])": SHARE.format("ratios") for name in ("comprehensiveness", "sufficiency")},
    **{f"{name}(guard=-1)": "guard is 0 or more" for name in ("comprehensiveness", "sufficiency")},
    **{f"rationale-{name}(ratio=0)": SHARE.format("ratio") for name in ("precision", "recall", "f1", "iou")},
    **{f"rationale-{name}(k=0)": COUNT.format("k") for name in ("precision", "recall", "f1", "iou")},
    **{f"{name}(eraser=erase)": ERASER.format("erase") for name, cls in METRICS.items() if "eraser" in options_of(cls)},
}


@pytest.mark.parametrize("written", WRONG)
def test_a_value_beyond_the_limits_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match=WRONG[written]):
        METRICS.create(written)


def test_every_limit_is_tried() -> None:
    tried = {(term.name, option) for term in map(parse_one, WRONG) for option in term.options}
    limited = {
        (name, option.name)
        for name, cls in METRICS.items()
        for option in options_of(cls).values()
        if not is_choice(option) and (name, option.name) not in FREE
    }
    assert limited <= tried


def is_choice(option: Option) -> bool:
    return option.hint is bool or typing.get_origin(option.hint) is typing.Literal


@pytest.mark.parametrize(("registry", "name", "option"), ALL)
def test_every_option_has_one_sentence(registry: Registry[typing.Any], name: str, option: Option) -> None:
    assert re.fullmatch(r"[A-Z].*\w.*\.", option.help), option.help
    assert not re.search(r"[.!?] [A-Z]", option.help), "more than one sentence"
    assert option.default is not MISSING


@pytest.mark.parametrize(("registry", "name", "option"), ALL)
def test_no_number_is_without_limits(registry: Registry[typing.Any], name: str, option: Option) -> None:
    assert option.hint not in (int, float)
    assert option.takes not in ("a whole number", "a number")


@pytest.mark.parametrize(("registry", "name", "option"), ALL)
def test_a_value_of_another_type_is_refused(registry: Registry[typing.Any], name: str, option: Option) -> None:
    with pytest.raises(UsageError, match=rf"{name}\({option.name}=.* (wrong type|not possible)"):
        registry.build(name, {option.name: {"a": 1}})


@pytest.mark.parametrize("name", list(METRICS))
def test_the_schema_tells_what_the_options_take(name: str) -> None:
    told = METRICS.schema(name)["properties"]
    assert list(told) == list(options_of(METRICS[name]))
    assert all(each["description"] and "default" in each for each in told.values())


def test_in_python_wrong_values_are_refused_as_well() -> None:
    with pytest.raises(UsageError, match=r"Comprehensiveness\(ratios=\(\)\) is empty"):
        Comprehensiveness(ratios=())
    with pytest.raises(UsageError, match=r"NormalisedAOPC\(exact=40\) is beyond its limits"):
        NormalisedAOPC(exact=40, most=40)
    with pytest.raises(UsageError, match="unknown finder"):
        Attack(finder="nobody")
    with pytest.raises(UsageError, match="unknown tagger"):
        PosImportance(tagger="nobody")


def test_the_largest_values_are_possible() -> None:
    assert METRICS.create("normalised-aopc(exact=12, beam=50, most=200)") == NormalisedAOPC("delete", 12, 50, 8, 200)
    assert METRICS.create("comprehensiveness(ratios=1)") == Comprehensiveness(ratios=(1.0,))


def test_numbers_that_mean_the_same_make_the_same_spec() -> None:
    one, other = (METRICS.create(f"comprehensiveness(ratios={ratios})") for ratios in ("[1]", "[1.0]"))
    assert METRICS.spec(one) == METRICS.spec(other)
