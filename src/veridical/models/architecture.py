"""Hugging Face models: what they must be like, what they can give, and a quiet library."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from veridical.core.errors import ModelError, UsageError
from veridical.models.classifier import Ability

TRANSFORMER = frozenset(
    {
        Ability.GRADIENTS,
        Ability.ATTENTIONS,
        Ability.ATTENTION_GRADIENTS,
        Ability.CLS_ATTENTIONS,
        Ability.EMBEDDINGS,
        Ability.HIDDEN,
    }
)
"""What every Hugging Face model can give."""

MULTI_LABEL = "multi_label_classification"
"""What a Hugging Face configuration calls models that may give several labels at once."""


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


def is_multi_label(model: PreTrainedModel) -> bool:
    """Whether a model gives each label a probability of its own."""
    return bool(getattr(model.config, "problem_type", None) == MULTI_LABEL)


def has_biases(model: PreTrainedModel) -> bool:
    """Whether any weight of the encoder is called a bias; that of the head alone does not count."""
    return any(name.endswith("bias") for name, _ in model.base_model.named_parameters())


def labels_of(model: PreTrainedModel) -> tuple[str, ...]:
    """The class names in output order, which must differ; none for regression."""
    config = model.config
    if config.num_labels == 1 and not is_multi_label(model):
        return ()
    if missing := [index for index in range(config.num_labels) if index not in config.id2label]:
        problem = f"the model has {config.num_labels} classes, and no name for class {missing[0]}"
        raise ModelError(problem, remedy="Name them from 0 on, in `id2label` of its configuration (config.json).")
    names = [str(config.id2label[index]) for index in range(config.num_labels)]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ModelError(
                f"two classes of the model are called {name!r}: {names.index(name)} and {index}",
                remedy="Give each its own name, in `id2label` of its configuration (config.json).",
            )
    return tuple(names)


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


_USUAL_POSITIONS = 512

# Their answers change with the padding beside a text, which would make every score depend on its neighbours.
_PADDING_MATTERS = {"convbert", "fnet", "funnel", "nystromformer", "reformer", "xlnet", "yoso"}
# These make their own attention masks of the words that are there, and take no weights in between.
_ALL_OR_NOTHING = {"longformer", "deberta-v2", "deberta", "modernbert"}
# Made of BERT's parts: linear layers, activations, residual sums with LayerNorm, attention by plain dot products.
_BERT_LIKE = {"albert", "bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta"}

# Where embeddings end, the first that a model has: ELECTRA, ALBERT, BERT and its kin, GPT-2, Phi, Llama and its kin.
_EMBEDDING_OUTPUTS = (
    "embeddings_project",
    "encoder.embedding_hidden_mapping_in",
    "embeddings",
    "drop",
    "embed_dropout",
    "embed_tokens",
)


def check_architecture(model: PreTrainedModel) -> None:
    """Refuse models whose scores could not be trusted."""
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


def abilities_of(model: PreTrainedModel, has_mask_token: bool) -> frozenset[Ability]:
    """What a text model can give: what all transformers give, and all ways to take words away, with exceptions."""
    abilities = TRANSFORMER | {Ability.DELETE, Ability.PAD, Ability.PAD_ATTN, Ability.ZERO}
    if has_mask_token:
        abilities |= {Ability.MASK}
    if embedding_output(model) is not None:
        abilities |= {Ability.EMBEDDING_OUTPUT}
    if last_layer(model) is not None:
        abilities |= {Ability.POOLED}
    if model.config.model_type in _BERT_LIKE:
        abilities |= {Ability.BERT_LAYERS}
    if model.config.model_type == "longformer":
        # Its local attention has no full matrices; only the first token, which sees everything, has a full row,
        # and of that the model shows a copy that its output does not depend on.
        abilities -= {Ability.ATTENTIONS, Ability.ATTENTION_GRADIENTS}
    if decides_on_last_token(model):
        # Here the first token sees only itself, and who attends to whom depends on the order before anything else.
        abilities -= {Ability.ATTENTIONS, Ability.CLS_ATTENTIONS, Ability.ATTENTION_GRADIENTS}
    return abilities


def hides_in_part(model: PreTrainedModel) -> bool:
    """Whether a word can be hidden from attention in part, by a weight between 0 and 1."""
    return model.config.model_type not in _ALL_OR_NOTHING and not decides_on_last_token(model)


def decides_on_last_token(model: PreTrainedModel) -> bool:
    """Whether a model reads left to right; such classifiers call their head `score`, with few exceptions."""
    return hasattr(model, "score") or model.config.model_type in {"ctrl", "modernbert-decoder"}


def reads_types(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether model and tokenizer tell the texts of a pair apart by token types."""
    return (
        "token_type_ids" in tokenizer.model_input_names
        and "token_type_ids" in signature(model.forward).parameters
        and getattr(model.config, "type_vocab_size", 1) > 1
    )


def word_path(model: PreTrainedModel) -> tuple[nn.Module, ...]:
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


def embedding_output(model: PreTrainedModel) -> nn.Module | None:
    """The module whose output enters the first layer, and is the first of the hidden states; None where none makes it.

    Some families bring narrow embeddings to the width of the layers first. There it is the module that does so.
    """
    for place in _EMBEDDING_OUTPUTS:
        try:
            found: nn.Module = model.base_model.get_submodule(place)
        except AttributeError:
            continue
        if place != "embeddings" or not _is_only_words(model, found):
            return found
    return None


def last_layer(model: PreTrainedModel) -> nn.Module | None:
    """The linear layer that gives the logits of one vector for each input; None where there is no such layer."""
    if decides_on_last_token(model):
        return None  # its last layer reads every position, and the logits of one of them are picked afterwards
    linear = [each for each in model.modules() if isinstance(each, nn.Linear)]
    return next((each for each in reversed(linear) if each.out_features == model.config.num_labels), None)


def _is_only_words(model: PreTrainedModel, embeddings: nn.Module) -> bool:
    """Whether `embeddings` is no more than a table of words, as in XLM, which adds positions outside of any module.

    That of I-BERT is no better: it gives a scale beside the vectors, which a shift would have to fit.
    """
    return embeddings is model.get_input_embeddings() or model.config.model_type == "ibert"


def position_offset(model: PreTrainedModel) -> int | None:
    """The number before the first position, for models of the RoBERTa kind; None for those that count from 0."""
    embeddings = getattr(model.base_model, "embeddings", None)
    name = "create_position_ids_from_input_ids"
    skips_padding = hasattr(embeddings, name) or hasattr(sys.modules[type(model).__module__], name)
    return int(model.config.pad_token_id) if skips_padding else None


def length_of(wanted: int | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """The number of tokens to read at once: as wanted, or as many as model and tokenizer allow."""
    offset = position_offset(model)
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
