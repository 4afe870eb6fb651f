"""Data sets of the Hugging Face hub, `hf:NAME[/CONFIG]:SPLIT`, and whether the hub can be reached."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

from veridical.core.component import option, required
from veridical.core.errors import InputError, UsageError
from veridical.data.columns import Columns, guessed
from veridical.data.dataset import Dataset, Source
from veridical.data.rows import to_dataset
from veridical.data.tables import Table, TableRow

_SECONDS = 3.0


@contextmanager
def offline_unless_reached() -> Iterator[None]:
    """While inside, the hub's client looks into its cache only, unless the hub can be reached."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not hub_answers()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def hub_answers() -> bool:
    """Whether the hub accepts connections. Behind a proxy the answer is yes: only the hub's client can use it."""
    if getproxies():
        return True
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=_SECONDS).close()
    except OSError:
        return False
    return True


PREFIX = "hf:"
T = TypeVar("T")


@dataclass(frozen=True)
class HubData(Source):
    """A data set of the hub, or a folder that the `datasets` library can load; needs that library.

    `hf:a/b` is the repository `a/b` or, if there is none, the configuration `b` of the data set `a` (as in
    `hf:glue/sst2`). Numbered classes get their names, and columns of the usual names are found.
    """

    name: str = required("The repository, with or without a configuration.")
    columns: Columns = option(Columns(), "Which column holds what; columns of the usual names are found.")

    def splits(self) -> tuple[str, ...]:
        library = _library()
        return tuple(self._ask(lambda *which: library.get_dataset_split_names(*which)))

    def load(self, split: str) -> Dataset:
        if self.columns.separator is not None:
            raise UsageError(f"{PREFIX}{self.name} is no CSV or TSV file", remedy="Leave out the option 'separator'.")
        library = _library()
        data = self._ask(lambda *which: library.load_dataset(*which, split=split))
        rows = [TableRow(number, values) for number, values in enumerate(_named_classes(data), 1)]
        if not rows:
            raise InputError(f"{PREFIX}{self.name}:{split} is empty")
        table = Table(f"{PREFIX}{self.name}:{split}", rows, tuple(data.column_names))
        return to_dataset(table, guessed(self.columns, table.columns))

    def _ask(self, question: Callable[..., T]) -> T:
        """Put a question to the hub for each reading of the name, until one has an answer."""
        problem: Exception | None = None
        for which in self._readings():
            try:
                with offline_unless_reached():
                    return question(*which)
            except Exception as error:  # the library lets through whatever its network layers raise
                problem = problem or error
        reason = f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
        remedy = "Check the name and the network; without a network, save the data as a file and give its path."
        raise InputError(f"cannot load {PREFIX}{self.name} from the Hugging Face hub ({reason})", remedy=remedy)

    def _readings(self) -> Iterator[tuple[str, ...]]:
        """The name as a repository, then as a repository and its configuration."""
        parts = self.name.rsplit("/", 1)
        yield (self.name,)
        if len(parts) == 2 and parts[0].strip("/."):
            yield tuple(parts)


def _library() -> Any:
    try:
        import datasets
    except ImportError:
        raise UsageError("hf: needs the library datasets", remedy='Run: pip install "veridical[hub]"') from None
    return datasets


def _named_classes(data: Any) -> Iterator[dict[str, Any]]:
    """The rows with names for the numbers of classes, also inside lists; -1 stands for an unknown label on the hub."""
    # A list of classes has its names one level down.
    kinds = {column: getattr(kind, "feature", kind) for column, kind in data.features.items()}
    names = {column: kind.names for column, kind in kinds.items() if hasattr(kind, "names")}
    for row in data:
        yield {**row, **{column: _named(row[column], names[column]) for column in names}}


def _named(number: Any, names: list[str]) -> Any:
    if isinstance(number, list):
        return [_named(each, names) for each in number]
    return None if number in (None, -1) else names[number]
