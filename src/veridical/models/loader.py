"""Bringing a classifier: from a folder, a hub id, a model object or a callable. Weights are safetensors only."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import safe_open
from transformers import (
    AutoConfig,
    AutoModelForImageClassification,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.utils import cached_file

from veridical.core.component import unknown
from veridical.core.errors import ModelError, StorageError, UsageError
from veridical.core.folders import TrainRecord, holds_component, read_record
from veridical.core.model_names import WHERE_FROM, check_place, check_trained, near_folder
from veridical.core.storage import read_json
from veridical.data import to_train_on
from veridical.data.hub import hub_answers
from veridical.models.architecture import quietly
from veridical.models.black_box import BlackBox
from veridical.models.classifier import Classifier, Origin, learned_with
from veridical.models.image_classifier import ImageClassifier
from veridical.models.pooling import MIX, pooling_of, with_mixture
from veridical.models.text_classifier import TextClassifier
from veridical.models.transformer import SETTINGS, Transformer

_WEIGHTS = "model.safetensors"


def load(source: Any, **settings: Any) -> Classifier:
    """Make a classifier of a folder, a hub id, a model or pipeline of Hugging Face or scikit-learn, or a callable."""
    if isinstance(source, Classifier):
        return source
    if isinstance(source, str | PathLike):
        return _from_folder(str(source), settings)
    if isinstance(source, PreTrainedModel):
        return _from_model(source, settings)
    if isinstance(getattr(source, "model", None), PreTrainedModel):  # a pipeline of transformers
        told = {} if source.tokenizer is None else {"tokenizer": source.tokenizer}
        return _from_model(source.model, {**told, **settings})
    if hasattr(source, "predict_proba"):
        return _black_box(source.predict_proba, {"labels": [str(label) for label in source.classes_], **settings})
    if callable(source):
        return _black_box(source, settings)
    raise UsageError(
        f"cannot make a classifier of {type(source).__name__}",
        remedy="Give a folder, a hub id, a Hugging Face model, or a function from texts to probabilities.",
    )


def wrap(model: PreTrainedModel, tokenizer: Any = None, **settings: Any) -> Transformer:
    """The classifier around a Hugging Face model; only eager attention has matrices and second derivatives."""
    kind = ImageClassifier if is_image(model.config) else TextClassifier
    _check_settings(kind, settings)
    model.set_attn_implementation("eager")
    return kind(model, **settings) if kind is ImageClassifier else TextClassifier(model, tokenizer, **settings)


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
                local_files_only=only_local(source),
                trust_remote_code=False,
            )
    except Exception as error:  # truncated files, shape mismatches and unreachable hubs all have errors of their own
        raise _cannot_load(source, error) from error
    _check_complete(source, model, info, new_head)
    _take_mixture(source, model)
    return model


def _take_mixture(source: str, model: PreTrainedModel) -> None:
    """Give a model whose head reads a mixture the weights of that, of which the library knows nothing."""
    if pooling_of(model, None) != "mix":
        return
    with_mixture(model, "mix")
    wanted = {f"{MIX}.{name}": values for name, values in model.get_submodule(MIX).state_dict().items()}
    path = cached_file(
        source, _WEIGHTS, local_files_only=only_local(source), _raise_exceptions_for_missing_entries=False
    )
    found = {}
    if path is not None:
        with safe_open(path, "pt") as file:
            found = {name: file.get_tensor(name) for name in wanted if name in file.keys()}  # noqa: SIM118
    if found.keys() != wanted.keys():
        raise ModelError(f"{source} lacks the weights of the mixture that its head reads", remedy=_again)
    model.load_state_dict(found, strict=False)


def load_config(source: str) -> PretrainedConfig:
    """The configuration of a folder or hub id, which may bring no code of its own."""
    check_place(source)
    refuse_code(source)
    try:
        return AutoConfig.from_pretrained(source, local_files_only=only_local(source), trust_remote_code=False)
    except Exception as error:  # an unreachable hub, an unknown id, broken JSON
        raise _cannot_load(source, error) from error


def load_tokenizer(source: str) -> Any:
    """The fast tokenizer of a folder or hub id."""
    try:
        with quietly():
            tokenizer = AutoTokenizer.from_pretrained(
                source, use_fast=True, local_files_only=only_local(source), trust_remote_code=False
            )
    except Exception as error:
        raise _cannot_load(source, error) from error
    if len(tokenizer) <= len(tokenizer.all_special_tokens):  # made up, as there were no files
        raise ModelError(f"{source} has no tokenizer: there is no vocabulary", remedy=_again)
    return tokenizer


def refuse_code(source: str) -> None:
    """Refuse a folder or hub id whose files name code to be run, before anything of it is loaded.

    The library asks on the terminal whether to run such code, and `yes |` would answer. It would also load an
    architecture of its own by the same name where there is one, and so another model than the one that was trained.
    """
    local = only_local(source)
    for file, keys in _NAMING_CODE.items():
        told = _described(source, file, local)
        if named := [key for key in keys if told.get(key)]:
            raise ModelError(
                f"{source} brings code of its own ({named[0]} in {file}), which Veridical does not run",
                remedy="Use a model whose architecture transformers has; or load it yourself, if you trust it, and "
                "hand the object over: Classifier.load(model, tokenizer=...).",
            )


_NAMING_CODE = {
    "config.json": ("auto_map", "custom_pipelines"),
    "tokenizer_config.json": ("auto_map",),
    "preprocessor_config.json": ("auto_map",),
    "processor_config.json": ("auto_map",),
}
"""Where Hugging Face files name the modules beside them that should be run."""


def _described(source: str, file: str, local: bool) -> dict[str, Any]:
    """What a JSON file of a folder or hub id says; nothing where there is no such file."""
    try:
        path = cached_file(source, file, local_files_only=local)
        found = read_json(path)
    except (OSError, TypeError):  # missing, or the hub's client gave no path
        return {}
    except ValueError as error:
        raise ModelError(f"cannot load {source}: {file} is damaged: {error}", remedy=_again) from error
    if not isinstance(found, dict):
        raise ModelError(f"cannot load {source}: {file} is damaged: it is no JSON object", remedy=_again)
    return found


def is_image(config: PretrainedConfig) -> bool:
    """Whether a configuration is of an image model."""
    return hasattr(config, "patch_size") and hasattr(config, "image_size")


def saved_settings(source: str) -> dict[str, Any]:
    """How a saved classifier is used; empty for a model that Veridical did not save."""
    path = Path(source) / SETTINGS
    if not path.is_file():
        return {}
    try:
        settings = read_json(path)
    except ValueError as error:  # no JSON, or not even text
        raise ModelError(f"{path} is damaged: {error}", remedy=_again) from error
    if not isinstance(settings, dict):
        raise ModelError(f"{path} is damaged: it holds no settings", remedy=_again)
    told = {"kind", "units"} if settings.get("kind") == ImageClassifier.kind else {"kind"}  # an image has but patches
    return {name: value for name, value in settings.items() if name not in told}


def training_data(source: str) -> str | None:
    """The name of the data that a model was trained on; None for a model that Veridical did not train."""
    try:
        record = read_record(source, TrainRecord)
        return None if record is None else to_train_on(record.data)
    except (StorageError, UsageError):  # damaged, or a file of somebody else
        return None


def _from_folder(source: str, settings: dict[str, Any]) -> Classifier:
    check_trained(source)
    if holds_component(source):
        return _from_student(source, settings)
    config = load_config(source)
    saved = saved_settings(source)
    model = load_model(source, config, new_head=False)
    if is_image(config):
        saved = {**_pixel_settings(source), **saved}
    tokenizer = None if is_image(config) else load_tokenizer(source)
    try:
        classifier = wrap(model, tokenizer, **saved)
    except UsageError as error:
        raise ModelError(f"{Path(source) / SETTINGS}: {error.problem}", remedy=error.remedy) from error
    if settings:
        classifier = wrap(model, tokenizer, **{**saved, **settings})
    classifier.trained_on = training_data(source)
    classifier.origin = Origin(source, settings)
    classifier.learned = learned_with(source)
    return classifier


def _from_student(source: str, settings: dict[str, Any]) -> Classifier:
    """A student that has learned to decide, too; what knows students is above us, and loaded only then."""
    from veridical.explainers import EXPLAINERS

    _check_settings(BlackBox, settings)
    student = EXPLAINERS.load(source)
    if not hasattr(student, "as_model"):
        raise ModelError(f"{source} holds a method, and no model", remedy="Give the model that it explains.")
    made: BlackBox = student.as_model(source, **settings)
    made.origin = Origin(source, settings)
    return made


def _from_model(model: PreTrainedModel, settings: dict[str, Any]) -> Classifier:
    if not is_image(model.config) and "tokenizer" not in settings:
        if not model.config.name_or_path:
            raise UsageError("a model object needs its tokenizer", remedy="Classifier.load(model, tokenizer=...).")
        refuse_code(model.config.name_or_path)
        settings = {**settings, "tokenizer": load_tokenizer(model.config.name_or_path)}
    return wrap(model, **settings)


def _black_box(function: Callable[[list[Any]], Any], settings: dict[str, Any]) -> BlackBox:
    _check_settings(BlackBox, settings)
    return BlackBox(function, **settings)


def _check_settings(kind: type[Classifier], settings: dict[str, Any]) -> None:
    """Refuse a setting that a kind of classifier does not have."""
    parameters = signature(kind).parameters.items()
    known = [name for name, value in parameters if value.default is not Parameter.empty]
    for name in settings:
        if name not in known:
            raise unknown(f"setting of {kind.kind} models", name, dict.fromkeys(known))


def _pixel_settings(source: str) -> dict[str, Any]:
    """How a model's own image processor normalises pixels, where it has one."""
    # Read by hand: the library's own image processors need packages that only they need.
    found = _described(source, "preprocessor_config.json", only_local(source))
    if not found.get("do_normalize", True):
        return {"mean": 0.0, "std": 1.0}
    return {ours: found[theirs] for ours, theirs in (("mean", "image_mean"), ("std", "image_std")) if theirs in found}


def _check_complete(source: str, model: PreTrainedModel, info: dict[str, Any], new_head: bool) -> None:
    """Refuse weights that leave a part of the model at random, but for a head that is going to be trained."""
    wrong = list(info["missing_keys"])
    wrong += [key[0] if isinstance(key, tuple) else key for key in info["mismatched_keys"]]
    if new_head:
        body = f"{model.base_model_prefix}."
        wrong = [key for key in wrong if key.startswith(body) and "pooler" not in key]
    if wrong:
        raise ModelError(
            f"{source}: {len(wrong)} weights of {type(model).__name__} are missing, such as {min(wrong)!r}",
            remedy="It is of another architecture."
            if new_head
            else "It was not trained as a classifier, or is of another architecture; `veridical train` makes one.",
        )


_again = "Train or copy the model again."


def _cannot_load(source: str, error: Exception) -> ModelError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if not Path(source).is_dir():
        reason = f"there is no such folder, and of the hub: {reason}"
    return ModelError(f"cannot load {source}: {reason.rstrip('.')}", remedy=near_folder(source) + WHERE_FROM)


def only_local(source: str) -> bool:
    """Whether a model has to come from this machine: it is a folder, or the hub cannot be reached."""
    return Path(source).is_dir() or not hub_answers()
