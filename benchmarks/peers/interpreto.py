"""Interpreto: documents share batches, four inputs at a time unless told otherwise."""

from __future__ import annotations

from typing import Any

import torch
from timing import Run
from workload import Workload

from peers.base import Variant


def _method(name: str, budget: str | None = None) -> Any:
    def make(work: Workload, **options: int) -> Run:
        import interpreto

        drawn = {} if budget is None else {"n_perturbations": getattr(work, budget)}
        explainer = getattr(interpreto, name)(work.model, work.tokenizer, **drawn, **options)
        targets = torch.tensor([document.target for document in work.documents])
        return lambda: explainer(work.texts, targets)

    return make


_BATCHES = tuple({"batch_size": size} for size in (16, 32, 64))

VARIANTS = [
    variant
    for name, rival, budget in (
        ("Lime", "lime", "samples"),
        ("KernelShap", "kernel-shap", "samples"),
        ("Occlusion", "occlusion", None),
        ("IntegratedGradients", "integrated-gradients", "steps"),
    )
    for variant in (
        Variant("interpreto", name, rival, _method(name, budget)),
        Variant("interpreto", name, rival, _method(name, budget), True, _BATCHES),
    )
]
