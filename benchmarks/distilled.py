"""What students cost: beside the prediction that is made anyway (marginal), and with it (end to end).

Weights are random here: a student takes the same time whatever it has learned.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from record import Row, show, write
from timing import interleaved
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
from workload import Sizes, reviews, trained

from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, Explainer
from veridical.explainers.students import SideStudent, Student, WordStudent
from veridical.masking import Case
from veridical.masking.engine import Reader
from veridical.models import Classifier
from veridical.models.architecture import quietly
from veridical.run.explain import explain_to_file
from veridical.run.export import export

BATCHES = (1, 64)
MARGINAL, END_TO_END = "marginal", "end to end"
PREDICTING, GRADIENT = "predicting", "input-x-gradient"
MOST_BESIDE, FASTER_THAN_GRADIENT = 0.05, 2.5
PUBLISHED = {
    "input-x-gradient": 5.0,
    "lrp": 10.0,
    "lime(samples={samples})": 1000.0,
    "kernel-shap(samples={samples})": 1000.0,
    'deep-shap(samples={samples}, background="reviews:train")': 10_000.0,
}
"""How many times as fast as each teacher the published student should be beside a model of the size of BERT."""

ROUNDS = 15
"""The differences are a few percent, so it takes many rounds to see them."""

STREAMED, STREAMED_GROWTH = "peak memory after all texts / after a fifth", 1.2
Times = list[dict[str, Any]]


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    times: Times = []
    rows = show([*_beside(sizes, times), *_published(sizes, times), *_graphs(sizes), _stream(sizes)])
    if sizes.writes:
        write("distilled", rows, times=times)
    return all(row.holds for row in rows)


def _beside(sizes: Sizes, times: Times) -> list[Row]:
    """A side student beside the embedded model, with one text at a time and with many."""
    classifier = Classifier.load(str(trained(sizes.train_on)))
    rows = []
    for size in BATCHES:
        texts = reviews(max(size, 8))[: max(size, 8)]
        batches = [texts] if size > 1 else [[text] for text in texts]
        runs = {
            PREDICTING: _each(batches, lambda part: Case.bind(classifier, part)),
            "side": _explaining(classifier, batches, _side(classifier)),
            "words, 2 x 128": _explaining(classifier, batches, _words(classifier, 128, 2)),
            GRADIENT: _explaining(classifier, batches, EXPLAINERS.create(GRADIENT)),
        }
        found = {
            name: value / len(texts)
            for name, value in interleaved(runs, 20 * sizes.rounds if size == 1 else 5 * sizes.rounds).items()
        }
        times += [_time("MiniLM", size, END_TO_END, name, value) for name, value in found.items()]
        plain, detail = found[PREDICTING], f"{1000 * found[PREDICTING]:.2f} ms to predict a text"
        where = f"MiniLM, batch {size}"
        rows += [
            Row(
                f"{where}, {MARGINAL}: side student / predicting",
                (found["side"] - plain) / plain,
                detail,
                at_most=MOST_BESIDE,
            ),
            Row(f"{where}, {MARGINAL}: words, 2 x 128 / predicting", (found["words, 2 x 128"] - plain) / plain, detail),
            Row(
                f"{where}, {END_TO_END}: a gradient pass / side student",
                found[GRADIENT] / found["side"],
                f"{1000 * found[GRADIENT]:.2f} ms against {1000 * found['side']:.2f} ms",
                at_least=FASTER_THAN_GRADIENT,
            ),
        ]
    return rows


def _published(sizes: Sizes, times: Times) -> list[Row]:
    """The published student beside a model of the size of BERT, prediction already made."""
    classifier = _large(sizes)
    student = _words(classifier, 512, 4)
    rows = []
    for size in BATCHES:
        texts = reviews(max(size, 8))[: max(size, 8)]
        cases = [Case.bind(classifier, part) for part in ([texts] if size > 1 else [[text] for text in texts])]
        ours = interleaved({"": lambda cases=cases: [student.scores(case) for case in cases]}, ROUNDS)[""] / len(texts)
        times.append(_time("BERT-base", size, MARGINAL, "student", ours))
        for name, bar in PUBLISHED.items():
            slow = "{samples}" in name
            if slow and size > 1:
                continue  # one text keeps both cores busy with so many questions; more texts change nothing
            method = EXPLAINERS.create(name.format(samples=sizes.distilled_samples))
            some = cases[:1] if slow else cases
            count = sum(len(case) for case in some)
            runs = {"": lambda some=some, method=method: [method.scores(case) for case in some]}
            theirs = interleaved(runs, 1 if slow else 3)[""] / count
            times.append(_time("BERT-base", size, MARGINAL, EXPLAINERS.written(method), theirs))
            rows.append(
                Row(
                    f"BERT-base, batch {size}, {MARGINAL}: {EXPLAINERS.written(method)} / student of 4 x 512",
                    theirs / ours,
                    f"{1000 * theirs:.1f} ms against {1000 * ours:.2f} ms",
                    at_least=bar if sizes.writes else None,
                )
            )
    return rows


def _graphs(sizes: Sizes) -> list[Row]:
    """Exported students: one text of 32 tokens in ONNX Runtime, over the same here."""
    classifier = Classifier.load(str(trained(sizes.train_on)))
    rows = []
    for name, student in {
        "side, with its model": _side(classifier),
        "words, 2 x 128": _words(classifier, 128, 2),
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            EXPLAINERS.save(student, Path(folder) / "student")
            done = export(classifier, Path(folder) / "student", Path(folder) / "onnx")
        detail = (
            f"{done.milliseconds:.2f} ms against {done.our_milliseconds:.2f} ms; scores differ by {done.difference:.0e}"
        )
        rows.append(Row(f"ONNX, one text: {name} / here", done.milliseconds / done.our_milliseconds, detail))
    return rows


def _stream(sizes: Sizes) -> Row:
    """Many short texts through a student that predicts, too, in a process of its own, by its peak of memory."""
    texts = sizes.streamed_texts
    told = subprocess.run(
        [sys.executable, __file__, str(texts)], capture_output=True, text=True, check=True
    ).stdout.split()
    after_fifth, after_all, took = map(float, told[-3:])
    detail = f"{after_all:.0f} MiB after {texts:,} texts, which took {took:.0f} s"
    return Row(STREAMED, after_all / after_fifth, detail, at_most=STREAMED_GROWTH if sizes.writes else None)


def _stream_here(texts: int) -> None:
    labels = ("negative", "positive")
    student = WordStudent(labels=labels, words=5000, width=128, depth=2, predicts=True)
    with tempfile.TemporaryDirectory() as folder:
        EXPLAINERS.save(student, folder)
        peaks, took = [], 0.0
        for count in (texts // 5, texts):
            given = [str(each.inputs["text"]) for each in reviews(500)]
            examples = [Example.of(given[at % len(given)], str(at)) for at in range(count)]
            run = {"": lambda some=examples, at=count: explain_to_file(folder, some, folder, f"{folder}/{at}.parquet")}
            took = interleaved(run, 1)[""]
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(*peaks, took)


def _large(sizes: Sizes) -> Classifier:
    """A model of the size of BERT with random weights, and the tokenizer of the embedded one."""
    with quietly():
        tokenizer = AutoTokenizer.from_pretrained(trained(sizes.train_on))
        model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer)))
    return Classifier.load(model.eval(), tokenizer=tokenizer)


def _side(classifier: Classifier) -> Student:
    config = classifier.model.config  # type: ignore[attr-defined]
    width = config.hidden_size // 8
    return SideStudent(
        labels=classifier.labels, size=config.hidden_size, states=config.num_hidden_layers + 1, width=width
    )


def _words(classifier: Classifier, width: int, depth: int) -> Student:
    return WordStudent(labels=classifier.labels, words=20_000, width=width, depth=depth)


def _explaining(classifier: Classifier, batches: list[list[Example]], method: Explainer) -> Callable[[], None]:
    reader = method if isinstance(method, Reader) else None
    return _each(batches, lambda part: method.scores(Case.bind(classifier, part, reader=reader)))


def _each(batches: list[list[Example]], run: Callable[[list[Example]], object]) -> Callable[[], None]:
    def all_of_them() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for part in batches:
                run(part)

    return all_of_them


def _time(model: str, batch: int, kind: str, method: str, value: float) -> dict[str, Any]:
    return {"model": model, "batch": batch, "kind": kind, "method": method, "milliseconds": round(1000 * value, 4)}


if __name__ == "__main__":
    _stream_here(int(sys.argv[1]))
