"""Compares the forwarding tables of a sweep (`-m`) after the last one."""

from collections.abc import Sequence
from pathlib import Path

from ..plotting.drawing import save_figure
from ..results.files import read_columns, results_below
from ..results.rows import ROWS_FILE, row, write_rows
from ..terminal.commandline import say_damaged
from .figure import Numbers, draw_several
from .one_table import KIND
from .text import network_label, print_rows

NAME = "flitgym route"


def compare(directory: Path, wanted: Sequence[Path]) -> bool:
    """Print a row per table of a sweep and write their figure and rows into its folder; whether there is a table."""
    found, damaged = results_below(directory)
    say_damaged(NAME, damaged)
    known = {path: result for result, path in found if result.get("kind") == KIND}
    chosen = [path for path in dict.fromkeys(wanted) if path in known]
    # A folder without a result gets no row.
    results = [known[path] for path in chosen]
    print_rows(results)
    write_rows(directory / ROWS_FILE, [row(result, path) for path, result in known.items()])
    written = [directory / ROWS_FILE]
    networks: dict[str, list[tuple[str, Numbers]]] = {}
    for path in chosen:
        if known[path]["routed"] and (columns := read_columns(known[path], path, "loads")) is not None:
            loads = columns["load"][columns["kind"] == "channel"]
            networks.setdefault(network_label(known[path]), []).append((known[path]["table"], loads))
    if networks:
        written += save_figure(draw_several(networks), directory / "loads", salt="loads")
    for path in written:
        print(path)
    return bool(networks)
