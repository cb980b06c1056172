"""Reports on a data set: margins of every point, put together into one page."""

from polymargin.reports.record import About, Report
from polymargin.reports.report import report

__all__ = ["About", "Report", "report"]
