"""What a drawing of an explanation shows: its heading, its text in tinted pieces, notes, and its strongest words.

Pages, cards, notebooks and terminals all take these values, so all views agree; templates make HTML of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from veridical.core.values import (
    FAMILIAR,
    HUMAN,
    IMAGE,
    PAIR,
    TEXT,
    UNFAMILIAR,
    Explanation,
    Image,
    Label,
    gives,
    gives_labels,
    is_number,
)
from veridical.report.pictures import Picture, patch_name, picture
from veridical.report.style import TEMPLATES, hue, tint

_NAMES = {TEXT: "Text", PAIR: "Second text", IMAGE: "Image"}
_TINTED, _LINED = 0.01, 0.1  # shares of the greatest score from which a word gets a tint, and a line under it

MISSED = 0.1
"""The part of a difference that its shares may miss; beyond it they have not converged, or have no right rules."""
_MISSED_OF_SCORES = 0.03


@dataclass(frozen=True)
class Answer:
    """A label and the probability that the model gave it; of a regression, the number in place of both."""

    label: str
    probability: float | None
    number: str = ""

    def __str__(self) -> str:
        return f"{self.label}{self.figure}"

    @property
    def figure(self) -> str:
        """The probability or the number as it follows the label."""
        if self.number:
            return f" {self.number}"
        return "" if self.probability is None else f" {self.probability:.1%}"


@dataclass(frozen=True)
class Heading:
    """What is explained: the `target`, what was `predicted` if that is another label, and the `gold` label if known.

    `right` says whether the prediction is the gold label, None where there is no telling. `chosen` are the labels that
    a model has chosen which gives any number of them; it is None for other models, and where that is not known. Then
    `right` is about the target alone.
    """

    target: Answer
    predicted: Answer | None
    gold: str | None
    right: bool | None
    chosen: tuple[str, ...] | None = None
    gold_is: str = "gold label"

    @property
    def choice(self) -> str:
        """Whether the target is among the chosen labels, in words that the `others` follow."""
        if self.chosen is None:
            return ""
        if self.target.label in self.chosen:
            return "predicted with" if self.others else "predicted"
        return "not predicted, but" if self.others else "not predicted"

    @property
    def others(self) -> tuple[str, ...]:
        """The labels that are chosen beside the target."""
        return tuple(label for label in self.chosen or () if label != self.target.label)


@dataclass(frozen=True)
class Piece:
    """A piece of a text; a scored one has its score in words (`told`), a tint, and a line under it if it is large.

    A `strong` one is one of the few that stand out.
    """

    text: str
    told: str | None = None
    tint: str = ""
    line: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Field:
    """One input as it is drawn: the pieces of a text, or a picture, which is None for an empty image."""

    name: str
    is_text: bool
    pieces: tuple[Piece, ...] = ()
    picture: Picture | None = None


@dataclass(frozen=True)
class Word:
    """A unit in the list of the strongest, with its score in words, and whether it speaks for the target."""

    name: str
    told: str
    is_for: bool


@dataclass(frozen=True)
class Drawing:
    """All that is shown of one explanation."""

    heading: Heading
    source: str
    by_people: bool
    fields: tuple[Field, ...]
    notes: tuple[str, ...]
    words: tuple[Word, ...]


def fragment(explanation: Explanation) -> str:
    """The explanation as self-contained HTML: what was predicted, why, and how to read the colours."""
    return TEMPLATES.get_template("fragment.html").render(shown=drawing(explanation))


def drawing(explanation: Explanation, top: int = 0, only_top: bool = False) -> Drawing:
    """What to show of an explanation, with its `top` strongest units listed, or listed and alone in being marked."""
    notes = (account(explanation), *(f"⚠ {doubt}" for doubt in doubts(explanation)))
    strongest = set(_ranked(explanation)[:top])
    return Drawing(
        heading=heading(explanation),
        source=explanation.source,
        by_people=explanation.source == HUMAN,
        fields=tuple(
            _field(explanation, name, value, strongest, only_top) for name, value in explanation.inputs.items()
        ),
        notes=tuple(note for note in notes if note),
        words=strongest_words(explanation, top),
    )


def heading(explanation: Explanation) -> Heading:
    """The target and its probability, what else was predicted, the gold label."""
    probabilities, gold = explanation.probabilities, explanation.label
    target = Answer(explanation.target, probabilities.get(explanation.target))
    if not probabilities and is_number(output := explanation.measures.get("output")):
        number = Answer(explanation.target, None, f"{output:.4g}")
        return Heading(number, None, f"{gold:.4g}" if is_number(gold) else None, None, gold_is="gold value")
    chosen = _chosen(explanation)
    if chosen is not None or isinstance(gold, tuple):  # of several labels, the likeliest is not the prediction
        return _heading_of_labels(target, gold, chosen)
    predicted = max(probabilities, key=probabilities.__getitem__, default=explanation.target)
    return Heading(
        target=target,
        predicted=None if predicted == explanation.target else Answer(predicted, probabilities[predicted]),
        gold=None if gold is None else str(gold),
        right=gold == predicted if isinstance(gold, str) and probabilities else None,
    )


def _heading_of_labels(target: Answer, gold: Label | None, chosen: tuple[str, ...] | None) -> Heading:
    """The heading where an example has any number of labels."""
    if not isinstance(gold, tuple):
        return Heading(target, None, None if gold is None else str(gold), None, chosen)
    right = None if chosen is None else (target.label in chosen) == (target.label in gold)
    return Heading(target, None, ", ".join(gold) or "none", right, chosen, "gold labels")


def _chosen(explanation: Explanation) -> tuple[str, ...] | None:
    """The labels that reach the model's threshold; None for a model that gives one class or a number."""
    model = explanation.spec.get("model")
    threshold = model.get("threshold") if gives_labels(model) else None
    if not is_number(threshold):  # the spec of another program
        return None
    return tuple(label for label, chance in explanation.probabilities.items() if chance >= threshold)


