"""LIME by its authors: strings in, and one call of the user's function with all samples, which may batch them."""

from __future__ import annotations

from timing import Run
from workload import Workload

from peers.base import Variant, read, read_batched


def _make(work: Workload, batch: int | None = None) -> Run:
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(bow=False, mask_string=work.tokenizer.mask_token, random_state=0)

    def ask(texts: list[str]) -> object:
        found = read(work, texts) if batch is None else read_batched(work, texts, batch)
        return found.numpy()

    def run() -> None:
        for document in work.documents:
            explainer.explain_instance(
                document.text, ask, labels=[document.target], num_samples=work.samples, num_features=document.words
            )

    return run


_BATCHES = tuple({"batch": size} for size in (16, 32, 64))

VARIANTS = [
    Variant("lime", "LimeTextExplainer", "lime", _make),
    Variant("lime", "LimeTextExplainer", "lime", _make, True, _BATCHES),
]
