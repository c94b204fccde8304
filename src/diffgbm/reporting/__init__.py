"""Reports: what a model is worth on a table, in one HTML file that needs nothing else."""

from diffgbm.reporting.report import Report, report

__all__ = ["Report", "report"]
