"""An explainer of your own: what remains when only one word is kept, the opposite of occlusion.

The decorator gives it a name for as long as Python runs. To have the name on the command line as well, put the class
into a package with this entry point:

    [project.entry-points."veridical.explainers"]
    insertion = "my_package.insertion:Insertion"
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from veridical import Case, Classifier, Explainer, Scores, explain, register, train
from veridical.core.component import option
from veridical.masking import EraserName
from veridical.masking.case import Scale
from veridical.testing import check_explainer


@register.explainer("insertion")
@dataclass(frozen=True)
class Insertion(Explainer):
    """How much the target gains when a word is the only one left, compared with no word at all."""

    output: Scale = option("logit", "What is explained: the logit, or the probability that people read.")
    eraser: EraserName = option("mask", "How all other words are taken away.")
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
explanation = explain(Classifier.load("runs/planted"), ["it was a beautiful day"], method="insertion(eraser=delete)")[0]
print(explanation.target, [(unit.text, round(score, 2)) for unit, score in explanation.top(2)])
print(explanation.spec["method"])
