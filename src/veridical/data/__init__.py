"""Data sets by name: built in, made with known reasons, from a directory, from your files or from the hub.

>>> from veridical.data import load
>>> load("planted(rule=negation):dev[:2]")
Dataset('planted(rule=negation):dev[:2]', 2 examples, labels=('negative', 'positive'))
"""

from veridical.data.dataset import Dataset, Source
from veridical.data.loader import in_split, load, names_data, parse_name, to_train_on, whole
from veridical.data.sources import DATASETS, Entry, catalogue

__all__ = [
    "DATASETS",
    "Dataset",
    "Entry",
    "Source",
    "catalogue",
    "in_split",
    "load",
    "names_data",
    "parse_name",
    "to_train_on",
    "whole",
]
