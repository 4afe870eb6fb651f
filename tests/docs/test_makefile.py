"""`make venv` is quiet while all is well, and shows what pip said when it is not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOISE = "WARNING: Location https://packages.example/simple is ignored"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs the program make")


def make(target: str, tmp_path: Path, pip: str) -> subprocess.CompletedProcess[str]:
    """Make a target in a virtual environment whose pip is a script."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    for name, script in (("python", "true"), ("pip", pip)):
        (venv / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (venv / "bin" / name).chmod(0o755)
    return subprocess.run(
        ["make", "-C", ROOT, target, f"VENV={venv}"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )


def test_pip_is_not_heard(tmp_path: Path) -> None:
    done = make("venv", tmp_path, f"echo '{NOISE}' >&2; echo Collecting \"$@\"")
    assert done.returncode == 0
    assert done.stderr == ""
    assert [line.partition(": ")[2] for line in done.stdout.splitlines() if "Setting up" in line] == [
        "Python",
        "torch (a minute or two)",
        "all other packages (some minutes)",
    ]
    assert "Collecting" not in done.stdout
    log = (tmp_path / "venv" / "pip.log").read_text()
    assert log.count(NOISE) == 2
    assert "torch==" in log


def test_what_pip_said_is_shown_when_it_fails(tmp_path: Path) -> None:
    done = make("venv", tmp_path, f"echo '{NOISE}' >&2; echo 'ERROR: no space left'; exit 1")
    assert done.returncode != 0
    assert "ERROR: no space left" in done.stdout
    assert "pip.log has all that it said" in done.stdout
    assert NOISE not in done.stdout + done.stderr
    assert "3 of 3" not in done.stdout
    assert not (tmp_path / "venv" / ".installed").exists()
