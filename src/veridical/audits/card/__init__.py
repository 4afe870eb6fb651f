"""Report cards of audits and of comparisons: HTML files that load nothing, Markdown, and JSON."""

from veridical.audits.card.card import summary_json, write_card, write_comparison
from veridical.audits.card.markdown import card_markdown, comparison_markdown

__all__ = ["card_markdown", "comparison_markdown", "summary_json", "write_card", "write_comparison"]
