"""What must hold of the options of every component there is, whatever its kind."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import MISSING
from typing import Annotated, Any, Literal, Union

import pytest

from veridical.core.component import NameOf, Option, Within, first_paragraph, options_of
from veridical.core.errors import UsageError
from veridical.core.folders import has_weights
from veridical.core.registry import Registry
from veridical.data import DATASETS
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES

REGISTRIES: list[Registry[Any]] = [EXPLAINERS, METRICS, OBJECTIVES, ERASERS, SALIENCES, DATASETS]
EVERY = pytest.mark.parametrize(
    ("registry", "name"),
    [pytest.param(each, name, id=f"{each.kind}-{name}") for each in REGISTRIES for name in each],
)
EACH_OPTION = pytest.mark.parametrize(
    ("registry", "name", "option"),
    [
        pytest.param(each, name, option, id=f"{each.kind}-{name}-{option}")
        for each in REGISTRIES
        for name, cls in each.items()
        for option in options_of(cls)
    ],
)


def parts(hint: Any) -> list[Any]:
    """The simple types that a hint is made of, with their limits: unions and tuples are taken apart."""
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType, tuple):
        return [each for part in typing.get_args(hint) if part is not ... for each in parts(part)]
    inside = typing.get_args(hint)[0] if origin is Annotated else None
    if typing.get_origin(inside) in (Union, types.UnionType, tuple):
        return parts(inside)
    return [hint]


def limits(hint: Any) -> list[Any]:
    return list(getattr(hint, "__metadata__", ()))


def beyond(hint: Any) -> list[float]:
    """Numbers that are just outside of the limits that a hint has."""
    found: list[float] = []
    for limit in (each for part in parts(hint) for each in limits(part) if isinstance(each, Within)):
        found.append(limit.least if limit.open else limit.least - 1)
        found += [limit.most + 1] if limit.most < float("inf") else []
    return found


def others(option: Option) -> list[Any]:
    """Values that an option may have, as far as its type tells."""
    found: list[Any] = []
    for part in parts(option.hint):
        names = [each for each in limits(part) if isinstance(each, NameOf)]
        within = [each for each in limits(part) if isinstance(each, Within)]
        simple = typing.get_args(part)[0] if typing.get_origin(part) is Annotated else part
        if names:
            found += names[0].names()
        elif typing.get_origin(part) is Literal:
            found += typing.get_args(part)
        elif simple in (int, float):
            least, most = (within[0].least, within[0].most) if within else (0, 10)
            found += [simple(min(least + 1, most)), simple(min(least + 2, most))]
        else:
            found += {bool: [True, False], str: ["a, b", "it's"], type(None): [None]}[simple]
    return found


def base(cls: type) -> dict[str, Any]:
    """Options that a component cannot do without."""
    return {name: others(option)[-1] for name, option in options_of(cls).items() if option.is_required}


def variants(cls: type) -> list[Any]:
    """The default component, and components in which one option is another one, as far as their class allows."""
    made = [cls(**base(cls))]
    for name, option in options_of(cls).items():
        for value in others(option):
            try:
                made.append(cls(**{**base(cls), name: value}))
            except UsageError:  # a text that means nothing, or what does not go together with the other options
                continue
    return made


def conforms(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is valid by a JSON Schema, as far as ours use it."""
    if "anyOf" in schema:
        return any(conforms(value, each) for each in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return schema["type"] == {bool: "boolean", str: "string", type(None): "null"}[type(value)]
    if isinstance(value, list):
        fits = schema["type"] == "array" and len(value) >= schema.get("minItems", 0)
        return fits and all(conforms(each, schema["items"]) for each in value)
    if schema["type"] not in (["integer", "number"] if isinstance(value, int) else ["number"]):
        return False
    enough = value >= schema.get("minimum", value) and value > schema.get("exclusiveMinimum", value - 1)
    return bool(enough and value <= schema.get("maximum", value))


@EVERY
def test_it_says_what_it_is(registry, name):
    assert first_paragraph(registry[name]).endswith((".", "!")), "its docstring begins with a sentence"


@EACH_OPTION
def test_every_option_has_a_sentence(registry, name, option):
    sentence = options_of(registry[name])[option].help
    assert sentence.endswith("."), f"{name}({option}) has no sentence that says what it does"
    assert len(sentence.split()) >= 3


@EACH_OPTION
def test_values_beyond_the_limits_are_refused(registry, name, option):
    cls = registry[name]
    given = base(cls)
    for value in beyond(options_of(cls)[option].hint):
        with pytest.raises(UsageError):
            cls(**{**given, option: value})
        with pytest.raises(UsageError, match=rf"^{name}\({option}="):
            registry.build(name, {**given, option: value})
        assert not conforms(value, registry.schema(name)["properties"][option])


@EACH_OPTION
def test_values_of_a_wrong_type_are_refused(registry, name, option):
    cls = registry[name]
    given = base(cls)
    for value in (object(), {"a": 1}, [[object()]]):
        with pytest.raises(UsageError):
            cls(**{**given, option: value})
        with pytest.raises(UsageError):
            registry.build(name, {**given, option: value})


@EVERY
def test_an_option_that_does_not_exist_is_refused(registry, name):
    with pytest.raises(UsageError, match=f"unknown option of {name} 'no_such_option'"):
        registry.create(f"{name}(no_such_option=1)")


@EVERY
def test_the_schema_names_every_option_and_takes_what_the_class_takes(registry, name):
    cls = registry[name]
    schema = registry.schema(name)
    assert json.loads(json.dumps(schema)) == schema
    assert schema["properties"].keys() == options_of(cls).keys()
    assert all("description" in each for each in schema["properties"].values())
    for made in variants(cls):
        for option, value in json.loads(json.dumps({key: getattr(made, key) for key in options_of(cls)})).items():
            assert conforms(value, schema["properties"][option]), f"{option}={value}"
    for option, told in options_of(cls).items():
        assert told.default is MISSING or "default" in schema["properties"][option]


@EVERY
def test_specs_and_strings_give_equal_components(registry, name, tmp_path):
    for number, made in enumerate(variants(registry[name])):
        assert registry.create(registry.written(made)) == made
        if has_weights(made):  # a spec does not hold them, and a folder does
            registry.save(made, tmp_path / str(number))
            again = registry.create(tmp_path / str(number))
            assert registry.spec(again) == registry.spec(made)
        else:
            again = registry.from_spec(json.loads(json.dumps(registry.spec(made))))
        assert again == made


@EVERY
def test_presets_are_made_of_its_options(registry, name):
    for preset in getattr(registry[name], "presets", {}):
        assert registry.create(f"{name}(preset={preset})")
