"""Audits: methods of explanation judged by metrics, the statistics over the numbers, and the cards that show both."""

from veridical.audits.record import Audit, AuditedMethod, AuditedMetric, Document, Measurement

__all__ = ["Audit", "AuditedMethod", "AuditedMetric", "Document", "Measurement"]
