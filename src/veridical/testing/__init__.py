"""For plug-in authors: contract checks for everything registered, and models whose explanations follow by hand.

>>> from veridical.testing import check_explainer
>>> def test_mine():
...     check_explainer(MyExplainer())
"""

from veridical.testing.contracts import check_eraser, check_explainer, check_objective
from veridical.testing.formula import Formula
from veridical.testing.metric_contracts import check_metric
from veridical.testing.samples import (
    black_box,
    image_classifier,
    multi_label_classifier,
    pair_classifier,
    text_classifier,
)

__all__ = [
    "Formula",
    "black_box",
    "check_eraser",
    "check_explainer",
    "check_metric",
    "check_objective",
    "image_classifier",
    "multi_label_classifier",
    "pair_classifier",
    "text_classifier",
]
