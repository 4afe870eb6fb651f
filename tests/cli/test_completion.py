"""What the shell completes, asked as bash asks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from veridical.cli import completion
from veridical.explainers import EXPLAINERS
from veridical.studies import STUDIES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with models and audits at several depths."""
    for file in (
        "runs/base/config.json",
        "runs/several/seed-0/config.json",
        "audits/base/audit.json",
        ".cache/hidden/config.json",
        "notes/plan.txt",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def complete(veridical, monkeypatch):
    def call(line):
        monkeypatch.setenv("_VERIDICAL_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return veridical().stdout.split()

    return call


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("veridical tra", ["train"]),
        ("veridical explain x --method input", ["input-x-gradient"]),
        ('veridical explain x --method "lime(', [f"lime(preset={name})" for name in EXPLAINERS["lime"].presets]),
        ("veridical audit x --methods hum", ["human"]),
        ("veridical audit x --methods lime,dee", ["lime,deep-lift", "lime,deep-shap"]),
        ("veridical audit x --metrics aopc,sal", ["aopc,saloss"]),
        ("veridical audit x --data planted-", ["planted-pairs", "planted-images"]),
        ("veridical train --model ti", ["tiny"]),
        ("veridical train --objective sal", ["saloss"]),
        ("veridical train --report-to t", ["tensorboard"]),
        ("veridical train --pooling ", ["cls", "mean", "mix"]),
        ("veridical choose --objective regex --objective ra", ["random-erasure", "rationale"]),
        ("veridical fresh x --method lr", ["lrp"]),
        ("veridical fresh x --rationale ", ["top-k", "contiguous"]),
        ("veridical gate x --min decision", ["decision-flip"]),
        ("veridical list metrics aop", ["aopc"]),
        ("veridical list erasers pad", ["pad", "pad_attn"]),
        ("veridical reproduce ", list(STUDIES)),
        ("veridical reproduce saloss --preset s", ["smoke"]),
        ("veridical predict ", ["runs/base", "runs/several/seed-0"]),
        ("veridical check runs/s", ["runs/several/seed-0"]),
        ("veridical compare aud", ["audits/base"]),
    ],
)
def test_the_shell_is_offered(complete, folder, line, offered):
    assert complete(line) == offered


def test_folders_are_found_from_anywhere(folder):
    assert completion.trained_models(f"{folder}/runs/") == [f"{folder}/runs/base", f"{folder}/runs/several/seed-0"]
    assert completion.new_models("") == ["embedded", "tiny", "runs/base", "runs/several/seed-0"]
    assert completion.trained_models("nowhere/") == []


def test_a_large_disk_is_not_searched_to_its_end(folder, monkeypatch):
    monkeypatch.setattr(completion, "_MOST_FOLDERS", 4)
    assert completion.trained_models("") == []


def test_the_name_that_is_being_written_is_the_last(folder):
    methods = completion.names("explainers")
    assert methods("kernel-shap(samples=5, seed=1), occ") == ["kernel-shap(samples=5, seed=1), occlusion"]
    assert methods("kernel-shap(samples=5") == []
    assert completion.names("objectives")("regex + rat") == ["regex + rationale"]


def test_nobody_waits_for_torch(folder):
    code = "import sys\nimport veridical.cli.main as m\ntry: m.run()\nexcept SystemExit: pass\n"
    code += "print('torch' in sys.modules, file=sys.stderr)"
    asked = {"_VERIDICAL_COMPLETE": "complete_bash", "COMP_WORDS": "veridical audit x --methods occ", "COMP_CWORD": "4"}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['veridical']\n{code}"],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
        check=False,
        cwd=Path.cwd(),
    )
    assert done.stdout.split() == ["occlusion"]
    assert done.stderr.split() == ["False"]
