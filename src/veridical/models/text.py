"""Texts and pairs of texts: any Hugging Face sequence classifier with a fast tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from veridical.core.errors import ModelError, UnsupportedError
from veridical.core.example import PAIR, Example
from veridical.models.batch import Batch, Rows
from veridical.models.texts import check_texts, texts_of
from veridical.models.transformer import Transformer
from veridical.models.units import UnitKind, assign_units

Long = Literal["truncate", "window"]

_LIMIT = 100_000  # tokenizers that know no limit say 1e30
_BEFORE_HIDING = "attention_mask_before_hiding"


class TextClassifier(Transformer):
    """A sequence classifier with its tokenizer.

    `units` is the granularity of every explanation: `word`, or `token` for word pieces. `hold` names a field that is
    context only: it is never scored nor erased. `long` says what happens beyond `max_length` tokens: `truncate` (and
    say so), or `window`: read the whole text in consecutive windows whose logits are averaged.
    """

    kind = "text"
    provides = Transformer.provides | {"delete", "mask", "pad", "pad_attn", "zero"}

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        units: UnitKind = "word",
        hold: str | None = None,
        max_length: int | None = None,
        long: Long = "truncate",
    ) -> None:
        super().__init__(model)
        if not tokenizer.is_fast:
            raise ModelError(
                f"{type(tokenizer).__name__} is a slow tokenizer, which gives no character offsets",
                remedy="Use the fast tokenizer of this model.",
            )
        self.tokenizer = tokenizer
        self.units: UnitKind = units
        self.hold = hold
        self._position_offset = _position_offset(model)
        self.max_length = max_length or _longest_input(model, tokenizer)
        self.long: Long = long

    def settings(self) -> dict[str, Any]:
        return {"units": self.units, "hold": self.hold, "max_length": self.max_length, "long": self.long}

    def save(self, folder: str | PathLike[str]) -> None:
        super().save(folder)
        self.tokenizer.save_pretrained(folder)

    def encode(self, examples: Sequence[Example]) -> Batch:
        check_texts(examples)
        encoding = self._tokenize(examples)
        owner = encoding.get("overflow_to_sample_mapping") or list(range(len(examples)))
        is_cut = [self.long == "truncate" and bool(row.overflowing) for row in encoding.encodings]
        units, unit_of, truncated = assign_units(examples, encoding, owner, is_cut, self.units, self.hold)
        ids = [torch.tensor(row) for row in encoding["input_ids"]]
        lengths = torch.tensor([len(row) for row in ids], dtype=torch.long)
        pad = torch.nn.utils.rnn.pad_sequence
        inputs = {
            "input_ids": pad(ids, batch_first=True, padding_value=self.pad_id),
            "attention_mask": (torch.arange(int(lengths.max()))[None, :] < lengths[:, None]).long(),
        }
        if "token_type_ids" in encoding:
            inputs["token_type_ids"] = pad([torch.tensor(row) for row in encoding["token_type_ids"]], batch_first=True)
        places = pad([torch.tensor(row) for row in unit_of], batch_first=True, padding_value=-1)
        rows = Rows(inputs, places, torch.tensor(owner, dtype=torch.long), lengths)
        return Batch(tuple(examples), units, rows, truncated)

    def model_inputs(self, rows: Rows) -> dict[str, Tensor]:
        inputs = dict(rows.inputs)
        mask = inputs["attention_mask"]
        present = inputs.pop(_BEFORE_HIDING, mask)
        if self._position_offset is not None:
            # Such models number positions by which ids are not padding, so a pad token put in place of a word would
            # move everything after it.
            inputs["position_ids"] = present.cumsum(1) * present + self._position_offset
        if mask.is_floating_point():
            inputs["attention_mask"] = self._soft_mask(mask)
        return inputs

    @property
    def pad_id(self) -> int:
        return self._special("pad")

    def fill_vector(self, token: str) -> Tensor:
        return self._word_vectors(torch.tensor(self._special(token), device=self.device))

    def drop(self, rows: Rows, gone: Tensor) -> Rows:
        width = gone.shape[1]
        real = torch.arange(width)[None, :] < rows.lengths[:, None]
        keep = real & ~gone
        order = (~keep).long().argsort(dim=1, stable=True)  # kept positions first, in their order
        lengths = keep.sum(1)
        beyond = torch.arange(width)[None, :] >= lengths[:, None]
        blanks = {"input_ids": self.pad_id}
        inputs = {
            name: values.gather(1, order).masked_fill(beyond, blanks.get(name, 0))
            for name, values in rows.inputs.items()
        }
        return replace(
            rows, inputs=inputs, unit_of=rows.unit_of.gather(1, order).masked_fill(beyond, -1), lengths=lengths
        )

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        ids = rows.inputs["input_ids"].masked_fill(gone, self._special(token))
        return replace(rows, inputs={**rows.inputs, "input_ids": ids})

    def hide(self, rows: Rows, weight: Tensor) -> Rows:
        mask = rows.inputs["attention_mask"]
        hidden = mask * (weight if weight.is_floating_point() else weight.long())
        return replace(rows, inputs={**rows.inputs, "attention_mask": hidden, _BEFORE_HIDING: mask})

    def _tokenize(self, examples: Sequence[Example]) -> Any:
        texts = [texts_of(example) for example in examples]
        paired = PAIR in examples[0].inputs
        return self.tokenizer(
            [text for text, _ in texts],
            [pair for _, pair in texts] if paired else None,
            truncation="only_first" if paired and self.long == "window" else True,
            max_length=self.max_length,
            return_overflowing_tokens=self.long == "window",
            return_offsets_mapping=True,
            padding=False,
        )

    def _special(self, token: str) -> int:
        found = getattr(self.tokenizer, f"{token}_token_id")
        if found is None:
            raise UnsupportedError(f"this tokenizer has no {token} token", remedy="Choose another eraser.")
        return int(found)

    def _word_vectors(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.model.get_input_embeddings()(ids)
        return vectors

    def _lookup(self, rows: Rows) -> Tensor:
        return self._word_vectors(rows.inputs["input_ids"])

    def _soft_mask(self, weight: Tensor) -> Tensor:
        """An additive mask [R, 1, L, L] whose softmax multiplies each key's attention by its weight."""
        if self.model.config.model_type in {"longformer", "deberta-v2", "deberta", "modernbert"}:
            raise UnsupportedError(
                f"{self.model.config.model_type} models cannot half-hide a word from attention",
                remedy="Use the soft `zero`, `mask` or `pad` eraser.",
            )
        tiny = torch.finfo(weight.dtype).tiny
        bias = weight.clamp(min=tiny).log().masked_fill(weight <= 0, torch.finfo(weight.dtype).min)
        return bias[:, None, None, :].expand(-1, 1, weight.shape[1], -1)


def _position_offset(model: PreTrainedModel) -> int | None:
    """The number before the first position, for models of the RoBERTa kind; None for those that count from 0."""
    embeddings = getattr(model.base_model, "embeddings", None)
    skips_padding = hasattr(embeddings, "create_position_ids_from_input_ids")
    return int(model.config.pad_token_id) if skips_padding or model.config.model_type == "longformer" else None


def _longest_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """The number of tokens a model can read, by its position table and its tokenizer."""
    limit = min(int(tokenizer.model_max_length), _LIMIT)
    positions = getattr(model.config, "max_position_embeddings", None) or 512
    offset = _position_offset(model)
    return min(limit, int(positions) - (0 if offset is None else offset + 1))
