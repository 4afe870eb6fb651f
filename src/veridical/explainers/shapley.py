"""Shapley values from the values of coalitions: exactly, by KernelSHAP's regression, or by a Gaussian process.

All three read pairs [m, n] of coalitions, their `gaps` [m], and the `total` that the Shapley values of all words add up
to. The gap of a pair is half of the difference between the values of a coalition and of its complement. Estimates come
with standard errors.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from veridical.explainers.coalitions import Weighted

ShapleyEstimate = tuple[Tensor, Tensor]
"""Shapley values and their standard errors, [n] each."""

# The priors to choose from by likelihood. Each says which part of the prior variance has which curvature. Curvature 0
# is linear, without interactions; infinite curvature is noise: a coalition's gap tells nothing about any other.
_NOISE = math.inf
_PRIORS: tuple[dict[float, float], ...] = (
    *({curvature: 1.0} for curvature in (0.5, 1.0, 2.0, 4.0)),
    *({0.0: 0.7, curvature: 0.3} for curvature in (0.5, 1.0, 2.0, 4.0)),
    *({0.0: 0.3, curvature: 0.7 - noise, _NOISE: noise} for curvature in (1.0, 4.0) for noise in (0.1, 0.4)),
    {0.0: 0.7, _NOISE: 0.3},
    {0.0: 0.999, 1.0: 0.001},
)
_FIRST_PRIOR = {0.0: 0.7, 1.0: 0.3}
_TO_CHOOSE_BY = 200  # of the first gaps only: the choice takes a Cholesky root for every prior
_LEAST_FREEDOM = 0.05  # a pair that decides the fit at its own place tells nothing of the error there
_STUDENT = (1.96**2 + 1) / 4  # t(0.975, f) is about 1.96 (1 + this / f)
_JITTER = 1e-8  # keeps the kernel's smallest eigenvalues above zero
_STRETCH = (0.3, 3.0)  # a first estimate is uncertain, and must not switch words off


def exact(pairs: Tensor, gaps: Tensor, total: float) -> ShapleyEstimate:
    """The Shapley values when every pair is there: sums of gaps with the weights of the definition."""
    words = pairs.shape[1]
    # The pair of all words and none is not among the pairs; its part in every Shapley value is total / n.
    return gaps @ _weights(pairs) + total / words, torch.zeros(words, dtype=torch.float64)


def _weights(pairs: Tensor) -> Tensor:
    """The weight of each gap in each word's Shapley value, [m, n].

    A coalition of s words counts 1 / (s C(n, s)) for a word in it, and minus 1 / ((n - s) C(n, s)) for a word that is
    not. For the complement both are the same with the other sign. So its value, which stands in the gap with a minus,
    adds as much as the coalition's own: hence the factor 2.
    """
    words = pairs.shape[1]
    sizes = pairs.sum(1)
    weight = torch.tensor([0.0, *(_weight(words, size) for size in range(1, words + 1))], dtype=torch.float64)
    return 2 * torch.where(pairs, weight[sizes][:, None], -weight[words - sizes][:, None])


def _weight(words: int, size: int) -> float:
    return 1 / (size * math.comb(words, size))


def unbiased(pairs: Tensor, gaps: Tensor, total: float) -> ShapleyEstimate:
    """The mean of what each drawn pair says by itself (Covert and Lee 2021): noisy, but right on average.

    A regression on few pairs has an error that does not vanish in the mean over many texts; this one has none. It is
    only as noisy as the gaps are large, so it is used for what a good guess leaves over.
    """
    count, words = pairs.shape
    sides = (_sides(pairs) - _sides(pairs).mean(1, keepdim=True)) / 2  # only differences between words are told
    each = sides * (gaps / (0.5 - _together(words)))[:, None] + total / words  # [m, n]
    if count < 2:
        return each.mean(0), torch.zeros(words, dtype=torch.float64)
    return each.mean(0), each.std(0) / math.sqrt(count) * (1 + _STUDENT / (count - 1))


def _together(words: int) -> float:
    """The chance that two given words are both in a drawn coalition."""
    sizes = range(1, words)
    chances = [1 / (size * (words - size)) for size in sizes]
    both = [size * (size - 1) / (words * (words - 1)) for size in sizes]
    return sum(chance * share for chance, share in zip(chances, both, strict=True)) / sum(chances)


def regression(design: Weighted, gaps: Tensor, total: float) -> ShapleyEstimate:
    """KernelSHAP: weighted least squares whose values add up to the total. `gaps` are of whole sizes, then drawn.

    Sizes that are there as a whole have no sampling error; the scatter of the drawn pairs around the fit gives it.
    """
    words = design.whole.shape[1]
    drawn = len(gaps) - len(design.whole)
    each = design.mass / max(1, drawn)  # the weight of a drawn pair
    # A linear model gives a pair the gap sum_i phi_i s_i / 2, with s_i = 1 for words in it and -1 for all others.
    sides = _sides(torch.cat([design.whole, design.drawn[:drawn]])) / 2  # [m, n]
    weights = torch.cat([design.weights, torch.full((drawn,), each, dtype=torch.float64)])
    inverse = torch.linalg.pinv(sides.T @ (weights[:, None] * sides), hermitian=True)  # [n, n]
    free = inverse @ (sides.T @ (weights * gaps))
    # A Lagrange multiplier for sum = total: what is too much goes where the regression is least sure.
    ones = torch.ones(words, dtype=torch.float64)
    correction = inverse @ ones / (ones @ inverse @ ones)
    values = free - correction * (free.sum() - total)
    if not drawn:
        return values, torch.zeros(words, dtype=torch.float64)
    reach = inverse - torch.outer(correction, ones @ inverse)  # [n, n]: how far the fit gives way, its sum held
    own = sides[len(design.whole) :]
    # Each pair draws the fit towards itself by its leverage, so that its distance from the fit is too small by this
    # part. Undoing it (HC3, as statistics calls it) makes the errors right for few pairs, too.
    leverage = each * (own @ reach * own).sum(1)
    apart = (gaps - sides @ values)[len(design.whole) :] / (1 - leverage).clamp(min=_LEAST_FREEDOM)
    # How far each drawn pair moved the values, [n, drawn]; the sum of so many independent moves has this error.
    moves = each * reach @ (own * apart[:, None]).T
    # An error that is known from few pairs is itself unsure: as in Student's t, 95% reach further than 1.96 of it.
    wider = 1 + _STUDENT / (drawn - leverage.sum()).clamp(min=1)
    return values, moves.pow(2).sum(1).sqrt() * wider


def gaussian_process(pairs: Tensor, gaps: Tensor, total: float) -> ShapleyEstimate:
    """The Shapley values of a Gaussian process that passes through all known gaps, and their posterior deviations.

    With s = 1 for a word that is there and -1 for one that is not, the gap is an odd function of s. Its prior is a
    mixture of linear functions, noise, and the kernel sinh(c sum_i a_i s_i s'_i), which holds interactions of all odd
    orders, weaker the higher; words of large effect have larger a_i and so interact more. Shapley values are linear in
    the function, so their posterior follows in closed form. Mixture and scale are set by likelihood.
    """
    words = pairs.shape[1]
    sides = torch.cat([torch.ones(1, words, dtype=torch.float64), _sides(pairs)])
    known = torch.cat([torch.tensor([total / 2], dtype=torch.float64), gaps])  # all words against none come first
    scale = known.abs().mean()
    if scale == 0:
        return torch.zeros(words, dtype=torch.float64), torch.zeros(words, dtype=torch.float64)
    known = known / scale
    # Twice: first all words alike, then words of large first estimates as more relevant, with the likeliest mixture.
    even = torch.full((words,), 1 / words, dtype=torch.float64)
    first, _ = _posterior(sides, known, even, _FIRST_PRIOR)
    stretch = (first.abs() / first.abs().mean().clamp(min=1e-12)).sqrt().clamp(*_STRETCH)
    relevance = stretch / stretch.sum()
    mixture = _likely_mixture(sides[:_TO_CHOOSE_BY], known[:_TO_CHOOSE_BY], relevance)
    values, errors = _posterior(sides, known, relevance, mixture)
    return values * scale, errors * scale


def _posterior(sides: Tensor, known: Tensor, relevance: Tensor, mixture: dict[float, float]) -> ShapleyEstimate:
    """Means and deviations of the Shapley values, given the known gaps: the usual formulas of a Gaussian process."""
    root, solved = _solve(_kernel(sides, relevance, mixture), known)
    with_gaps, prior = _functional(sides, relevance, mixture)  # [n, m], [n]
    # The scale of the prior, from how far the gaps are from 0. As many gaps as words are not counted: they went into
    # the relevances. With all of them, margins would hold the truth in 94% of all cases and not in 95.
    variance = (known @ solved) / max(1, len(known) - sides.shape[1])
    explained = torch.linalg.solve_triangular(root, with_gaps.T, upper=False).pow(2).sum(0)
    return with_gaps @ solved, ((prior - explained).clamp(min=0) * variance).sqrt()


def _likely_mixture(sides: Tensor, known: Tensor, relevance: Tensor) -> dict[float, float]:
    """How much of each curvature the kernel has: the mean of all priors, weighted by their likelihood."""
    kernels = {c: _kernel(sides, relevance, {c: 1.0}) for prior in _PRIORS for c in prior}
    likelihoods = []
    for prior in _PRIORS:
        mixed = torch.stack([share * kernels[c] for c, share in prior.items()]).sum(0)
        root, solved = _solve(mixed, known)
        # The log likelihood with the best scale: that of the fit, minus half the logarithm of the determinant.
        fit = -0.5 * len(known) * torch.log(known @ solved / len(known))
        likelihoods.append(fit - root.diagonal().log().sum())
    mixture = dict.fromkeys(kernels, 0.0)
    for chance, prior in zip(torch.stack(likelihoods).softmax(0).tolist(), _PRIORS, strict=True):
        for curvature, share in prior.items():
            mixture[curvature] += chance * share
    # What hardly counts costs as much time as the rest.
    return {curvature: share for curvature, share in mixture.items() if share > 1e-6}


def _solve(kernel: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """The kernel's Cholesky root [m, m], and the inverse of the kernel times what is known, [m]."""
    root = torch.linalg.cholesky(kernel + _JITTER * torch.eye(len(kernel), dtype=kernel.dtype))
    return root, torch.cholesky_solve(known[:, None], root)[:, 0]


def _kernel(sides: Tensor, relevance: Tensor, mixture: dict[float, float]) -> Tensor:
    """The prior covariance of gaps, 1 on the diagonal."""
    overlap = (sides * relevance) @ sides.T  # in [-1, 1], as the relevances add up to 1
    return torch.stack([share * _sinh(c, overlap) for c, share in mixture.items()]).sum(0)


def _sinh(curvature: float, overlap: Tensor) -> Tensor:
    """The kernel of one curvature, from how far coalitions overlap; 1 where they are the same."""
    if curvature == _NOISE:
        return torch.eye(len(overlap), dtype=overlap.dtype)
    return overlap if curvature == 0 else torch.sinh(curvature * overlap) / math.sinh(curvature)


def _functional(sides: Tensor, relevance: Tensor, mixture: dict[float, float]) -> ShapleyEstimate:
    """The prior covariance of the Shapley values with the gaps [n, m], and their variances [n].

    sinh(sum a_i s_i s'_i) is the product of all cosh(a_i), times a sum over all sets with an odd number of words: of
    the products of tanh(a_i) s_i s'_i over the words of a set. The Shapley value of such a product is twice its
    coefficient, shared equally by its k words. As 1/k is the integral of t^(k-1) over [0, 1], the sum over sets of
    products divided by k is an integral over t of products of (1 + t tanh(a_i) s_i); where k is squared, it is one over
    t and u.
    """
    covariance = torch.zeros(sides.shape[1], len(sides), dtype=torch.float64)
    variance = torch.zeros(sides.shape[1], dtype=torch.float64)
    points, weights = (torch.tensor(part) for part in np.polynomial.legendre.leggauss(12))
    points, weights = (points + 1) / 2, weights / 2  # from [-1, 1] to [0, 1]
    for curvature, share in mixture.items():
        if curvature == 0:  # gap = sum_i b_i s_i with variances a_i, and the Shapley value of word i is 2 b_i
            covariance += 2 * share * (sides * relevance).T
            variance += 4 * share * relevance
            continue
        if curvature == _NOISE:  # independent gaps, so variances add up with squared weights
            words = sides.shape[1]
            covariance += share * _weights(sides > 0).T
            variance += (
                share * 4 * sum(math.comb(words - 1, s - 1) * _weight(words, s) ** 2 for s in range(1, words + 1))
            )
            continue
        slope = torch.tanh(curvature * relevance)
        size = share * torch.cosh(curvature * relevance).log().sum().exp() / math.sinh(curvature)
        for point, weight in zip(points, weights, strict=True):
            covariance += size * weight * _odd_sets(sides, point * slope).T / point
        twice, both = torch.outer(points, points).view(-1, 1), torch.outer(weights, weights).view(-1, 1)
        variance += 2 * size * (both * _odd_sets(torch.ones_like(slope), twice * slope) / twice).sum(0)
    return covariance, variance


def _odd_sets(sides: Tensor, slope: Tensor) -> Tensor:
    """Twice the sum, over all odd sets with word i, of the products of slope_j s_j over their words: [m, n]."""
    step = slope * sides
    # The product of all (1 + step) is the sum over all sets; with (1 - step), sets of odd size have a minus. Without
    # word i, half the sum of both is that over even sets, and every odd set with i is an even set and i.
    plus, minus = 1 + step, 1 - step
    return step * (plus.prod(1, keepdim=True) / plus + minus.prod(1, keepdim=True) / minus)


def _sides(pairs: Tensor) -> Tensor:
    """1 for words in the coalition and -1 for all others, [m, n]."""
    return pairs.double() * 2 - 1
