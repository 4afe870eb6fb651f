"""FRESH: select, then predict. Texts are cut down to rationales, and a new classifier sees nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from veridical.core.errors import InputError, UnsupportedError
from veridical.core.extraction import Extraction
from veridical.core.files import read, spec_key
from veridical.core.folders import FOUND, RunRecord, TrainRecord, read_record
from veridical.core.progress import Watch
from veridical.core.rationale import chosen, joined
from veridical.core.storage import text_file
from veridical.core.values import PAIR, TEXT, Explanation
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.data.loader import file_name
from veridical.explainers import EXPLAINERS
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.run.explain import ExplainJob, explain_to_file
from veridical.run.folder import RunFolder
from veridical.run.handle import Model, ModelHandle, versions
from veridical.run.job import Failure
from veridical.run.train import Trained, test_of, train_seeds
from veridical.training import Schedule
from veridical.training.evaluation import evaluate


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


@dataclass(frozen=True, kw_only=True)
class FreshRecord(RunRecord):
    """What `fresh` was asked, and its figures: of the model on whole texts, and of new models on other data."""

    job: ClassVar[str] = "fresh"

    support: str
    data: str
    dev_data: str | None
    model: str
    extraction: dict[str, Any]
    schedule: dict[str, Any]
    settings: dict[str, Any]
    whole: dict[str, float] = field(default_factory=dict, metadata=FOUND)
    elsewhere: dict[str, list[dict[str, float]]] = field(default_factory=dict, metadata=FOUND)
    left_out: list[dict[str, str]] = field(default_factory=list, metadata=FOUND)


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
    watch: Watch | None = None,
) -> Fresh:
    """Cut rationales with a trained model's scores, and train a classifier on them alone.

    The data, the model to start from and how it reads texts are those the support model was trained with, unless others
    are named; `dev` is other data to choose the best checkpoint by. `elsewhere` names more data to test on and the
    ratio to cut it by: the old model selects, the new one predicts, and neither is trained again. Killed and started
    again, it goes on where it stopped.
    """
    extraction, schedule, watch = extraction or Extraction(), schedule or Schedule(), watch or Watch()
    schedule.require_logger()
    known = read_record(support, TrainRecord)
    data, dev, whole = _what_data(known, data, dev)
    handle = ModelHandle.of(support)
    require_one_class(handle)
    places = {
        name: (_with_known_labels(handle.classifier, name), replace(extraction, ratio=ratio))
        for name, ratio in (elsewhere or {}).items()
    }
    record = FreshRecord(
        support=handle.fingerprint,
        data=data,
        dev_data=dev,
        model=model or (known.model if known else _unknown("model", "--model")),
        extraction=extraction_spec(extraction),
        schedule=asdict(replace(schedule, seed=0)),  # each seed is a training of its own
        settings=known.settings if known else {},
        versions=versions(),
    )
    doing = _Fresh(handle, record, extraction, RunFolder(out), seeds, schedule, watch)
    return doing.run(places, whole)


@dataclass(frozen=True)
class _Fresh:
    """What stays the same from step to step."""

    handle: ModelHandle
    record: FreshRecord
    extraction: Extraction
    folder: RunFolder
    seeds: Sequence[int]
    schedule: Schedule
    watch: Watch

    def run(self, places: Mapping[str, tuple[Dataset, Extraction]], whole: dict[str, float]) -> Fresh:
        """Cut, train, and test on other data; `whole` are the figures of the support model on whole texts."""
        splits, data, dev = self._splits(), self.record.data, self.record.dev_data
        with self.folder.held(self.record):
            left_out = self._cut(RATIONALES, splits, self.extraction, data, dev)
            trained = self._train()
            models = [Classifier.load(each.out) for each in trained] if places else []
            found = {}
            for name, (examples, extraction) in places.items():
                goal = f"{RATIONALES}-{file_name(name)}"
                left_out += self._cut(goal, {"test": examples}, extraction, name)
                found[name] = self._figures(models, goal)
            self._write(whole, found, left_out)
        return Fresh(tuple(trained), whole, found, tuple(left_out))

    def _splits(self) -> dict[str, Dataset]:
        data, dev = self.record.data, self.record.dev_data
        found = {"train": load(to_train_on(data)), "dev": load(dev or in_split(data, "dev")), "test": test_of(data)}
        return {split: examples for split, examples in found.items() if examples is not None}

    def _cut(
        self, goal: str, splits: Mapping[str, Dataset], extraction: Extraction, data: str, dev: str | None = None
    ) -> list[Failure]:
        place = self.folder.path / goal
        return list(write_rationales(self.handle, splits, extraction, place, data=data, dev=dev, watch=self.watch))

    def _named(self, goal: str) -> str:
        """The name of rationales as data; what kind of labels they have is not to be guessed."""
        task = "regression" if self.handle.classifier.is_regression else "classification"
        return f"{self.folder.path / goal}(task={task})"

    def _train(self) -> list[Trained]:
        return train_seeds(
            self._named(RATIONALES),
            self.folder.path / "model",
            self.seeds,
            schedule=self.schedule,
            model=self.record.model,
            settings=self.record.settings,
            watch=self.watch,
        )

    def _figures(self, models: Sequence[Classifier], goal: str) -> tuple[dict[str, float], ...]:
        cut = load(f"{self._named(goal)}:test").examples
        return tuple(evaluate(each, cut, Engine(watch=lambda _rows: self.watch.check())) for each in models)

    def _write(
        self, whole: dict[str, float], found: Mapping[str, tuple[dict[str, float], ...]], left_out: Sequence[Failure]
    ) -> None:
        before = self.folder.previous(self.record)
        figures = {**(before.elsewhere if before else {}), **{name: list(runs) for name, runs in found.items()}}
        failed = [{"example": each.example_id, "error": str(each.error)} for each in left_out]
        self.folder.write(replace(self.record, whole=whole, elsewhere=figures, left_out=failed, done=True))


def _what_data(
    known: TrainRecord | None, data: str | None, dev: str | None
) -> tuple[str, str | None, dict[str, float]]:
    """The data and dev data to cut, and the figures of the support model if they are of the same data."""
    if known is not None and data in (None, known.data):
        return known.data, dev or known.dev_data, known.test
    return data or _unknown("data", "--data"), dev, {}


def _with_known_labels(classifier: Classifier, name: str) -> Dataset:
    """Data whose labels the model knows; other data is refused before anything is trained."""
    examples = load(name)
    classifier.gold(examples.examples)
    return examples


def _unknown(what: str, option: str) -> str:
    raise InputError(f"the model does not say which {what} it was trained with", remedy=f"Name it: {option}.")
