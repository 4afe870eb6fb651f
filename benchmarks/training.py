"""What objectives cost: the time of training steps over that of plain ones, on the embedded model and short reviews.

And what explaining by a layer costs that was trained with a model, over predicting.
"""

from __future__ import annotations

from collections.abc import Callable

import scaffolding
import torch
from record import Row, show, write
from timing import interleaved
from workload import Sizes

from veridical.data import load
from veridical.explainers import Explainer
from veridical.masking import Case
from veridical.masking.engine import Reader
from veridical.models.new import start
from veridical.objectives import OBJECTIVES
from veridical.objectives.base import prepare
from veridical.training.trainer import Trainee

BATCH = 32
PLAIN = "cross-entropy"
OTHERS = (
    "saloss",
    "regex",
    "regex(every=1)",
    "regex(every=2)",
    "regex(every=4)",
    "regex(every=16)",
    "regex(every=8, steps=2)",
    "regex(every=8, steps=8)",
    "input-gradient",
    "virtual-adversarial",
    "explanation-guided",
    "random-erasure",
    "rationale",
    "scc",
    "vmask",
    "l2x",
    "iba",
    "simcse",
)
BARS = {"regex": 2.1, "scc": 3.3, "vmask": 1.5, "l2x": 1.5, "iba": 1.5}
LAYERS = ("scc", "vmask", "l2x", "iba")
LAYER_BAR = 1.15
LAYER_ROUNDS = 7
"""The difference is a few percent, so it takes more rounds than the others to see it."""


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    times = interleaved({name: _steps(name, sizes.training_batches) for name in (PLAIN, *OTHERS)}, sizes.rounds)
    found = [_row(name, times[name], times[PLAIN]) for name in OTHERS]
    rows = show([*found, *_layer_rows(sizes), *scaffolding.rows(sizes)])
    if sizes.writes:
        write("training", rows)
    return all(row.holds for row in rows)


def _row(name: str, ours: float, plain: float) -> Row:
    detail = f"{ours:.1f} s against {plain:.1f} s"
    return Row(f"a training step with {name} / a plain one", round(ours / plain, 3), detail, at_most=BARS.get(name))


def _layer_rows(sizes: Sizes) -> list[Row]:
    """Explaining by the layer of each objective, over predicting the same texts."""
    examples = list(load(f"reviews:train[:{BATCH * sizes.training_batches}]"))
    classifier = start("embedded", examples, ("negative", "positive"))
    layers = {name: prepare(OBJECTIVES.create(name), classifier, examples).explainers[name] for name in LAYERS}

    def explaining(layer: Explainer) -> Callable[[], None]:
        reader = layer if isinstance(layer, Reader) else None
        return lambda: layer.scores(Case.bind(classifier, examples, reader=reader))

    runs = {PLAIN: lambda: Case.bind(classifier, examples), **{name: explaining(each) for name, each in layers.items()}}
    times = interleaved(runs, LAYER_ROUNDS)
    return [
        Row(
            f"explaining by the layer {name} / predicting",
            round(times[name] / times[PLAIN], 3),
            f"{times[name]:.2f} s against {times[PLAIN]:.2f} s for {len(examples)} texts",
            at_most=LAYER_BAR,
        )
        for name in LAYERS
    ]


def _steps(name: str, batches: int) -> Callable[[], None]:
    """Training steps with an objective, on batches of texts of like lengths as training has them."""
    examples = sorted(load(f"reviews:train[:{BATCH * batches}]"), key=lambda each: len(str(each.inputs["text"])))
    classifier = start("embedded", examples, ("negative", "positive"))
    trainee = Trainee(classifier, prepare(OBJECTIVES.create(name), classifier, examples)).train()
    optimizer = torch.optim.AdamW(trainee.parameters(), 1e-5)
    encoded = [classifier.encode(examples[at : at + BATCH]) for at in range(0, len(examples), BATCH)]

    def run() -> None:
        for batch in encoded:
            trainee(batch)["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()

    return run
