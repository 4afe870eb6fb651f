"""ferret, which needs an older transformers: it runs in a virtual environment and a process of its own."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from timing import Run
from workload import Workload

from peers.base import Unavailable, Variant

_ISOLATED = Path(__file__).parent / "isolated"
environment = Path("ferret-venv")
"""Where its virtual environment is; made when it is not there."""


def _method(method: str) -> Any:
    def make(work: Workload, **options: int) -> Run:
        documents = [{"text": document.text, "target": document.target} for document in work.documents]
        order = {"method": method, "documents": documents, "samples": work.samples, "steps": work.steps, **options}

        def run() -> float:
            answer = _worker(str(work.folder)).ask(order)
            run.inputs = answer["inputs"]  # type: ignore[attr-defined]
            return float(answer["seconds"])

        return run

    return make


def evaluation(folder: str, orders: list[dict[str, Any]]) -> Run:
    """Judging explanations by ferret's comprehensiveness and sufficiency; afterwards the run has its scores."""

    def run() -> float:
        answer = _worker(folder).ask({"evaluate": orders})
        run.inputs, run.scores = answer["inputs"], answer["scores"]  # type: ignore[attr-defined]
        return float(answer["seconds"])

    return run


class _Worker:
    """A process that has loaded the model and waits for orders, so that its runs take turns with the others."""

    def __init__(self, folder: str) -> None:
        program = [str(_python()), str(_ISOLATED / "run_ferret.py"), folder]
        settings = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), "TOKENIZERS_PARALLELISM": "false"}
        self.complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints, text=True, env=settings
        )
        atexit.register(self.process.kill)

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        try:
            print(json.dumps(order), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.complaints.seek(0)
            raise Unavailable(f"its process ended: {_last_line(self.complaints.read())}")
        found: dict[str, Any] = json.loads(answer)
        if "error" in found:
            raise Unavailable(str(found["error"]))
        return found


@lru_cache(maxsize=1)
def _worker(folder: str) -> _Worker:
    return _Worker(folder)


def _python() -> Path:
    if problem := _installed():
        raise Unavailable(problem)
    return environment / "bin" / "python"


@lru_cache(maxsize=1)
def _installed() -> str:
    """Make the environment if it is not there, which takes some minutes; what went wrong, if anything."""
    python = environment / "bin" / "python"
    if python.exists() and _has_ferret(python):
        return ""
    print(f"installing ferret into {environment} ...", flush=True)
    needed, pins = (str(_ISOLATED / name) for name in ("ferret.txt", "ferret-constraints.txt"))
    commands = (
        [sys.executable, "-m", "venv", str(environment)],
        [str(python), "-m", "pip", "install", "-q", "-r", needed, "-c", pins],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"it could not be installed: {_last_line(done.stderr)}"
    return ""


def _has_ferret(python: Path) -> bool:
    return subprocess.run([python, "-c", "import ferret"], capture_output=True, check=False).returncode == 0


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


_BATCHES = tuple({"batch": size} for size in (16, 32, 64))

VARIANTS = [
    Variant("ferret", "LIMEExplainer", "lime", _method("lime")),
    Variant("ferret", "LIMEExplainer", "lime", _method("lime"), True, _BATCHES),
    Variant("ferret", "SHAPExplainer", "kernel-shap", _method("shap")),
    Variant("ferret", "IntegratedGradientExplainer", "integrated-gradients", _method("integrated")),
]
