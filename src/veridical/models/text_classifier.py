"""Texts and pairs of texts: any Hugging Face sequence classifier with a fast tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from veridical.core.errors import InputError, UnsupportedError, UsageError
from veridical.core.values import PAIR, Example
from veridical.models.architecture import (
    abilities_of,
    check_architecture,
    check_tokenizer,
    decides_on_last_token,
    hides_in_part,
    length_of,
    position_offset,
    reads_types,
    word_path,
)
from veridical.models.batch import Batch, Rows
from veridical.models.pooling import Pooling
from veridical.models.text_rows import (
    FIELDS,
    NO_UNIT,
    Cut,
    Frame,
    Reading,
    TokenRow,
    UnitKind,
    check_hold,
    check_texts,
    frame_of,
    keep_seen,
    read_context,
    read_units,
    truncate,
    windows,
)
from veridical.models.transformer import Transformer, additive_mask

Long = Literal["truncate", "window"]

_BEFORE_HIDING = "attention_mask_before_hiding"


class TextClassifier(Transformer):
    """A sequence classifier with its tokenizer.

    `units` is the granularity of every explanation: `word`, or `token` for word pieces. `hold` names a field that is
    context only: it is never scored nor erased. `long` says what happens beyond `max_length` tokens: `truncate` (and
    say so), or `window`: read the whole text in consecutive windows whose logits are averaged. A model that may give
    several labels chooses those whose probability reaches the `threshold`, 0.5 unless said otherwise. Outputs are
    divided by the `temperature`: above 1 a model is less sure, and decides the same. `pooling` is what the head reads:
    the vector of the first token (`cls`), or the `mean` over all tokens; it must be as in training.
    """

    kind = "text"

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        units: UnitKind = "word",
        hold: str | None = None,
        max_length: int | None = None,
        long: Long = "truncate",
        threshold: float | None = None,
        temperature: float | None = None,
        pooling: Pooling | None = None,
    ) -> None:
        super().__init__(model, threshold, temperature, pooling)
        check_architecture(model)
        check_tokenizer(tokenizer)
        _check_choice("units", units, get_args(UnitKind))
        _check_choice("long", long, get_args(Long))
        check_hold(hold)
        self.tokenizer = tokenizer
        self.units: UnitKind = units
        self.hold = hold
        self.long: Long = long
        self._position_offset = position_offset(model)
        self._decides_on_last_token = decides_on_last_token(model)
        self._reads_types = reads_types(model, tokenizer)
        self.max_length = length_of(max_length, model, tokenizer)
        self.provides = abilities_of(model, has_mask_token=tokenizer.mask_token_id is not None)
        if self._decides_on_last_token:
            # Such models find the last token by the padding after it, which they must know to be padding.
            model.config.pad_token_id = self.pad_id

    def settings(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "hold": self.hold,
            "max_length": self.max_length,
            "long": self.long,
            **self._own_settings,
        }

    def positions(self, example: Example) -> int:
        found = super().positions(example)
        return min(found, self.max_length) if self.long == "truncate" else found

    def encode(self, examples: Sequence[Example]) -> Batch:
        check_texts(examples)
        fields = [field for field in FIELDS if field in examples[0].inputs]
        frame = frame_of(self.tokenizer, len(fields))
        readings = zip(*(self._read(examples, field) for field in fields), strict=True)
        rows: list[TokenRow] = []
        owner: list[int] = []
        units, truncated = [], []
        for index, (example, texts) in enumerate(zip(examples, readings, strict=True)):
            cuts = self._cuts(example, [len(text.ids) for text in texts], frame)
            numbered, seen = keep_seen(texts, cuts)
            units.append(tuple(seen))
            truncated.append(sum(len(text.units) for text in texts) - len(seen))
            rows += [frame.fill([text.part(part) for text, part in zip(numbered, cut, strict=True)]) for cut in cuts]
            owner += [index] * len(cuts)
        return Batch(tuple(examples), tuple(units), self._rows(rows, owner), tuple(truncated))

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
        keep = _up_to(rows.lengths, width) & ~gone
        order = (~keep).long().argsort(dim=1, stable=True)  # kept positions first, in their order
        lengths = keep.sum(1)
        beyond = ~_up_to(lengths, width)
        blanks = {"input_ids": self.pad_id}
        inputs = {
            name: values.gather(1, order).masked_fill(beyond, blanks.get(name, 0))
            for name, values in rows.inputs.items()
        }
        inputs["attention_mask"][lengths == 0, 0] = 1  # where no special token stays, padding stands for nothing
        unit_of = rows.unit_of.gather(1, order).masked_fill(beyond, NO_UNIT)
        return replace(rows, inputs=inputs, unit_of=unit_of, lengths=lengths.clamp(min=1))

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        if self._decides_on_last_token and token == "pad":
            # A padding id would be taken for the end of the text; its vector is not.
            return replace(rows, gate=(~gone).float(), fill=token)
        ids = rows.inputs["input_ids"].masked_fill(gone, self._special(token))
        return replace(rows, inputs={**rows.inputs, "input_ids": ids})

    def hide(self, rows: Rows, weight: Tensor) -> Rows:
        mask = rows.inputs["attention_mask"]
        hidden = mask * (weight if weight.is_floating_point() else weight.long())
        return replace(rows, inputs={**rows.inputs, "attention_mask": hidden, _BEFORE_HIDING: mask})

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        self.tokenizer.save_pretrained(folder)

    def _read(self, examples: Sequence[Example], field: str) -> list[Reading]:
        """A field of each example, whole."""
        texts = [str(example.inputs[field]) for example in examples]
        encodings = self.tokenizer(texts, add_special_tokens=False, verbose=False).encodings
        if field == self.hold:
            return [read_context(encoding.ids) for encoding in encodings]
        return [
            read_units(field, text, encoding.ids, encoding.offsets, self.units)
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _cuts(self, example: Example, lengths: Sequence[int], frame: Frame) -> list[Cut]:
        """Which tokens of an example's texts go into which row."""
        room = self.max_length - frame.size
        if self.long == "truncate":
            return [truncate(lengths, room, self.tokenizer.truncation_side)]
        if (beside := sum(lengths[1:])) >= room:
            raise InputError(
                f"it has {beside} tokens, and the {self.max_length} of a window leave {room} for both texts",
                example=example.id,
                field=PAIR,
                remedy="Shorten it, swap the two texts, or use long='truncate'.",
            )
        return windows(lengths, room)

    def _rows(self, rows: Sequence[TokenRow], owner: Sequence[int]) -> Rows:
        ids = [row.ids or [self.pad_id] for row in rows]  # no special tokens, no words: padding stands for nothing
        lengths = torch.tensor([len(row) for row in ids])
        inputs = {"input_ids": _padded(ids, self.pad_id)}
        inputs["attention_mask"] = _up_to(lengths, inputs["input_ids"].shape[1]).long()
        if self._reads_types:
            inputs["token_type_ids"] = _padded([row.types or [0] for row in rows], 0)
        places = _padded([row.places or [NO_UNIT] for row in rows], NO_UNIT)
        return Rows(inputs, places, torch.tensor(owner), lengths)

    def _special(self, token: str) -> int:
        found = getattr(self.tokenizer, f"{token}_token_id")
        if found is None:
            raise UnsupportedError(f"this tokenizer has no {token} token", remedy="Choose another eraser.")
        return int(found)

    def _word_vectors(self, ids: Tensor) -> Tensor:
        vectors = ids
        for module in word_path(self.model):
            vectors = module(vectors)
        return vectors

    @property
    def _can_fuse(self) -> bool:
        # Left to right, the first words see nothing but themselves. Where they are hidden, they have nothing at all to
        # attend to, and for that eager and fused attention give different vectors.
        return super()._can_fuse and not self._decides_on_last_token

    @property
    def _entrance(self) -> nn.Module:
        return word_path(self.model)[-1]

    def _lookup(self, rows: Rows) -> Tensor:
        return self._word_vectors(rows.inputs["input_ids"])

    def _soft_mask(self, weight: Tensor) -> Tensor:
        if not hides_in_part(self.model):
            raise UnsupportedError(
                f"{self.model.config.model_type} models cannot half-hide a word from attention",
                remedy="Use the soft `zero`, `mask` or `pad` eraser.",
            )
        return additive_mask(weight)


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{name} cannot be {value!r}", remedy=f"It is one of: {', '.join(choices)}.")


def _padded(rows: list[list[int]], value: int) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


def _up_to(lengths: Tensor, width: int) -> Tensor:
    """The positions [R, L] that are not padding."""
    return torch.arange(width)[None, :] < lengths[:, None]
