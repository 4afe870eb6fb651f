"""What Hugging Face text and image classifiers share: running rows, embeddings, attentions, saving."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from veridical.core.errors import ModelError
from veridical.models.batch import Output, Rows
from veridical.models.classifier import Classifier
from veridical.models.quiet import quietly

SETTINGS = "veridical.json"
"""The file beside the weights that remembers how the classifier is used: units, length limit, windows."""


class Transformer(Classifier):
    """A Hugging Face classifier, used through its public interface and one hook on its input embeddings.

    The hook is how gradients and erasers reach the embeddings of any architecture: the model still reads its ids, so
    positions and pooling are its own, but sees the vectors we hand it.
    """

    provides = frozenset({"gradients", "attentions", "cls-attentions", "embeddings"})

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.labels = _labels(model)
        if model.config.model_type == "longformer":
            # Its local attention has no full matrices; only the first token, which sees everything, has a full row.
            self.provides = self.provides - {"attentions"}

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
    def device(self) -> torch.device:
        return torch.device(self.model.device)

    def run(
        self, rows: Rows, *, embeds: Tensor | None = None, attentions: bool = False, hidden: bool = False
    ) -> Output:
        rows = rows.to(self.device)
        if embeds is None and rows.gate is not None:
            embeds = self._gated(rows)
        with _replace_output(self.model.get_input_embeddings(), embeds, self._fit):
            output = self.model(
                **self.model_inputs(rows), output_attentions=attentions, output_hidden_states=hidden, return_dict=True
            )
        local = attentions and output.get("global_attentions") is not None
        layers = output.global_attentions if local else output.attentions
        return Output(output.logits, layers if attentions else None, output.hidden_states if hidden else None, local)

    def embed(self, rows: Rows) -> Tensor:
        rows = rows.to(self.device)
        embeds = self._lookup(rows)
        return embeds if rows.gate is None else self._blend(rows, embeds)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        was_training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(was_training)

    def describe(self) -> dict[str, Any]:
        config = self.model.config
        return {
            "kind": self.kind,
            "architecture": type(self.model).__name__,
            "name": Path(config.name_or_path).name if Path(config.name_or_path).is_absolute() else config.name_or_path,
            "fingerprint": self.fingerprint,
            **self.settings(),
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, so that scores can be tied to the very model that gave them."""
        digest = hashlib.sha256()
        for name, values in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(values.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]

    def save(self, folder: str | PathLike[str]) -> None:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with quietly():
            self.model.save_pretrained(path)
        (path / SETTINGS).write_text(json.dumps({"kind": self.kind, **self.settings()}, indent=2) + "\n")

    def _lookup(self, rows: Rows) -> Tensor:
        raise NotImplementedError

    def _fit(self, embeds: Tensor, made: Tensor) -> Tensor:
        """Make our vectors fit where the model made its own; models may add positions at the end."""
        return torch.cat([embeds, made[:, embeds.shape[1] :]], dim=1)

    def _gated(self, rows: Rows) -> Tensor:
        return self._blend(rows, self._lookup(rows))

    def _blend(self, rows: Rows, embeds: Tensor) -> Tensor:
        assert rows.gate is not None
        gate = rows.gate.to(embeds)[..., None]  # [R, L, 1]
        if rows.fill == "zero":
            return embeds * gate
        return embeds * gate + self.fill_vector(rows.fill).to(embeds) * (1 - gate)


def _labels(model: PreTrainedModel) -> tuple[str, ...]:
    config = model.config
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise ModelError(
            "this model gives several labels at once", remedy="Wrap one label in a callable: text -> [1 - p, p]."
        )
    if config.num_labels == 1:
        return ()
    return tuple(str(config.id2label[index]) for index in range(config.num_labels))


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
