"""What tokens contribute to the gold class, for objectives that teach a model its own reasons."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from veridical.explainers.deep_lift import contributions
from veridical.explainers.gradients import input_gradient
from veridical.explainers.quadrature import quadrature
from veridical.masking import Case
from veridical.models import Rows

Attribution = Literal["integrated-gradients", "saliency", "input-x-gradient", "deep-lift"]


def attributions(case: Case, how: Attribution, steps: int) -> Tensor:
    """A vector for each token [R, L, d] about the target's logit, with dropout off and apart from any graph.

    Integrated gradients take so many `steps` from zero embeddings; the other methods have no steps.
    """
    if how == "deep-lift":
        return case.rowsum(lambda rows, _: _deep_lift(case, rows), torch.arange(len(case.batch.rows)))
    return _along_the_way(case, how, steps if how == "integrated-gradients" else 0)


def _deep_lift(case: Case, rows: Rows) -> Tensor:
    embeds = case.classifier.embed(rows).detach()
    return contributions(case, rows, embeds, torch.zeros_like(embeds), "logit", complete=False)[0]


def _along_the_way(case: Case, how: Attribution, steps: int) -> Tensor:
    """Gradients at points between zero embeddings and the text; without steps, at the text."""
    at, share = quadrature("gauss-legendre", steps) if steps else quadrature("right", 1)
    count = len(case.batch.rows)
    row, points, weights = torch.arange(count).repeat_interleave(len(at)), at.repeat(count), share.repeat(count)
    pull = case.pull(case.output.logits.detach(), "logit")  # [R, C]

    def contribution(rows: Rows, visit: Tensor) -> Tensor:
        embeds = case.classifier.embed(rows).detach()
        place = embeds * points[visit].to(embeds)[:, None, None]
        _, gradient = input_gradient(case.classifier, rows, pull[row[visit].to(pull.device)].to(embeds), place)
        moved = gradient * weights[visit].to(embeds)[:, None, None]
        return moved if how == "saliency" else moved * embeds

    return case.rowsum(contribution, row)
