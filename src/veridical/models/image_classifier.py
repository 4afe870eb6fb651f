"""Images: Hugging Face classifiers of the ViT kind, which read patches and decide on a class token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from veridical.core.errors import InputError, ModelError
from veridical.core.values import IMAGE, Example, Image, Unit
from veridical.models.batch import Batch, Rows
from veridical.models.classifier import Ability
from veridical.models.transformer import Transformer, additive_mask

_GREY, _BLACK = 0.5, 0.0
# Others have more special tokens, or average over patches, so that a hidden patch would still have its say.
_SUPPORTED = {"vit", "vit_msn"}


class ImageClassifier(Transformer):
    """An image classifier whose units are its patches.

    Images are resized to the model's size and normalised to `(pixel / 255 - mean) / std`, where mean and std are one
    number or one per channel. A masked patch is mid-grey, a padded one black; deleting a patch and hiding it from
    attention are the same thing, as patches keep their place.
    """

    kind = "image"
    norms_first = True
    provides = Transformer.provides | {
        Ability.BERT_LAYERS,
        Ability.EMBEDDING_OUTPUT,
        Ability.POOLED,
        Ability.DELETE,
        Ability.MASK,
        Ability.PAD,
        Ability.PAD_ATTN,
        Ability.ZERO,
    }

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        mean: float | Sequence[float] = 0.5,
        std: float | Sequence[float] = 0.5,
        threshold: float | None = None,
        temperature: float | None = None,
    ) -> None:
        super().__init__(model, threshold, temperature)
        config = model.config
        if config.model_type not in _SUPPORTED:
            raise ModelError(
                f"{type(model).__name__} does not decide on a class token that attends to patches, as ViT does",
                remedy=f"Use one of: {', '.join(sorted(_SUPPORTED))}.",
            )
        self.mean = mean
        self.std = std
        self.patch = int(config.patch_size)
        self.side = int(config.image_size) // self.patch

    def settings(self) -> dict[str, Any]:
        return {"units": "patch", "mean": self.mean, "std": self.std, **self._own_settings}

    def positions(self, example: Example) -> int:
        return self.side**2 + 1

    def encode(self, examples: Sequence[Example]) -> Batch:
        pixels = torch.stack([self._pixels(example) for example in examples])  # [B, C, H, W]
        count, length = len(examples), self.side**2 + 1  # the class token comes first
        inputs = {"pixel_values": pixels, "attention_mask": torch.ones(count, length, dtype=torch.long)}
        unit_of = torch.arange(-1, self.side**2).expand(count, -1)
        units = tuple(self._units(example.inputs[IMAGE]) for example in examples)
        rows = Rows(inputs, unit_of, torch.arange(count), torch.full((count,), length))
        return Batch(tuple(examples), units, rows, (0,) * count)

    def model_inputs(self, rows: Rows) -> dict[str, Tensor]:
        inputs = dict(rows.inputs)
        mask = inputs["attention_mask"]
        if mask.is_floating_point():
            inputs["attention_mask"] = additive_mask(mask)
        return inputs

    def fill_vector(self, token: str) -> Tensor:
        config = self.model.config
        blank = self._level(token).expand(1, config.num_channels, config.image_size, config.image_size)
        vectors: Tensor = self.model.get_input_embeddings()(blank.to(self.device))
        return vectors[0, 0]

    def drop(self, rows: Rows, gone: Tensor) -> Rows:
        return self.hide(rows, ~gone)

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        pixels = rows.inputs["pixel_values"]
        cells = gone[:, 1:].view(-1, 1, self.side, self.side)
        area = cells.repeat_interleave(self.patch, 2).repeat_interleave(self.patch, 3)  # [R, 1, H, W]
        return replace(rows, inputs={**rows.inputs, "pixel_values": torch.where(area, self._level(token), pixels)})

    def hide(self, rows: Rows, weight: Tensor) -> Rows:
        mask = rows.inputs["attention_mask"]
        hidden = mask * (weight if weight.is_floating_point() else weight.long())
        return replace(rows, inputs={**rows.inputs, "attention_mask": hidden})

    def _lookup(self, rows: Rows) -> Tensor:
        patches: Tensor = self.model.get_input_embeddings()(rows.inputs["pixel_values"])  # [R, N, d]
        return torch.nn.functional.pad(patches, (0, 0, 1, 0))  # the class token has no input embedding

    def _fit(self, embeds: Tensor, made: Tensor) -> Tensor:
        return embeds[:, 1:]

    def _level(self, token: str) -> Tensor:
        return self._normal(torch.tensor(_GREY if token == "mask" else _BLACK))

    def _normal(self, pixels: Tensor) -> Tensor:
        mean, std = (torch.tensor(value).view(-1, 1, 1) for value in (self.mean, self.std))
        return (pixels - mean) / std

    def _pixels(self, example: Example) -> Tensor:
        image = example.inputs.get(IMAGE)
        config = self.model.config
        if not isinstance(image, Image):
            raise InputError("there is no image", example=example.id, field=IMAGE)
        if image.pixels.shape[2] != config.num_channels:
            problem = f"the image has {image.pixels.shape[2]} channels, the model reads {config.num_channels}"
            raise InputError(problem, example=example.id, field=IMAGE)
        pixels = torch.from_numpy(image.pixels.copy()).permute(2, 0, 1)[None].float() / 255
        size = (int(config.image_size),) * 2
        if pixels.shape[2:] != size:
            pixels = torch.nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
        return self._normal(pixels[0])

    def _units(self, image: Any) -> tuple[Unit, ...]:
        height, width = image.pixels.shape[:2]
        rows = [round(index * height / self.side) for index in range(self.side + 1)]
        columns = [round(index * width / self.side) for index in range(self.side + 1)]
        return tuple(
            Unit(IMAGE, (rows[i], columns[j], rows[i + 1], columns[j + 1]), f"patch {i + 1},{j + 1}")
            for i in range(self.side)
            for j in range(self.side)
        )
