"""Plots are well-formed SVG that says in words what it shows, whatever the names and numbers are."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from veridical.report.plots import Dot, Point, dots, grid, heat, lines, steps
from veridical.report.plots.charts import apart, styles

BAD = "<script>alert(1)</script>\"'&]]> \x00 http://evil.example"


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def words(drawing: str) -> list[str]:
    return ["".join(each.itertext()) for each in parsed(drawing).iter("text")]


def numbers(drawing: str) -> list[float]:
    places = (each.get(name) for each in parsed(drawing).iter() for name in ("x", "y", "cx", "cy", "x1", "y1"))
    return [float(each) for each in places if each is not None]


def rising(name: str = "lime") -> dict[str, list[Point]]:
    return {name: [Point(0.1, 0.2, 0.1, 0.3), Point(0.5, 0.6, 0.5, 0.7)], "random": [Point(0.1, 0.1), Point(0.5, 0.15)]}


def test_lines_have_names_titles_and_words_for_those_who_do_not_see() -> None:
    drawing = lines(rising(), "Comprehensiveness", "share of words", "score", "random", percent=True)
    assert {"lime", "random", "share of words", "score", "50%"} <= set(words(drawing))
    assert parsed(drawing).find("title").text == "Comprehensiveness"
    assert "lime goes from 0.2 to 0.6" in parsed(drawing).find("desc").text
    assert "lime: 0.6 (0.5 to 0.7) at 0.5" in [each.text for each in parsed(drawing).iter("title")]


def test_a_higher_number_is_drawn_higher() -> None:
    circles = [each for each in parsed(lines(rising(), "t", "x", "y")).iter("circle") if each.get("r") == "3.6"]
    first, last = circles[:2]
    assert float(first.get("cx")) < float(last.get("cx"))
    assert float(first.get("cy")) > float(last.get("cy"))


def test_stairs_reach_their_share_only_at_its_place() -> None:
    drawing = steps({"lime": [Point(0, 0), Point(0.5, 1.0)]}, "Flips", "erased", "flipped")
    path = next(each.get("d") for each in parsed(drawing).iter("path") if each.get("fill") == "none")
    assert re.fullmatch(r"M[\d.]+ [\d.]+H[\d.]+V[\d.]+H[\d.]+", path)


@pytest.mark.parametrize(
    "drawing",
    [
        lines(rising(BAD), BAD, BAD, BAD),
        steps({BAD: [Point(0, 0), Point(0.5, 1.0)]}, BAD, BAD, BAD),
        heat([BAD, "b"], [[1, 0.5], [0.5, 1]], BAD),
        *dots([Dot(BAD, 1, 0, 2)], BAD)[1],
    ],
)
def test_hostile_names_stay_text(drawing: str) -> None:
    assert not list(parsed(drawing).iter("script"))
    assert not [name for each in parsed(drawing).iter() for name in each.attrib if name.startswith(("on", "href"))]


@pytest.mark.parametrize(
    "drawing",
    [
        lines({}, "t", "x", "y"),
        lines({"a": [Point(0, math.nan)]}, "t", "x", "y"),
        steps({"a": []}, "t", "x", "y"),
        heat([], [], "t"),
        heat(["a"], [[math.nan]], "t"),
    ],
)
def test_a_plot_of_nothing_says_so(drawing: str) -> None:
    assert words(drawing) == ["There is nothing to draw: no number is defined."]


@pytest.mark.parametrize(
    "series",
    [
        {"a": [Point(0.5, 0.5)]},
        {"a": [Point(0.1, 0.0), Point(0.2, 0.0)]},
        {"a": [Point(0, -3), Point(1, math.nan), Point(2, 5)]},
        {f"method {index}": [Point(0, 0.5), Point(1, 0.5)] for index in range(20)},
    ],
)
def test_odd_series_are_drawn_with_finite_places(series: dict[str, list[Point]]) -> None:
    drawing = lines(series, "t", "x", "y")
    assert all(math.isfinite(each) for each in numbers(drawing))
    assert set(series) <= set(words(drawing))


def test_heat_writes_every_number() -> None:
    drawing = heat(["a", "b"], [[1, math.nan], [0.25, 1]], "Likeness")
    assert words(drawing).count("1.00") == 2
    assert {"0.25", "n/a"} <= set(words(drawing))
    assert "a and b" not in parsed(drawing).find("desc").text  # each pair once, from the lower half
    assert "b and a 0.25" in parsed(drawing).find("desc").text


def test_dots_share_one_scale_and_leave_undefined_rows_empty() -> None:
    axis, strips = dots(
        [Dot("a", 0.2, 0.1, 0.3), Dot("b", 0.4, 0.3, 0.5), Dot("c", math.nan, math.nan, math.nan)], "b", 0.4
    )
    assert len(strips) == 3
    assert "0.1" in words(axis)
    a, b = (float(next(parsed(strip).iter("circle")).get("cx")) for strip in strips[:2])
    assert a < b
    assert not list(parsed(strips[2]).iter("circle"))


def test_a_number_without_interval_is_a_bare_dot() -> None:
    _, (strip,) = dots([Dot("a", 0.2, math.nan, math.nan)])
    assert len(list(parsed(strip).iter("circle"))) == 1


def test_names_that_touch_move_apart_and_keep_their_order() -> None:
    places = apart([10, 10, 11, 100], 15, 0, 200)
    assert all(after - before >= 15 - 1e-9 for before, after in pairwise(places))
    assert places[3] == 100
    assert apart([199, 200], 15, 0, 200) == [185, 200]
    assert apart([0, 1], 15, 0, 200) == [0, 15]


def test_series_differ_in_more_than_colour() -> None:
    names = [f"method {index}" for index in range(30)]
    found = styles([*names, "random"], "random")
    assert len(set(found.values())) == 31
    assert len({(each.dash, each.shape) for each in list(found.values())[:20]}) == 20


def test_a_grid_is_deepest_where_the_weight_is_greatest_and_says_what_it_shows() -> None:
    drawing = grid(
        ["layer 1", BAD], ["head 1", "head 2"], [[0.5, 0.0], [0.25, math.nan]], "Weights", "One head counts."
    )
    assert "One head counts." in drawing
    depths = [float(each) for each in re.findall(r'fill-opacity="([\d.]+)"', drawing)]
    assert depths[0] == max(depths) == 2 * depths[2]
    assert depths[1] == depths[3] == 0
    assert BAD not in drawing
    assert "0.50" in drawing
    assert "n/a" in drawing
    assert "nothing to draw" in grid(["a"], ["b"], [[0.0]], "t", "")
