"""Tiny random text classifiers, one of each family, with tokenizers in the family's own style: no download.

A plug-in that works on all `FAMILIES` works on the models people bring. Weights are random but large enough that every
word matters to the output. Biases are not zero, and the padding token has a vector of its own, as after training.

>>> classifier = family("roberta", labels=("neg", "neu", "pos"), units="token")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerFast

from veridical.models.architecture import quietly
from veridical.models.loader import wrap
from veridical.models.new import label_names
from veridical.models.text_classifier import TextClassifier

SENTENCES = (
    "A gorgeous, witty, seductive movie; don't miss it.",
    "The plot is dull and the acting is dreadful...",
    "Nobody laughed, nobody cried: a well-known story, badly told!",
    "Wonderful music and a brilliant cast make it a delight.",
    "I wouldn't watch this again, not even for free.",
    "Was the first half better than the second? Hardly.",
)
"""What the tokenizers know: frequent words whole, others in pieces, other scripts not at all or as bytes."""

LIMIT = 64
"""The number of tokens the families read."""

_HIDDEN = 16
_PARTS = 80


@dataclass(frozen=True)
class _Marks:
    """The special tokens of a family, in the order of their ids."""

    order: tuple[str, ...]
    start: str
    end: str
    pad: str
    unknown: str
    mask: str

    def names(self) -> dict[str, str]:
        return {
            "bos_token": self.start,
            "cls_token": self.start,
            "eos_token": self.end,
            "sep_token": self.end,
            "pad_token": self.pad,
            "unk_token": self.unknown,
            "mask_token": self.mask,
        }


_BERT = _Marks(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
_ROBERTA = _Marks(("<s>", "<pad>", "</s>", "<unk>", "<mask>"), "<s>", "</s>", "<pad>", "<unk>", "<mask>")
_ALBERT = _Marks(("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"), "[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]")


@dataclass(frozen=True)
class _Family:
    """How to make the tokenizer of a family, and what its config needs beside the common sizes."""

    tokenizer: Callable[[], PreTrainedTokenizerFast]
    config: dict[str, Any] = field(default_factory=dict)


def family(name: str, labels: Sequence[str] = ("neg", "pos"), seed: int = 0, **settings: Any) -> TextClassifier:
    """A tiny random classifier of a family; no labels make a regression model, `settings` are the classifier's own."""
    made = _FAMILIES[name]
    tokenizer = made.tokenizer()
    config = AutoConfig.for_model(name, **{**_sizes(tokenizer), **made.config, **label_names(labels)})
    with quietly(), torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
        _give_padding_a_vector(model)
        _give_biases(model)
    return cast("TextClassifier", wrap(model.eval(), tokenizer, **settings))


def _sizes(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    tokens = ("pad", "bos", "eos", "cls", "sep")
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": _HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 2 * _HIDDEN,
        "max_position_embeddings": LIMIT,
        "initializer_range": 0.3,
        **{f"{token}_token_id": getattr(tokenizer, f"{token}_token_id") for token in tokens},
    }


def _give_padding_a_vector(model: PreTrainedModel) -> None:
    """Libraries start it at zero, where erasing by padding and by zero could not be told apart."""
    with torch.no_grad():
        model.get_input_embeddings().weight[model.config.pad_token_id].normal_(0, 0.3)


def _give_biases(model: PreTrainedModel) -> None:
    """Libraries start them at zero, where a layer that normalises sees no difference between a little and a lot."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.normal_(0, 0.02)


def _word_pieces() -> PreTrainedTokenizerFast:
    splitter, normalizer = pre_tokenizers.BertPreTokenizer(), normalizers.BertNormalizer(lowercase=True)
    words = [word for text in SENTENCES for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
    parts = _frequent_parts(words)
    pieces = dict.fromkeys([*_BERT.order, *parts, *(f"##{part}" for part in parts)])
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=_BERT.unknown, max_input_chars_per_word=100))
    backend.normalizer = normalizer
    backend.pre_tokenizer = splitter
    backend.decoder = decoders.WordPiece()
    backend.post_processor = _frame(backend, _BERT, types=True)
    return _wrapped(backend, _BERT, types=True)


def _word_pieces_without_types() -> PreTrainedTokenizerFast:
    tokenizer = _word_pieces()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    return tokenizer


def _roberta_bytes() -> PreTrainedTokenizerFast:
    backend = _bytes(_ROBERTA.order)
    end, start = ((mark, _ROBERTA.order.index(mark)) for mark in (_ROBERTA.end, _ROBERTA.start))
    backend.post_processor = processors.RobertaProcessing(end, start, trim_offsets=True, add_prefix_space=False)
    return _wrapped(backend, _ROBERTA)


def _modernbert_bytes() -> PreTrainedTokenizerFast:
    backend = _bytes(_BERT.order)
    backend.normalizer = normalizers.NFC()
    backend.post_processor = _frame(backend, _BERT)
    return _wrapped(backend, _BERT)


def _gpt2_bytes() -> PreTrainedTokenizerFast:
    backend = _bytes(("<|endoftext|>",))
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=LIMIT,
        model_input_names=["input_ids", "attention_mask"],
        eos_token="<|endoftext|>",
        bos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )


def _albert_pieces() -> PreTrainedTokenizerFast:
    forms = [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    return _pieces(_ALBERT, normalizers.Sequence([*forms, _single_spaces()]), types=True)


def _xlm_roberta_pieces() -> PreTrainedTokenizerFast:
    return _pieces(_ROBERTA, normalizers.Sequence([normalizers.NFKC(), _single_spaces()]), types=False)


def _deberta_pieces() -> PreTrainedTokenizerFast:
    tidy = [normalizers.Strip(), normalizers.NFKC(), _single_spaces()]
    return _pieces(_BERT, normalizers.Sequence(tidy), types=True)


def _bytes(marks: Sequence[str]) -> Tokenizer:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + _PARTS, special_tokens=list(marks), initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(SENTENCES, trainer)
    return backend


def _pieces(marks: _Marks, normalizer: Any, *, types: bool) -> PreTrainedTokenizerFast:
    """SentencePiece's way: white space becomes a mark at the start of a word, which may stand alone."""
    splitter = pre_tokenizers.Metaspace(prepend_scheme="always")
    words = [word for text in SENTENCES for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
    scores = [(mark, 0.0) for mark in marks.order]
    scores += [(part, -10.0 / len(part)) for part in _frequent_parts(words)]  # long parts first
    backend = Tokenizer(models.Unigram(scores, unk_id=marks.order.index(marks.unknown), byte_fallback=False))
    backend.normalizer = normalizer
    backend.pre_tokenizer = splitter
    backend.decoder = decoders.Metaspace(prepend_scheme="always")
    backend.post_processor = _frame(backend, marks, types=types, doubled=marks is _ROBERTA)
    return _wrapped(backend, marks, types=types)


def _single_spaces() -> normalizers.Normalizer:
    return normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " ")


