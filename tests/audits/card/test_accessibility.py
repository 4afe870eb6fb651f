"""axe-core has no objections to cards, comparisons and pages: on white and on dark paper, on a desk and on a phone."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.audits.card import write_comparison
from veridical.audits.card.card import write_card
from veridical.audits.statistics.comparison import compare
from veridical.audits.statistics.summary import summarise
from veridical.core.values import Explanation, Image, Unit
from veridical.report import write_page

MISSING = "axe needs the packages axe-playwright-python and playwright, and the program chromium"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip(MISSING)
    playwright = pytest.importorskip("playwright.sync_api", reason=MISSING)
    pytest.importorskip("axe_playwright_python", reason=MISSING)
    with playwright.sync_playwright() as running:
        # Without its sandbox, which it refuses to start as root, as in a container. The pages are our own.
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def objections(browser: Any, path: Path, paper: str, width: int) -> list[str]:
    """The elements that axe objects to, with the reason."""
    from axe_playwright_python.sync_playwright import Axe

    # Our pages forbid scripts, and axe is one.
    page = browser.new_page(color_scheme=paper, viewport={"width": width, "height": 900}, bypass_csp=True)
    page.goto(path.as_uri())
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    found = Axe().run(page).response
    page.close()
    assert found["passes"]
    return [f"{rule['id']}: {node['html']:.120}" for rule in found["violations"] for node in rule["nodes"]]


@pytest.fixture
def pages(made_full_audit, made_explanations, tmp_path: Path) -> dict[str, Path]:
    audit = made_full_audit(12)
    explanations = made_explanations(audit)
    write_card(audit, summarise(audit), explanations, tmp_path / "card.html")
    other = dataclasses.replace(audit, model={"name": "runs/saloss"})
    write_comparison(compare(audit, other, likeness={"attention": 0.4}), tmp_path / "comparison.html")
    write_page((each for made in explanations.values() for each in made[:3]), tmp_path / "page.html")
    write_page(_side_by_side(explanations), tmp_path / "table.html", side_by_side=True)
    return {name: tmp_path / f"{name}.html" for name in ("card", "comparison", "page", "table")}


def _side_by_side(explanations: dict[str, list[Explanation]]) -> Iterator[Explanation]:
    """Texts by several methods, and an image."""
    yield from (each for made in explanations.values() for each in made[:3])
    image, patch = Image(np.full((4, 4, 3), 90, np.uint8)), Unit("image", (0, 0, 2, 2), "patch 1,1")
    text = next(iter(explanations.values()))[0]
    yield dataclasses.replace(
        text, example_id="image", inputs={"image": image}, units=(patch,), scores=(0.5,), margins=None
    )


@pytest.mark.parametrize(("paper", "width"), [("light", 1200), ("dark", 360)])
def test_axe_has_no_objections(browser: Any, pages: dict[str, Path], paper: str, width: int) -> None:
    for path in pages.values():
        assert objections(browser, path, paper, width) == []


def test_axe_would_object(browser: Any, pages: dict[str, Path]) -> None:
    told = pages["page"].read_text(encoding="utf-8")
    pages["page"].write_text(told.replace("<main>", "<div>").replace("#5b6270", "#ddd"), encoding="utf-8")
    found = {each.partition(":")[0] for each in objections(browser, pages["page"], "light", 1200)}
    assert {"color-contrast", "region"} <= found
