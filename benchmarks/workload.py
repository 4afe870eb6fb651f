"""What every part measures on: one trained model, saved where every library can load it, and the same texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.models import Classifier
from veridical.models.architecture import quietly
from veridical.models.new import start
from veridical.objectives import OBJECTIVES
from veridical.run.distil import distil
from veridical.run.handle import versions
from veridical.training import Distillation, Schedule
from veridical.training.checkpoints import remove_checkpoints
from veridical.training.fit import fit

CACHE = Path(__file__).parent / ".cache"
"""The trained model, tables of values and ferret's environment; may be deleted at any time."""

FEWEST_WORDS = 12
"""Below this a budget of some hundred questions covers all subsets of the words, and peers make fewer than asked."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured; the defaults take some 45 minutes on two cores."""

    rounds: int = 2
    texts: int = 4
    samples: int = 200
    steps: int = 50
    engine_texts: int = 40
    many_questions: int = 10_000
    training_batches: int = 3
    distilled_samples: int = 1000
    streamed_texts: int = 100_000
    occlusion_texts: int = 24
    many_documents: int = 200
    bf16_texts: int = 100
    train_on: int = 2000
    exact_words: tuple[int, ...] = (11, 11, 12, 12, 13, 13)
    long_words: tuple[int, ...] = (24,)
    reference: int = 50_000
    smaller: tuple[int, ...] = (26, 36)
    budgets: tuple[int, ...] = (50, 100, 200, 400, 800, 1600)
    long_budgets: tuple[int, ...] = (50, 100, 400, 1600)
    seeds: int = 3
    long_seeds: int = 2
    margin_games: int = 6
    margin_seeds: int = 16
    words: tuple[int, ...] = (10, 30, 100, 200, 400)
    documents: tuple[int, ...] = (10, 30, 100, 300, 1000)
    only: str = ""
    ferret: Path = CACHE / "ferret-venv"
    writes: bool = True

    @classmethod
    def quick(cls) -> Sizes:
        """Sizes for trying the suite out in some minutes."""
        small = {"rounds": 1, "texts": 2, "samples": 90, "steps": 8, "occlusion_texts": 4, "many_documents": 6}
        small |= {"engine_texts": 4, "many_questions": 1000, "training_batches": 1}
        small |= {"bf16_texts": 4, "train_on": 64, "reference": 400, "seeds": 2, "long_seeds": 1}
        small |= {"margin_games": 2, "margin_seeds": 1, "distilled_samples": 90, "streamed_texts": 500}
        tuples = {"exact_words": (8, 9), "long_words": (14,), "budgets": (50, 100, 200), "long_budgets": (100, 200)}
        tuples |= {"words": (10, 25), "documents": (3, 10)}
        return cls(**small, **tuples, writes=False)  # type: ignore[arg-type]

    def of(self, **changes: Any) -> Sizes:
        """The same sizes but for these."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Document:
    """One text as the peers are handed it: ids without the special tokens, and the word of each of them."""

    text: str
    ids: Tensor  # [L]
    word_of: Tensor  # [L]
    target: int

    @property
    def words(self) -> int:
        return int(self.word_of.max()) + 1


@dataclass(frozen=True)
class Workload:
    """A model folder, texts and budgets. The peers' model is loaded as their users do, with its default attention."""

    folder: Path
    examples: tuple[Example, ...]
    samples: int
    steps: int

    def first(self, count: int) -> Workload:
        """The same with only the first texts."""
        return replace(self, examples=self.examples[:count])

    @property
    def classifier(self) -> Any:
        return _classifier(self.folder)

    @property
    def model(self) -> Any:
        return _model(self.folder)

    @property
    def tokenizer(self) -> Any:
        return _tokenizer(self.folder)

    @cached_property
    def texts(self) -> list[str]:
        return [str(example.inputs["text"]) for example in self.examples]

    @cached_property
    def documents(self) -> list[Document]:
        case = Case.bind(self.classifier, self.examples)
        ids, word_of = case.batch.rows.inputs["input_ids"], case.batch.rows.unit_of
        return [
            Document(text, ids[row][word_of[row] >= 0], word_of[row][word_of[row] >= 0], int(case.targets[row]))
            for row, text in enumerate(self.texts)
        ]


@lru_cache(maxsize=1)
def _classifier(folder: Path) -> Classifier:
    return Classifier.load(str(folder))


@lru_cache(maxsize=1)
def _model(folder: Path) -> Any:
    with quietly():
        return AutoModelForSequenceClassification.from_pretrained(folder).eval()


@lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def workload(sizes: Sizes, texts: int) -> Workload:
    """The trained model with short reviews of mixed lengths."""
    folder = trained(sizes.train_on)
    return Workload(folder, tuple(reviews(texts)), sizes.samples, sizes.steps)


def reviews(count: int, fewest: int = FEWEST_WORDS, most: int = 60) -> list[Example]:
    """Test reviews in their order, without the shortest."""
    found = load("reviews:test").examples
    fitting = [example for example in found if fewest <= len(str(example.inputs["text"]).split()) <= most]
    return fitting[:count]


def trained(train_on: int) -> Path:
    """A folder with MiniLM trained for a minute on short reviews; made once for each set of versions."""
    key = hashlib.sha256(json.dumps([versions(), train_on]).encode()).hexdigest()[:8]
    folder = CACHE / f"model-{key}"
    if not (folder / "config.json").exists():
        print(f"training the model that is explained ({train_on} texts) ...", flush=True)
        data, dev = load(f"reviews:train[:{train_on}]"), load("reviews:dev[:200]")
        classifier = start("embedded", data.examples, data.labels)
        objective = OBJECTIVES.create("cross-entropy")
        fit(classifier, objective, data.examples, dev.examples, folder, Schedule(epochs=2, checks=1))
        classifier.save(folder)
        remove_checkpoints(folder)
    return folder


def distilled(folder: Path, train_on: int) -> Path:
    """A folder with a student of that model's Shapley values, from a pair of orders for each text it was trained on."""
    place = folder.with_name(folder.name.replace("model", "student"))
    distil(
        str(folder),
        "permutation-shap(pairs=1)",
        place,
        data=f"reviews:train[:{train_on}]",
        dev="reviews:dev[:200]",
        target="predicted",
        plan=Distillation(body="side"),
    )
    return place


@contextmanager
def counting(model: torch.nn.Module) -> Iterator[list[int]]:
    """The number of rows of each forward pass the model makes meanwhile: what was asked, not what was planned."""
    rows: list[int] = []

    def count(_module: torch.nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        given = [named.get("input_ids"), named.get("inputs_embeds"), *args]
        rows.append(len(next(value for value in given if value is not None)))

    handle = model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield rows
    finally:
        handle.remove()
