"""Any callable: a model we can only ask, as a scikit-learn pipeline or a remote service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from veridical.core.errors import ModelError
from veridical.core.example import PAIR, TEXT, Example, Unit
from veridical.models.batch import Batch, Output, Rows
from veridical.models.classifier import Classifier
from veridical.models.texts import check_texts
from veridical.models.words import word_spans

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
    gradients or attentions are refused.

    >>> Classifier.load(pipeline.predict_proba, labels=["ham", "spam"])
    """

    kind = "black-box"
    provides = frozenset({"delete", "mask"})

    def __init__(
        self,
        function: Callable[[list[Any]], Any],
        labels: Sequence[str] | None = None,
        *,
        hold: str | None = None,
        mask_text: str = "[MASK]",
        name: str | None = None,
    ) -> None:
        self.function = function
        self.hold = hold
        self.mask_text = mask_text
        self.name = name or getattr(function, "__qualname__", type(function).__name__)
        self.labels = tuple(labels) if labels is not None else self._count_outputs()

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "units": "word", "hold": self.hold, "mask_text": self.mask_text}

    def encode(self, examples: Sequence[Example]) -> Batch:
        check_texts(examples)
        sources = tuple(self._source(example) for example in examples)
        counts = torch.tensor([len(source.units) for source in sources])
        places = torch.arange(int(counts.max())).expand(len(examples), -1)
        places = places.masked_fill(places >= counts[:, None], _ABSENT)
        owner = torch.arange(len(examples))
        rows = Rows({"source": owner, "words": places}, places, owner, counts, context=sources)
        return Batch(tuple(examples), tuple(source.units for source in sources), rows, (0,) * len(examples))

    def run(
        self, rows: Rows, *, embeds: Tensor | None = None, attentions: bool = False, hidden: bool = False
    ) -> Output:
        texts = [
            self._text(rows.context[source], words)
            for source, words in zip(rows.inputs["source"].tolist(), rows.inputs["words"].tolist(), strict=True)
        ]
        return Output(self._ask(texts))

    def drop(self, rows: Rows, gone: Tensor) -> Rows:
        return self._write(rows, gone, _ABSENT)

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        if token != "mask":
            raise self.cannot(f"put {token} tokens into its input")
        return self._write(rows, gone, _MASKED)

    def _write(self, rows: Rows, gone: Tensor, mark: int) -> Rows:
        return replace(rows, inputs={**rows.inputs, "words": rows.inputs["words"].masked_fill(gone, mark)})

    def _source(self, example: Example) -> _Source:
        inputs = {field: str(example.inputs[field]) for field in (TEXT, PAIR) if field in example.inputs}
        units = tuple(
            Unit(field, span, text[slice(*span)])
            for field, text in inputs.items()
            if field != self.hold
            for span in word_spans(text)
        )
        return _Source(inputs, units)

    def _text(self, source: _Source, words: list[int]) -> str | tuple[str, ...]:
        """The texts with only the words that are left, between the white space that stood before them."""
        states = words[: len(source.units)]
        texts = {}
        for field, text in source.inputs.items():
            parts, end, last = [], 0, text
            for index, unit in enumerate(source.units):
                if unit.field == field:
                    gap, end = text[end : unit.span[0]], unit.span[1]
                    if states[index] != _ABSENT:
                        parts.append(gap + (self.mask_text if states[index] == _MASKED else unit.text))
                    last = text[end:]
            texts[field] = "".join(parts).lstrip() + last if parts else (text if field == self.hold else "")
        return texts[TEXT] if PAIR not in texts else (texts[TEXT], texts[PAIR])

    def _ask(self, texts: list[Any]) -> Tensor:
        answer = np.asarray(self.function(texts), dtype=np.float64)
        if answer.ndim not in (1, 2) or len(answer) != len(texts):
            raise ModelError(
                f"{self.name} gave an array of shape {answer.shape} for {len(texts)} texts",
                remedy="It must give one row of probabilities, or one number, for each text.",
            )
        values = torch.from_numpy(answer if answer.ndim == 2 else answer[:, None])
        if values.shape[1] == 1:
            return values.float()
        return values.clamp(min=torch.finfo(torch.float32).tiny).log().float()  # the softmax of log p is p

    def _count_outputs(self) -> tuple[str, ...]:
        outputs = self._ask(["a text"]).shape[1]
        return () if outputs == 1 else tuple(str(index) for index in range(outputs))
