"""What must hold of every explainer, eraser and objective, built in or plugged in; failures say what is broken."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError
from veridical.core.files import ExplanationWriter, read_all
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import Case, Engine, Eraser
from veridical.masking.erasure import positions
from veridical.models import Classifier
from veridical.models.weights import Learned
from veridical.objectives import OBJECTIVES, CrossEntropy, Objective, Sum
from veridical.objectives.base import explainers_of, forward, modules_in, prepare
from veridical.run.checks.invariance import gaps
from veridical.run.explain import explain
from veridical.testing.samples import Sample, text_classifier

TOLERANCE = 1e-5


def check_explainer(explainer: Explainer, sample: Callable[[], Sample] = text_classifier) -> None:
    """An explainer gives one finite score per live unit, whatever stands beside an example, and leaves no trace."""
    _check_words(explainer)
    classifier, examples = sample()
    with untouched(classifier):
        case = Case.bind(classifier, examples)
        found = explainer.scores(case)
        scores = found.values
        assert scores.shape == case.live.shape, f"scores are {tuple(scores.shape)}, units {tuple(case.live.shape)}"
        assert torch.isfinite(scores).all(), "scores are not all finite"
        assert (scores[~case.live] == 0).all(), "slots without a unit have a score"
        _check_side_information(explainer, found, case)
        _check_passes(explainer, case)
        again = explainer.scores(Case.bind(classifier, examples)).values
        _same(scores, again, 0.0, "the same call gave other scores")
        _check_neighbours(explainer, classifier, examples)
        _check_padding(explainer, classifier, examples, scores)
    _check_file(explainer, classifier, examples)
    if isinstance(explainer, Learned):
        _check_folder(explainer, Case.bind(classifier, examples), scores)
    elif type(explainer) in EXPLAINERS.values():
        assert EXPLAINERS.from_spec(EXPLAINERS.spec(explainer)) == explainer, "the spec does not rebuild the explainer"


def check_eraser(eraser: Eraser, sample: Callable[[], Sample] = text_classifier) -> None:
    """An eraser that keeps all changes nothing, keeps special tokens always, and is hard where soft is 0 or 1."""
    classifier, examples = sample()
    with untouched(classifier), torch.no_grad(), classifier.evaluating():
        batch = classifier.encode(examples)
        rows, live = batch.rows, batch.live
        plain = classifier.run(rows).logits
        kept = classifier.run(eraser(classifier, rows, live[rows.owner])).logits
        _same(kept, plain, TOLERANCE, "keeping everything changes the output")
        assert (positions(rows, torch.zeros_like(live)[rows.owner]) == (rows.unit_of < 0)).all(), (
            "more than units erased"
        )
        some = live & (torch.arange(live.shape[1]) % 2 == 0)
        hard = classifier.run(eraser(classifier, rows, some[rows.owner])).logits
        assert not torch.allclose(hard, plain, atol=1e-9), "erasing every other unit changes nothing at all"
        try:
            soft = classifier.run(eraser(classifier, rows, some[rows.owner].float())).logits
        except UnsupportedError:
            return
        _same(soft, hard, TOLERANCE, "a soft keep of 0 and 1 differs from the hard one")


def check_objective(objective: Objective, sample: Callable[[], Sample] = text_classifier) -> None:
    """An objective gives named finite scalars whose sum has finite gradients, can be added, and is free at weight 0.

    The last is checked for the options it names as `weights`: with all of them at 0 it is plain training. Weights of
    its own must get gradients, too, and explainers that it leaves must come back from a folder as they were.
    """
    classifier, examples = sample()
    ready = prepare(objective, classifier, examples)
    terms = _terms(ready, classifier, examples)
    assert terms, "there is no term to minimise"
    for name, value in terms.items():
        assert value.dim() == 0, f"{name} is not a single number"
        assert torch.isfinite(value), f"{name} is {value}"
    torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
    own = [
        values for module in modules_in(ready) for values in module.parameters()
    ]  # a finished model may stay as it is
    gradients = [values.grad for values in [*_parameters(classifier), *own] if values.grad is not None]
    assert gradients, "no weight has a gradient"
    assert all(torch.isfinite(gradient).all() for gradient in gradients), "a gradient is not finite"
    for module in modules_in(ready):
        assert any(values.grad is not None for values in module.parameters()), "none of its own weights has a gradient"
    for explainer in explainers_of(ready).values():
        case = Case.bind(classifier, examples)
        _check_folder(explainer, case, explainer.scores(case).values)
    _check_sum(objective, terms, classifier, examples)
    _check_weights(objective, classifier, examples)
    if type(objective) in OBJECTIVES.values():
        assert OBJECTIVES.from_spec(OBJECTIVES.spec(objective)) == objective, "the spec does not rebuild the objective"


def _terms(objective: Objective, classifier: Classifier, examples: list[Example]) -> dict[str, Tensor]:
    """The terms of a training step, always with the same chance."""
    batch = classifier.encode(examples)
    ready = prepare(objective, classifier, examples)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ready(Case.of_output(classifier, batch, forward(classifier, batch, ready)))


def _check_sum(objective: Objective, terms: dict[str, Tensor], classifier: Classifier, examples: list[Example]) -> None:
    plain = _terms(CrossEntropy(), classifier, examples)
    if any(name in terms and not torch.equal(terms[name], value) for name, value in plain.items()):
        return  # it has the plain loss in another form, and is refused in a sum
    both = _terms(Sum((CrossEntropy(), objective)), classifier, examples)
    assert both.keys() == terms.keys() | plain.keys(), f"added to the plain loss it has the terms {', '.join(both)}"
    for name, value in terms.items():
        _same(both[name], value, TOLERANCE, f"{name} is another when the objective is part of a sum")


def _check_weights(objective: Objective, classifier: Classifier, examples: list[Example]) -> None:
    names: tuple[str, ...] = getattr(objective, "weights", ())
    if not names:
        return
    idle = replace(cast("Any", objective), **dict.fromkeys(names, 0.0))
    assert not idle.needs, f"with {' and '.join(names)} at 0 it needs {', '.join(idle.needs)}"
    with _counting_passes(classifier) as passes:
        terms = _terms(idle, classifier, examples)
    assert passes == [1], f"with {' and '.join(names)} at 0 a step makes {len(passes)} passes through the model"
    plain = _terms(CrossEntropy(), classifier, examples)
    assert terms.keys() == plain.keys(), f"with {' and '.join(names)} at 0 there are the terms {', '.join(terms)}"
    for name, value in plain.items():
        _same(terms[name], value, 0.0, f"with {' and '.join(names)} at 0, {name} is not that of plain training")


@contextmanager
def _counting_passes(classifier: Classifier) -> Iterator[list[int]]:
    """A list that grows by 1 with each forward pass of a model; for a classifier without one, it says 1."""
    model = getattr(classifier, "model", None)
    if model is None:
        yield [1]
        return
    passes: list[int] = []
    handle = model.register_forward_hook(lambda *_: passes.append(1))
    try:
        yield passes
    finally:
        handle.remove()


def _check_words(explainer: Explainer) -> None:
    name = type(explainer).__name__
    assert explainer.cost.strip(), f"{name} does not say what it costs"
    assert explainer.meaning.strip(), f"{name} does not say what a score means"
    assert explainer.weakness.strip(), f"{name} does not say what it is weak at"


def _check_side_information(explainer: Explainer, scores: Scores, case: Case) -> None:
    told = bool(getattr(explainer, "total", ""))
    assert told == ("residual" in scores.measures), "`total` says what scores add up to where there is a residual"
    told = bool(getattr(explainer, "margins", ""))
    assert told == (scores.margins is not None), "`margins` says what margins cover where there are some"
    if scores.margins is not None:
        assert scores.margins.shape == case.live.shape, f"margins are {tuple(scores.margins.shape)}"
        assert (scores.margins >= 0).all(), "a margin is negative or not a number"
        assert torch.isfinite(scores.margins).all(), "a margin is not finite"
    for name, values in scores.measures.items():
        assert values.shape == (len(case),), f"the measure {name} is {tuple(values.shape)}, not one per example"
        assert torch.isfinite(values).all(), f"the measure {name} is not finite"


def _check_passes(explainer: Explainer, case: Case) -> None:
    for units, asked in zip(case.batch.units, case.asked.tolist(), strict=True):
        most = explainer.passes(len(units))
        assert asked - 1 <= most, f"{asked - 1} questions were asked about {len(units)} units, at most {most} were said"


def _check_neighbours(explainer: Explainer, classifier: Classifier, examples: list[Example]) -> None:
    for index, gap in enumerate(gaps(classifier, examples, lambda case: explainer.scores(case).values)):
        assert gap <= TOLERANCE, f"entry {index} alone has other scores than in a batch (by {gap:.2e})"


def _check_padding(explainer: Explainer, classifier: Classifier, examples: list[Example], scores: Tensor) -> None:
    together = explainer.scores(Case.bind(classifier, examples, engine=Engine(tokens=10**6))).values
    apart = explainer.scores(Case.bind(classifier, examples, engine=Engine(tokens=1))).values
    _same(together, apart, TOLERANCE, "padding changes the scores")


def _check_file(explainer: Explainer, classifier: Classifier, examples: list[Example]) -> None:
    explanations = explain(classifier, examples, explainer)
    for suffix in (".parquet", ".jsonl"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"why{suffix}"
            with ExplanationWriter(path) as writer:
                writer.write(explanations)
            kept = [(each.scores, each.margins, each.measures) for each in read_all(path)]
            made = [(each.scores, each.margins, each.measures) for each in explanations]
            assert kept == made, f"scores, margins or measures do not survive {suffix}"


def _check_folder(explainer: Explainer, case: Case, scores: Tensor) -> None:
    """What an explainer has learned is the same after it was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        EXPLAINERS.save(explainer, folder)
        loaded = EXPLAINERS.create(folder)
    assert EXPLAINERS.spec(loaded) == EXPLAINERS.spec(explainer), "it does not come back from its folder"
    _same(loaded.scores(case).values, scores, 0.0, "loaded from its folder it gives other scores")


def _same(found: Tensor, expected: Tensor, tolerance: float, problem: str) -> None:
    difference = float((found - expected).detach().abs().max()) if found.numel() else 0.0
    assert difference <= tolerance, f"{problem} (by {difference:.2e})"


def _parameters(classifier: Classifier) -> list[Tensor]:
    model = getattr(classifier, "model", None)
    return list(model.parameters()) if model is not None else []


@contextmanager
def untouched(classifier: Classifier) -> Iterator[None]:
    """The model's weights, gradients and mode, and the global random state, are the same afterwards."""
    model = getattr(classifier, "model", None)
    before = [values.detach().clone() for values in _parameters(classifier)]
    state = torch.random.get_rng_state()
    if model is not None:
        model.train()  # explaining must switch dropout off by itself, and back on
    yield
    assert torch.equal(torch.random.get_rng_state(), state), "the global random state was used"
    for old, new in zip(before, _parameters(classifier), strict=True):
        assert torch.equal(old, new), "a weight was changed"
        assert new.grad is None, "a gradient was left behind"
    assert model is None or model.training, "the model was left in another mode"
