"""Report cards of audits and of comparisons: HTML files that load nothing, Markdown, and JSON."""

from veridical.audits.card.card import card_markdown, publish, summary_json, write_card, write_cards
from veridical.audits.card.comparison import (
    check_ending,
    compare_folders,
    comparison_markdown,
    write_comparison,
    write_comparison_to,
)

__all__ = [
    "card_markdown",
    "check_ending",
    "compare_folders",
    "comparison_markdown",
    "publish",
    "summary_json",
    "write_card",
    "write_cards",
    "write_comparison",
    "write_comparison_to",
]
