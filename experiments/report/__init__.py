"""One self-contained HTML page about a study: tables, curves, who delays whom, a film of the network, its origin."""

from .page import REPORT_FILE, write_report

__all__ = ["REPORT_FILE", "write_report"]
