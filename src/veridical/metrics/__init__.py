"""Metrics: numbers that say how far scores can be trusted. No metric knows which method gave the scores."""

from veridical.core.registry import Registry
from veridical.metrics.aopc import AOPC, NormalisedAOPC
from veridical.metrics.attack import Attack
from veridical.metrics.base import CorpusMetric, Measured, Metric, Need, measure
from veridical.metrics.decisions import Accuracy, DecisionFlip, PostHocAccuracy, PredictionAgreement
from veridical.metrics.erasure import Comprehensiveness, LogOdds, Sufficiency
from veridical.metrics.evaluator_leak import EvaluatorLeak
from veridical.metrics.evidence import RationaleAUC, RationaleAveragePrecision, ReasonsOnTop
from veridical.metrics.leave_one_out_tau import LeaveOneOutTau
from veridical.metrics.masked_accuracy import MaskedAccuracy
from veridical.metrics.pos_importance import PosImportance
from veridical.metrics.position_leak import PositionLeak
from veridical.metrics.rationale_overlap import (
    RationaleF1,
    RationaleIoU,
    RationalePrecision,
    RationaleRecall,
    RationaleRecallAtK,
)
from veridical.metrics.reference import ReferenceLikeness
from veridical.metrics.simulability import Simulability
from veridical.metrics.stability import Stability

METRICS: Registry[Metric | CorpusMetric] = Registry(
    "metric",
    "veridical.metrics",
    {
        "accuracy": Accuracy,
        "aopc": AOPC,
        "attack": Attack,
        "comprehensiveness": Comprehensiveness,
        "decision-flip": DecisionFlip,
        "evaluator-leak": EvaluatorLeak,
        "leave-one-out-tau": LeaveOneOutTau,
        "log-odds": LogOdds,
        "masked-accuracy": MaskedAccuracy,
        "normalised-aopc": NormalisedAOPC,
        "pos-importance": PosImportance,
        "position-leak": PositionLeak,
        "post-hoc-accuracy": PostHocAccuracy,
        "prediction-agreement": PredictionAgreement,
        "rationale-auc": RationaleAUC,
        "rationale-average-precision": RationaleAveragePrecision,
        "rationale-f1": RationaleF1,
        "rationale-iou": RationaleIoU,
        "rationale-precision": RationalePrecision,
        "rationale-recall": RationaleRecall,
        "rationale-recall-at-k": RationaleRecallAtK,
        "reasons-on-top": ReasonsOnTop,
        "reference-likeness": ReferenceLikeness,
        "simulability": Simulability,
        "stability": Stability,
        "sufficiency": Sufficiency,
    },
    required=("needs", "meaning", "greater_is_better"),
    abilities=Need,
)

__all__ = [
    "AOPC",
    "METRICS",
    "Accuracy",
    "Attack",
    "Comprehensiveness",
    "CorpusMetric",
    "DecisionFlip",
    "EvaluatorLeak",
    "LeaveOneOutTau",
    "LogOdds",
    "MaskedAccuracy",
    "Measured",
    "Metric",
    "NormalisedAOPC",
    "PosImportance",
    "PositionLeak",
    "PostHocAccuracy",
    "PredictionAgreement",
    "RationaleAUC",
    "RationaleAveragePrecision",
    "RationaleF1",
    "RationaleIoU",
    "RationalePrecision",
    "RationaleRecall",
    "RationaleRecallAtK",
    "ReasonsOnTop",
    "ReferenceLikeness",
    "Simulability",
    "Stability",
    "Sufficiency",
    "measure",
]
