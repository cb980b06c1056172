"""Reports on a data set: margins of every point, put together into one page."""

from polymargin.reports.compute import report
from polymargin.reports.record import About, Report

__all__ = ["About", "Report", "report"]
