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
from veridical.core.progress import Progress
from veridical.core.storage import text_file
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.data.name import file_name
from veridical.explainers import EXPLAINERS
from veridical.models import Classifier
from veridical.models.loader import RUN_FILE
from veridical.run.portions import Failure
from veridical.run.rationales import Extraction, extract
from veridical.run.train import Trained, folder_of, test_of, train_seeds
from veridical.training import Schedule
from veridical.training.evaluation import evaluate

RATIONALES = "rationales"


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
    dev: str | None = None,
    model: str | None = None,
    elsewhere: Mapping[str, float] | None = None,
    seeds: Sequence[int] = (0,),
    schedule: Schedule | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    progress: Progress = lambda _what, _done, _total: None,
) -> Fresh:
    """Cut rationales with a trained model's scores, and train a classifier on them alone.

    The data, the model to start from and how it reads texts are those the support model was trained with, unless others
    are named; `dev` is other data to choose the best checkpoint by. `elsewhere` names more data to test on and the
    ratio to cut it by: the old model selects, the new one predicts, and neither is trained again. Killed and started
    again, it goes on where it stopped.
    """
    extraction = extraction or Extraction()
    folder = Path(out)
    record = _record(Path(support))
    if data in (None, record.get("data")):
        data, dev, whole = record.get("data"), dev or record.get("dev_data"), record.get("test", {})
    else:
        whole = {}  # its figures are those of the data it was trained with
    data = data or _unknown("data", "--data")
    model = model or record.get("model") or _unknown("model", "--model")
    classifier = Classifier.load(support)
    places = {name: _known(classifier, name) for name in elsewhere or {}}
    cuts = {name: replace(extraction, ratio=ratio) for name, ratio in (elsewhere or {}).items()}
    splits = {"train": load(to_train_on(data)), "dev": load(dev or in_split(data, "dev")), "test": test_of(data)}
    own = {"data": data, **({"dev": dev} if dev else {})}
    failures = _extract(classifier, own, splits, extraction, folder / RATIONALES, progress)
    trained = train_seeds(
        _named(folder / RATIONALES, classifier),
        folder / "model",
        seeds,
        schedule=schedule,
        model=model,
        settings=record.get("settings"),
        callbacks=callbacks,
    )
    models = [Classifier.load(folder_of(folder / "model", seed, seeds)) for seed in seeds] if places else []
    found = {}
    for name, examples in places.items():
        goal = folder / f"{RATIONALES}-{file_name(name)}"
        failures += _extract(classifier, {"data": name}, {"test": examples}, cuts[name], goal, progress)
        cut = load(f"{_named(goal, classifier)}:test")
        found[name] = tuple(evaluate(each, cut.examples) for each in models)
    return Fresh(tuple(trained), whole, found, tuple(failures))


def _known(classifier: Classifier, name: str) -> Dataset:
    """Data whose labels the model knows; other data is refused before anything is trained."""
    examples = load(name)
    classifier.gold(examples.examples)
    return examples


def _named(folder: Path, classifier: Classifier) -> str:
    """The name of rationales as data; what kind of labels they have is not to be guessed."""
    task = "regression" if classifier.is_regression else "classification"
    return f"{folder}(task={task})"


def _extract(
    classifier: Classifier,
    source: Mapping[str, str],
    splits: Mapping[str, Dataset | None],
    extraction: Extraction,
    folder: Path,
    progress: Progress,
) -> list[Failure]:
    """Cut the rationales of some splits into a folder that says what they are; those that could not be cut."""
    folder.mkdir(parents=True, exist_ok=True)
    method = EXPLAINERS.spec(EXPLAINERS.create(extraction.method))
    spec = {**asdict(extraction), "method": method, **source, "model": classifier.describe()}
    _claim(folder / "extraction.json", spec)
    failures: list[Failure] = []
    for split, examples in splits.items():
        if examples is not None:
            failures += extract(classifier, examples, extraction, folder, split, _counting(examples, progress))
    return failures


def _claim(path: Path, spec: dict[str, Any]) -> None:
    """Say what the folder holds; rationales of another kind in it are refused."""
    told = json.dumps(spec, indent=2, ensure_ascii=False)
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != json.loads(told):
        raise UsageError(f"{path.parent} holds rationales cut in another way", remedy="Choose another --out.")
    with text_file(path) as file:
        file.write(told + "\n")


def _record(support: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((support / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _unknown(what: str, option: str) -> str:
    raise InputError(f"the model does not say which {what} it was trained with", remedy=f"Name it: {option}.")


def _counting(examples: Dataset, progress: Progress) -> Callable[[int], None]:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(f"explaining {examples.name}", done, len(examples))

    return count
