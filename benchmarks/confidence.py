"""Are a model's explanations better, or is it only less sure? Make a plain model as unsure, and audit it, too.

python benchmarks/confidence.py PLAIN TRAINED DATA OUT      two model folders, data to audit on, a folder to work in
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from veridical.audits import Audit
from veridical.audits.job import audit
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.models import Classifier
from veridical.models.transformer import Transformer

METHODS = "scaled-attention, attention, integrated-gradients"
METRICS = "sufficiency, comprehensiveness, normalised-aopc(exact=4, beam=1, most=8)"


def main() -> None:
    """Print the means of all metrics for the plain model, the plain model made less sure, and the trained one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plain", type=Path)
    parser.add_argument("trained", type=Path)
    parser.add_argument("data")
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    examples = load(asked.data)
    plain, trained = Classifier.load(asked.plain), Classifier.load(asked.trained)
    factor = as_unsure(_logits(plain, examples.examples), confidence(_logits(trained, examples.examples)))
    _scaled(plain, factor, asked.out / "less-sure")
    print(f"the plain model's logits times {factor:.3f} are as sure as the trained model's")
    for name, folder in (("plain", asked.plain), ("less sure", asked.out / "less-sure"), ("trained", asked.trained)):
        found = audit(
            Classifier.load(folder),
            examples,
            METHODS,
            METRICS,
            out=asked.out / f"audit-{name.replace(' ', '-')}",
            timed=0,
            reverse=False,
        )
        print(f"{name}:\n{_table(found)}")


def confidence(logits: Tensor) -> float:
    """The mean probability of the predicted class."""
    return float(logits.softmax(-1).amax(-1).mean())


def as_unsure(logits: Tensor, wanted: float) -> float:
    """The factor that brings logits to a confidence that is lower than theirs."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if confidence(logits * middle) > wanted else (middle, high)
    return high


def _logits(classifier: Classifier, examples: tuple[Example, ...]) -> Tensor:
    return Case.bind(classifier, examples).output.logits


def _scaled(classifier: Classifier, factor: float, folder: Path) -> None:
    """Save a model with its logits times a factor: the same decisions, other probabilities."""
    assert isinstance(classifier, Transformer)
    head = classifier.model.classifier
    with torch.no_grad():
        head.weight *= factor
        head.bias *= factor
    classifier.save(folder)


def _table(found: Audit) -> str:
    rows = [
        (measure, [np.nanmean(found.values(measure.name, each.name)) for each in found.methods])
        for measure in found.metrics
    ]
    names = [each.name for each in found.methods]
    return "\n".join(
        f"  {measure.name}: " + ", ".join(f"{name} {mean:.3f}" for name, mean in zip(names, means, strict=True))
        for measure, means in rows
    )


if __name__ == "__main__":
    main()