def segments(explanation: Explanation, field: str) -> list[tuple[str, int | None]]:
    """The whole text of a field in pieces, each with the index of its unit; what lies between units has None.

    Where units overlap, the one that begins first keeps the shared characters.
    """
    text = explanation.inputs.get(field, "")
    if not isinstance(text, str):
        return []
    pieces: list[tuple[str, int | None]] = []
    at = 0
    for index in sorted(_of_field(explanation, field), key=lambda index: explanation.units[index].span):
        span = explanation.units[index].span
        start, end = max(at, span[0]), span[1]
        if start < end:
            pieces += [(text[at:start], None)] if at < start else []
            pieces.append((text[start:end], index))
            at = end
    return pieces + ([(text[at:], None)] if at < len(text) else [])


def greatest(explanation: Explanation) -> float:
    """The largest score in size, which gets the deepest colour."""
    return max((abs(score) for score in explanation.scores), default=0.0)


def strongest_words(explanation: Explanation, count: int) -> tuple[Word, ...]:
    """The units with the largest scores in size, for or against: at most `count`, none with a score of 0."""
    return tuple(_word(explanation, index) for index in _ranked(explanation)[:count])


def _ranked(explanation: Explanation) -> list[int]:
    """The units that have a score, the strongest first."""
    scores = explanation.scores
    return sorted((index for index, score in enumerate(scores) if score), key=lambda index: -abs(scores[index]))


def doubts(explanation: Explanation) -> list[str]:
    """What makes an explanation doubtful: unseen words, scores that do not add up, a text that a student never met."""
    found = (_unseen(explanation), _unsettled(explanation), _unfamiliar(explanation), _unsigned(explanation))
    return [doubt for doubt in found if doubt]


def _unfamiliar(explanation: Explanation) -> str:
    if explanation.measures.get(FAMILIAR, 1.0) >= UNFAMILIAR:
        return ""
    return (
        "this text is unlike those that the explainer learned from (fewer than "
        f"{UNFAMILIAR:.0%} of texts are so unlike them), so ask its teacher"
    )


def _unsigned(explanation: Explanation) -> str:
    if gives(explanation.spec) != "shares":
        return ""
    return "scores are shares of what counts: they do not say whether a word speaks for the answer or against it"


