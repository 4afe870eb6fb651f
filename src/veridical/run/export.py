"""Students as ONNX graphs, which run without us: what they compute is held against what we compute, and timed."""

from __future__ import annotations

import importlib.util
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.storage import replacing, write_json
from veridical.explainers import EXPLAINERS
from veridical.explainers.students import PADDING, SPECIALS, Ladder, SideStudent, Student, WordNetwork, WordStudent
from veridical.models.pooling import reading, shares_of
from veridical.models.text_classifier import TextClassifier
from veridical.run.handle import Model, ModelHandle

GRAPH, GUIDE = "student.onnx", "student.json"
"""The files of an exported student: the graph, and what its inputs and outputs mean."""

TOLERANCE = 1e-4
"""How far scores may be from ours at most, in parts of their size."""

_SHAPES = ((1, 8), (3, 21), (16, 32))
"""Texts and tokens of the batches by which a graph is checked."""

_TIMES = 20
"""How often a batch is run to be timed."""


@dataclass(frozen=True)
class Exported:
    """An exported student: where it is, how far its scores are from ours at most, and how long both take.

    `milliseconds` and `our_milliseconds` are for one text of 32 tokens.
    """

    out: str
    difference: float
    milliseconds: float
    our_milliseconds: float


def export(model: Model, method: str | PathLike[str], out: str | PathLike[str]) -> Exported:
    """Write a student as an ONNX graph, with a file that says what its inputs and outputs are, and check it.

    A student that reads a model's states becomes one graph with the model: token ids go in, and the model's logits and
    a score for each token and class come out. A student of words takes numbers of words, which the file beside lists.
    """
    _check_installed()
    handle = ModelHandle.of(model)
    student = EXPLAINERS.create(method)
    if not isinstance(student, Student):
        raise UnsupportedError(f"{method} is no student", remedy="Make one: veridical distil.")
    handle.require(student)
    plan = _plan(handle, student)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / GRAPH) as unfinished, _quietly():
        _write(plan, unfinished)
    if isinstance(handle.classifier, TextClassifier) and isinstance(student, SideStudent):
        handle.classifier.tokenizer.save_pretrained(folder)
    write_json(folder / GUIDE, plan.guide, indent=2)
    return _checked(plan, folder)


@dataclass(frozen=True)
class _Plan:
    """A module to export, what its inputs and outputs are called, how a batch is drawn, and a guide to them."""

    module: nn.Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    batch: Callable[[int, int], tuple[Tensor, ...]]
    guide: dict[str, Any]


def _plan(handle: ModelHandle, student: Student) -> _Plan:
    told = {
        "format": "veridical-student",
        "version": 1,
        "made_for": handle.fingerprint,
        "student": student.fingerprint,
        "labels": list(student.labels),
        "form": student.form,
    }
    if isinstance(student, WordStudent):
        return _of_words(student, told)
    if student.form != "scores":
        raise UnsupportedError(
            f"a student that reads a model's states and has learned {student.form} has no scores for tokens",
            remedy="Distil with --form scores, or with --body words.",
        )
    if not isinstance(handle.classifier, TextClassifier):
        raise UnsupportedError("this student reads no text", remedy="Only students of text models can be exported.")
    return _beside(handle.classifier, cast("SideStudent", student), told)


class _Beside(nn.Module):
    """A model and the student that reads its states, in one pass."""

    def __init__(self, classifier: TextClassifier, student: SideStudent) -> None:
        super().__init__()
        self.model, self.network = classifier.model, cast("Ladder", student.network)
        self.pooling, self.temperature = classifier.pooling, classifier.temperature
        self.scale, self.normalise = student.scale, student.normalise

    def forward(self, input_ids: Tensor, attention_mask: Tensor, *types: Tensor) -> tuple[Tensor, Tensor]:
        told = {"token_type_ids": types[0]} if types else {}
        shares = shares_of(attention_mask) if self.pooling == "mean" else None
        with reading(self.model, self.pooling, shares):
            found = self.model(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True, **told)
        states = found.hidden_states
        if self.normalise:
            states = [nn.functional.layer_norm(state, state.shape[-1:]) for state in states]
        numbers, _ = self.network(states, attention_mask == 0)
        return found.logits / self.temperature, numbers * self.scale


