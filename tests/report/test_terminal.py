"""Terminals with and without colours show the same explanation."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from veridical.core.values import Explanation, Image, Unit
from veridical.report import print_explanations


def explain(
    text: str = "great [b]film[/b] but dull end", scores=(1.0, 0.3, 0.01, -0.9, -0.2), **changes
) -> Explanation:
    units = tuple(Unit("text", found.span(), found.group()) for found in re.finditer(r"\S+", text))
    values = {"target": "pos", "probabilities": {"pos": 0.9, "neg": 0.1}, "source": "lime", "spec": {}, "label": "neg"}
    given = {"example_id": "7", "inputs": {"text": text}, "units": units, "scores": scores[: len(units)]}
    return Explanation(**{**given, **values, **changes})


def show(*explanations: Explanation, colour: bool = False, **options) -> str:
    file = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=file, width=200, force_terminal=colour, color_system=system, legacy_windows=False)
    print_explanations(console, explanations, **options)
    return file.getvalue()


def test_without_colour_signs_tell_for_from_against() -> None:
    shown = show(explain())
    assert "[++great] [+[b]film[/b]] but [--dull] [-end]" in shown
    assert "\x1b" not in shown
    assert "[+for] and [-against]" in shown


def test_prediction_label_and_top_words() -> None:
    shown = show(explain(), top=2)
    assert "pos 90.0%, gold label neg  (example 7, by lime)" in shown
    assert "top: great +1, dull -0.9\n" in shown
    assert "predicted pos 90.0%" in show(explain(target="neg"))
    assert "by people" in show(explain(source="human"))


def test_labels_that_are_chosen_are_named() -> None:
    spec = {"model": {"task": "labels", "threshold": 0.5}}
    shown = show(explain(spec=spec, label=("pos", "new"), probabilities={"pos": 0.9, "neg": 0.6}))
    assert "pos 90.0%, predicted with neg, gold labels pos, new  (example 7, by lime)" in shown
    shown = show(explain(spec=spec, label=(), probabilities={"pos": 0.4, "neg": 0.1}))
    assert "pos 40.0%, not predicted, gold labels none  (example 7, by lime)" in shown


def test_margins_and_what_scores_add_up_to() -> None:
    measures = {"difference": 0.21, "residual": 0.0, "queries": 164.0}
    shown = show(explain(margins=(0.1, 0.02, 0.03, 0.04, 0.05), measures=measures), top=2)
    assert "top: great +1 ± 0.1, dull -0.9 ± 0.04\n" in shown
    assert "adds up to 0.21 of 0.21 (residual 0.0%); ± covers 95%; 164 queries\n" in shown
    assert "adds up" not in show(explain())


def test_colours_replace_signs() -> None:
    shown = show(explain(), colour=True)
    assert "[++great]" not in shown
    assert "great [b]film[/b] but dull end" in re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert "48;2;" in shown


@pytest.mark.parametrize(("setting", "paper"), [("0;15", "light"), ("15;0", "dark"), ("", "dark")])
def test_colours_suit_the_background(monkeypatch: pytest.MonkeyPatch, setting: str, paper: str) -> None:
    monkeypatch.setenv("COLORFGBG", setting)
    assert ("38;2;27;30;36" in show(explain(), colour=True)) == (paper == "light")


def test_control_characters_do_nothing() -> None:
    shown = show(explain("\x1b[2Jwiped \x07 \ud800 \x9b31m"), explain(target="\x1b]0;title\x07"), colour=False)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", shown)


def test_shares_are_not_said_to_speak_for_the_answer() -> None:
    shown = show(explain(scores=(0.5, 0.3, 0.01, 0.1, 0.09), spec={"scores": "shares"}))
    assert "[**great]" in shown
    assert "[+" not in shown.splitlines()[3]
    assert "do not say whether a word speaks for the answer or against it" in " ".join(shown.split())


def test_scores_that_do_not_add_up_are_doubted() -> None:
    shown = show(explain(measures={"difference": 0.2, "residual": 0.3}))
    assert "the scores miss 150% of the difference that they share out" in " ".join(shown.split())


def test_a_pair_an_image_and_unseen_words() -> None:
    pair = explain(inputs={"text": "great", "text_pair": "x"}, units=(Unit("text_pair", (0, 1), "x"),), scores=(-1.0,))
    assert "text: great\ntext_pair: [--x]" in show(pair)
    patches = tuple(Unit("image", (row, column, row + 1, column + 1), "") for row in (0, 1) for column in (0, 1))
    image = explain(inputs={"image": Image(np.zeros((2, 2)))}, units=patches, scores=(1.0, -0.5, 0.0, -1.0))
    assert "[++] [-]  \n.    [--] \n" in show(image)
    assert "3 words beyond the model's limit were not seen" in show(explain(measures={"truncated_units": 3.0}))


def test_nothing_to_show() -> None:
    assert show() == ""
    assert "pos 90.0%" in show(explain("", ()))
