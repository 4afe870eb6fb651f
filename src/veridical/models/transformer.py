"""What Hugging Face text and image classifiers share: running rows, embeddings, attentions, saving."""

from __future__ import annotations

import copy
import json
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, Unpack
from weakref import WeakKeyDictionary

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import PreTrainedModel

from veridical.core.errors import ModelError, StorageError, UsageError
from veridical.core.storage import reason_of
from veridical.models.architecture import (
    TRANSFORMER,
    check_head,
    embedding_output,
    has_biases,
    is_multi_label,
    labels_of,
    last_layer,
    public_name,
    quietly,
)
from veridical.models.batch import ENTRY, Output, PassOptions, Rows
from veridical.models.classifier import EXPLAINERS_FOLDER, Ability, Classifier, Task, fingerprint_of, learned_with
from veridical.models.pooling import Pooling, configured, pooling_of, reading, shares_of, with_mixture
from veridical.models.weights import (
    WEIGHTS_FILE,
    Weights,
    check_replacements,
    read_weights,
    with_other_weights,
)

SETTINGS = "veridical.json"
"""The file beside the weights that remembers how the classifier is used: units, length limit, windows."""

_CORE, _GPU = 5e10, 5e12
"""Multiplications and additions per second that one core of a processor, or another device, is taken to make."""

T = TypeVar("T")

# One for each model and not for each classifier: two classifiers may be made around the same model.
_LOCKS: WeakKeyDictionary[PreTrainedModel, RLock] = WeakKeyDictionary()


