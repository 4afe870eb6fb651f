"""Report cards of audits and of comparisons: HTML files that load nothing, Markdown, and JSON."""

from veridical.audits.card.card import card_markdown, comparison_markdown, summary_json, write_card, write_comparison

__all__ = ["card_markdown", "comparison_markdown", "summary_json", "write_card", "write_comparison"]
