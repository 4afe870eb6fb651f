"""FRESH: select, then predict. A new classifier sees nothing but rationales, so they are all of its reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from veridical.core.errors import InputError, UsageError
from veridical.core.files.appearing import appearing
from veridical.core.progress import Progress
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.data.name import file_name
from veridical.explainers import EXPLAINERS
from veridical.models import Classifier
from veridical.models.loading import RECORD
from veridical.run.batching import Failure
from veridical.run.extracting import Extraction, extract
from veridical.run.seeds import folder_of, train_seeds
from veridical.run.training import Trained
from veridical.training import Schedule
from veridical.training.scoring import evaluate

RATIONALES = "rationales"
_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Fresh:
    """What came of it: the new classifiers, figures of the old one on whole texts, and figures on other data.

    `elsewhere` has, for each other data set, a dict of figures per classifier. `left_out` are texts without words.
    """

    trained: tuple[Trained, ...]
    whole: dict[str, float]
    elsewhere: dict[str, tuple[dict[str, float], ...]] = field(default_factory=dict)
    left_out: tuple[Failure, ...] = ()


def fresh(
    support: str | PathLike[str],
    out: str | PathLike[str],
    extraction: Extraction | None = None,
    *,
    data: str | None = None,
    model: str | None = None,
    elsewhere: Mapping[str, float] | None = None,
    seeds: Sequence[int] = (0,),
    schedule: Schedule | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    progress: Progress = lambda _what, _done, _total: None,
) -> Fresh:
    """Cut rationales with a trained model's scores, and train a classifier on them alone.

    The data and the model to start from are those the support model was trained with, unless others are named.
    `elsewhere` names other data to test on and the ratio to cut it by: the old model selects, the new one predicts, and
    neither is trained again. Killed and started again, it goes on where it stopped.
    """
    extraction = extraction or Extraction()
    folder = Path(out)
    record = _record(Path(support))
    data = data or record.get("data") or _unknown("data", "--data")
    model = model or record.get("model") or _unknown("model", "--model")
    classifier = Classifier.load(support)
    failures = _extract_splits(classifier, data, extraction, folder / RATIONALES, progress)
    trained = train_seeds(
        str(folder / RATIONALES), folder / "model", seeds, schedule=schedule, model=model, callbacks=callbacks
    )
    found = {
        name: _elsewhere(classifier, name, replace(extraction, ratio=ratio), folder, seeds, progress)
        for name, ratio in (elsewhere or {}).items()
    }
    return Fresh(tuple(trained), record.get("test", {}), found, tuple(failures))


def _extract_splits(
    classifier: Classifier, data: str, extraction: Extraction, folder: Path, progress: Progress
) -> list[Failure]:
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder / "extraction.json", _spec(classifier, data, extraction))
    failures: list[Failure] = []
    for split in _SPLITS:
        if (examples := _split(data, split)) is not None:
            failures += extract(classifier, examples, extraction, folder, split, _counting(split, examples, progress))
    return failures


def _elsewhere(
    classifier: Classifier, name: str, extraction: Extraction, out: Path, seeds: Sequence[int], progress: Progress
) -> tuple[dict[str, float], ...]:
    examples = load(name)
    folder = out / f"{RATIONALES}-{file_name(name)}"
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder / "extraction.json", _spec(classifier, name, extraction))
    extract(classifier, examples, extraction, folder, "test", _counting(name, examples, progress))
    cut = load(f"{folder}:test")
    return tuple(evaluate(Classifier.load(folder_of(out / "model", seed, seeds)), cut.examples) for seed in seeds)


def _spec(classifier: Classifier, data: str, extraction: Extraction) -> dict[str, Any]:
    method = EXPLAINERS.spec(EXPLAINERS.create(extraction.method))
    return {**asdict(extraction), "method": method, "data": data, "model": classifier.describe()}


def _claim(path: Path, spec: dict[str, Any]) -> None:
    """Say what the folder holds; rationales of another kind in it are refused."""
    told = json.dumps(spec, indent=2, ensure_ascii=False)
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != json.loads(told):
        raise UsageError(f"{path.parent} holds rationales cut in another way", remedy="Choose another --out.")
    with appearing(path) as file:
        file.write(told + "\n")


def _split(data: str, split: str) -> Dataset | None:
    """A split of the data; of train as much as was asked for, and no test where there is none."""
    if split == "train":
        return load(to_train_on(data))
    try:
        return load(in_split(data, split))
    except UsageError:
        if split == "dev":
            raise
        return None


def _record(support: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((support / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _unknown(what: str, option: str) -> str:
    raise InputError(f"the model does not say which {what} it was trained with", remedy=f"Name it: {option}.")


def _counting(what: str, examples: Dataset, progress: Progress) -> Callable[[int], None]:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(f"explaining {what}", done, len(examples))

    return count
