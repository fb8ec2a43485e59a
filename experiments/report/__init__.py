"""One self-contained HTML page about a study: tables, curves, delays between jobs, and the network over time."""

from .page import write_report

__all__ = ["write_report"]
