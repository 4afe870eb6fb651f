"""Post-hoc explainers, one method per file, all of one shape: settings, and `scores(case)`."""

from veridical.core.registry import Registry
from veridical.explainers.attention import Attention, AttentionAllLayers, AttentionLastLayer
from veridical.explainers.base import Explainer
from veridical.explainers.gradient import Gradient
from veridical.explainers.input_x_gradient import InputXGradient
from veridical.explainers.integrated_gradients import IntegratedGradients
from veridical.explainers.occlusion import Occlusion
from veridical.explainers.random import Random
from veridical.explainers.scaled_attention import ScaledAttention

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
        "occlusion": Occlusion,
    },
)

__all__ = [
    "EXPLAINERS",
    "Attention",
    "AttentionAllLayers",
    "AttentionLastLayer",
    "Explainer",
    "Gradient",
    "InputXGradient",
    "IntegratedGradients",
    "Occlusion",
    "Random",
    "ScaledAttention",
]
