"""Drawings show the whole text and nothing but the text, readably and safely."""

from __future__ import annotations

import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.values import Explanation, Image, Unit
from veridical.report.drawing import (
    Answer,
    account,
    doubts,
    drawing,
    fragment,
    greatest,
    heading,
    score_text,
    segments,
    strongest_words,
)
from veridical.report.pictures import Picture, png
from veridical.report.style import AGAINST, DARK, FOR, LIGHT, Paper, blend, contrast, depth, escaped, tint

NASTY = "<script>alert(1)</script> \"q\" 'a' & &lt; </div> 😀 שלום\r\n\tnew  line " + "A" * 200
VOID = {"meta", "image", "use", "br"}


class Page(HTMLParser):
    """What a browser would make of the markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.titles: list[str] = []
        self.links: list[str] = []
        self.blocks: list[str] = []
        self._block_depth = 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.titles += [given["title"] or ""] if "title" in given else []
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not [name for name in given if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)
        if given.get("dir") == "auto":
            self.blocks.append("")
            self._block_depth = len(self.open)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if len(self.open) < self._block_depth:
            self._block_depth = 0

    def handle_data(self, data: str) -> None:
        if self._block_depth:
            self.blocks[-1] += data


def explain(text: str = "good film", spans: tuple[tuple[int, int], ...] = ((0, 4), (5, 9)), **changes) -> Explanation:
    values = {
        "example_id": "7",
        "inputs": {"text": text},
        "target": "positive",
        "units": tuple(Unit("text", span, text[span[0] : span[1]]) for span in spans),
        "scores": tuple(1.0 - 1.5 * i for i in range(len(spans))),
        "probabilities": {"positive": 0.931, "negative": 0.069},
        "source": "occlusion",
        "spec": {},
    }
    return Explanation(**{**values, **changes})


def test_segments_cover_text_units_and_gaps() -> None:
    assert segments(explain(" good film!", ((1, 5), (6, 10))), "text") == [
        (" ", None),
        ("good", 0),
        (" ", None),
        ("film", 1),
        ("!", None),
    ]


@given(st.data())
def test_segments_join_to_the_text_whatever_the_spans(data: st.DataObject) -> None:
    text = data.draw(st.text(max_size=30))
    edges = st.integers(0, len(text))
    spans = tuple(data.draw(st.lists(st.tuples(edges, edges).map(sorted).map(tuple), max_size=6)))
    assert "".join(piece for piece, _ in segments(explain(text, spans), "text")) == text


def test_segments_of_no_text_are_none() -> None:
    assert segments(explain("", ()), "text") == []
    assert segments(explain(), "text_pair") == []
    assert segments(explain(inputs={"image": Image(np.zeros((2, 2)))}, units=(), scores=()), "image") == []


@pytest.mark.parametrize("paper", [LIGHT, DARK])
def test_ink_is_readable_on_every_colour_of_the_scale(paper: Paper) -> None:
    scale = [blend(step / 100, 1.0, paper.paper) for step in range(-100, 101)]
    assert min(contrast(colour, paper.ink) for colour in scale) >= 4.5
    assert len(set(scale)) > 60  # and still a scale


def test_contrast_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((118, 118, 118), (255, 255, 255)) == pytest.approx(4.54, abs=0.01)


def test_signs_differ_also_for_the_colour_blind() -> None:
    # Red-green blindness leaves the blue channel and lightness: orange and blue must differ there.
    assert AGAINST[2] - FOR[2] > 150


def test_depth_follows_the_score() -> None:
    assert depth(0.0, 1.0) == depth(0.0, 0.0) == 0.0
    assert depth(0.5, 1.0) == depth(-0.5, 1.0) == pytest.approx(depth(1.0, 1.0) / 2)
    assert tint(1.0, 1.0).startswith("rgba(232,113,10,")


@pytest.mark.parametrize("text", [NASTY, "plain", "", "\n\nleading newlines", "a\u202eb"])
def test_fragment_shows_exactly_the_text(text: str) -> None:
    spans = tuple((start, end) for start, end in ((0, 9), (10, 30), (60, 90)) if end <= len(text))
    page = Page(fragment(explain(text, spans)))
    assert page.blocks == [text]
    assert page.open == []
    assert "script" not in page.tags


def test_every_name_is_escaped() -> None:
    bad = "<script>x</script>\"'>"
    page = Page(
        fragment(
            explain(target=bad, source=bad, label=bad, probabilities={bad: 1.0}, inputs={bad: "a", "text": "bad films"})
        )
    )
    assert "script" not in page.tags
    assert page.open == []


@given(st.text(st.characters(), max_size=20))
def test_any_text_can_be_saved(text: str) -> None:
    fragment(explain(text, ((0, min(3, len(text))),))).encode("utf-8")
    assert len(escaped(text)) >= len(text)


def test_fragment_tells_prediction_label_method_and_legend() -> None:
    markup = fragment(explain(label="negative"))
    for part in ("positive", "93.1%", "gold label", "negative", "occlusion", "&#10007;"):
        assert part in markup
    assert Page(markup).titles == ["+1", "-0.5"]
    assert re.search(r">against</span>.*>for</span> this answer", markup, re.DOTALL)


def test_another_target_than_the_predicted_one_is_said() -> None:
    assert heading(explain(target="negative")).predicted == Answer("positive", 0.931)
    assert heading(explain()).predicted is None
    markup = fragment(explain(target="negative"))
    assert "6.9%" in markup
    assert "predicted" in markup
    assert "predicted" not in fragment(explain())


def test_several_gold_labels_are_listed_and_no_prediction_is_guessed() -> None:
    shown = heading(explain(target="negative", label=("joy", "hope")))
    assert (shown.target, shown.predicted, shown.gold, shown.right) == (
        Answer("negative", 0.069),
        None,
        "joy, hope",
        None,
    )
    assert heading(explain(label=())).gold == "none"
    assert "joy, hope" in fragment(explain(label=("joy", "hope")))


LABELS = {"model": {"task": "labels", "threshold": 0.3}}


@pytest.mark.parametrize(
    ("target", "probabilities", "choice", "others"),
    [
        ("joy", {"joy": 0.9, "hope": 0.1}, "predicted", ()),
        ("joy", {"joy": 0.4, "hope": 0.35}, "predicted with", ("hope",)),
        ("joy", {"joy": 0.2, "hope": 0.35, "fear": 0.8}, "not predicted, but", ("hope", "fear")),
        ("joy", {"joy": 0.2, "hope": 0.1}, "not predicted", ()),
    ],
)
def test_a_label_is_said_to_be_among_the_chosen_ones(target, probabilities, choice, others) -> None:
    made = explain(target=target, probabilities=probabilities, label=("joy", "hope"), spec=LABELS)
    shown = heading(made)
    assert (shown.predicted, shown.choice, shown.others) == (None, choice, others)
    assert shown.right == choice.startswith("predicted")  # the label is a gold one
    markup = fragment(made)
    assert choice in markup
    assert ", ".join(others) in markup
    assert "gold labels" in markup


def test_a_model_of_one_class_says_nothing_of_chosen_labels() -> None:
    shown = heading(explain(spec={"model": {"name": "tiny"}}))
    assert (shown.choice, shown.others, shown.chosen) == ("", (), None)
    assert heading(explain(spec={"model": "a name"})).chosen is None


def test_people_and_regression() -> None:
    assert "marked by people" in fragment(explain(source="human"))
    markup = fragment(explain(target="similarity", probabilities={}, label=3.5))
    assert "3.5" in markup
    assert "%<" not in markup
    assert "&#10003;" not in markup


def test_a_pair_names_its_texts() -> None:
    markup = fragment(explain(inputs={"text": "good film", "text_pair": "bad"}))
    assert "Second text" in markup
    assert Page(markup).blocks == ["good film", "bad"]
    assert "Text</span>" not in fragment(explain())


@pytest.mark.parametrize(("count", "note"), [(41.0, "41 words beyond the model's limit were"), (1.0, "1 word beyond")])
def test_unseen_words_are_said(count: float, note: str) -> None:
    assert note in doubts(explain(measures={"truncated_units": count}))[0]
    assert escaped(note) in fragment(explain(measures={"truncated_units": count}))


@pytest.mark.parametrize("count", [0.0, float("nan")])
def test_nothing_unseen_is_not_said(count: float) -> None:
    assert doubts(explain(measures={"truncated_units": count})) == []


def test_zero_scores_have_no_colour() -> None:
    markup = fragment(explain(scores=(0.0, 0.0)))
    assert greatest(explain(scores=(0.0, 0.0))) == 0.0
    assert markup.count("title=") == 2


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_an_image_is_drawn_with_its_patches(channels: int) -> None:
    image = Image(np.arange(4 * 6 * channels, dtype=np.uint8).reshape(4, 6, channels))
    units = (Unit("image", (0, 0, 2, 3), ""), Unit("image", (2, 3, 4, 6), ""))
    markup = fragment(explain(inputs={"image": image}, units=units, scores=(1.0, -0.25)))
    page = Page(markup)
    assert page.tags.count("rect") == 2
    assert "<title>-0.25</title>" in markup
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in page.links)
    assert len(page.links) == 2


def heat_map(*scores: float, **changes) -> Picture:
    """The picture of an image of two rows with a patch for each score."""
    units = tuple(Unit("image", (0, 3 * at, 2, 3 * at + 3), f"patch 1,{at + 1}") for at in range(len(scores)))
    image = {"inputs": {"image": Image(np.zeros((2, 3 * len(scores), 1)))}, "units": units, "scores": scores}
    (field,) = drawing(explain(**image), **changes).fields
    assert field.picture is not None
    return field.picture


def test_a_map_is_told_in_words_and_numbers() -> None:
    shown = heat_map(0.1, -0.4, 0.0, 0.2)
    assert shown.told == (
        "Image of 12 by 2 pixels with 4 patches; the strongest: patch 1,2 -0.4, patch 1,4 +0.2, patch 1,1 +0.1"
    )
    assert (shown.scale[0], shown.scale[-1], 0.0 in shown.scale) == (-0.4, 0.4, True)
    assert (heat_map(0.3, 0.9).scale[0], heat_map(0.3, 0.9).scale[-1]) == (0.0, 0.9)
    assert heat_map(-0.3, -0.9).scale[-1] == 0.0
    assert heat_map(0.0, 0.0).scale == ()
    assert heat_map(0.0, 0.0).told.endswith("none has a score")


def test_the_listed_patches_of_a_map_are_framed_and_all_are_tinted() -> None:
    shown = heat_map(0.7, 0.9, 0.8, top=2)
    assert [patch.frame != "none" for patch in shown.patches] == [False, True, True]
    assert len({patch.fill for patch in shown.patches}) == 3
    assert shown.patches[0].width == 3  # an unframed patch is tinted up to its edge
    assert [patch.frame != "none" for patch in heat_map(0.7, 0.9, 0.01).patches] == [True, True, False]


def test_a_map_has_a_name_and_a_scale_in_the_markup() -> None:
    units = (Unit("image", (0, 0, 2, 2), "patch 1,1"),)
    markup = fragment(explain(inputs={"image": Image(np.zeros((2, 2, 1)))}, units=units, scores=(0.25,)))
    assert 'role="img"' in markup
    assert 'aria-label="Image of 2 by 2 pixels with 1 patch; the strongest: patch 1,1 +0.25"' in markup
    assert re.search(r">0\s.*\s0.25</div>", markup, re.DOTALL)


def test_png_holds_the_pixels() -> None:
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    data = png(Image(pixels))
    start = data.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", data[start - 8 : start - 4])
    lines = np.frombuffer(zlib.decompress(data[start : start + length]), np.uint8).reshape(4, 1 + 6 * 3)
    assert np.array_equal(lines[:, 1:].reshape(pixels.shape), pixels)
    assert struct.unpack(">II", data[16:24]) == (6, 4)


def test_an_empty_image_is_said_to_be_empty() -> None:
    assert "empty image" in fragment(explain(inputs={"image": Image(np.zeros((0, 0, 3)))}, units=(), scores=()))


def test_strongest_are_for_or_against() -> None:
    patch = explain(
        inputs={"text": "good film", "image": Image(np.zeros((8, 12)))},
        units=(Unit("image", (4, 8, 8, 12), ""), Unit("text", (0, 4), "good")),
        scores=(0.1, -2.0),
    )
    assert [(word.name, word.told, word.is_for) for word in strongest_words(patch, 5)] == [
        ("good", "-2", False),
        ("patch 4,8", "+0.1", True),
    ]
    assert [word.name for word in strongest_words(patch, 1)] == ["good"]
    assert [word.name for word in strongest_words(explain(scores=(0.0, -1.0)), 5)] == ["film"]


def test_margins_show_on_hover() -> None:
    sampled = explain(margins=(0.25, 0.0123))
    assert Page(fragment(sampled)).titles == ["+1 ± 0.25", "-0.5 ± 0.012"]
    assert score_text(sampled, 1) == "-0.5 ± 0.012"
    assert score_text(explain(), 1) == "-0.5"
    patch = {"inputs": {"image": Image(np.zeros((4, 4)))}, "units": (Unit("image", (0, 0, 2, 2), ""),)}
    assert "<title>+1 ± 0.5</title>" in fragment(explain(**patch, scores=(1.0,), margins=(0.5,)))


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (
            {"difference": 1.84, "residual": 0.0055, "queries": 164.0},
            "adds up to 1.85 of 1.84 (residual 0.3%); 164 queries",
        ),
        ({"difference": -2.0, "residual": 5.0}, "adds up to 3 of -2 (residual 250%)"),
        ({"difference": 0.0, "residual": 0.25}, "adds up to 0.25 of 0"),
        ({"queries": 1.0}, "1 query"),
        ({"queries": 1002.0}, "1,002 queries"),
        ({}, ""),
    ],
)
def test_what_scores_add_up_to_is_said(measures: dict[str, float], said: str) -> None:
    assert account(explain(measures=measures)) == said
    assert said in fragment(explain(measures=measures))


def test_words_that_act_together_are_said_to() -> None:
    measures = {"difference": 0.5, "interaction": -0.2}
    assert account(explain(measures=measures)) == "words one by one make up 0.3 of 0.5"
    assert doubts(explain(measures=measures)) == []


@pytest.mark.parametrize(
    ("difference", "residual", "doubtful"),
    [
        (1.0, 0.62, True),
        (-1.0, 0.11, True),
        (1.0, 0.09, False),
        (0.01, 0.02, False),  # large words cancel out: 1 and -0.5 are right to about 1%
        (0.01, 0.2, True),
    ],
)
def test_scores_that_miss_their_difference_are_doubtful(difference: float, residual: float, doubtful: bool) -> None:
    made = explain(scores=(1.0, -0.5), measures={"difference": difference, "residual": residual})
    told = f"the scores miss {abs(residual / difference):.0%} of the difference"
    assert [doubt.startswith(told) for doubt in doubts(made)] == [True] * doubtful
    assert ("⚠ the scores miss" in fragment(made)) == doubtful


def test_the_reach_of_margins_is_said() -> None:
    assert account(explain(margins=(0.1, 0.1), measures={"queries": 9.0})) == "± covers 95%; 9 queries"


def test_notebooks_show_the_fragment() -> None:
    assert explain()._repr_html_() == fragment(explain())
