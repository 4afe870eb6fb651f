"""An explainer of your own: what remains when only one word is kept, the opposite of occlusion.

To give it a name that `veridical explain --method` knows, put the class into a package with this entry point:

    [project.entry-points."veridical.explainers"]
    insertion = "my_package.insertion:Insertion"
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from veridical import Case, Classifier, explain, train
from veridical.explainers import Scores
from veridical.masking.case import Scale
from veridical.testing import check_explainer


@dataclass(frozen=True)
class Insertion:
    """How much the target gains when a word is the only one left, compared with no word at all."""

    output: Scale = "logit"
    eraser: str = "mask"
    needs: ClassVar[frozenset[str]] = frozenset()
    cost: ClassVar[str] = "n + 1 forwards"
    meaning: ClassVar[str] = "How much the word alone raises the output above that of an empty text. Signed."
    weakness: ClassVar[str] = "One word is no text, and words that need each other all score 0."

    def passes(self, units: int) -> int:
        return units + 1

    def scores(self, case: Case) -> Scores:
        example, unit = torch.nonzero(case.live, as_tuple=True)  # one question per unit
        keep = torch.zeros(len(unit), case.live.shape[1], dtype=torch.bool)
        keep[torch.arange(len(unit)), unit] = True
        erased = case.with_eraser(self.eraser)
        alone = erased.ask(example, keep, self.output)  # [N]
        nothing = erased.value(torch.zeros_like(case.live)[:, None], self.output)[:, 0]  # [B]
        values = torch.zeros(case.live.shape)
        values[example, unit] = alone - nothing[example]
        return Scores(values)


check_explainer(Insertion())
print("passes the checks of every explainer")

train("planted", "runs/planted", model="tiny")
explanation = explain(Classifier.load("runs/planted"), ["it was a beautiful day"], method=Insertion())[0]
print(explanation.target, [(unit.text, round(score, 2)) for unit, score in explanation.top(2)])
print(explanation.spec["method"])
