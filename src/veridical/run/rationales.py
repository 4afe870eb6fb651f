"""Data of rationales: every text cut down to the words that a method finds most important."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.core.component import Share, check
from veridical.core.errors import UnsupportedError
from veridical.core.example import PAIR, TEXT
from veridical.core.explanation import Explanation
from veridical.core.files import read, spec_key
from veridical.core.rationale import Shape, WordOrder, chosen, joined
from veridical.core.storage import text_file
from veridical.data import Dataset
from veridical.explainers import EXPLAINERS
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.run.explain import explain_to_file
from veridical.run.handle import ModelHandle
from veridical.run.portions import Failure


@dataclass(frozen=True)
class Extraction:
    """How rationales are cut: by which method's scores, how much of a text, as single words or as one run of words.

    The words are those of the first text; the second of a pair is kept whole. If the model holds the first, it is the
    other way round.
    """

    method: str = "attention"
    ratio: Share = 0.2
    rationale: Shape = "top-k"
    order: WordOrder = "text"

    def __post_init__(self) -> None:
        check(self)


def extract(
    classifier: Classifier,
    data: Dataset,
    extraction: Extraction,
    folder: Path,
    split: str,
    progress: Callable[[int], None] = lambda _done: None,
) -> tuple[Failure, ...]:
    """Write the rationales of a data set as a split of a data folder; texts that cannot be explained are left out.

    Explanations of the predicted classes go to a file beside it, and are not made again by the same call.
    """
    if any(TEXT not in example.inputs for example in data):
        raise UnsupportedError("rationales are cut from texts, and these are images")
    engine, method = Engine(), EXPLAINERS.create(extraction.method)
    explanations = folder / f"explanations-{split}.parquet"
    done = explain_to_file(
        classifier, data.examples, method, explanations, engine=engine, data=data.name, progress=progress
    )
    key = spec_key(ModelHandle.of(classifier).explanation_spec(method, "predicted", engine, data.name))
    scored = {made.example_id: made for made in read(explanations) if spec_key(made.spec) == key}
    field = PAIR if getattr(classifier, "hold", None) == TEXT else TEXT
    _write(folder / f"{split}.jsonl", _rows(data, scored, extraction, field))
    return done.failures


def _rows(
    data: Dataset, scored: Mapping[str, Explanation], extraction: Extraction, field: str
) -> Iterator[dict[str, Any]]:
    for example in data.examples:
        if example.id in scored:
            text = _cut(scored[example.id], extraction, field)
            yield {"id": example.id, **example.inputs, field: text, "label": example.label}


def _cut(explanation: Explanation, extraction: Extraction, field: str) -> str:
    words = [(u, s) for u, s in zip(explanation.units, explanation.scores, strict=True) if u.field == field]
    kept = chosen([score for _, score in words], extraction.ratio, extraction.rationale, extraction.order)
    return joined([words[place][0] for place in kept])


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with text_file(path) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
