"""Templates escape whatever is not HTML by its type, miss no value, and are part of what is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from veridical.audits.card.card import TEMPLATES as CARD_TEMPLATES
from veridical.core.values import Explanation, Unit
from veridical.report import write_page
from veridical.report.drawing import fragment
from veridical.report.style import TEMPLATES, escaped

ROOT = Path(__file__).parents[2]
FOLDERS = {"report": TEMPLATES, "audits/card": CARD_TEMPLATES}
PLAIN = "harmless"
HOSTILE = [
    "<script>alert(1)</script>",
    "</title></style></div></bdi><img src=x onerror=alert(1)>",
    "\" onmouseover=alert(1) x=\"' onclick='alert(1)",
    "{{ 7*7 }} {% raise %} {# gone #} ${7*7}",
    "a\u202eb\u2066c",
    "nul\x00 esc\x1b cr\r\nlf lone\ud800 &amp; &#60;",
]


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and its text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(text: str) -> str:
    """The text as a browser has it: what HTML cannot hold is replaced."""
    return text.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")


def explain(word: str) -> Explanation:
    """An explanation that has the word wherever data can be."""
    text = f"{word} good {word}"
    unit = Unit("text", (0, len(word)), word)
    return Explanation(
        example_id=word,
        inputs={"text": text, word: word},
        target=word,
        units=(unit, Unit(word, (0, 1), word[:1])),
        scores=(1.0, -0.5),
        probabilities={word: 0.2, f"other {word}": 0.8},
        source=word,
        spec={"model": {"name": word}, word: [word]},
        label=word,
        measures={"truncated_units": 2.0},
    )


@pytest.mark.parametrize("word", HOSTILE)
def test_a_fragment_has_the_same_elements_whatever_the_data_say(word: str) -> None:
    found, plain = Elements(fragment(explain(word))), Elements(fragment(explain(PLAIN)))
    assert found.tags == plain.tags
    assert found.text.count(shown(word)) == plain.text.count(PLAIN)


@pytest.mark.parametrize("word", HOSTILE)
def test_a_page_has_the_same_elements_whatever_the_data_say(word: str, tmp_path: Path) -> None:
    pages = []
    for name, each in (("hostile", word), ("plain", PLAIN)):
        write_page([explain(each)], tmp_path / name, title=each)
        pages.append(Elements((tmp_path / name).read_bytes().decode()))
    found, plain = pages
    assert found.tags == plain.tags
    in_spec = 3  # JSON writes control characters and quotes in its own way
    assert found.text.count(shown(word)) >= plain.text.count(PLAIN) - in_spec
    assert found.text.count(shown(word)) > 10


def test_the_type_says_what_is_html() -> None:
    template = TEMPLATES.from_string("{{ text }}|{{ markup }}")
    assert template.render(text="<b>", markup=Markup("<b>")) == "&lt;b&gt;|<b>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a\rb", "a&#13;b"), ("\x00\x1f\ud800", "\ufffd" * 3), ("\t\n", "\t\n"), ("<\r>", "&lt;&#13;&gt;"), (3, "3")],
)
def test_what_html_cannot_hold_is_replaced(value: object, expected: str) -> None:
    assert escaped(value) == expected


@given(st.text(st.characters(), max_size=20))
def test_any_text_comes_out_as_the_browser_would_show_it(text: str) -> None:
    found = Elements(f"<p>{escaped(text)}</p>")
    assert len(found.text) == len(text)
    assert found.tags == [("p", ())]


def test_a_template_that_misses_a_value_fails() -> None:
    for template in ("fragment.html", "section.html", "page.html"):
        with pytest.raises(UndefinedError):
            TEMPLATES.get_template(template).render()
    for template in ("card.html", "comparison.html"):
        with pytest.raises(UndefinedError):
            CARD_TEMPLATES.get_template(template).render(title="a")
    with pytest.raises(UndefinedError, match="no attribute 'nothing'"):
        TEMPLATES.from_string("{{ shown.nothing }}").render(shown=explain("a"))


def templates_in(folder: str) -> set[str]:
    place = ROOT / "src/veridical" / folder / "templates"
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_template_is_found_and_can_be_read(folder: str) -> None:
    known = FOLDERS[folder].list_templates()
    assert templates_in(folder) <= set(known)
    for name in known:
        FOLDERS[folder].get_template(name)


def test_every_template_is_named_in_the_package_data() -> None:
    package = ROOT / "src/veridical"
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["veridical"]
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    templates = {path for path in package.rglob("templates/**/*") if path.is_file()}
    assert len(templates) > 20
    assert templates <= packed


@pytest.mark.slow
def test_a_wheel_has_every_template(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    shutil.copytree(ROOT / "src/veridical", source / "src/veridical", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, source]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    for folder in FOLDERS:
        assert {f"veridical/{folder}/templates/{name}" for name in templates_in(folder)} <= packed
