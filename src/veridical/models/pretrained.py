"""What is asked of a Hugging Face model and its tokenizer before they become a classifier; and a quiet library."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from veridical.core.errors import ModelError, UsageError


def check_head(model: PreTrainedModel) -> None:
    """Refuse a model that cannot classify."""
    if model.base_model is model:
        raise ModelError(
            f"{type(model).__name__} has no classification head", remedy="`veridical train` gives an encoder one."
        )


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse what is no tokenizer, and those that cannot say where their tokens stand or cannot pad."""
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise UsageError(
            f"a text model needs its tokenizer, not {tokenizer!r}", remedy="Classifier.load(model, tokenizer=...)."
        )
    if not tokenizer.is_fast:
        raise ModelError(
            f"{type(tokenizer).__name__} is a slow tokenizer, which gives no character offsets",
            remedy="Use the fast tokenizer of this model.",
        )
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"{type(tokenizer).__name__} has no padding token, so texts cannot be read side by side",
            remedy="Give it one: tokenizer.pad_token = tokenizer.eos_token.",
        )


def labels_of(model: PreTrainedModel) -> tuple[str, ...]:
    """The class names in output order; none for regression."""
    config = model.config
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise ModelError(
            "this model gives several labels at once", remedy="Wrap one label in a callable: text -> [1 - p, p]."
        )
    if config.num_labels == 1:
        return ()
    return tuple(str(config.id2label[index]) for index in range(config.num_labels))


def public_name(source: str) -> str:
    """A hub id as it is; of a folder only its last name, which is the same from wherever it is seen."""
    return Path(source).resolve().name if Path(source).is_absolute() or Path(source).is_dir() else source


@contextmanager
def quietly() -> Iterator[None]:
    """While inside, transformers logs errors only and shows no progress bar; its settings come back afterwards.

    Some of its model files use parts of torch that are deprecated, which is no news to whoever loads them.
    """
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
