"""Audits as values: what was measured, the statistics over it, and the cards that show both."""

from veridical.report.audit.record import Audit, Document, Judge, Row, Suspect

__all__ = ["Audit", "Document", "Judge", "Row", "Suspect"]
