"""SHAP: the partition explainer as its README shows it, and the kernel explainer on which words are there."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from timing import Run
from workload import Document, Workload

from peers.base import Variant, masked, probabilities, read_batched


def _partition_of_pipeline(work: Workload) -> Run:
    """As in the README: a Hugging Face pipeline, handed over as it is."""
    import shap
    from transformers import pipeline

    pipe = pipeline("text-classification", model=work.model, tokenizer=work.tokenizer, top_k=None, device="cpu")
    explainer = shap.Explainer(pipe)
    return lambda: explainer(work.texts, max_evals=work.samples, silent=True)


def _partition(work: Workload, batch: int) -> Run:
    import shap

    explainer = shap.Explainer(
        lambda texts: read_batched(work, list(texts), batch).numpy(), shap.maskers.Text(work.tokenizer)
    )
    return lambda: explainer(work.texts, max_evals=work.samples, batch_size=batch, silent=True)


def _kernel(work: Workload, batch: int | None = None, **settings: object) -> Run:
    import shap

    def explain(document: Document) -> object:
        def ask(keep: np.ndarray) -> np.ndarray:
            content = masked(work, document, torch.from_numpy(keep > 0))
            parts = content.split(batch or len(content))
            with torch.no_grad():
                return torch.cat([probabilities(work, part)[:, document.target] for part in parts]).numpy()

        explainer = shap.KernelExplainer(ask, np.zeros((1, document.words)))
        return explainer.shap_values(np.ones((1, document.words)), nsamples=work.samples, silent=True, **settings)

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on how its regularisation converges
            for document in work.documents:
                explain(document)

    return run


_KERNEL = tuple({"batch": size, "l1_reg": False} for size in (16, 32, 64))
_PARTITION = tuple({"batch": size} for size in (16, 32, 64))

VARIANTS = [
    Variant("shap", "KernelExplainer", "kernel-shap", _kernel),
    Variant("shap", "KernelExplainer", "kernel-shap", _kernel, True, _KERNEL),
    Variant("shap", "PartitionExplainer", "kernel-shap", _partition_of_pipeline),
    Variant("shap", "PartitionExplainer", "kernel-shap", _partition, True, _PARTITION),
]
