"""One self-contained HTML page about a study: tables, curves, delays between jobs, and the network over time."""

from .page import REPORT_FILE, write_report

__all__ = ["REPORT_FILE", "write_report"]
