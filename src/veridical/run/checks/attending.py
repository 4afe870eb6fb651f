"""How much of the attention that explanations by attention read goes to special tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from veridical.explainers.attention import first_token_mean
from veridical.masking import Case
from veridical.models import Rows
from veridical.run.checks.finding import Finding, percent

LIMIT = 0.5

NAME = "attention to special tokens"


def special_attention(case: Case) -> Finding:
    """The share of the first token's attention that goes to special tokens and other positions without a unit."""
    if "cls-attentions" not in case.classifier.provides:
        return Finding(NAME, "not possible", "The model shows no attention of a first token that sees everything.")
    shares = _shares(case)
    where = "special tokens" + (" and the held text" if getattr(case.classifier, "hold", None) else "")
    layers = " ".join(map(percent, shares))
    meaning = (
        f"In the last layer {percent(shares[-1])} of the first token's attention is on {where}; by layer {layers}."
    )
    details = {"layers": shares}
    if shares[-1] <= LIMIT:
        return Finding(NAME, "ok", meaning, "", shares[-1], LIMIT, is_share=True, details=details)
    remedy = "Attention scores rank what is left for words; prefer another method."
    return Finding(NAME, "warning", meaning, remedy, shares[-1], LIMIT, is_share=True, details=details)


def _shares(case: Case) -> list[float]:
    """The share of each layer, mean over rows."""
    found: list[Tensor] = []  # [layers, r] each

    def look(rows: Rows, _: Tensor) -> Tensor:
        with torch.no_grad():
            output = case.classifier.run(rows, attentions=True)
        assert output.attentions is not None
        layers = torch.stack([first_token_mean(output, weights, rows) for weights in output.attentions]).float().cpu()
        special = rows.unit_of < 0
        found.append((layers * special).sum(2) / layers.sum(2))
        return layers[-1]

    case.rowwise(look, passes=0)
    shares: list[float] = torch.cat(found, 1).mean(1).tolist()
    return shares
