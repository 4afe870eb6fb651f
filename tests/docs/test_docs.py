"""The pages agree with the code: generated parts are fresh, links lead somewhere, commands and code run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from veridical.audits import Audit
from veridical.audits.store import AUDIT_FILE, ROWS, save_audit
from veridical.cli.main import app
from veridical.metrics import METRICS
from veridical.metrics.sets import SETS
from veridical.run.train import train

ROOT = Path(__file__).resolve().parents[2]
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*FRONT, *sorted(ROOT.glob("docs/**/*.md"))]

_BLOCK = re.compile(r"(?P<note><!-- not run: [^\n]*-->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```", re.DOTALL | re.M)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_INLINE = re.compile(r"`(veridical [^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced code block; `runs` is false where a comment before it says why it is not run in tests.

    `goes_on` is true where the words before it say that it goes on from others. Every other block stands alone.
    """

    language: str
    code: str
    runs: bool
    goes_on: bool


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[Block]:
    found, text, before = [], page.read_text(), 0
    for each in _BLOCK.finditer(text):
        words = " ".join(text[before : each.start()].split())
        found.append(Block(each["language"], each["code"], not each["note"], "This goes on from" in words))
        before = each.end()
    return [block for block in found if block.language in languages]


def links(page: Path) -> list[str]:
    """Links to files of ours, without those in code."""
    prose = _BLOCK.sub("", page.read_text())
    targets = [found["target"] for found in _LINK.finditer(re.sub(r"`[^`\n]*`", "", prose))]
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The anchors that headings get, as Markdown renderers make them."""
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def command_lines(page: Path) -> list[list[str]]:
    """The arguments of every complete `veridical` command in a shell block."""
    lines = [line for block in blocks(page, "bash") for line in block.code.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("veridical ")]


def mentions(page: Path) -> list[list[str]]:
    """The words of every `veridical ...` in the prose, which may be a part of a command only."""
    prose = _BLOCK.sub("", page.read_text())
    return [found.replace('"', "").split()[1:] for found in _INLINE.findall(prose)]


PAGE = pytest.mark.parametrize("page", PAGES, ids=name_of)
RUNNING = [page for page in PAGES if re.match(r"docs/(tutorial|how-to/)", name_of(page))]


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    command: Any = typer.main.get_command(app)
    return dict(command.commands)


def generate(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_generated_parts_are_fresh_whatever_the_environment(tmp_path: Path) -> None:
    shared = tmp_path / "weather"
    shared.mkdir()
    (shared / "train.csv").write_text("text,label\nrain,bad\nsun,good\n")
    done = generate("--check", VERIDICAL_DATA=str(tmp_path), COLUMNS="40")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@PAGE
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)} links to {link}, which has no such heading"


@PAGE
def test_commands_parse(page: Path, commands: dict[str, Any]) -> None:
    for name, *arguments in command_lines(page):
        assert name in commands, f"{name_of(page)}: there is no command {name!r}"
        try:
            commands[name].make_context(name, list(arguments))
        except Exception as error:
            pytest.fail(f"{name_of(page)}: veridical {name} {' '.join(arguments)}: {error}")


@PAGE
def test_mentioned_commands_and_options_exist(page: Path, commands: dict[str, Any]) -> None:
    own = {option for param in typer.main.get_command(app).params for option in param.opts}
    for name, *words in mentions(page):
        if name in own:
            continue
        assert name in commands, f"{name_of(page)}: there is no command {name!r}"
        known = {option for param in commands[name].params for option in param.opts}
        for word in words:
            assert not word.startswith("--") or word in known, f"{name_of(page)}: {name} has no option {word}"


@PAGE
def test_python_compiles(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block.code, name_of(page), "exec", dont_inherit=True)


@PAGE
def test_python_can_be_pasted_alone(page: Path) -> None:
    for block in blocks(page, "python"):
        if not block.goes_on:
            names = [
                sys.executable,
                "-m",
                "ruff",
                "check",
                "--isolated",
                "--quiet",
                "--select",
                "F821",
                "--output-format",
                "concise",
                "-",
            ]
            done = subprocess.run(names, input=block.code, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (
                f"{name_of(page)} uses what an earlier block has made:\n{done.stdout}\n{block.code}"
            )


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/how-to/*.md")), ids=name_of)
def test_the_model_that_commands_use_is_introduced(page: Path) -> None:
    first = next((block.code for block in blocks(page, "bash", "python") if "runs/first" in block.code), None)
    if first is not None:
        assert "`runs/first` is the model of the [tutorial](../tutorial.md)" in page.read_text().partition(first)[0]


@PAGE
def test_nothing_is_fetched_or_left_over(page: Path) -> None:
    text = page.read_text()
    for word in ("TODO", "FIXME", '<img src="http', "<script"):
        assert word not in text, f"{name_of(page)} holds {word}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    missing = [name for page in PAGES if (name := name_of(page)).startswith("docs/") and name[5:] not in navigation]
    assert not missing


def test_every_metric_and_set_is_in_the_papers_or_explained() -> None:
    index = (ROOT / "docs" / "papers.md").read_text()
    assert not [name for name in METRICS if name_is_ours(name) and f"`{name}`" not in index]
    told = (ROOT / "docs" / "explanation" / "metrics.md").read_text()
    assert not [name for name in SETS if f"`{name}`" not in told and name != "default"]


def name_is_ours(metric: str) -> bool:
    return METRICS[metric].__module__.startswith("veridical.")


def test_the_files_of_an_audit_are_described(tmp_path: Path) -> None:
    save_audit(Audit(model={}, data="d", documents=(), methods=(), metrics=(), rows=()), tmp_path)
    page = (ROOT / "docs" / "reference" / "audits.md").read_text()
    names = [*pq.read_schema(tmp_path / ROWS).names, *json.loads((tmp_path / AUDIT_FILE).read_text())]
    assert not [name for name in names if f"`{name}`" not in page]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of the tutorial, which the how-to pages use."""
    folder = tmp_path_factory.mktemp("first")
    before = Path.cwd()
    os.chdir(folder)  # the name of the data and the folder are part of its record
    try:
        train("planted", "runs/first", model="tiny")
    finally:
        os.chdir(before)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_page_runs(page: Path, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERIDICAL_DATA", "")  # so that what a page sets is undone
    shutil.copytree(first / "runs", tmp_path / "runs")
    names: dict[str, Any] = {}
    for block in blocks(page, "bash", "python"):
        module = ModuleType("page")  # where dataclasses look up the names in their annotations
        monkeypatch.setitem(sys.modules, "page", module)
        module.__dict__.update(names if block.goes_on else {})
        if block.runs:
            run(block, page, module)
        names.update(module.__dict__)


def run(block: Block, page: Path, module: ModuleType) -> None:
    if block.language == "python":
        exec(compile(block.code, name_of(page), "exec", dont_inherit=True), module.__dict__)
        return
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "veridical", line
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
