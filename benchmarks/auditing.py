"""Judging explanations against ferret: same model, explanations, definitions and number of bins, in one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import peers.ferret
import torch
from peers import Unavailable
from record import Row, show, write
from timing import interleaved
from torch import Tensor
from workload import Sizes, workload

from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import Case, Engine
from veridical.metrics import METRICS
from veridical.metrics import measure as measure_scores
from veridical.models import Classifier

METHODS = ("random", "attention", "scaled-attention", "gradient", "input-x-gradient", "occlusion")
JUDGES = ("comprehensiveness(preset=ferret)", "sufficiency(preset=ferret)")
_AT_ONCE = 50


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    peers.ferret.environment = sizes.ferret
    rows = show(_rows(sizes))
    if sizes.writes:
        write("audit", rows)
    return all(row.holds for row in rows)


def _rows(sizes: Sizes) -> list[Row]:
    work = workload(sizes, sizes.many_documents)
    classifier = Classifier.load(work.folder, units="token")  # ferret scores word pieces
    scored = _explained(classifier, work.examples)
    engine = Engine()
    found: dict[str, list[Tensor]] = {}

    def ours() -> None:
        nonlocal engine, found
        engine = Engine()
        found = _judged(classifier, work.examples, scored, engine)

    name = f"ferret evaluate / audit, {len(work.examples)} texts x {len(METHODS)} methods x 2 metrics of 10 bins"
    try:
        theirs = peers.ferret.evaluation(str(work.folder), _orders(classifier, work.examples, scored))
        times = interleaved({"theirs": theirs, "ours": ours}, sizes.rounds)
    except Unavailable as problem:
        return [Row(name, None, str(problem), at_least=5.0)]
    cost = engine.cost
    return [
        Row(
            name,
            round(times["theirs"] / times["ours"], 3),
            f"{times['theirs']:.1f} s against {times['ours']:.1f} s",
            at_least=5.0,
            facts={"their inputs": theirs.inputs, "largest difference of a mean": _apart(theirs.scores, found)},  # type: ignore[attr-defined]
        ),
        Row(
            "model inputs run / asked for",
            round(cost.forwards / cost.queries, 3),
            f"{cost.forwards:,} of {cost.queries:,}",
            at_most=1.0,
        ),
    ]


def _explained(classifier: Classifier, examples: Sequence[Example]) -> dict[str, list[Tensor]]:
    """The scores of each method, for portions of the examples."""
    return {
        name: [EXPLAINERS.create(name).scores(Case.bind(classifier, part)).values for part in _parts(examples)]
        for name in METHODS
    }


def _judged(
    classifier: Classifier, examples: Sequence[Example], scored: dict[str, list[Tensor]], engine: Engine
) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {f"{method} {judging}": [] for method in METHODS for judging in JUDGES}
    for at, part in enumerate(_parts(examples)):
        case = Case.bind(classifier, part, engine=engine)
        for method in METHODS:
            for judging in JUDGES:
                measured = measure_scores(METRICS.create(judging), case, scored[method][at])  # type: ignore[arg-type]
                found[f"{method} {judging}"].append(measured.values)
    return found


def _parts(examples: Sequence[Example]) -> list[Sequence[Example]]:
    return [examples[at : at + _AT_ONCE] for at in range(0, len(examples), _AT_ONCE)]


def _orders(
    classifier: Classifier, examples: Sequence[Example], scored: dict[str, list[Tensor]]
) -> list[dict[str, Any]]:
    """What ferret is handed: each text with the scores of its pieces and 0 for the special tokens at its ends."""
    batch = classifier.encode(list(examples))
    targets = Engine().predict(classifier, list(examples)).argmax(1).tolist()
    return [
        {
            "text": example.inputs["text"],
            "scores": [0.0, *scored[method][at // _AT_ONCE][at % _AT_ONCE, : len(units)].tolist(), 0.0],
            "target": target,
        }
        for method in METHODS
        for at, (example, units, target) in enumerate(zip(examples, batch.units, targets, strict=True))
    ]


def _apart(theirs: list[list[float]], ours: dict[str, list[Tensor]]) -> float:
    """The largest difference between the mean of a method and metric by ferret and by us."""
    mine = torch.stack([torch.cat(ours[f"{method} {judging}"]) for method in METHODS for judging in JUDGES])
    given = torch.tensor(theirs).view(len(METHODS), -1, len(JUDGES)).transpose(1, 2).flatten(0, 1)
    known = torch.isfinite(mine)
    gaps = [float((mine[at, known[at]] - given[at, known[at]]).mean().abs()) for at in range(len(mine))]
    return round(max(gaps), 6)
