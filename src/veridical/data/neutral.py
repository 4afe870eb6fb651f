"""Copies without their reasons: what is left of a text when people's reasons are masked speaks for no class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from veridical.core.component import option
from veridical.core.errors import InputError, UsageError
from veridical.core.values import Example
from veridical.data.dataset import SPLITS, TEST, Dataset, Source, canonical
from veridical.data.tables import read_rows

NEUTRAL, COPY = "NEUTRAL", "neu_"
"""The class of copies whose reasons are masked, and what their ids begin with."""

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Neutral(Source):
    """Other data with people's reasons, and in train and dev a copy of each text whose reasons are masked.

    Copies are of a class of their own, NEUTRAL: a model that is trained with them has to decide by the reasons that
    people marked (L2E, Situ et al. 2021). Test texts have no copies.
    """

    of: str = option("planted", "The data with reasons, by its name.")
    mask: str = option("[MASK]", "What stands for each word of a reason: the mask token of the model to be trained.")
    ids: str = option(
        "",
        "A JSONL file with the `id` and the `split` of each text and copy, for other splits; also looked for in the "
        "directory of data sets.",
    )
    task: ClassVar[str] = "text classification"
    where: ClassVar[str] = "other data"

    def load(self, split: str) -> Dataset:
        from veridical.data.loader import in_split, load  # it knows all sources, and this is one of them

        data = {each: load(in_split(self.of, each)) for each in (SPLITS if self.ids else (split,))}
        labels = tuple(sorted({*(label for each in data.values() for label in each.labels), NEUTRAL}))
        examples = self._dealt(data, split) if self.ids else self._with_copies(data[split].examples, split)
        return Dataset(f"{self.of} with copies:{split}", tuple(examples), labels)

    def _with_copies(self, examples: Sequence[Example], split: str) -> list[Example]:
        copies = [] if split == TEST else [self._copy(example) for example in examples if example.evidence]
        if split != TEST and not copies:
            raise UsageError(f"{self.of}:{split} has no reasons to mask", remedy="Name data with people's reasons.")
        return [*examples, *copies]

    def _dealt(self, data: Mapping[str, Dataset], split: str) -> list[Example]:
        """The texts and copies that the file lists for a split."""
        known = {example.id: example for each in data.values() for example in each}
        found = []
        for row in read_rows(_found(self.ids)):
            name, where = str(row.values.get("id")), canonical(str(row.values.get("split")))
            if where != split or (split == TEST and name.startswith(COPY)):
                continue
            if (example := known.get(name.removeprefix(COPY))) is None:
                raise InputError(f"{self.ids} lists a text that {self.of} does not have", example=name)
            found.append(self._copy(example) if name.startswith(COPY) else example)
        return found

    def _copy(self, example: Example) -> Example:
        """The example with a mask in the place of each word of a reason, and as many words."""
        inputs = dict(example.inputs)
        for field in {unit.field for unit in example.evidence}:
            spans = sorted({unit.span for unit in example.evidence if unit.field == field}, reverse=True)
            for start, end in spans:
                text = str(inputs[field])
                inputs[field] = text[:start] + _WORD.sub(lambda _: self.mask, text[start:end]) + text[end:]
        return Example(f"{COPY}{example.id}", inputs, NEUTRAL)


def _found(name: str) -> Path:
    """The file of that name, here or else in the directory of data sets."""
    from veridical.data.sources import shared_sets  # which knows this source

    path, (folder, _, rest) = Path(name).expanduser(), name.partition("/")
    return shared_sets()[folder] / rest if not path.exists() and folder in shared_sets() else path
