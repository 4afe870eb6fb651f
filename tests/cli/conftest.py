"""Running commands as a user does."""

import sys
from dataclasses import dataclass

import pytest

from veridical.cli.main import run


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def veridical(capsys, monkeypatch):
    """Run a command as `main` runs it, in this process: a new one would load torch for each."""

    def call(*arguments, cwd=None):
        monkeypatch.setattr(sys, "argv", ["veridical", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "100")
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capsys.readouterr()
        try:
            run()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call
