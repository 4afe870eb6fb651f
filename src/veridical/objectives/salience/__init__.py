"""Saliences: how important word pieces are before any model is asked. `saloss` teaches them to attention."""

from typing import Annotated

from veridical.core.registry import Registry
from veridical.objectives.salience.base import Corpus, Salience
from veridical.objectives.salience.corpus import Chi2, TfIdf
from veridical.objectives.salience.text import RandomSalience, TextRank, Uniform

SALIENCES: Registry[Salience] = Registry(
    "salience",
    "veridical.saliences",
    {"chi2": Chi2, "random": RandomSalience, "textrank": TextRank, "tf-idf": TfIdf, "uniform": Uniform},
    required=("fitted",),
)

SalienceName = Annotated[str, SALIENCES.name_option("a")]

__all__ = ["SALIENCES", "Chi2", "Corpus", "RandomSalience", "Salience", "SalienceName", "TextRank", "TfIdf", "Uniform"]