class Transformer(Classifier):
    """A Hugging Face classifier, used through its public interface and two hooks, where embeddings begin and end.

    The hooks are how gradients and erasers reach the embeddings of any architecture: the model still reads its ids, so
    positions and pooling are its own, but sees the vectors we hand it. One is on the module that gives word vectors,
    the other on the one whose output enters the first layer.

    Several threads may use one classifier: whoever changes the model's mode, hooks, attention or weights for a while
    holds its lock meanwhile, so that the others wait.

    `has_new_head` says that the head starts at random, and `untrained` are the weights of the encoder, by name, that
    start as untrained as such a head.
    """

    provides = TRANSFORMER
    has_new_head = False
    untrained: frozenset[str] = frozenset()

    def __init__(
        self,
        model: PreTrainedModel,
        threshold: float | None = None,
        temperature: float | None = None,
        pooling: Pooling | None = None,
    ) -> None:
        check_head(model)
        self.model = model
        self.pooling: Pooling = pooling_of(model, pooling)
        with_mixture(model, self.pooling)
        self.labels = labels_of(model)
        self.is_multi_label = is_multi_label(model)
        self.has_biases = has_biases(model)
        self.threshold = self._checked_threshold(threshold)
        self.temperature = self._checked_temperature(temperature)
        self._weights: Weights = {}

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

    def seconds(self, positions: int) -> float:
        # Each weight is multiplied once per position, and the product added; attention comes on top, but is less.
        return 2 * self._multiplied * positions / (_CORE if self.device.type == "cpu" else _GPU)

    @cached_property
    def _multiplied(self) -> int:
        """How many weights are multiplied with each position: those of matrices, but not of tables to look up."""
        tables = {id(module.weight) for module in self.model.modules() if isinstance(module, nn.Embedding)}
        return sum(each.numel() for each in self.model.parameters() if each.dim() > 1 and id(each) not in tables)

    @property
    def lock(self) -> RLock:
        """Held by the thread that changes the model for a while; the same thread may take it again."""
        return _LOCKS.setdefault(self.model, RLock())

    def with_weights(self, weights: Mapping[str, Tensor]) -> Transformer:
        check_replacements(self.model, weights)
        other = copy.copy(self)
        other._weights = dict(weights)
        return other

    def run(self, rows: Rows, **options: Unpack[PassOptions]) -> Output:
        rows = rows.to(self.device)
        return self._alone(lambda: self._run(rows, options))

    def embed(self, rows: Rows) -> Tensor:
        rows = rows.to(self.device)
        return self._alone(lambda: self._embed(rows))

    def no_shift(self, rows: Rows) -> Tensor:
        size = (*rows.unit_of.shape, int(self.model.config.hidden_size))
        return torch.zeros(size, dtype=self.model.dtype, device=self.device)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        with self.lock:
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
        with self.lock:
            before = self.model.config._attn_implementation  # not `eager` while attention is taught
            self.model.set_attn_implementation("sdpa")
            try:
                yield
            finally:
                self.model.set_attn_implementation(before)

    def describe(self) -> dict[str, Any]:
        config = self.model.config
        return {
            "kind": self.kind,
            "architecture": type(self.model).__name__,
            "name": public_name(config.name_or_path),
            "fingerprint": self.fingerprint,
            **self.settings(),
            **({"task": str(self.task)} if self.is_multi_label else {}),
            **({} if self.model.dtype == torch.float32 else {"dtype": str(self.model.dtype).removeprefix("torch.")}),
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, so that scores can be tied to the very model that gave them.

        What the head reads and explainers that were trained with the model are part of it.
        """
        return self.fingerprint_with(
            {name: fingerprint_of(read_weights(path)) for name, path in self.learned.items() if _has_weights(path)}
        )

    def fingerprint_with(self, learned: Mapping[str, str]) -> str:
        """The fingerprint that the model has together with explainers of these fingerprints."""
        pooling = {"/pooling": self.pooling} if self.pooling != "cls" else {}  # no explainer can have such a name
        return fingerprint_of(self._alone(self.model.state_dict), {**learned, **pooling})

    def save(self, folder: str | PathLike[str]) -> None:
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            with quietly():
                self._write(path)
        except (OSError, SafetensorError) as error:
            problem = f"cannot save the model in {path}: {reason_of(path, error)}"
            raise StorageError(problem, remedy="Free some space or choose another folder.") from error

    def _alone(self, compute: Callable[[], T]) -> T:
        """What `compute` gives while no other thread changes the model, which has the weights of this classifier."""
        with self.lock:
            return with_other_weights(self.model, self._weights, compute) if self._weights else compute()

    def _run(self, rows: Rows, options: PassOptions) -> Output:
        embeds, enter, shift = options.get("embeds"), options.get("enter"), options.get("shift")
        attentions, hidden, pooled = (bool(options.get(name)) for name in ("attentions", "hidden", "pooled"))
        if embeds is None and rows.gate is not None and rows.fill != ENTRY:
            embeds = self._embed(rows)
        narrow = rows.gate if rows.fill == ENTRY else None
        if enter is not None or shift is not None or narrow is not None:
            self.require(Ability.EMBEDDING_OUTPUT, asker="a change of what enters the first layer")
        shares = shares_of(rows.inputs["attention_mask"]) if self.pooling != "cls" else None
        entered = embedding_output(self.model)
        with (
            _changed(self._entrance, embeds, self._fit),
            _changed(entered, enter, lambda change, made: change(made)),
            _changed(entered, narrow, _shrink),
            _changed(entered, shift, _add),
            reading(self.model, self.pooling, shares),
            _seen(last_layer(self.model) if pooled else None) as vectors,
        ):
            output = self.model(
                **self.model_inputs(rows), output_attentions=attentions, output_hidden_states=hidden, return_dict=True
            )
        self._check_logits(output.get("logits"))
        local = output.get("global_attentions") is not None
        layers = output.get("global_attentions" if local else "attentions")
        if attentions and layers is None:
            raise self.cannot(f"show its attentions: {type(self.model).__name__} has none")
        states = output.hidden_states if hidden else None
        logits = output.logits / self.temperature
        return Output(logits, layers if attentions else None, states, local, shares, vectors[0] if vectors else None)

    def _embed(self, rows: Rows) -> Tensor:
        embeds = self._lookup(rows)
        return embeds if rows.gate is None or rows.fill == ENTRY else self._blend(rows, embeds)

    def _checked_threshold(self, threshold: float | None) -> float:
        if threshold is None:
            return Classifier.threshold
        if not self.is_multi_label:
            raise UsageError("only models that may give several labels have a threshold", remedy="Leave it out.")
        if not 0 < threshold < 1:
            raise UsageError(f"threshold cannot be {threshold!r}", remedy="It is more than 0 and less than 1.")
        return threshold

    def _checked_temperature(self, temperature: float | None) -> float:
        if temperature is None:
            return Classifier.temperature
        if self.task is not Task.CLASSES:
            raise UsageError("only models that give one class of several have a temperature", remedy="Leave it out.")
        if not 0 < temperature < float("inf"):
            raise UsageError(f"temperature cannot be {temperature!r}", remedy="It is more than 0; 1 changes nothing.")
        return temperature

    @property
    def _own_settings(self) -> dict[str, Any]:
        """The settings that all kinds of models share, as far as they are not the usual ones."""
        own: dict[str, Any] = {"pooling": self.pooling} if self.pooling != "cls" else {}
        own |= {"temperature": self.temperature} if self.temperature != 1 else {}
        return {**own, **({"threshold": self.threshold} if self.is_multi_label else {})}

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
        with self.lock, configured(self.model, self.pooling):
            self.model.save_pretrained(folder, state_dict=self._alone(self.model.state_dict))
        settings = {"kind": self.kind, **self.settings()}
        (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        self._write_learned(folder / EXPLAINERS_FOLDER)

    def _write_learned(self, folder: Path) -> None:
        """Let a folder hold the model's own explainers, and none of another model that lay there."""
        own = {path.resolve() for path in self.learned.values()}
        for path in learned_with(folder.parent).values():
            if path.resolve() not in own:
                shutil.rmtree(path)
        for name, path in self.learned.items():
            if path.resolve() != (folder / name).resolve():
                shutil.copytree(path, folder / name)

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
            # Not joined with nothing: that would send a gradient of zeros to the whole table. And a copy, as CTRL
            # multiplies in place what it takes for its own.
            return embeds.clone()
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


def _has_weights(folder: Path) -> bool:
    return (folder / WEIGHTS_FILE).exists()


def _shrink(gate: Tensor, made: Tensor) -> Tensor:
    """What a module made [R, T, d], as far as a gate [R, L] lets it through; positions that models add stay."""
    return made * pad(gate.to(made), (0, made.shape[1] - gate.shape[1]), value=1.0)[..., None]


def _add(shift: Tensor, made: Tensor) -> Tensor:
    """What a module made [R, T, d], shifted; models may have added positions at the end, which stay as they are."""
    return made + pad(shift.to(made), (0, 0, 0, made.shape[1] - shift.shape[1]))


@contextmanager
def _seen(module: nn.Module | None) -> Iterator[list[Tensor]]:
    """While inside, what a module is given is added to the list."""
    given: list[Tensor] = []
    if module is None:
        yield given
        return
    handle = module.register_forward_pre_hook(lambda _module, args: given.append(args[0]))
    try:
        yield given
    finally:
        handle.remove()


@contextmanager
def _changed(module: nn.Module | None, value: T | None, change: Callable[[T, Tensor], Tensor]) -> Iterator[None]:
    """While inside, the module gives what `change` makes of a value and of the output it has computed."""
    if module is None or value is None:
        yield
        return
    handle = module.register_forward_hook(lambda _module, _args, made: change(value, made))
    try:
        yield
    finally:
        handle.remove()
