"""Texts and pairs of texts: any Hugging Face sequence classifier with a fast tokenizer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.example import PAIR, Example
from veridical.models.batch import Batch, Rows
from veridical.models.classifier import Ability
from veridical.models.frames import Frame, TokenRow, frame_of, truncate, windows
from veridical.models.text_fields import FIELDS, check_hold, check_texts
from veridical.models.transformer import Transformer, additive_mask
from veridical.models.units import NO_UNIT, Cut, Reading, UnitKind, keep_seen, read_context, read_units

Long = Literal["truncate", "window"]

_USUAL_POSITIONS = 512
_BEFORE_HIDING = "attention_mask_before_hiding"

# Their answers change with the padding beside a text, which would make every score depend on its neighbours.
_PADDING_MATTERS = {"convbert", "fnet", "funnel", "nystromformer", "reformer", "xlnet", "yoso"}
# These make their own attention masks of the words that are there, and take no weights in between.
_ALL_OR_NOTHING = {"longformer", "deberta-v2", "deberta", "modernbert"}
# Made of BERT's parts: linear layers, activations, residual sums with LayerNorm, attention by plain dot products.
_BERT_LIKE = {"albert", "bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta"}


class TextClassifier(Transformer):
    """A sequence classifier with its tokenizer.

    `units` is the granularity of every explanation: `word`, or `token` for word pieces. `hold` names a field that is
    context only: it is never scored nor erased. `long` says what happens beyond `max_length` tokens: `truncate` (and
    say so), or `window`: read the whole text in consecutive windows whose logits are averaged.
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
    ) -> None:
        super().__init__(model)
        _check_architecture(model)
        _check_tokenizer(tokenizer)
        _check_choice("units", units, get_args(UnitKind))
        _check_choice("long", long, get_args(Long))
        check_hold(hold)
        self.tokenizer = tokenizer
        self.units: UnitKind = units
        self.hold = hold
        self.long: Long = long
        self._position_offset = _position_offset(model)
        self._decides_on_last_token = _decides_on_last_token(model)
        self._reads_types = _reads_types(model, tokenizer)
        self.max_length = _length(max_length, model, tokenizer)
        self.provides = self._abilities()
        if self._decides_on_last_token:
            # Such models find the last token by the padding after it, which they must know to be padding.
            model.config.pad_token_id = self.pad_id

    def settings(self) -> dict[str, Any]:
        return {"units": self.units, "hold": self.hold, "max_length": self.max_length, "long": self.long}

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
        for module in _word_path(self.model):
            vectors = module(vectors)
        return vectors

    @property
    def _can_fuse(self) -> bool:
        # Where the first words are hidden, a word that sees only them sees nothing, which each attention takes its way.
        return super()._can_fuse and not self._decides_on_last_token

    @property
    def _entrance(self) -> nn.Module:
        return _word_path(self.model)[-1]

    def _lookup(self, rows: Rows) -> Tensor:
        return self._word_vectors(rows.inputs["input_ids"])

    def _soft_mask(self, weight: Tensor) -> Tensor:
        if self.model.config.model_type in _ALL_OR_NOTHING or self._decides_on_last_token:
            raise UnsupportedError(
                f"{self.model.config.model_type} models cannot half-hide a word from attention",
                remedy="Use the soft `zero`, `mask` or `pad` eraser.",
            )
        return additive_mask(weight)

    def _abilities(self) -> frozenset[Ability]:
        abilities = Transformer.provides | {Ability.DELETE, Ability.PAD, Ability.PAD_ATTN, Ability.ZERO}
        if self.tokenizer.mask_token_id is not None:
            abilities |= {Ability.MASK}
        if self.model.config.model_type in _BERT_LIKE:
            abilities |= {Ability.BERT_LAYERS}
        if self.model.config.model_type == "longformer":
            # Its local attention has no full matrices; only the first token, which sees everything, has a full row,
            # and of that the model shows a copy that its output does not depend on.
            abilities -= {Ability.ATTENTIONS, Ability.ATTENTION_GRADIENTS}
        if self._decides_on_last_token:
            # Here the first token sees only itself, and who attends to whom depends on the order before anything else.
            abilities -= {Ability.ATTENTIONS, Ability.CLS_ATTENTIONS, Ability.ATTENTION_GRADIENTS}
        return abilities


def _check_architecture(model: PreTrainedModel) -> None:
    kind = model.config.model_type
    if model.config.is_encoder_decoder:
        raise ModelError(
            f"{kind} models read each text twice, in an encoder and a decoder", remedy="Use an encoder or a decoder."
        )
    if kind in _PADDING_MATTERS:
        raise ModelError(
            f"the answer of {kind} models depends on the padding beside a text, so no score of theirs can be repeated",
            remedy="Wrap it in a callable that runs one text at a time: Classifier.load(function, labels=...).",
        )


def _check_tokenizer(tokenizer: Any) -> None:
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


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{name} cannot be {value!r}", remedy=f"It is one of: {', '.join(choices)}.")


def _decides_on_last_token(model: PreTrainedModel) -> bool:
    """Whether a model reads left to right; such classifiers call their head `score`, with few exceptions."""
    return hasattr(model, "score") or model.config.model_type in {"ctrl", "modernbert-decoder"}


def _reads_types(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether model and tokenizer tell the texts of a pair apart by token types."""
    return (
        "token_type_ids" in tokenizer.model_input_names
        and "token_type_ids" in signature(model.forward).parameters
        and getattr(model.config, "type_vocab_size", 1) > 1
    )


def _word_path(model: PreTrainedModel) -> tuple[nn.Module, ...]:
    """The modules that make a word's vector; what the last one gives is the input embedding.

    Usually there is only the table of word embeddings. But where a word's vector is normalised before anything is added
    to it, its length means nothing: halving it changes nothing, and input x gradient is 0 everywhere. There the
    normalised vector is taken.
    """
    words = model.get_input_embeddings()
    config = model.config
    if config.model_type == "modernbert":
        return words, model.base_model.embeddings.norm
    if (
        config.model_type in {"deberta", "deberta-v2"}
        and not config.position_biased_input
        and not config.type_vocab_size
    ):
        embeddings = model.base_model.embeddings
        return tuple(module for module in (words, embeddings.embed_proj, embeddings.LayerNorm) if module is not None)
    return (words,)


def _position_offset(model: PreTrainedModel) -> int | None:
    """The number before the first position, for models of the RoBERTa kind; None for those that count from 0."""
    embeddings = getattr(model.base_model, "embeddings", None)
    name = "create_position_ids_from_input_ids"
    skips_padding = hasattr(embeddings, name) or hasattr(sys.modules[type(model).__module__], name)
    return int(model.config.pad_token_id) if skips_padding else None


def _length(wanted: int | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """The number of tokens to read at once: as wanted, or as many as model and tokenizer allow."""
    offset = _position_offset(model)
    positions = getattr(model.config, "max_position_embeddings", None) or _USUAL_POSITIONS
    most = int(positions) - (0 if offset is None else offset + 1)
    least = tokenizer.num_special_tokens_to_add(pair=True) + 2
    length = min(int(tokenizer.model_max_length), most) if wanted is None else wanted
    if not isinstance(length, int) or not least <= length <= most:
        raise UsageError(
            f"max_length cannot be {length!r}",
            remedy=f"It must hold a word and no more than the model reads: {least} to {most}.",
        )
    return length


def _padded(rows: list[list[int]], value: int) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


def _up_to(lengths: Tensor, width: int) -> Tensor:
    """The positions [R, L] that are not padding."""
    return torch.arange(width)[None, :] < lengths[:, None]
