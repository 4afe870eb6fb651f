import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import constants

from veridical.core.errors import InputError, UsageError
from veridical.data import load
from veridical.data.hub import hub_answers, offline_unless_reached
from veridical.models.loader import only_local


class Rows(list[dict[str, Any]]):
    """What the library returns, as far as we use it."""

    def __init__(self, rows: list[dict[str, Any]], classes: list[str]) -> None:
        super().__init__(rows)
        self.column_names = list(rows[0]) if rows else ["text"]
        self.features = {name: SimpleNamespace() for name in self.column_names}
        self.features["label"] = SimpleNamespace(names=classes)


SST2 = Rows([{"sentence": "good", "label": 1, "idx": 0}, {"sentence": "bad", "label": 0, "idx": 1}], ["neg", "pos"])
UNLABELLED = Rows([{"sentence": "hm", "label": -1, "idx": 0}], ["neg", "pos"])
MOODS = Rows([{"text": "oh", "label": [2, 0], "tags": ["b", "a"]}, {"text": "hm", "label": [], "tags": ["a"]}], [])
MOODS.features["label"] = SimpleNamespace(feature=SimpleNamespace(names=["anger", "fear", "joy"]))
UNKNOWN = Rows([{"text": "oh", "label": [1, -1]}], [])
UNKNOWN.features["label"] = MOODS.features["label"]
HUB = {
    ("moods",): {"train": MOODS, "test": UNKNOWN},
    ("glue", "sst2"): {"train": SST2, "validation": SST2, "test": UNLABELLED},
    ("empty",): {"train": Rows([], [])},
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def splits(*which: str) -> list[str]:
        if which not in HUB:
            raise FileNotFoundError(f"Dataset {which} doesn't exist on the Hub\nand more")
        return list(HUB[which])

    library = SimpleNamespace(get_dataset_split_names=splits, load_dataset=lambda *which, split: HUB[which][split])
    monkeypatch.setitem(sys.modules, "datasets", library)


@pytest.mark.usefixtures("hub")
def test_configurations_usual_columns_and_class_names_are_found() -> None:
    data = load("hf:glue/sst2:validation")
    assert [(e.id, e.inputs, e.label) for e in data] == [("1", {"text": "good"}, "pos"), ("2", {"text": "bad"}, "neg")]
    assert data[0].extra == {"idx": 0}
    assert data.labels == ("neg", "pos")
    assert data.name == "hf:glue/sst2:validation"
    assert load("hf:glue/sst2:dev") == data
    assert load("hf:glue/sst2[:1]").name == "hf:glue/sst2:train[:1]"


@pytest.mark.usefixtures("hub")
def test_minus_one_is_no_label() -> None:
    data = load("hf:glue/sst2:test")
    assert data[0].label is None
    assert data.labels == ()


@pytest.mark.usefixtures("hub")
def test_lists_of_classes_get_their_names_and_lists_of_texts_stay() -> None:
    data = load("hf:moods")
    assert [example.label for example in data] == [("joy", "anger"), ()]
    assert data.labels == ("anger", "joy")
    assert data.is_multi_label
    assert [example.label for example in load("hf:moods(label=tags)")] == [("b", "a"), ("a",)]


@pytest.mark.usefixtures("hub")
def test_minus_one_in_a_list_is_refused() -> None:
    with pytest.raises(InputError, match="hf:moods:test, line 1: None in the list of labels is not the name"):
        load("hf:moods:test")


@pytest.mark.usefixtures("hub")
def test_what_the_hub_lacks_is_named() -> None:
    with pytest.raises(InputError, match=r"cannot load hf:a/b .*FileNotFoundError: .* on the Hub\)\. Check the name"):
        load("hf:a/b")
    with pytest.raises(UsageError, match="There are: train, validation, test"):
        load("hf:glue/sst2:half")
    with pytest.raises(UsageError, match=r"no column 'review'\. There are: sentence, label, idx"):
        load("hf:glue/sst2(text=review)")
    with pytest.raises(InputError, match="hf:empty:train is empty"):
        load("hf:empty")


def test_no_network_is_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*which: str, **more: str) -> None:
        raise ConnectionError("Couldn't reach the Hub")

    library = SimpleNamespace(get_dataset_split_names=fail, load_dataset=fail)
    monkeypatch.setitem(sys.modules, "datasets", library)
    with pytest.raises(InputError, match=r"ConnectionError: Couldn't reach the Hub.*save the data as a file"):
        load("hf:imdb")


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r'Run: pip install "veridical\[hub\]"'):
        load("hf:imdb")


def test_a_local_folder_through_the_real_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    folder = tmp_path / "mine"
    folder.mkdir()
    features = datasets.Features(text=datasets.Value("string"), label=datasets.ClassLabel(names=["neg", "pos"]))
    rows = {"text": ["good", "bad"], "label": [1, 0]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(folder / "train.parquet")
    data = load(f"hf:{folder}")
    assert [(e.inputs["text"], e.label) for e in data] == [("good", "pos"), ("bad", "neg")]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_hub_that_does_not_answer_is_left_alone(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    monkeypatch.setattr("veridical.data.hub.getproxies", dict)
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert not hub_answers()
    assert only_local("some/model")
    with offline_unless_reached():
        assert constants.HF_HUB_OFFLINE
    assert not constants.HF_HUB_OFFLINE


def test_a_hub_that_answers_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("veridical.data.hub.getproxies", dict)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert hub_answers()
        assert not only_local("some/model")
        assert only_local(str(tmp_path))  # a folder is never looked for on the hub
        with offline_unless_reached():
            assert not constants.HF_HUB_OFFLINE


def test_whoever_is_offline_stays_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.data.hub.getproxies", lambda: {"https": "http://proxy"})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(RuntimeError, match="inside"), offline_unless_reached():
        assert constants.HF_HUB_OFFLINE
        raise RuntimeError("inside")
    assert constants.HF_HUB_OFFLINE


def test_behind_a_proxy_the_hub_counts_as_reached(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    monkeypatch.setattr("veridical.data.hub.getproxies", lambda: {"https": "http://proxy"})
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port}")
    assert hub_answers()
