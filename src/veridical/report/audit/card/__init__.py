"""Report cards of audits and of comparisons: HTML files that load nothing, Markdown, and JSON."""

from veridical.report.audit.card.comparing import write_comparison
from veridical.report.audit.card.markdown import card_markdown, comparison_markdown
from veridical.report.audit.card.writing import summary_json, write_card

__all__ = ["card_markdown", "comparison_markdown", "summary_json", "write_card", "write_comparison"]
