"""The table of data sets that have a name of their own. Adding one is a file and a line here, or a plug-in."""

from __future__ import annotations

from veridical.core.registry import Registry
from veridical.data.digits import Digits
from veridical.data.movies import Imdb, Reviews
from veridical.data.planted import PlantedTexts
from veridical.data.planted_images import PlantedImages
from veridical.data.planted_pairs import PlantedPairs
from veridical.data.source import Source

DATASETS: Registry[Source] = Registry(
    "data set",
    "veridical.data",
    {
        "reviews": Reviews,
        "imdb": Imdb,
        "planted": PlantedTexts,
        "planted-pairs": PlantedPairs,
        "planted-images": PlantedImages,
        "digits": Digits,
    },
)
