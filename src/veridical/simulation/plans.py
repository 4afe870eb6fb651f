"""How students of a model are taught, and how an explainer is taught by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from veridical.core.component import Component, Count, Positive, Presets, Seed, Weight, option

Weighing = Literal["sparsemax", "entmax15", "softmax", "none"]
"""How the parameters of a mixture become the weights of its sources; by `none` they are the weights themselves."""

AS_BEGUN = "same"
"""What the model itself began with."""

_IMAGES = {"batch_size": 16, "patience": 5}


@dataclass(frozen=True)
class StudentPlan(Component):
    """How students of a model are made and taught; the defaults are those of SMaT."""

    student: str = option(
        AS_BEGUN,
        "What students begin with: what the model itself began with (same), or a name as for `train --model`. A model "
        "that began with nothing has students of its own architecture with new weights.",
    )
    pooling: Literal["cls", "mean", "mix"] | None = option(
        None, "What a student's head reads; by default what the model's own reads."
    )
    beta: Weight = option(
        5.0, "How much students are held to explanations; published: 5 for attention, .2 for gradients."
    )
    soft: bool = option(False, "Let students learn the model's probabilities, and not only its decisions.")
    weighing: Weighing = option(
        "sparsemax", "How parameters become weights of attention heads; by sparsemax and entmax15 most heads get none."
    )
    last_layer: bool = option(False, "Weigh the heads of the last layer only.")
    rate: Positive = option(5e-3, "Learning rate of students.")
    decay: Weight = option(0.01, "How fast the weights of students shrink to 0.")
    clip: Positive = option(5.0, "The largest length of a gradient; longer ones are cut to it.")
    batch_size: Count = option(32, "Examples per step.")
    epochs: Count = option(50, "Passes over the examples at most.")
    patience: Count = option(10, "Stop after so many passes without a better student.")
    seed: Seed = option(0, "Seed of new weights, of the order of examples and of dropout.")
    presets: ClassVar[Presets] = {"smat": {}, "smat-images": _IMAGES}


@dataclass(frozen=True)
class ScaffoldPlan(StudentPlan):
    """How an explainer is taught by a student that it teaches."""

    explainer: Literal["attention", "gradients"] = option(
        "attention", "What is mixed: the attention of all heads, or gradients of all layers at points of a path."
    )
    points: Count = option(4, "How many points of the path `gradients` has.")
    outer_rate: Positive = option(5e-4, "Learning rate of the explainer.")
    outer_root: Positive = option(1e-8, "What is added to the squares of its gradients, inside the root.")
    every: Count = option(1, "The explainer learns in one of so many steps of the student.")
    share_dev: bool = option(
        False, "Stop by the examples that the explainer learns from, as the published code does; by default by others."
    )
    presets: ClassVar[Presets] = {
        "smat": {},
        "smat-images": _IMAGES,
        "smat-quality": {**_IMAGES, "outer_rate": 2e-4},
        "gradients": {"explainer": "gradients", "beta": 0.2},
        "ref_code": {"share_dev": True},
    }
