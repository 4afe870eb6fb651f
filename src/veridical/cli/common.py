"""What commands share: options, options that are made of the fields of a settings class, and how texts are read."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar, cast

import typer

from veridical.cli import completion
from veridical.core.component import Component, Option, check_options, options_of, unknown
from veridical.core.errors import UsageError

_ALLOWED = {
    "units": ("word", "token"),
    "hold": ("text", "text_pair"),
    "long": ("truncate", "window"),
    "pooling": ("cls", "mean", "mix"),
}
"""How texts can be read, by option."""

Model = Annotated[
    str,
    typer.Argument(
        help="A folder written by `veridical train`, or a Hugging Face hub id.",
        autocompletion=completion.trained_models,
    ),
]
Units = Annotated[
    str | None,
    typer.Option(
        help="What gets a score: word or token (word pieces).", autocompletion=completion.words(*_ALLOWED["units"])
    ),
]
Hold = Annotated[
    str | None,
    typer.Option(
        help="A field that is context only, never scored or erased: text_pair.",
        autocompletion=completion.words(*_ALLOWED["hold"]),
    ),
]
Long = Annotated[
    str | None,
    typer.Option(
        help="Texts beyond the model's limit: truncate (and say so), or window (read it all).",
        autocompletion=completion.words(*_ALLOWED["long"]),
    ),
]
Pooling = Annotated[
    str | None,
    typer.Option(
        help="What a new head reads: cls (the first token), mean (of all tokens) or mix (such means of all layers).",
        autocompletion=completion.words(*_ALLOWED["pooling"]),
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Bf16 = Annotated[bool, typer.Option("--bf16", help="Run the model in bfloat16: faster where the processor has it.")]
Tokens = Annotated[int, typer.Option(min=1, help="Tokens in one batch: bounds the memory.")]
Seeds = Annotated[
    str,
    typer.Option("--seed", help="Seed of the head, the order of examples and dropout. 0,1,2 trains one for each."),
]

Command = Callable[..., None]


def options_from(
    leave_out: tuple[str, ...] = (), offers: Mapping[str, completion.Completer] | None = None, **classes: type
) -> Callable[[Command], Command]:
    """Put an option for each field of a settings class in the place of a command's parameter.

        @options_from(leave_out=("seed",), schedule=Schedule)
        def train(data: ..., *, schedule: Schedule, as_json: Json = False) -> None: ...

    Name, type, default, limits and help of each option are those of the field. `leave_out` names fields that the
    command fills in itself, and `offers` says what the shell completes a field with, where its type does not tell.
    """

    def decorate(command: Command) -> Command:
        fields = {name: _fields(cls, leave_out) for name, cls in classes.items()}
        parameters = [
            each
            for name, own in inspect.signature(command, eval_str=True).parameters.items()
            for each in ([_parameter(field, offers or {}) for field in fields[name]] if name in fields else [own])
        ]

        @functools.wraps(command)
        def call(**said: Any) -> None:
            for name, cls in classes.items():
                given = {field.name: said.pop(field.name) for field in fields[name]}
                said[name] = cls(**check_options(cls, command.__name__, given))
            command(**said)

        del call.__wrapped__  # or its signature would be taken for this one's
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        return call

    return decorate


def _fields(cls: type, leave_out: tuple[str, ...]) -> list[Option]:
    return [each for name, each in options_of(cls).items() if name not in leave_out]


def _parameter(field: Option, offers: Mapping[str, completion.Completer]) -> inspect.Parameter:
    """The parameter of a command that sets a field."""
    kind, limits = _read(field.hint)
    complete = offers.get(field.name, completion.words(*field.schema.get("enum", ())))
    flag = (f"--{field.name.replace('_', '-')}",) if kind is bool else ()  # without a second one that says no
    option = typer.Option(field.default, *flag, help=_help(field.help, limits), autocompletion=complete)
    hint = kind if field.default is not None else kind | None
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=hint)


def _help(sentence: str, limits: str) -> str:
    """The sentence with its limits after what it says first: `Examples per step (1 or more).`"""
    return re.sub("(?=[;:.])", f" ({limits})", sentence, count=1) if limits else sentence


def _read(hint: Any) -> tuple[Any, str]:
    """The type that is read from the command line, and what limits it, in words."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _read(next(part for part in parts if part is not type(None)))
    if origin is Literal:
        return str, f"{', '.join(map(str, parts[:-1]))} or {parts[-1]}"
    if origin is Annotated:
        return parts[0], ", ".join(str(limit) for limit in parts[1:])
    return hint, ""


def seeds_of(text: str) -> list[int]:
    """The seeds that an option names, each once."""
    return numbers_of("seed", text, "0,1,2")


def numbers_of(name: str, text: str, example: str) -> list[int]:
    """The whole numbers that an option names, each once."""
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        remedy = f"Give a whole number, or several: {example}."
        raise UsageError(f"--{name} cannot be {text!r}", remedy=remedy) from None


P = TypeVar("P", bound=Component)


def with_preset(plan: P, preset: str | None, context: typer.Context) -> P:
    """A plan with the settings of a preset, but for those that were given to the command, as its context knows."""
    if preset is None:
        return plan
    kind: Any = type(plan)
    if preset not in kind.presets:
        raise unknown("preset", preset, kind.presets)
    # Not those that differ from their defaults: a default that somebody asks for is asked for, too.
    given = {name: value for name, value in asdict(cast("Any", plan)).items() if _is_given(context, name)}
    made: P = kind(**{**kind.presets[preset], **given})
    return made


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def reading_settings(
    units: str | None, hold: str | None, long: str | None, pooling: str | None = None
) -> dict[str, Any]:
    """How texts are read, as far as it was said."""
    said = {"units": units, "hold": hold, "long": long, "pooling": pooling}
    for name, value in said.items():
        if value is not None and value not in _ALLOWED[name]:
            raise UsageError(f"--{name} cannot be {value!r}", remedy=f"It is one of: {', '.join(_ALLOWED[name])}.")
    return {name: value for name, value in said.items() if value is not None}
