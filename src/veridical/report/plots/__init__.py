"""Small drawings of plain numbers as SVG, for pages that load nothing and print well."""

from veridical.report.plots.charts import Dot, Point, dots, grid, heat, lines, steps

__all__ = ["Dot", "Point", "dots", "grid", "heat", "lines", "steps"]
