"""Any callable: a model we can only ask, as a scikit-learn pipeline or a remote service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from veridical.core.errors import ModelError, UsageError
from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.models.batch import Batch, Output, PassOptions, Rows
from veridical.models.classifier import Ability, Classifier
from veridical.models.function_hash import function_hash
from veridical.models.text_rows import FIELDS, check_hold, check_texts, word_spans

_MASKED = -2
_ABSENT = -1


@dataclass(frozen=True)
class _Source:
    """One example as the pieces a text is put together from."""

    inputs: dict[str, str]
    units: tuple[Unit, ...]


class BlackBox(Classifier):
    """A function from a list of texts (or of pairs) to probabilities, one row each; one number each is regression.

    Its parts are words: erased words are taken out of the string, or replaced by `mask_text`. Methods that need
    gradients or attentions are refused. With `multi_label` each probability stands for itself, and all labels
    that reach the `threshold` are chosen. In files a model is known by its `name`, or else by the function's own name
    and a hash of its code: a job that goes on takes another function for another model.

    >>> Classifier.load(pipeline.predict_proba, labels=["ham", "spam"])
    """

    kind = "black-box"
    provides = frozenset({Ability.DELETE, Ability.MASK})

    def __init__(
        self,
        function: Callable[[list[Any]], Any],
        labels: Sequence[str] | None = None,
        *,
        hold: str | None = None,
        mask_text: str = "[MASK]",
        name: str | None = None,
        multi_label: bool = False,
        threshold: float = 0.5,
    ) -> None:
        check_hold(hold)
        self.is_multi_label = multi_label
        self.threshold = threshold
        self.function = function
        self.hold = hold
        self.mask_text = mask_text
        self.name = name or _usual_name(function)
        # Whoever gives a name says by it which model this is, also if the function was changed a little.
        self.fingerprint = None if name else function_hash(function)
        self.labels = self._try_out() if labels is None else _checked(labels, several=multi_label)

    def describe(self) -> dict[str, Any]:
        told = {"kind": self.kind, "name": self.name, "units": "word", "hold": self.hold, "mask_text": self.mask_text}
        told |= {"fingerprint": self.fingerprint} if self.fingerprint else {}
        return told | ({"task": str(self.task), "threshold": self.threshold} if self.is_multi_label else {})

    def encode(self, examples: Sequence[Example]) -> Batch:
        check_texts(examples)
        sources = tuple(self._source(example) for example in examples)
        counts = torch.tensor([len(source.units) for source in sources])
        places = torch.arange(int(counts.max())).expand(len(examples), -1)
        places = places.masked_fill(places >= counts[:, None], _ABSENT)
        owner = torch.arange(len(examples))
        rows = Rows({"source": owner, "words": places}, places, owner, counts, context=sources)
        return Batch(tuple(examples), tuple(source.units for source in sources), rows, (0,) * len(examples))

    def run(self, rows: Rows, **options: Unpack[PassOptions]) -> Output:
        if rows.gate is not None or any(options.get(name) is not None for name in ("embeds", "enter", "shift")):
            raise self.cannot("read embeddings or parts of words: it is asked with texts only")
        if any(options.get(name) for name in ("attentions", "hidden", "pooled")):
            raise self.cannot("show its attentions or hidden states: it gives outputs only")
        sources, words = rows.inputs["source"].tolist(), rows.inputs["words"].tolist()
        return Output(
            self._ask([self._text(rows.context[source], states) for source, states in zip(sources, words, strict=True)])
        )

    def drop(self, rows: Rows, gone: Tensor) -> Rows:
        return self._write(rows, gone, _ABSENT)

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        if token != "mask":
            raise self.cannot(f"put {token} tokens into its input")
        return self._write(rows, gone, _MASKED)

    def _write(self, rows: Rows, gone: Tensor, mark: int) -> Rows:
        return replace(rows, inputs={**rows.inputs, "words": rows.inputs["words"].masked_fill(gone, mark)})

    def _source(self, example: Example) -> _Source:
        inputs = {field: str(example.inputs[field]) for field in FIELDS if field in example.inputs}
        units = tuple(
            Unit(field, span, text[slice(*span)])
            for field, text in inputs.items()
            if field != self.hold
            for span in word_spans(text)
        )
        return _Source(inputs, units)

    def _text(self, source: _Source, words: list[int]) -> str | tuple[str, str]:
        """What the function is asked with: the texts as they are, but for the words that are gone or masked."""
        states = list(zip(source.units, words, strict=False))  # a row may be padded
        texts = {
            field: self._rebuild(text, [(unit, state) for unit, state in states if unit.field == field])
            for field, text in source.inputs.items()
        }
        return texts[TEXT] if PAIR not in texts else (texts[TEXT], texts[PAIR])

    def _rebuild(self, text: str, states: list[tuple[Unit, int]]) -> str:
        """A text with only the words that are left, each after the white space that stood before it."""
        if not states:
            return text  # held as context, or blank
        parts: list[str] = []
        end = start = states[0][0].span[0]
        was_erased = False
        for unit, state in states:
            gap, end = text[end : unit.span[0]], unit.span[1]
            if state != _ABSENT:
                word = self.mask_text if state == _MASKED else unit.text
                if was_erased and not gap and parts and _run_together(parts[-1], word):
                    gap = " "
                parts.append(gap + word if parts else word)
            was_erased = state == _ABSENT
        return text[:start] + "".join(parts) + text[end:] if parts else ""

    def _ask(self, texts: list[Any]) -> Tensor:
        values = self._answer(texts)
        if values.shape[1] != max(1, len(self.labels)):
            raise ModelError(
                f"{self.name} gave {values.shape[1]} outputs for {len(self.labels) or 'no'} labels",
                remedy="It must give one probability per label (two classes: [1 - p, p]); regression has no labels.",
            )
        if self.is_multi_label:
            sure = torch.finfo(values.dtype).eps  # the logit of 0 or 1 is not a number
            return values.logit(sure).float()
        if values.shape[1] == 1:
            return values.float()
        return values.clamp(min=torch.finfo(torch.float32).tiny).log().float()  # the softmax of log p is p

    def _answer(self, texts: list[Any]) -> Tensor:
        """What the function says, one row per text, checked."""
        try:
            given = self.function(texts)
            answer = np.asarray(given.detach().cpu() if isinstance(given, Tensor) else given, dtype=np.float64)
        except Exception as error:  # whatever other people's code raises
            problem = f"{self.name} failed on {_some(texts)}: {type(error).__name__}: {error}"
            raise ModelError(problem, remedy=_MODULE if isinstance(self.function, nn.Module) else _CONTRACT) from error
        if answer.ndim not in (1, 2) or len(answer) != len(texts):
            raise ModelError(f"{self.name} gave an array of shape {answer.shape} for {_some(texts)}", remedy=_CONTRACT)
        values = answer if answer.ndim == 2 else answer[:, None]
        self._check_rows(np.isfinite(values).all(1), values, texts, "which are not all numbers")
        if self.is_multi_label:
            are_probabilities = ((values >= 0) & (values <= 1)).all(1)
            self._check_rows(are_probabilities, values, texts, "which are not all between 0 and 1")
        elif values.shape[1] > 1:
            is_distribution = (values >= 0).all(1) & (np.abs(values.sum(1) - 1) < _ROUNDING)
            self._check_rows(is_distribution, values, texts, "which are no probabilities")
        return torch.from_numpy(values)

    def _check_rows(self, good: Any, values: np.ndarray, texts: list[Any], problem: str) -> None:
        if not good.all():
            row = int(np.argmin(good))
            raise ModelError(
                f"{self.name} gave {values[row].tolist()}, {problem}, for {_some(texts[row : row + 1])}",
                remedy="Probabilities are at least 0 and sum to 1; apply a softmax to scores.",
            )

    def _try_out(self) -> tuple[str, ...]:
        """Number the outputs of a function whose labels were not given, after asking it once."""
        outputs = self._answer(["a text"]).shape[1]
        return () if outputs == 1 and not self.is_multi_label else tuple(str(index) for index in range(outputs))


_CONTRACT = (
    "It gets a list of texts (of tuples, for pairs) and gives one row of probabilities, or one number, for each."
)
_MODULE = (
    "A module that reads numbers needs a tokenizer: give a Hugging Face model with tokenizer=..., or a function that "
    "gets a list of texts, tokenizes them, runs the module and gives a row of probabilities for each."
)
_ROUNDING = 1e-3


def _usual_name(function: Callable[[list[Any]], Any]) -> str:
    owner = getattr(function, "__self__", None)
    if hasattr(owner, "predict_proba"):
        return type(owner).__name__  # an estimator is better known than its method
    return str(getattr(function, "__qualname__", type(function).__name__))


def _checked(labels: Sequence[str], several: bool) -> tuple[str, ...]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise UsageError(f"labels cannot be {labels!r:.60}", remedy='Give a list of names, such as ["ham", "spam"].')
    names = tuple(str(label) for label in labels)
    if (len(names) == 1 and not several) or len(set(names)) < len(names):
        raise UsageError(
            f"these labels cannot be told apart: {', '.join(names)}",
            remedy="Give each class a name; regression has none.",
        )
    return names


def _run_together(left: str, right: str) -> bool:
    """Whether two words would become one without a space between them."""
    return left[-1:].isalnum() and len(word_spans(left[-1:] + right[:1])) == 1


def _some(texts: list[Any]) -> str:
    """The first of some texts, short enough for an error message."""
    first = repr(texts[0])
    first = first if len(first) <= 60 else first[:60] + "..."
    return first if len(texts) == 1 else f"{len(texts)} texts, the first of which is {first}"
