"""What the model does when words are taken away, and how much it looks at what is no word."""

from __future__ import annotations

from itertools import combinations

import torch
from scipy.stats import spearmanr
from torch import Tensor

from veridical.explainers import Occlusion
from veridical.explainers.attention import over_heads
from veridical.masking import ERASERS, Case
from veridical.models import Ability, Classifier, Rows
from veridical.run.checks.finding import Finding, percent

AGREEMENT = 0.8
SPREAD = 0.2

RANKING, EMPTY = "eraser and ranking", "eraser and empty input"
_ADVICE = "Say which eraser was used, and see whether a conclusion survives another one."


def usable(case: Case) -> list[str]:
    """The erasers that the model has the means for."""
    return [name for name, eraser in ERASERS.items() if eraser.needs in case.classifier.provides]


def same_ranking(case: Case) -> Finding:
    """The mean rank correlation between occlusion scores, over texts and pairs of erasers."""
    scores = {name: Occlusion(eraser=name).scores(case).values for name in usable(case)}
    pairs = {
        f"{one} and {other}": _agreement(case, scores[one], scores[other]) for one, other in combinations(scores, 2)
    }
    known = {pair: value for pair, value in pairs.items() if value is not None}
    if not known:
        return Finding(
            RANKING, "not possible", "It takes two erasers, and inputs with three parts whose scores differ."
        )
    mean, least = sum(known.values()) / len(known), min(known, key=lambda pair: known[pair])
    figures = f"the mean rank correlation of occlusion by two erasers is {mean:.2f}, and {known[least]:.2f} by {least}"
    if mean >= AGREEMENT:
        meaning = f"Erasers rank the parts of an input alike: {figures}."
        return Finding(RANKING, "ok", meaning, "", mean, AGREEMENT, "at least", details=known)
    meaning = f"How the parts of an input rank depends on how they are erased: {figures}."
    return Finding(RANKING, "warning", meaning, _ADVICE, mean, AGREEMENT, "at least", details=known)


def same_emptiness(case: Case) -> Finding:
    """How much the answer to a text without any of its words depends on the eraser, mean over texts."""
    whole = case.scaled(case.output.logits, case.targets, "prob")
    nothing = torch.zeros_like(case.live)[:, None]
    left = {name: case.with_eraser(name).value(nothing, "prob")[:, 0] for name in usable(case)}
    if len(left) < 2:
        return Finding(EMPTY, "not possible", "It takes two erasers.")
    values = torch.stack(list(left.values()))  # [erasers, B]
    spread, unit = float((values.amax(0) - values.amin(0)).mean()), ""
    if case.classifier.is_regression:  # numbers of any size: measured against what erasing does to them
        spread /= max(float((whole - values).abs().mean()), torch.finfo(values.dtype).tiny)
        unit = " times what erasing changes,"
    means = {name: float(value.mean()) for name, value in left.items()}
    what = _explained(case.classifier)
    meaning = f"With everything erased, the {what} differs by {spread:.2g}{unit} from eraser to eraser."
    if spread <= SPREAD:
        return Finding(EMPTY, "ok", meaning, "", spread, SPREAD, details=means)
    remedy = "To this model an erased word is not nothing; prefer the eraser that is nearest to its training."
    return Finding(EMPTY, "warning", meaning, remedy, spread, SPREAD, details=means)


def _explained(classifier: Classifier) -> str:
    """What the value of a predicted target is, in words."""
    if classifier.is_regression:
        return "output"
    return "probability of a predicted label" if classifier.is_multi_label else "probability of the predicted class"


def _agreement(case: Case, one: Tensor, other: Tensor) -> float | None:
    """The mean rank correlation of two sets of scores [B, U]; None where no text has one."""
    found = []
    for index, units in enumerate(case.batch.units):
        pair = [scores[index, : len(units)] for scores in (one, other)]
        if len(units) >= 3 and all(scores.min() < scores.max() for scores in pair):  # equal scores have no order
            found.append(float(spearmanr(*(scores.numpy() for scores in pair)).statistic))
    return sum(found) / len(found) if found else None


ATTENTION_LIMIT = 0.5

ATTENTION = "attention to special tokens"


def special_attention(case: Case) -> Finding:
    """The share of attention that goes to special tokens and other positions without a unit.

    It is the attention of what the model's head reads: of the first token, or with mean pooling of all.
    """
    if Ability.CLS_ATTENTIONS not in case.classifier.provides:
        return Finding(ATTENTION, "not possible", "The model shows no attention of a first token that sees everything.")
    shares = _shares(case)
    where = "special tokens" + (" and the held text" if getattr(case.classifier, "hold", None) else "")
    layers = " ".join(map(percent, shares))
    whose = "all tokens'" if getattr(case.classifier, "pooling", "cls") == "mean" else "the first token's"
    meaning = f"In the last layer {percent(shares[-1])} of {whose} attention is on {where}; by layer {layers}."
    details = {"layers": shares}
    if shares[-1] <= ATTENTION_LIMIT:
        return Finding(ATTENTION, "ok", meaning, "", shares[-1], ATTENTION_LIMIT, is_share=True, details=details)
    remedy = "Attention scores rank what is left for words; prefer another method."
    return Finding(ATTENTION, "warning", meaning, remedy, shares[-1], ATTENTION_LIMIT, is_share=True, details=details)


def _shares(case: Case) -> list[float]:
    """The share of each layer, mean over rows."""
    found: list[Tensor] = []  # [layers, r] each

    def look(rows: Rows, _: Tensor) -> Tensor:
        with torch.no_grad():
            output = case.classifier.run(rows, attentions=True)
        assert output.attentions is not None
        layers = torch.stack([over_heads(output.as_read(each), rows) for each in output.attentions]).float().cpu()
        special = rows.unit_of < 0
        found.append((layers * special).sum(2) / layers.sum(2))
        return layers[-1]

    case.rowwise(look, passes=0)
    shares: list[float] = torch.cat(found, 1).mean(1).tolist()
    return shares
