"""What people say of explanations: rankings, and what they show of the ranked items."""

from veridical.people.partial_ranks import partial_ranks
from veridical.people.ranking import Ranking, competition_ranks
from veridical.people.trueskill import Rating, trueskill

__all__ = [
    "Ranking",
    "Rating",
    "competition_ranks",
    "partial_ranks",
    "trueskill",
]
