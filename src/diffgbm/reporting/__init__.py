"""Reports on the predictions of a model, each in one self-contained HTML file."""

from diffgbm.reporting.report import Report, report

__all__ = ["Report", "report"]
