"""Showing results to people: pages, terminals, tables and plots."""

from veridical.report.page import write_page
from veridical.report.terminal import print_explanations

__all__ = ["print_explanations", "write_page"]
