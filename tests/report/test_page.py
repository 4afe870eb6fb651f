"""A page shows every explanation, loads nothing, and is written piece by piece."""

from __future__ import annotations

import re
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from veridical.core.errors import StorageError
from veridical.core.values import Explanation, Image, Unit
from veridical.report import write_page

BAD = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>\"' url(http://evil.example)"


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.markup = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._spans = 0
        self.feed(self.markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if dict(attrs).get("dir") == "auto":
            self.texts.append("")
            self._spans = 1
        elif self._spans:
            self._spans += 1

    def handle_endtag(self, tag: str) -> None:
        self._spans -= 1 if self._spans else 0

    def handle_data(self, data: str) -> None:
        if self._spans:
            self.texts[-1] += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def explain(id: str, source: str = "occlusion", text: str = "good film", **changes) -> Explanation:
    unit = Unit("text", (0, 4), text[:4])
    values = {"target": "pos", "units": (unit,), "scores": (0.5,), "spec": {"model": "m"}}
    values["probabilities"] = {"pos": 0.9, "neg": 0.1}
    return Explanation(**{"example_id": id, "inputs": {"text": text}, "source": source, **values, **changes})


def test_texts_are_shown_as_they_are_and_nothing_else_gets_in(tmp_path: Path) -> None:
    changes = {"target": BAD, "label": BAD, "probabilities": {BAD: 1.0}, "spec": {"model": BAD, BAD: BAD}}
    assert write_page([explain(BAD, BAD, BAD, **changes)], tmp_path / "page.html", BAD) == 1
    page = Page(tmp_path / "page.html")
    assert page.texts == [BAD]
    assert not page.count("script")
    assert not page.count("img")
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on") or name == "src"]


def test_nothing_is_fetched(tmp_path: Path) -> None:
    write_page([explain("1")], tmp_path / "page.html")
    markup = (tmp_path / "page.html").read_text()
    assert not re.search(r"https?://|src=|url\(|@import|<link", markup)
    assert "default-src 'none'" in markup


def test_methods_share_a_card_wherever_they_stand(tmp_path: Path) -> None:
    rows = [explain(id, source) for source in ("occlusion", "lime", "human") for id in "ab"]
    assert write_page(iter(rows), tmp_path / "page.html", "Title & more") == 6
    page = Page(tmp_path / "page.html")
    assert (page.count("article"), page.count("section")) == (2, 6)
    assert re.findall(r"<h2>(.*?)</h2>", page.markup) == ["occlusion", "lime", "people"] * 2
    assert "6 explanations of 2 examples" in page.markup
    assert "Title &amp; more" in page.markup


def test_another_target_in_the_card_gets_its_own_heading(tmp_path: Path) -> None:
    write_page([explain("a"), explain("a", "lime"), explain("a", "other", target="neg")], tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("predicted") == 1


def test_header_has_model_specs_and_legend(tmp_path: Path) -> None:
    rows = [explain("1"), explain("2"), explain("3", spec={"model": {"name": "bert"}})]
    write_page(rows, tmp_path / "page.html")
    markup = (tmp_path / "page.html").read_text()
    assert "<dd>m, bert</dd>" in markup
    assert "How the scores were made (2)" in markup
    assert markup.count("this answer") == 1
    assert "prefers-color-scheme: dark" in markup
    assert "@media print" in markup


def test_top_words_are_listed_or_not(tmp_path: Path) -> None:
    write_page([explain("1")], tmp_path / "page.html")
    assert "<bdi>good</bdi><b>+0.5</b>" in (tmp_path / "page.html").read_text()
    write_page([explain("1")], tmp_path / "page.html", top=0)
    assert '<ol class="words">' not in (tmp_path / "page.html").read_text()


def test_margins_and_what_scores_add_up_to_are_shown(tmp_path: Path) -> None:
    made = explain("1", margins=(0.04,), measures={"difference": 0.5, "residual": 0.001, "queries": 12.0})
    write_page([made], tmp_path / "page.html")
    markup = (tmp_path / "page.html").read_text()
    assert "<b>+0.5 ± 0.04</b>" in markup
    assert 'title="+0.5 ± 0.04"' in markup
    assert "adds up to 0.501 of 0.5 (residual 0.2%); ± covers 95%; 12 queries" in markup


def test_no_explanations_make_a_page_too(tmp_path: Path) -> None:
    assert write_page([], tmp_path / "new/page.html") == 0
    assert "There are no explanations" in (tmp_path / "new/page.html").read_text()


def test_thousands_of_explanations_are_never_all_in_memory(tmp_path: Path) -> None:
    text = "good " * 400
    units = tuple(Unit("text", (5 * place, 5 * place + 4), "good") for place in range(400))
    scores = tuple(0.1 * (place % 9) for place in range(400))
    rows = (explain(str(number), text=text, units=units, scores=scores) for number in range(60))
    write_page([explain("0")], tmp_path / "page.html")  # templates are compiled once
    tracemalloc.start()
    write_page(rows, tmp_path / "page.html")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "page.html").stat().st_size > 2_500_000
    assert peak < 1_000_000


def test_a_failure_leaves_the_old_page(tmp_path: Path) -> None:
    def broken():
        yield explain("1")
        raise RuntimeError

    write_page([explain("1")], tmp_path / "page.html", "Old")
    with pytest.raises(RuntimeError):
        write_page(broken(), tmp_path / "page.html", "New")
    assert "Old" in (tmp_path / "page.html").read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write .*page\.html"):
        write_page([explain("1")], tmp_path / "file/page.html")


def test_of_several_labels_the_card_names_all_and_each_explanation_its_own(tmp_path: Path) -> None:
    told = {
        "spec": {"model": {"task": "labels", "threshold": 0.5}},
        "probabilities": {"pos": 0.9, "neg": 0.8, "new": 0.1},
    }
    made = [
        explain("7", source, target=target, label=("neg",), **told)
        for source in ("lime", "occlusion")
        for target in ("pos", "neg")
    ]
    write_page(made, tmp_path / "page.html")
    markup = (tmp_path / "page.html").read_text()
    assert markup.count("<strong><bdi>pos, neg</bdi></strong>") == 1
    assert markup.count("<strong><bdi>pos</bdi></strong>") == markup.count("<strong><bdi>neg</bdi></strong>") == 2
    assert (markup.count("&#10007;"), markup.count("&#10003;")) == (2, 2)  # of the two labels, one is right


def two_models() -> list[Explanation]:
    models = {"scc": {"model": {"name": "runs/scc"}}, "vmask": {"model": {"name": "runs/vmask"}}}
    made = [explain(id, source, spec=models[source]) for source in models for id in "ab"]
    return [*made, explain("b", "other")]


def test_a_table_has_a_row_for_each_example_and_a_column_for_each_method(tmp_path: Path) -> None:
    assert write_page(iter(two_models()), tmp_path / "page.html", side_by_side=True) == 5
    page = Page(tmp_path / "page.html")
    assert page.count("tr") == 3
    assert page.count("td") == 6
    assert [attrs["scope"] for tag, attrs in page.tags if tag == "th"] == ["col"] * 4 + ["row"] * 2
    assert page.markup.count("not explained") == 1  # the first example by the third method


def test_methods_of_several_models_name_theirs(tmp_path: Path) -> None:
    for side_by_side, named in ((True, "scc<span>runs/scc</span>"), (False, "<h2>scc · runs/scc</h2>")):
        write_page(two_models(), tmp_path / "page.html", side_by_side=side_by_side)
        assert named in (tmp_path / "page.html").read_text()
        write_page([explain("a"), explain("a", "lime")], tmp_path / "page.html", side_by_side=side_by_side)
        assert "occlusion · m" not in (tmp_path / "page.html").read_text()
        assert "<span>m</span>" not in (tmp_path / "page.html").read_text()


def test_a_table_marks_the_strongest_words_only(tmp_path: Path) -> None:
    units = (Unit("text", (0, 4), "good"), Unit("text", (5, 9), "film"))
    made = explain("a", units=units, scores=(0.5, -0.4), label="neg")
    write_page([made], tmp_path / "page.html", top=1, side_by_side=True)
    (good,) = re.findall(r'<span title="\+0.5" style="([^"]*)"', (tmp_path / "page.html").read_text())
    (film,) = re.findall(r'<span title="-0.4" style="([^"]*)"', (tmp_path / "page.html").read_text())
    assert "background" in good
    assert "font-weight" in good
    assert film == ""
    markup = (tmp_path / "page.html").read_text()
    assert "<bdi>neg</bdi>" in markup  # the gold label, of the row
    assert "90.0%" in markup  # the prediction, of each cell


def test_one_id_with_two_texts_is_two_examples(tmp_path: Path) -> None:
    made = [explain("1", text="good film"), explain("1", "lime", text="good news"), explain("1", "lime")]
    write_page(made, tmp_path / "page.html", side_by_side=True)
    assert Page(tmp_path / "page.html").count("tr") == 3
    write_page(made, tmp_path / "page.html")
    assert Page(tmp_path / "page.html").count("article") == 2


def test_methods_with_other_options_have_columns_of_their_own(tmp_path: Path) -> None:
    specs = [{"model": "m", "method": {"name": "lime", "samples": count}} for count in (10, 20)]
    write_page([explain("1", "lime", spec=spec) for spec in specs], tmp_path / "page.html", side_by_side=True)
    assert Page(tmp_path / "page.html").count("td") == 2


def test_nothing_gets_into_a_table_and_an_empty_one_is_said_to_be_empty(tmp_path: Path) -> None:
    changes = {"target": BAD, "label": BAD, "probabilities": {BAD: 1.0}, "spec": {"model": BAD, BAD: BAD}}
    write_page([explain(BAD, BAD, BAD, **changes), explain("2")], tmp_path / "page.html", BAD, side_by_side=True)
    page = Page(tmp_path / "page.html")
    assert BAD in page.texts
    assert not page.count("script")
    assert not page.count("img")
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on") or name == "src"]
    assert write_page([], tmp_path / "page.html", side_by_side=True) == 0
    assert "There are no explanations" in (tmp_path / "page.html").read_text()


def test_an_image_stands_once_in_a_row_and_its_maps_beside_it(tmp_path: Path) -> None:
    patch = Unit("image", (0, 0, 2, 2), "patch 1,1")
    image = {"inputs": {"image": Image(np.full((2, 2, 1), 200, np.uint8))}, "units": (patch,)}
    made = [explain("1", source, **image) for source in ("scc", "iba")]
    write_page(made, tmp_path / "page.html", side_by_side=True)
    page = Page(tmp_path / "page.html")
    assert (page.count("image"), page.count("use"), page.count("rect")) == (1, 2, 2)
    (id,) = (attrs["id"] for tag, attrs in page.tags if tag == "image")
    assert {attrs["href"] for tag, attrs in page.tags if tag == "use"} == {f"#{id}"}