def _beside(classifier: TextClassifier, student: SideStudent, told: dict[str, Any]) -> _Plan:
    has_types = "token_type_ids" in classifier.tokenizer.model_input_names
    inputs = ("input_ids", "attention_mask", *(("token_type_ids",) if has_types else ()))

    def batch(texts: int, tokens: int) -> tuple[Tensor, ...]:
        ids = torch.randint(0, len(classifier.tokenizer), (texts, tokens))
        mask = torch.ones_like(ids)
        mask[-1, tokens - tokens // 4 :] = int(texts == 1)  # padding, where it does not lengthen the only text
        return (ids, mask, *((torch.zeros_like(ids),) if has_types else ()))

    guide = {
        **told,
        "inputs": dict.fromkeys(inputs, "as the tokenizer beside gives them, padded, [texts, tokens]"),
        "outputs": {
            "logits": "what the model says, [texts, labels]",
            "scores": "a score for each token and label, [texts, tokens, labels]; the score of a word is the sum of "
            "those of its tokens, and special tokens have none",
        },
    }
    return _Plan(_Beside(classifier, student).eval(), inputs, ("logits", "scores"), batch, guide)


class _OfWords(nn.Module):
    """A student of words: scores, and decisions where it has learned them."""

    def __init__(self, student: WordStudent) -> None:
        super().__init__()
        self.network = cast("WordNetwork", student.network)
        self._held = (student,)  # in a tuple: it is no module

    def forward(self, words: Tensor, fields: Tensor, *label: Tensor) -> tuple[Tensor, ...]:
        (student,) = self._held
        live = words != PADDING
        numbers, states = self.network(words, fields, label[0] if label else None)
        scores = numbers * student.scale * live[..., None] if not label else student.values(numbers[:, 1:-1], live)
        if not student.predicts:
            return (scores,)
        if label:
            _, states = self.network(words, fields, None)
        return scores, self.network.decisions(states, live)


def _of_words(student: WordStudent, told: dict[str, Any]) -> _Plan:
    inputs = ("words", "fields", *(("label",) if student.is_told_class else ()))

    def batch(texts: int, tokens: int) -> tuple[Tensor, ...]:
        words = torch.randint(PADDING + 1, SPECIALS + student.words, (texts, tokens))
        if texts > 1:
            words[-1, tokens - tokens // 4 :] = PADDING
        label = (torch.randint(0, student.classes, (texts,)),) if student.is_told_class else ()
        return (words, torch.zeros_like(words), *label)

    place = "[texts, words]"
    network = cast("WordNetwork", student.network)
    guide = {
        **told,
        "inputs": {
            "words": f"numbers of words, {place}: 0 is padding, 1 a word that is not listed, and 2 the first of "
            "`vocabulary`; words are cut as `veridical.models.text_rows.word_spans` does",
            "fields": f"0 for words of a text, 1 for those of the second text of a pair, {place}",
        }
        | ({"label": "the number of the label to be explained, [texts]"} if student.is_told_class else {}),
        "outputs": {"scores": place if student.is_told_class else "[texts, words, labels]"}
        | ({"logits": "what the model would say, [texts, labels]"} if student.predicts else {}),
        "hash": "blake2b with a digest of 8 bytes of the word in UTF-8, as a signed big-endian number",
        "vocabulary": network.vocabulary.tolist(),
        "window": student.window,
    }
    outputs = ("scores", *(("logits",) if student.predicts else ()))
    return _Plan(_OfWords(student).eval(), inputs, outputs, batch, guide)


def _write(plan: _Plan, path: Path) -> None:
    texts, tokens = torch.export.Dim("texts", min=1), torch.export.Dim("tokens", min=2)
    example = plan.batch(3, 21)
    shapes = tuple({0: texts, **({1: tokens} if each.ndim > 1 else {})} for each in example)
    try:
        torch.onnx.export(
            plan.module,
            example,
            str(path),
            input_names=list(plan.inputs),
            output_names=list(plan.outputs),
            dynamic_shapes=(*shapes[:2], shapes[2:]) if len(shapes) > 2 else shapes,
            dynamo=True,
            external_data=False,
        )
    except Exception as error:  # whatever the exporter cannot do with an architecture
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"this architecture cannot be written as ONNX: {reason}") from error


def _checked(plan: _Plan, folder: Path) -> Exported:
    """Run the graph and our own network on the same batches, and refuse the graph if they differ."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / GRAPH))
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        worst = max(_difference(plan, session, plan.batch(*shape)) for shape in _SHAPES)
        if not worst <= TOLERANCE:
            raise ModelError(f"{folder / GRAPH} gives other scores than the student: they differ by {worst:.2g}")
        one = plan.batch(1, 32)
        given = _named(plan, one)
        theirs, ours = _duration(lambda: session.run(None, given)), _duration(lambda: plan.module(*one))
    return Exported(str(folder), worst, theirs, ours)


def _difference(plan: _Plan, session: Any, batch: Sequence[Tensor]) -> float:
    wanted, found = plan.module(*batch), session.run(None, _named(plan, batch))
    live = batch[1 if plan.inputs[1] == "attention_mask" else 0] != 0
    worst = 0.0
    for name, ours, theirs in zip(plan.outputs, wanted, found, strict=True):
        gap = (torch.from_numpy(theirs) - ours).abs()
        gap, size = (gap[live], ours[live]) if name == "scores" else (gap, ours)
        worst = max(worst, float(gap.max() / size.abs().max().clamp(min=1e-12)))
    return worst


def _named(plan: _Plan, batch: Sequence[Tensor]) -> dict[str, np.ndarray]:
    return {name: values.numpy() for name, values in zip(plan.inputs, batch, strict=True)}


def _duration(run: Callable[[], Any]) -> float:
    """The least time that something took, in milliseconds."""
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the exporter's chatter to itself; it also logs that packages are missing which no student needs."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _check_installed() -> None:
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"{missing[0]} is not installed", remedy='pip install "veridical[onnx]"')
