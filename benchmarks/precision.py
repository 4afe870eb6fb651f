"""bf16 against fp32, both ours: how much faster, and how often the five first words change."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from record import Row
from timing import interleaved
from torch import Tensor
from workload import Workload

from veridical.explainers import EXPLAINERS
from veridical.masking import Case, Engine
from veridical.masking.engine import bf16_instructions

FASTER, CHANGED = 1.8, 0.01
METHODS = ("occlusion", "input-x-gradient")
TOP = 5


def bf16_rows(work: Workload) -> Iterator[Row]:
    """Two rows for each method; on a processor without the instructions the first says which are missing."""
    found = bf16_instructions()
    processor = f"has {', '.join(found)}" if found else "lacks avx512_bf16 and amx_bf16 (x86) or bf16 (Arm): emulated"
    for method in METHODS:
        scores: dict[str, Tensor] = {}
        best = interleaved({name: _run(method, work, name, scores) for name in ("fp32", "bf16")}, rounds=1)
        live = Case.bind(work.classifier, work.examples).live
        changed = changed_sets(scores["fp32"], scores["bf16"], live)
        detail = f"{best['fp32']:.2f} s against {best['bf16']:.2f} s; this processor {processor}"
        yield Row(
            f"bf16: {method}, fp32 time / bf16 time", round(best["fp32"] / best["bf16"], 3), detail, at_least=FASTER
        )
        yield Row(
            f"bf16: {method}, changed top-{TOP} sets", round(changed, 4), f"of {len(live)} texts", at_most=CHANGED
        )


def _run(method: str, work: Workload, precision: str, scores: dict[str, Tensor]) -> object:
    explainer = EXPLAINERS.create(method)

    def run() -> None:
        engine = Engine(precision=precision)  # type: ignore[arg-type]
        scores[precision] = explainer.scores(Case.bind(work.classifier, work.examples, engine=engine)).values

    return run


def changed_sets(first: Tensor, second: Tensor, live: Tensor) -> float:
    """The share of texts whose highest-scored words are not the same set."""
    tops = [each.masked_fill(~live, -torch.inf).topk(TOP, dim=1).indices.sort(dim=1).values for each in (first, second)]
    return float((tops[0] != tops[1]).any(dim=1).float().mean())
