"""What people say of explanations: rankings, what they show of the ranked items, and whether people agree.

>>> from veridical.people import Ranking, plackett_luce
>>> plackett_luce([Ranking("17", "ada", {"lime": 1, "attention": 2})])["lime"].rank
'1-2'
"""

from veridical.people.agreement import AnnotatorAgreement, Coefficient, agreement
from veridical.people.partial_ranks import partial_ranks
from veridical.people.plackett_luce import ItemPair, Worth, Worths, plackett_luce
from veridical.people.ranking import Ranking, competition_ranks
from veridical.people.trueskill import Rating, trueskill

__all__ = [
    "AnnotatorAgreement",
    "Coefficient",
    "ItemPair",
    "Ranking",
    "Rating",
    "Worth",
    "Worths",
    "agreement",
    "competition_ranks",
    "partial_ranks",
    "plackett_luce",
    "trueskill",
]
