"""Which methods find the words that matter? All of them judged on the same texts, with several models of one kind.

for seed in 0 1 2; do
    veridical train --data "sst2:train[2400@0]" --dev "sst2:dev[400@0]" --epochs 2 --seed $seed --out runs/sst2-$seed
done
python benchmarks/faithfulness.py sst2 "sst2:dev[100@1]" audits runs/sst2-0 runs/sst2-1 runs/sst2-2
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from record import RESULTS, machine

from veridical.audits import Audit
from veridical.audits.job import audit
from veridical.audits.record import FLOOR
from veridical.audits.statistics.samples import holm, signed_rank
from veridical.data import load
from veridical.run.handle import versions

CHEAP = (
    "random, attention, scaled-attention, gradient, input-x-gradient(where=word), "
    "input-x-gradient(where=word, aggregate=abs_sum), input-x-gradient(where=word, aggregate=l2), "
    "input-x-gradient(where=output), input-x-gradient(where=output, aggregate=l2), "
    "deep-lift, deep-lift(preset=captum), integrated-gradients, integrated-gradients(baseline=mask), "
    "lrp, lrp(split=weight), occlusion"
)
"""What takes at most some dozen passes for a sentence, or one for each word."""

ALL = f"{CHEAP}, deep-shap(samples=20), lime, kernel-shap"
METRICS = "comprehensiveness, sufficiency, decision-flip"


def main() -> None:
    """Audit every model, and write what methods reach on average, and whether that is better than chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="what the results are called")
    parser.add_argument("data", help="the texts to judge by: never a test split, as defaults are chosen by this")
    parser.add_argument("out", type=Path, help="a folder for the audits, which go on where they stopped")
    parser.add_argument("models", nargs="+", help="folders of models that differ in their seed only")
    parser.add_argument("--methods", default=ALL)
    parser.add_argument("--metrics", default=METRICS)
    asked = parser.parse_args()
    examples = load(asked.data)
    audits = [
        audit(model, examples, asked.methods, asked.metrics, out=asked.out / Path(model).name, timed=0, reverse=False)
        for model in asked.models
    ]
    _write(asked, audits)


def _write(asked: argparse.Namespace, audits: Sequence[Audit]) -> None:
    first = audits[0]
    found = {
        "data": asked.data,
        "documents": len(first.documents),
        "models": [dict(each.model) for each in audits],
        "metrics": {each.name: {"greater is better": each.greater_is_better} for each in first.metrics},
        "rows": _rows(audits),
        "versions": versions(),
        "machine": machine(),
        "time": time.strftime("%Y-%m-%d"),
    }
    path = RESULTS / f"faithfulness-{asked.name}.json"
    path.write_text(json.dumps(found, indent=2) + "\n")
    for row in found["rows"]:
        print(f"{row['method']:48}", *(f"{each['mean']:.3f} (p {each['p']:.1g})" for each in row["metrics"].values()))


def _rows(audits: Sequence[Audit]) -> list[dict[str, Any]]:
    """The mean of each method by each metric over documents and models, and a test against chance.

    Documents are paired: their values are averaged over models first, as the models of one document are no sample.
    """
    methods = [each.name for each in audits[0].methods]
    tested = {metric.name: _tested(audits, metric.name, methods) for metric in audits[0].metrics}
    return [
        {
            "method": method,
            "queries": float(np.mean([each.method(method).costs["queries"] for each in audits])),
            "metrics": {metric: rows[method] for metric, rows in tested.items()},
        }
        for method in methods
    ]


def _tested(audits: Sequence[Audit], metric: str, methods: Sequence[str]) -> dict[str, dict[str, float]]:
    values = {method: np.nanmean([each.values(metric, method) for each in audits], axis=0) for method in methods}
    apart = {method: values[method] - values[FLOOR] for method in methods if method != FLOOR}
    tests = {method: signed_rank(each[~np.isnan(each)]).p for method, each in apart.items()}
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    spread = {method: [float(np.nanmean(each.values(metric, method))) for each in audits] for method in methods}
    return {
        method: {
            "mean": float(np.nanmean(values[method])),
            "by model": spread[method],
            "above chance": float(np.nanmean(apart[method])) if method != FLOOR else 0.0,
            "p": float(corrected.get(method, 1.0)),
        }
        for method in methods
    }


if __name__ == "__main__":
    main()