def _unseen(explanation: Explanation) -> str:
    count = explanation.measures.get("truncated_units", 0.0)
    if not count > 0:
        return ""
    words = "1 word" if count == 1 else f"{count:.0f} words"
    return f"{words} beyond the model's limit {'was' if count == 1 else 'were'} not seen"


def _unsettled(explanation: Explanation) -> str:
    known = explanation.measures
    residual, difference = (abs(known.get(name, 0.0)) for name in ("residual", "difference"))
    # Of the scores, too: where words for and against cancel out, the difference may be as small as a harmless error.
    least = max(MISSED * difference, _MISSED_OF_SCORES * sum(map(abs, explanation.scores)))
    if residual <= least or not difference:
        return ""
    return (
        f"the scores miss {residual / difference:.0%} of the difference that they share out, so do not rely on them; "
        "`veridical check` says what to do"
    )


def account(explanation: Explanation) -> str:
    """A note on the sum of the scores beside the sum they should have, and on their cost; empty if neither is known."""
    known, parts = explanation.measures, []
    if "difference" in known and "residual" in known:
        difference, residual = known["difference"], known["residual"]
        share = abs(residual / difference) if difference else 0.0
        told = f" (residual {share:,.{0 if share >= 1 else 1}%})" if difference else ""
        parts.append(f"adds up to {difference + residual:.3g} of {difference:.3g}{told}")
    if "difference" in known and "interaction" in known:
        total = known["difference"] + known["interaction"]
        parts.append(f"words one by one make up {total:.3g} of {known['difference']:.3g}")
    if explanation.margins is not None:
        parts.append("± covers 95%")
    if "queries" in known:
        parts.append(f"{known['queries']:,.0f} {'query' if known['queries'] == 1 else 'queries'}")
    return "; ".join(parts)


def score_text(explanation: Explanation, index: int, digits: int = 3) -> str:
    """The score of a unit, with its margin where there is one."""
    margin = "" if explanation.margins is None else f" ± {explanation.margins[index]:.2g}"
    return f"{explanation.scores[index]:+.{digits}g}{margin}"


def _of_field(explanation: Explanation, field: str) -> list[int]:
    return [index for index, unit in enumerate(explanation.units) if unit.field == field]


def _field(explanation: Explanation, name: str, value: str | Image, strongest: set[int], only_top: bool) -> Field:
    """One input as it is drawn; the strongest patches get frames, and with `only_top` the other words no tint."""
    top, called = greatest(explanation), _NAMES.get(name, name)
    if isinstance(value, Image):
        return Field(called, is_text=False, picture=_picture(explanation, name, value, strongest))
    marked = strongest if only_top else None
    pieces = tuple(_piece(explanation, text, index, top, marked) for text, index in segments(explanation, name))
    return Field(called, is_text=True, pieces=pieces)


def _picture(explanation: Explanation, name: str, image: Image, strongest: set[int]) -> Picture | None:
    units, scores, own = explanation.units, explanation.scores, _of_field(explanation, name)
    scored = [(units[index], scores[index], score_text(explanation, index, 4)) for index in own]
    framed = {place for place, index in enumerate(own) if index in strongest}
    return picture(image, scored, greatest(explanation), framed)


def _piece(explanation: Explanation, text: str, index: int | None, top: float, marked: set[int] | None) -> Piece:
    if index is None:
        return Piece(text)
    if marked is not None and index not in marked:
        return Piece(text, told=score_text(explanation, index, 4))
    score = explanation.scores[index]
    share = abs(score) / top if top > 0 else 0.0
    return Piece(
        text,
        told=score_text(explanation, index, 4),
        tint=tint(score, top) if share >= _TINTED else "",
        line=_line(score, share) if share >= _LINED else "",
        strong=marked is not None,
    )


def _line(score: float, share: float) -> str:
    """A line besides the tint, solid or dotted: it tells the two signs apart in a black-and-white print."""
    red, green, blue = hue(score)
    return f"{'solid' if score > 0 else 'dotted'} rgba({red},{green},{blue},{share:.2f})"


def _word(explanation: Explanation, index: int) -> Word:
    unit, score = explanation.units[index], explanation.scores[index]
    return Word(patch_name(unit), score_text(explanation, index), score > 0)
