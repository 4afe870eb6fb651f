"""Captum: its perturbation methods run one input at a time unless told otherwise, and one document at a time."""

from __future__ import annotations

from typing import Any

import torch
from timing import Run
from torch import Tensor
from workload import Document, Workload

from peers.base import Variant, framed, probabilities


def _perturbing(method: str, **settings: Any) -> Any:
    """A method over content ids, with the mask token as the baseline and words as the features."""

    def make(work: Workload, perturbations_per_eval: int = 1) -> Run:
        from captum import attr

        explainer = getattr(attr, method)(lambda content: probabilities(work, content))
        drawn = {"n_samples": work.samples} if settings.get("samples") else {}

        def explain(document: Document) -> Tensor:
            return explainer.attribute(
                document.ids[None],
                baselines=work.tokenizer.mask_token_id,
                target=document.target,
                feature_mask=document.word_of[None],
                perturbations_per_eval=perturbations_per_eval,
                **drawn,
            )

        return lambda: _each(work, explain)

    return make


def _layer_integrated(work: Workload, batch: int | None = None) -> Run:
    """As Captum's tutorials do: integrated gradients of the embedding layer, all steps of a document in one batch."""
    from captum.attr import LayerIntegratedGradients

    explainer = LayerIntegratedGradients(
        lambda ids: work.model(input_ids=ids).logits, work.model.get_input_embeddings()
    )

    def explain(document: Document) -> Tensor:
        ids = framed(work, document.ids[None])
        blank = framed(work, torch.full_like(document.ids[None], work.tokenizer.pad_token_id))
        settings = {"target": document.target, "n_steps": work.steps, "internal_batch_size": batch}
        return explainer.attribute(ids, baselines=blank, **settings).sum(-1)

    return lambda: [explain(document) for document in work.documents]


def _integrated(work: Workload, documents: int = 1, batch: int | None = None) -> Run:
    """Integrated gradients of the embeddings themselves, some documents of similar length at a time."""
    from captum.attr import IntegratedGradients

    def forward(embeds: Tensor, mask: Tensor) -> Tensor:
        return work.model(inputs_embeds=embeds, attention_mask=mask).logits

    explainer = IntegratedGradients(forward)

    def explain(part: list[Document]) -> Tensor:
        inputs = work.tokenizer([document.text for document in part], padding=True, return_tensors="pt")
        embeds = work.model.get_input_embeddings()(inputs["input_ids"]).detach()
        return explainer.attribute(
            embeds,
            target=[document.target for document in part],
            additional_forward_args=(inputs["attention_mask"],),
            n_steps=work.steps,
            internal_batch_size=batch,
        ).sum(-1)

    by_length = sorted(work.documents, key=lambda document: len(document.ids))
    parts = [by_length[at : at + documents] for at in range(0, len(by_length), documents)]
    return lambda: [explain(part) for part in parts]


def _either(work: Workload, layer: bool, **settings: int) -> Run:
    return _layer_integrated(work, **settings) if layer else _integrated(work, **settings)


def _each(work: Workload, explain: Any) -> list[Tensor]:
    with torch.no_grad():
        return [explain(document) for document in work.documents]


_BATCHES = tuple({"perturbations_per_eval": size} for size in (16, 32, 64))
_WAYS = (
    {"layer": True},
    {"layer": True, "batch": 16},
    {"layer": False},
    {"layer": False, "documents": 2, "batch": 32},
)

VARIANTS = [
    Variant("captum", "Lime", "lime", _perturbing("Lime", samples=True)),
    Variant("captum", "Lime", "lime", _perturbing("Lime", samples=True), True, _BATCHES),
    Variant("captum", "KernelShap", "kernel-shap", _perturbing("KernelShap", samples=True)),
    Variant("captum", "KernelShap", "kernel-shap", _perturbing("KernelShap", samples=True), True, _BATCHES),
    Variant("captum", "FeatureAblation", "occlusion", _perturbing("FeatureAblation")),
    Variant("captum", "FeatureAblation", "occlusion", _perturbing("FeatureAblation"), True, _BATCHES),
    Variant("captum", "LayerIntegratedGradients", "integrated-gradients", _layer_integrated),
    Variant("captum", "IntegratedGradients", "integrated-gradients", _either, True, _WAYS),
]

LOOPED = Variant("captum", "LayerIntegratedGradients, looped", "integrated-gradients", _layer_integrated)
"""One document after the other, over many documents."""
