"""One self-contained HTML page about a study: tables, curves, delays between jobs, and the network over time."""
