"""Post-hoc explainers, one method per file, all of one shape: settings, and `scores(case)`."""

from veridical.core.registry import Registry
from veridical.explainers.attention import Attention, AttentionAllLayers, AttentionLastLayer, ScaledAttention
from veridical.explainers.base import Explainer, Random, Scores
from veridical.explainers.deep_lift import DeepLift
from veridical.explainers.deep_shap import DeepSHAP
from veridical.explainers.gradients import Gradient, InputXGradient
from veridical.explainers.iba import IBALayer, IBAPerSample
from veridical.explainers.integrated_gradients import IntegratedGradients
from veridical.explainers.kernel_shap import KernelShap
from veridical.explainers.lime import Lime
from veridical.explainers.lrp import LRP
from veridical.explainers.mask_layers import L2XLayer, MaskLayer, SCCLayer, VMaskLayer
from veridical.explainers.mixtures import AttentionMixture, GradientMixture, MixtureExplainer
from veridical.explainers.occlusion import Occlusion
from veridical.explainers.permutation_shap import PermutationShap
from veridical.explainers.students import SideStudent, WordStudent
from veridical.models import Ability

EXPLAINERS: Registry[Explainer] = Registry(
    "explainer",
    "veridical.explainers",
    {
        "random": Random,
        "attention": Attention,
        "attention-last-layer": AttentionLastLayer,
        "attention-all-layers": AttentionAllLayers,
        "scaled-attention": ScaledAttention,
        "gradient": Gradient,
        "input-x-gradient": InputXGradient,
        "integrated-gradients": IntegratedGradients,
        "deep-lift": DeepLift,
        "deep-shap": DeepSHAP,
        "lrp": LRP,
        "occlusion": Occlusion,
        "lime": Lime,
        "kernel-shap": KernelShap,
        "permutation-shap": PermutationShap,
        "scc": SCCLayer,
        "vmask": VMaskLayer,
        "l2x": L2XLayer,
        "iba": IBALayer,
        "iba-per-sample": IBAPerSample,
        "l2e-words": WordStudent,
        "l2e-side": SideStudent,
        "attention-mixture": AttentionMixture,
        "gradient-mixture": GradientMixture,
    },
    required=("needs", "passes", "scores"),
    abilities=Ability,
)

__all__ = [
    "EXPLAINERS",
    "LRP",
    "Attention",
    "AttentionAllLayers",
    "AttentionLastLayer",
    "AttentionMixture",
    "DeepLift",
    "DeepSHAP",
    "Explainer",
    "Gradient",
    "GradientMixture",
    "IBALayer",
    "IBAPerSample",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "L2XLayer",
    "Lime",
    "MaskLayer",
    "MixtureExplainer",
    "Occlusion",
    "PermutationShap",
    "Random",
    "SCCLayer",
    "ScaledAttention",
    "Scores",
    "SideStudent",
    "VMaskLayer",
    "WordStudent",
]
