"""A model may bring code of its own. It is never run, and nobody is asked whether it should be."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoConfig

from veridical.core.errors import ModelError
from veridical.core.values import Example
from veridical.models import Classifier
from veridical.models.new import start
from veridical.models.text_classifier import TextClassifier

Make = Callable[..., TextClassifier]

NAMED = [
    ("config.json", {"model_type": "foreign", "auto_map": {"AutoConfig": "foreign.ForeignConfig"}}),
    ("config.json", {"auto_map": {"AutoModelForSequenceClassification": "foreign.ForeignModel"}}),
    ("config.json", {"custom_pipelines": {"text-classification": {"impl": "foreign.Pipeline", "pt": []}}}),
    ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "foreign.ForeignTokenizer"]}}),
    ("preprocessor_config.json", {"auto_map": {"AutoImageProcessor": "foreign.ForeignProcessor"}}),
    ("processor_config.json", {"auto_map": {"AutoProcessor": "foreign.ForeignProcessor"}}),
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A file that is there if the module beside a model has run."""
    return tmp_path / "trace"


@pytest.fixture
def folder(tmp_path: Path, make: Make, trace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good model with a module beside it that leaves a trace; and somebody who says yes to all questions."""
    make("bert").save(tmp_path / "model")
    (tmp_path / "model" / "foreign.py").write_text(
        "from pathlib import Path\nfrom transformers import PretrainedConfig\n\n"
        f"Path({str(trace)!r}).write_text('it ran')\n\n\n"
        "class ForeignConfig(PretrainedConfig):\n    model_type = 'foreign'\n"
    )
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n" * 20))
    return tmp_path / "model"


def _add(path: Path, told: dict[str, object]) -> None:
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **told}))


@pytest.mark.parametrize(("file", "told"), NAMED)
def test_a_folder_that_names_code_is_refused(folder: Path, trace: Path, file: str, told: dict[str, object]) -> None:
    _add(folder / file, told)
    with pytest.raises(ModelError, match=rf"brings code of its own \(\w+ in {file}\), which Veridical does not run"):
        Classifier.load(folder)
    with pytest.raises(ModelError, match="brings code of its own"):
        start(str(folder), [Example.of("a")], ("x", "y"))
    assert not trace.exists()
    assert sys.stdin.readline() == "yes\n"  # nobody asked


def test_the_tokenizer_of_a_model_object_is_not_fetched_by_its_code(folder: Path, trace: Path, make: Make) -> None:
    _add(folder / "tokenizer_config.json", NAMED[3][1])
    model = make("bert").model
    was = model.config.name_or_path
    model.config.name_or_path = str(folder)
    try:
        with pytest.raises(ModelError, match="auto_map in tokenizer_config.json"):
            Classifier.load(model)
    finally:
        model.config.name_or_path = was
    assert not trace.exists()


def test_the_same_folder_would_run_its_code_elsewhere(folder: Path, trace: Path) -> None:
    """Without this, the tests above could pass because the module does nothing."""
    _add(folder / "config.json", NAMED[0][1])
    AutoConfig.from_pretrained(folder)  # asks, and reads yes
    assert trace.read_text() == "it ran"


def test_an_empty_list_of_code_is_none(folder: Path) -> None:
    _add(folder / "config.json", {"auto_map": {}})
    assert Classifier.load(folder).labels


@pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("file", ["tokenizer_config.json", "preprocessor_config.json"])
def test_files_that_cannot_be_read_are_named(folder: Path, file: str, content: bytes) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(ModelError, match=f"cannot load {folder}: {file} is damaged"):
        Classifier.load(folder)
