"""Drawing an explanation: its text with every word tinted by its score.

`fragment` is what a notebook shows. Pages and terminals build on the same pieces, so all views agree.
"""

from __future__ import annotations

import html
import re

from veridical.core.example import IMAGE, PAIR, TEXT, Image, Unit
from veridical.core.explanation import HUMAN, Explanation
from veridical.report.colours import AGAINST, DARK, FOR, LIGHT, hexadecimal, hue, tint
from veridical.report.pictures import picture

_NAMES = {TEXT: "Text", PAIR: "Second text", IMAGE: "Image"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")  # no place in HTML or UTF-8

# A page may set these variables to follow the reader's light or dark setting; a notebook gets the light values.
_PAPER = f"var(--vd-paper,{hexadecimal(LIGHT.paper)})"
_INK = f"var(--vd-ink,{hexadecimal(LIGHT.ink)})"
_SOFT = "var(--vd-soft,#5b6270)"
_LINE = "var(--vd-line,#d9dce3)"
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_PRINTED = "print-color-adjust:exact;-webkit-print-color-adjust:exact"  # browsers leave backgrounds out otherwise

DARK_VARIABLES = (
    f"--vd-paper:{hexadecimal(DARK.paper)};--vd-ink:{hexadecimal(DARK.ink)};--vd-soft:#a3a9b6;--vd-line:#363a44"
)


def segments(explanation: Explanation, field: str) -> list[tuple[str, float | None]]:
    """The whole text of a field in pieces, each with its score; what lies between units has None.

    Where units overlap, the one that begins first keeps the shared characters.
    """
    return [
        (piece, None if index is None else explanation.scores[index]) for piece, index in _pieces(explanation, field)
    ]


def greatest(explanation: Explanation) -> float:
    """The largest score in size, which gets the deepest colour."""
    return max((abs(score) for score in explanation.scores), default=0.0)


def fragment(explanation: Explanation) -> str:
    """The explanation as self-contained HTML: what was predicted, why, and how to read the colours."""
    return (
        f'<div style="font:15px/1.5 {_FONT};background:{_PAPER};color:{_INK};border:1px solid {_LINE};'
        f'border-radius:8px;padding:14px 18px;max-width:60em;box-sizing:border-box">'
        f"{heading(explanation)}{method(explanation)}{body(explanation)}"
        f'<div style="margin-top:10px">{legend()}</div></div>'
    )


def heading(explanation: Explanation) -> str:
    """What is explained: the target and its probability, what else was predicted, the gold label."""
    target, probabilities = explanation.target, explanation.probabilities
    parts = [f"<strong>{_name(target)}</strong>{percent(probabilities.get(target))}"]
    predicted = max(probabilities, key=probabilities.__getitem__, default=target)
    if predicted != target:
        parts.append(f"{_soft('predicted')} {_name(predicted)}{percent(probabilities[predicted])}")
    if explanation.label is not None:
        parts.append(f"{_soft('gold label')} {_name(str(explanation.label))}{_verdict(explanation, predicted)}")
    inside = _soft(" &middot; ").join(parts)
    return f'<div style="font-size:1.05em;overflow-wrap:anywhere">{inside}</div>'


def method(explanation: Explanation) -> str:
    """Where the scores come from."""
    text = "marked by people" if explanation.source == HUMAN else f"explained by {_name(explanation.source)}"
    return f'<div style="font-size:.87em;overflow-wrap:anywhere">{_soft(text)}</div>'


def body(explanation: Explanation) -> str:
    """The tinted inputs, what the scores add up to, and a note where the model did not see all of the inputs."""
    top = greatest(explanation)
    several = len(explanation.inputs) > 1
    parts = [_input(explanation, field, top, several) for field in explanation.inputs]
    note = unseen(explanation)
    notes = [escaped(account(explanation)), f"&#9888; {escaped(note)}" if note else ""]
    parts += [f'<div style="font-size:.87em;margin-top:8px">{_soft(each)}</div>' for each in notes if each]
    return "".join(parts)


def legend() -> str:
    """How to read the colours."""
    steps = [-1.0, -0.66, -0.33, 0.0, 0.33, 0.66, 1.0]
    swatches = "".join(
        f'<span style="display:inline-block;width:18px;height:12px;background:{tint(step, 1.0)};{_PRINTED}"></span>'
        for step in steps
    )
    return (
        f'<span style="font-size:.8em;color:{_SOFT};white-space:nowrap">'
        f'<span style="border-bottom:2px dotted {hexadecimal(AGAINST)}">against</span> '
        f'<span style="border:1px solid {_LINE};display:inline-block;line-height:0;vertical-align:middle;margin:0 4px">'
        f'{swatches}</span> <span style="border-bottom:2px solid {hexadecimal(FOR)}">for</span> this answer</span>'
    )


def unseen(explanation: Explanation) -> str:
    """A note when the model did not see the whole input; empty when it did."""
    count = explanation.measures.get("truncated_units", 0.0)
    if not count > 0:
        return ""
    words = "1 word" if count == 1 else f"{count:.0f} words"
    return f"{words} beyond the model's limit {'was' if count == 1 else 'were'} not seen"


def account(explanation: Explanation) -> str:
    """What the scores add up to, of what they should, and what they cost; empty when nothing is known of that."""
    known, parts = explanation.measures, []
    if "difference" in known and "residual" in known:
        difference, residual = known["difference"], known["residual"]
        share = abs(residual / difference) if difference else 0.0
        told = f" (residual {share:,.{0 if share >= 1 else 1}%})" if difference else ""
        parts.append(f"adds up to {difference + residual:.3g} of {difference:.3g}{told}")
    if explanation.margins is not None:
        parts.append("± covers 95%")
    if "queries" in known:
        parts.append(f"{known['queries']:,.0f} {'query' if known['queries'] == 1 else 'queries'}")
    return "; ".join(parts)


def strongest(explanation: Explanation, count: int) -> list[int]:
    """Which units have the largest scores in size, for or against: at most `count`, none of them 0."""
    ranked = sorted(range(len(explanation.units)), key=lambda index: -abs(explanation.scores[index]))
    return [index for index in ranked[:count] if explanation.scores[index]]


def called(unit: Unit) -> str:
    """What to call a unit in a list."""
    return unit.text or f"patch {unit.span[0]},{unit.span[1]}"


def number(explanation: Explanation, index: int, digits: int = 3) -> str:
    """The score of a unit, with its margin where there is one."""
    margin = "" if explanation.margins is None else f" ± {explanation.margins[index]:.2g}"
    return f"{explanation.scores[index]:+.{digits}g}{margin}"


def percent(probability: float | None) -> str:
    """The probability as it follows a label; nothing for regression, which has none."""
    return "" if probability is None else f" {probability:.1%}"


def escaped(text: str) -> str:
    """The text, safe in HTML content and attributes; characters that HTML cannot hold become U+FFFD."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", text)).replace("\r", "&#13;")


def _pieces(explanation: Explanation, field: str) -> list[tuple[str, int | None]]:
    """The whole text of a field in pieces, each with the number of its unit; what lies between units has None."""
    text = explanation.inputs.get(field, "")
    if not isinstance(text, str):
        return []
    pieces: list[tuple[str, int | None]] = []
    at = 0
    for index in sorted(_of_field(explanation, field), key=lambda index: explanation.units[index].span):
        span = explanation.units[index].span
        start, end = max(at, span[0]), min(len(text), span[1])
        if start < end:
            pieces += [(text[at:start], None)] if at < start else []
            pieces.append((text[start:end], index))
            at = end
    return pieces + ([(text[at:], None)] if at < len(text) else [])


def _of_field(explanation: Explanation, field: str) -> list[int]:
    return [index for index, unit in enumerate(explanation.units) if unit.field == field]


def _input(explanation: Explanation, field: str, top: float, named: bool) -> str:
    value = explanation.inputs[field]
    name = (
        f'<div style="font-size:.8em;margin-bottom:2px">{_soft(_NAMES.get(field) or _name(field))}</div>'
        if named
        else ""
    )
    if isinstance(value, Image):
        scored = [
            (explanation.units[index], explanation.scores[index], number(explanation, index, 4))
            for index in _of_field(explanation, field)
        ]
        inside = picture(value, scored, top)
        return f'<div style="margin-top:10px">{name}{inside}</div>'
    inside = "".join(_piece(explanation, text, index, top) for text, index in _pieces(explanation, field))
    style = f"white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.75;{_PRINTED}"
    return f'<div style="margin-top:10px">{name}<div dir="auto" style="{style}">{inside}</div></div>'


def _piece(explanation: Explanation, text: str, index: int | None, top: float) -> str:
    if index is None:
        return escaped(text)
    score = explanation.scores[index]
    share = abs(score) / top if top > 0 else 0.0
    style = f"background:{tint(score, top)};border-radius:3px" if share >= 0.01 else ""
    if share >= 0.1:
        # A line besides the tint, solid or dotted, tells the two signs apart in a black-and-white print.
        red, green, blue = hue(score)
        style += f";border-bottom:2px {'solid' if score > 0 else 'dotted'} rgba({red},{green},{blue},{share:.2f})"
    return f'<span title="{number(explanation, index, 4)}" style="{style}">{escaped(text)}</span>'


def _verdict(explanation: Explanation, predicted: str) -> str:
    if not isinstance(explanation.label, str) or not explanation.probabilities:
        return ""
    return " &#10003;" if explanation.label == predicted else " &#10007;"


def _name(text: str) -> str:
    """A name of unknown script, kept from reordering the words around it."""
    return f"<bdi>{escaped(text)}</bdi>"


def _soft(markup: str) -> str:
    return f'<span style="color:{_SOFT}">{markup}</span>'
