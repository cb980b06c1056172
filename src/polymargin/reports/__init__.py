"""Reports on a data set: the margins of all points as one page."""

from polymargin.reports.record import About, Report
from polymargin.reports.report import report

__all__ = ["About", "Report", "report"]
