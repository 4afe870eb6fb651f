"""Bringing a classifier: from a folder, a hub id, a model object or a callable. Weights are safetensors only."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForImageClassification,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)

from veridical.core.errors import ModelError, UsageError
from veridical.models.black_box import BlackBox
from veridical.models.classifier import Classifier
from veridical.models.images import ImageClassifier
from veridical.models.quiet import quietly
from veridical.models.text import TextClassifier
from veridical.models.transformer import SETTINGS, Transformer


def load(source: Any, **settings: Any) -> Classifier:
    """Make a classifier of a folder, a hub id, a Hugging Face model object, a scikit-learn pipeline or a callable."""
    if isinstance(source, Classifier):
        return source
    if isinstance(source, str | PathLike):
        return _from_folder(str(source), settings)
    if isinstance(source, PreTrainedModel):
        return _from_model(source, settings)
    if hasattr(source, "predict_proba"):
        labels = settings.pop("labels", None) or [str(label) for label in source.classes_]
        return BlackBox(source.predict_proba, labels, **{"name": type(source).__name__, **settings})
    if callable(source):
        return BlackBox(source, **settings)
    raise UsageError(
        f"cannot make a classifier of {type(source).__name__}",
        remedy="Give a folder, a hub id, a Hugging Face model, or a function from texts to probabilities.",
    )


def wrap(model: PreTrainedModel, tokenizer: Any = None, **settings: Any) -> Transformer:
    """The classifier around a Hugging Face model; only eager attention has matrices and second derivatives."""
    model.set_attn_implementation("eager")
    if is_image(model.config):
        return ImageClassifier(model, **settings)
    return TextClassifier(model, tokenizer, **settings)


def load_model(source: str, config: PretrainedConfig, *, new_head: bool) -> PreTrainedModel:
    """Read weights into the architecture of a config; only a new head may lack some."""
    auto = AutoModelForImageClassification if is_image(config) else AutoModelForSequenceClassification
    try:
        with quietly():
            model, info = auto.from_pretrained(
                source,
                config=config,
                use_safetensors=True,
                attn_implementation="eager",
                output_loading_info=True,
                ignore_mismatched_sizes=new_head,
            )
    except Exception as error:  # truncated files, shape mismatches and unreachable hubs all have errors of their own
        raise _cannot_load(source, error) from error
    if info["missing_keys"] and not new_head:
        raise ModelError(
            f"{source}: {len(info['missing_keys'])} weights of {type(model).__name__} are missing, "
            f"such as {sorted(info['missing_keys'])[0]!r}",
            remedy="It was not trained as a classifier, or is of another architecture; `veridical train` makes one.",
        )
    return model


def load_config(source: str) -> PretrainedConfig:
    """The configuration of a folder or hub id."""
    if Path(source).exists() and not (Path(source) / "config.json").exists():
        raise ModelError(f"{source} holds no model: there is no config.json", remedy=_where_models_come_from)
    try:
        return AutoConfig.from_pretrained(source)
    except Exception as error:  # an unreachable hub, an unknown id, broken JSON
        raise _cannot_load(source, error) from error


def load_tokenizer(source: str) -> Any:
    """The fast tokenizer of a folder or hub id."""
    try:
        with quietly():
            return AutoTokenizer.from_pretrained(source, use_fast=True)
    except Exception as error:
        raise _cannot_load(source, error) from error


def is_image(config: PretrainedConfig) -> bool:
    """Whether a configuration is of an image model."""
    return hasattr(config, "patch_size") and hasattr(config, "image_size")


def saved_settings(source: str) -> dict[str, Any]:
    """How a saved classifier is used; empty for a model that Veridical did not save."""
    path = Path(source) / SETTINGS
    if not path.is_file():
        return {}
    try:
        return {key: value for key, value in json.loads(path.read_text()).items() if key != "kind"}
    except json.JSONDecodeError as error:
        raise ModelError(f"{path} is not JSON: {error}", remedy="Train or copy the model again.") from error


def _from_folder(source: str, settings: dict[str, Any]) -> Classifier:
    config = load_config(source)
    model = load_model(source, config, new_head=False)
    saved = saved_settings(source)
    if is_image(config):
        saved.pop("units", None)
        return wrap(model, **{**saved, **settings})
    return wrap(model, load_tokenizer(source), **{**saved, **settings})


def _from_model(model: PreTrainedModel, settings: dict[str, Any]) -> Classifier:
    if not is_image(model.config) and "tokenizer" not in settings:
        if not model.config.name_or_path:
            raise UsageError("a model object needs its tokenizer", remedy="Classifier.load(model, tokenizer=...).")
        settings["tokenizer"] = load_tokenizer(model.config.name_or_path)
    return wrap(model, **settings)


_where_models_come_from = "Give a folder written by `veridical train`, or a Hugging Face hub id."


def _cannot_load(source: str, error: Exception) -> ModelError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ModelError(f"cannot load {source}: {reason}", remedy=_where_models_come_from)
