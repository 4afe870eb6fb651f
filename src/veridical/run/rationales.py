"""Data of rationales: every text cut down to the words that a method finds most important."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from veridical.core.errors import UnsupportedError
from veridical.core.example import PAIR, TEXT
from veridical.core.explanation import Explanation
from veridical.core.extraction import Extraction
from veridical.core.files import read, spec_key
from veridical.core.folders import RunRecord
from veridical.core.progress import Watch
from veridical.core.rationale import chosen, joined
from veridical.core.storage import text_file
from veridical.data import Dataset
from veridical.explainers import EXPLAINERS
from veridical.masking import Engine
from veridical.run.explain import ExplainJob, explain_to_file
from veridical.run.folder import RunFolder
from veridical.run.handle import Model, ModelHandle, versions
from veridical.run.job import Failure


@dataclass(frozen=True, kw_only=True)
class RationalesRecord(RunRecord):
    """A folder of rationales: of which data, by which model, and how they are cut."""

    job: ClassVar[str] = "rationales"

    data: str
    dev_data: str | None
    model: dict[str, Any]
    extraction: dict[str, Any]


def write_rationales(
    model: Model,
    splits: Mapping[str, Dataset],
    extraction: Extraction,
    out: str | PathLike[str],
    *,
    data: str,
    dev: str | None = None,
    watch: Watch | None = None,
) -> tuple[Failure, ...]:
    """Cut the rationales of some splits into a folder that can be loaded as data; those that could not be cut.

    `data` and `dev` say what the splits are of. What is explained already is not explained again by the same call, and
    a folder with rationales that are cut in another way is refused.
    """
    handle, watch, run = ModelHandle.of(model), watch or Watch(), RunFolder(out)
    require_one_class(handle)
    record = RationalesRecord(
        data=data,
        dev_data=dev,
        model=dict(handle.description),
        extraction=extraction_spec(extraction),
        versions=versions(),
        done=True,  # each split is a file that appears when it is complete
    )
    failures: list[Failure] = []
    with run.held(record):
        for split, examples in splits.items():
            failures += _write_split(handle, examples, extraction, run.path, split, watch.within(examples.name))
    return tuple(failures)


def require_one_class(model: ModelHandle) -> None:
    """Refuse a model whose labels each have reasons of their own: one rationale cannot stand for all of them."""
    if model.classifier.is_multi_label:
        raise UnsupportedError(
            "a text is cut down to the reasons for one class, and this model gives any number of labels",
            remedy="Use a model that gives one class per text; `veridical explain` shows the reasons for each label.",
        )


def extraction_spec(extraction: Extraction) -> dict[str, Any]:
    """How rationales are cut, with every option of the method."""
    return {**asdict(extraction), "method": EXPLAINERS.spec(EXPLAINERS.create(extraction.method))}


def _write_split(
    handle: ModelHandle, data: Dataset, extraction: Extraction, folder: Path, split: str, watch: Watch
) -> tuple[Failure, ...]:
    """Explain the predicted classes into a file, and write the rationales beside it."""
    if any(TEXT not in example.inputs for example in data):
        raise UnsupportedError("rationales are cut from texts, and these are images")
    method, explanations = EXPLAINERS.create(extraction.method), folder / f"explanations-{split}.parquet"
    done = explain_to_file(handle, data, method, explanations, watch=watch)
    key = ExplainJob.of(handle, method, "predicted", Engine(), data.name).key
    scored = {made.example_id: made for made in read(explanations) if spec_key(made.spec) == key}
    field = PAIR if getattr(handle.classifier, "hold", None) == TEXT else TEXT
    with text_file(folder / f"{split}.jsonl") as file:
        rows = _rows(data, scored, extraction, field)
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
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
