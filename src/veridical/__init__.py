"""Veridical: why did a text classifier say that, can the reason be trusted, how do we make it more trustworthy?

>>> from veridical import Classifier, explain
>>> classifier = Classifier.load("runs/base")
>>> explain(classifier, ["A gorgeous, witty, seductive movie."], method="occlusion")[0]

Everything that a user calls is here; deeper paths may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from veridical import register

if TYPE_CHECKING:
    from veridical.audits.card import compare_folders as compare
    from veridical.audits.job import audit
    from veridical.audits.record import Audit
    from veridical.audits.statistics.findings import Comparison, Summary
    from veridical.audits.statistics.gate import gate
    from veridical.audits.statistics.summary import summarise
    from veridical.audits.store import load_audit
    from veridical.core.component import Component, option
    from veridical.core.errors import VeridicalError, VeridicalWarning
    from veridical.core.extraction import Extraction
    from veridical.core.files import ExplanationWriter, convert
    from veridical.core.files import read_all as read
    from veridical.core.progress import Progress, Watch
    from veridical.core.values import Example, Explanation, Image, Unit
    from veridical.data import DATASETS, Dataset
    from veridical.data import load as load_data
    from veridical.explainers import EXPLAINERS, Explainer, Scores
    from veridical.masking import ERASERS, Case, Engine, Eraser
    from veridical.metrics import METRICS, CorpusMetric, Measured, Metric
    from veridical.models import Ability, Classifier
    from veridical.models.weights import Learned
    from veridical.objectives import OBJECTIVES, Objective
    from veridical.objectives.salience import SALIENCES
    from veridical.people import Ranking, Worths, agreement, competition_ranks, partial_ranks, plackett_luce, trueskill
    from veridical.run.check import check
    from veridical.run.explain import explain, explain_to_file
    from veridical.run.fresh import fresh
    from veridical.run.handle import ModelHandle
    from veridical.run.predict import predict
    from veridical.run.scaffold import scaffold
    from veridical.run.train import train
    from veridical.simulation import ScaffoldPlan
    from veridical.studies.choice import choose
    from veridical.studies.reproduction import reproduce
    from veridical.training import Schedule

_HOMES = {
    # Models and data
    "Ability": "veridical.models",
    "Classifier": "veridical.models",
    "Dataset": "veridical.data",
    "Example": "veridical.core.values",
    "Image": "veridical.core.values",
    "Unit": "veridical.core.values",
    "load_data": "veridical.data:load",
    # Explanations
    "Explanation": "veridical.core.values",
    "ExplanationWriter": "veridical.core.files",
    "check": "veridical.run.check",
    "convert": "veridical.core.files",
    "explain": "veridical.run.explain",
    "explain_to_file": "veridical.run.explain",
    "predict": "veridical.run.predict",
    "read": "veridical.core.files:read_all",
    # Audits
    "Audit": "veridical.audits.record",
    "Comparison": "veridical.audits.statistics.findings",
    "Summary": "veridical.audits.statistics.findings",
    "audit": "veridical.audits.job",
    "compare": "veridical.audits.card:compare_folders",
    "gate": "veridical.audits.statistics.gate",
    "load_audit": "veridical.audits.store",
    "summarise": "veridical.audits.statistics.summary",
    # People's judgements
    "Ranking": "veridical.people",
    "Worths": "veridical.people",
    "agreement": "veridical.people",
    "competition_ranks": "veridical.people",
    "partial_ranks": "veridical.people",
    "plackett_luce": "veridical.people",
    "trueskill": "veridical.people",
    # Training
    "Extraction": "veridical.core.extraction",
    "Distillation": "veridical.training",
    "Schedule": "veridical.training",
    "choose": "veridical.studies.choice",
    "distil": "veridical.run.distil",
    "fresh": "veridical.run.fresh",
    "reproduce": "veridical.studies.reproduction",
    "ScaffoldPlan": "veridical.simulation",
    "scaffold": "veridical.run.scaffold",
    "train": "veridical.run.train",
    # Components
    "Case": "veridical.masking",
    "Component": "veridical.core.component",
    "CorpusMetric": "veridical.metrics",
    "DATASETS": "veridical.data",
    "ERASERS": "veridical.masking",
    "EXPLAINERS": "veridical.explainers",
    "Engine": "veridical.masking",
    "Eraser": "veridical.masking",
    "Explainer": "veridical.explainers",
    "Learned": "veridical.models.weights",
    "METRICS": "veridical.metrics",
    "Measured": "veridical.metrics",
    "Metric": "veridical.metrics",
    "OBJECTIVES": "veridical.objectives",
    "Objective": "veridical.objectives",
    "SALIENCES": "veridical.objectives.salience",
    "Scores": "veridical.explainers",
    "option": "veridical.core.component",
    # Jobs
    "ModelHandle": "veridical.run.handle",
    "Progress": "veridical.core.progress",
    "VeridicalError": "veridical.core.errors",
    "VeridicalWarning": "veridical.core.errors",
    "Watch": "veridical.core.progress",
}

__all__ = [
    "DATASETS",
    "ERASERS",
    "EXPLAINERS",
    "METRICS",
    "OBJECTIVES",
    "SALIENCES",
    "Ability",
    "Audit",
    "Case",
    "Classifier",
    "Comparison",
    "Component",
    "CorpusMetric",
    "Dataset",
    "Distillation",
    "Engine",
    "Eraser",
    "Example",
    "Explainer",
    "Explanation",
    "ExplanationWriter",
    "Extraction",
    "Image",
    "Learned",
    "Measured",
    "Metric",
    "ModelHandle",
    "Objective",
    "Progress",
    "Ranking",
    "ScaffoldPlan",
    "Schedule",
    "Scores",
    "Summary",
    "Unit",
    "VeridicalError",
    "VeridicalWarning",
    "Watch",
    "Worths",
    "agreement",
    "audit",
    "check",
    "choose",
    "compare",
    "competition_ranks",
    "convert",
    "distil",
    "explain",
    "explain_to_file",
    "fresh",
    "gate",
    "load_audit",
    "load_data",
    "option",
    "partial_ranks",
    "plackett_luce",
    "predict",
    "read",
    "register",
    "reproduce",
    "scaffold",
    "summarise",
    "train",
    "trueskill",
]


def __getattr__(name: str) -> Any:
    # Looked up on first use: reading a file or printing help must not wait for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'veridical' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