def _frequent_parts(words: Sequence[str]) -> list[str]:
    """All letters of some words and their most frequent parts; trainers would break ties at random."""
    parts = Counter(
        word[i:j] for word in words for i in range(len(word)) for j in range(i + 1, i + 6) if j <= len(word)
    )
    letters = sorted(part for part in parts if len(part) == 1)
    longer = [part for part in parts if len(part) > 1]
    return letters + sorted(longer, key=lambda part: (-parts[part] * len(part), part))[:_PARTS]


def _frame(backend: Tokenizer, marks: _Marks, *, types: bool = False, doubled: bool = False) -> Any:
    """Start and end marks around a text, and between the texts of a pair, whose second may have its own type."""
    start, end, second = marks.start, marks.end, 1 if types else 0
    between = f"{end} {end}" if doubled else end
    return processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {between} $B:{second} {end}:{second}",
        special_tokens=[(mark, backend.token_to_id(mark)) for mark in (start, end)],
    )


def _wrapped(backend: Tokenizer, marks: _Marks, types: bool = False) -> PreTrainedTokenizerFast:
    names = ["input_ids", "token_type_ids", "attention_mask"] if types else ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=LIMIT, model_input_names=names, **marks.names()
    )


# Models of the RoBERTa kind number positions from the padding id + 1, so they need two more.
_ROBERTA_TABLE = {"max_position_embeddings": LIMIT + 2, "type_vocab_size": 1}
_DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 8,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "position_biased_input": False,
    "type_vocab_size": 0,
    "pooler_hidden_size": _HIDDEN,
}
_DISTILBERT = {"dim": _HIDDEN, "hidden_dim": 2 * _HIDDEN, "n_layers": 2, "n_heads": 2}

_FAMILIES = {
    "bert": _Family(_word_pieces),
    "distilbert": _Family(_word_pieces_without_types, _DISTILBERT),
    "roberta": _Family(_roberta_bytes, _ROBERTA_TABLE),
    "electra": _Family(_word_pieces, {"embedding_size": _HIDDEN // 2}),
    "albert": _Family(_albert_pieces, {"embedding_size": _HIDDEN // 2}),
    "deberta-v2": _Family(_deberta_pieces, _DEBERTA),
    "xlm-roberta": _Family(_xlm_roberta_pieces, _ROBERTA_TABLE),
    "longformer": _Family(_roberta_bytes, {**_ROBERTA_TABLE, "attention_window": [8, 8]}),
    "modernbert": _Family(_modernbert_bytes, {"local_attention": 8, "global_attn_every_n_layers": 2}),
    "gpt2": _Family(_gpt2_bytes, {"n_inner": 2 * _HIDDEN}),
    "camembert": _Family(_xlm_roberta_pieces, _ROBERTA_TABLE),
    "deberta": _Family(_deberta_pieces, _DEBERTA | {"norm_rel_ebd": "none", "share_att_key": False}),
    "ctrl": _Family(_gpt2_bytes, {"n_embd": _HIDDEN, "dff": 2 * _HIDDEN, "n_layer": 2, "n_head": 2}),
    "llama": _Family(_gpt2_bytes, {"num_key_value_heads": 1}),
    "qwen2": _Family(_gpt2_bytes, {"num_key_value_heads": 2}),
    "modernbert-decoder": _Family(_modernbert_bytes, {"local_attention": 8, "global_attn_every_n_layers": 2}),
}

DECODERS = ("gpt2",)
"""Families that read left to right and decide on the last token: no special tokens, no mask token, no attentions."""

RELATIVES = {"camembert", "deberta", "ctrl", "llama", "qwen2", "modernbert-decoder"}
"""Families that are made like another one of these; a check of each is enough, and every contract would take long."""

FAMILIES = tuple(name for name in _FAMILIES if name not in RELATIVES.union(DECODERS))
"""The families that read both ways, as nearly all classifiers do."""
