"""What Hugging Face text and image classifiers share: running rows, embeddings, attentions, saving."""

from __future__ import annotations

import hashlib
import json
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import logging

from veridical.core.errors import ModelError, StorageError
from veridical.models.batch import Output, Rows
from veridical.models.classifier import Ability, Classifier

SETTINGS = "veridical.json"
"""The file beside the weights that remembers how the classifier is used: units, length limit, windows."""


class Transformer(Classifier):
    """A Hugging Face classifier, used through its public interface and one hook on its input embeddings.

    The hook is how gradients and erasers reach the embeddings of any architecture: the model still reads its ids, so
    positions and pooling are its own, but sees the vectors we hand it.
    """

    provides = frozenset(
        {
            Ability.GRADIENTS,
            Ability.ATTENTIONS,
            Ability.ATTENTION_GRADIENTS,
            Ability.CLS_ATTENTIONS,
            Ability.EMBEDDINGS,
            Ability.HIDDEN,
        }
    )

    def __init__(self, model: PreTrainedModel) -> None:
        _check_head(model)
        self.model = model
        self.labels = _labels(model)

    @abstractmethod
    def model_inputs(self, rows: Rows) -> dict[str, Tensor]:
        """The keyword arguments of the model's forward."""

    @abstractmethod
    def fill_vector(self, token: str) -> Tensor:
        """The embedding of the `mask` or `pad` token, [d]."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """How this classifier is used, as data: what `save` writes and `load` takes."""

    @property
    def family(self) -> str:
        return str(self.model.config.model_type)

    @property
    def device(self) -> torch.device:
        return torch.device(self.model.device)

    def run(
        self, rows: Rows, *, embeds: Tensor | None = None, attentions: bool = False, hidden: bool = False
    ) -> Output:
        rows = rows.to(self.device)
        if embeds is None and rows.gate is not None:
            embeds = self.embed(rows)
        with _replace_output(self._entrance, embeds, self._fit):
            output = self.model(
                **self.model_inputs(rows), output_attentions=attentions, output_hidden_states=hidden, return_dict=True
            )
        self._check_logits(output.get("logits"))
        local = output.get("global_attentions") is not None
        layers = output.get("global_attentions" if local else "attentions")
        if attentions and layers is None:
            raise self.cannot(f"show its attentions: {type(self.model).__name__} has none")
        return Output(output.logits, layers if attentions else None, output.hidden_states if hidden else None, local)

    def embed(self, rows: Rows) -> Tensor:
        rows = rows.to(self.device)
        embeds = self._lookup(rows)
        return embeds if rows.gate is None else self._blend(rows, embeds)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        training = [module for module in self.model.modules() if module.training]
        self.model.eval()
        try:
            yield
        finally:
            for module in training:  # one by one: parts of a model may be kept in eval mode
                module.training = True

    @contextmanager
    def fused(self) -> Iterator[None]:
        if not self._can_fuse:
            yield
            return
        self.model.set_attn_implementation("sdpa")
        try:
            yield
        finally:
            self.model.set_attn_implementation("eager")

    def describe(self) -> dict[str, Any]:
        config = self.model.config
        return {
            "kind": self.kind,
            "architecture": type(self.model).__name__,
            "name": _public_name(config.name_or_path),
            "fingerprint": self.fingerprint,
            **self.settings(),
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, so that scores can be tied to the very model that gave them."""
        digest = hashlib.sha256()
        for name, values in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(values.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]

    def save(self, folder: str | PathLike[str]) -> None:
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            with quietly():
                self._write(path)
        except OSError as error:
            raise StorageError(f"cannot save the model in {path}: {error}", remedy="Choose another folder.") from error

    @property
    def _can_fuse(self) -> bool:
        """Whether fused attention gives the same outputs as eager attention."""
        return bool(self.model._supports_sdpa)

    @property
    def _entrance(self) -> nn.Module:
        """The module whose output counts as the input embeddings."""
        module: nn.Module = self.model.get_input_embeddings()
        return module

    def _write(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        settings = {"kind": self.kind, **self.settings()}
        (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @abstractmethod
    def _lookup(self, rows: Rows) -> Tensor:
        """The embedding of the input itself at each position, [R, L, d]."""

    def _check_logits(self, logits: Tensor | None) -> None:
        outputs = max(1, len(self.labels))
        if logits is None or logits.dim() != 2 or logits.shape[1] != outputs:
            found = "no logits" if logits is None else f"logits of shape {tuple(logits.shape)}"
            raise ModelError(
                f"{type(self.model).__name__} gave {found}, not {outputs} per row",
                remedy="Use a model for sequence or image classification.",
            )

    def _fit(self, embeds: Tensor, made: Tensor) -> Tensor:
        """Make our vectors fit where the model made its own; models may add positions at the end."""
        if made.shape[1] == embeds.shape[1]:
            return embeds  # and not joined with nothing: that would send a gradient of zeros to the whole table
        return torch.cat([embeds, made[:, embeds.shape[1] :]], dim=1)

    def _blend(self, rows: Rows, embeds: Tensor) -> Tensor:
        assert rows.gate is not None
        gate = rows.gate.to(embeds)[..., None]  # [R, L, 1]
        if rows.fill == "zero":
            return embeds * gate
        return embeds * gate + self.fill_vector(rows.fill).to(embeds) * (1 - gate)


def additive_mask(weight: Tensor) -> Tensor:
    """An attention mask [R, 1, L, L] whose softmax multiplies each key's attention by its weight [R, L]."""
    limits = torch.finfo(weight.dtype)
    bias = weight.clamp(min=limits.tiny).log().masked_fill(weight <= 0, limits.min)
    return bias[:, None, None, :].expand(-1, 1, weight.shape[1], -1)


def _check_head(model: PreTrainedModel) -> None:
    if model.base_model is model:
        raise ModelError(
            f"{type(model).__name__} has no classification head", remedy="`veridical train` gives an encoder one."
        )


def _labels(model: PreTrainedModel) -> tuple[str, ...]:
    config = model.config
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise ModelError(
            "this model gives several labels at once", remedy="Wrap one label in a callable: text -> [1 - p, p]."
        )
    if config.num_labels == 1:
        return ()
    return tuple(str(config.id2label[index]) for index in range(config.num_labels))


def _public_name(source: str) -> str:
    """A hub id as it is; of a folder only its last name, which is the same from wherever it is seen."""
    return Path(source).resolve().name if Path(source).is_absolute() or Path(source).is_dir() else source


@contextmanager
def _replace_output(module: nn.Module, value: Tensor | None, fit: Any) -> Iterator[None]:
    """While inside, the module gives `value`, made to fit, instead of what it computes."""
    if value is None:
        yield
        return
    handle = module.register_forward_hook(lambda _module, _args, made: fit(value, made))
    try:
        yield
    finally:
        handle.remove()


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
