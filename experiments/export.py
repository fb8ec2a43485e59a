"""`flitgym export`: the runs of a study as rows, as a table for a paper, or as a folder that repeats them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..configs import refuse_unknown
from ..simcore import ConfigError, CoreError
from .exporting.artifact import write_artifact
from .plotting.lines import TRAFFIC, Point, groups_of, points, times_of_jobs
from .plotting.swept import FILTER, column_of, filtered, named, swept
from .plotting.words import axis_label, value_label
from .results.files import write_text
from .results.rows import ROWS_FILE, is_labelled, is_number, write_rows
from .terminal.commandline import CommandError, main_of, parse, rows_of
from .terminal.tables import LATEX, MISSING, latex_table, markdown_table, write_csv

NAME = "flitgym export"
KEYS = ("study", "format", "columns", "filter", "out")
_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".tex": "latex", ".md": "markdown"}
_FORMATS = (*_SUFFIXES.values(), "artifact")
_MORE = ("accepted", "delivered", "throughput", "utilisation")  # larger values of these columns are better
_USAGE = f"""\
usage: {NAME} <folder>|study=<name> [format=<format>] [columns=<column>,<column>] [filter=<conditions>] [out=<file>]

  format   csv, parquet: a row per finished run with its numbers, and its configuration as traffic.load and so on
           latex, markdown: a line per combination of the swept keys, with means over the seeds and half the widths of
           95 % intervals, whose size determines the digits. The best value among the routings is bold.
           artifact: a folder with configurations, versions, commands, rows and figures, and a program that runs
           everything again and says whether the numbers are equal
  columns  default: all columns; latency, p99, accepted load and hops, or times of jobs in tables for a paper
  filter   conditions with commas between: {FILTER}
  out      its suffix is the format: {", ".join(_SUFFIXES)}; default: in the folder
"""


def export(directory: Path, given: Mapping[str, str]) -> tuple[Path, int]:
    """Write the runs of a study, or of a folder of several. Returns the file or folder, and the number of runs.

    `given` are the keys of the command line.

    Raises:
        ConfigError: a format, column or condition does not exist.
        CommandError: there is no finished run.
        CoreError: some runs are damaged. The file holds the others.
        OSError: the file cannot be written.
    """
    out = Path(given["out"]) if "out" in given else None
    kind = given.get("format", "parquet" if out is None else _SUFFIXES.get(out.suffix, out.suffix))
    refuse_unknown("format" if "format" in given else f"out={out}", [kind], _FORMATS, "format")
    if kind == "parquet" and out is None and {"columns", "filter"} & set(given):
        raise ConfigError(f"out: name a file, because {ROWS_FILE} of the folder holds all rows and columns")
    rows, damaged = rows_of(NAME, directory)
    if "filter" in given:
        rows = filtered(rows, given["filter"])
    if not rows:
        raise CommandError(f"no finished run below {directory}; make some with flitgym simulate")
    words = given["columns"].split(",") if "columns" in given else []
    if kind == "artifact":
        out = out or directory / "artifact"
        write_artifact(directory, out, rows)
    elif kind in ("latex", "markdown"):
        out = out or directory / f"table.{'tex' if kind == 'latex' else 'md'}"
        write_text(out, paper_table(rows, words, kind == "latex"))
    else:
        if words:
            known = named(rows)
            columns = [column_of(known, word, "columns") for word in words]
            rows = [{column: row.get(column) for column in columns} for row in known]
        if kind == "csv":
            out = out or directory / "rows.csv"
            write_csv(out, rows, list(dict.fromkeys(key for row in rows for key in row)))
        elif out or not is_labelled(directory / ROWS_FILE):
            write_rows(out or directory / ROWS_FILE, rows)
    if damaged:
        raise CoreError(f"{len(damaged)} damaged runs are left out; repeat the commands that made them")
    return out or directory / ROWS_FILE, len(rows)


def paper_table(rows: Sequence[Mapping[str, Any]], words: Sequence[str], latex: bool) -> str:
    """A line per combination of the swept keys, with means over seeds.

    The best routing at equal values of the other keys is bold, and so are values whose interval contains the best mean.
    Saturated runs have an asterisk. They count only for the accepted load.
    """
    known = named(rows)
    keys = sorted(swept(known), key=lambda key: key == "routing") or ["seed"]
    columns = [column_of(known, word, "columns") for word in words] or [
        column for column in (*TRAFFIC, *times_of_jobs(known)) if any(is_number(row.get(column)) for row in known)
    ]
    for column in columns or [keys[0]]:
        if not any(is_number(row.get(column)) for row in known):
            raise ConfigError(f"columns: the column '{column}' has no numbers; name results, such as latency")
    groups = groups_of(known, keys)
    found = {(values, column): points(groups[values], keys[0], column)[0] for values in groups for column in columns}
    lines = []
    for values in groups:
        texts = [value_label(key, value, alone=True) for key, value in zip(keys, values, strict=True)]
        cells = [text.translate(LATEX) if latex else text for text in texts]
        rivals = [other for other in groups if other[:-1] == values[:-1]]
        for column in columns:
            most = any(part in column for part in _MORE)
            at = [found[other, column] for other in rivals]
            able = [point.estimate.value for point in at if most or not point.saturated]
            best = (max if most else min)(able, default=np.nan)
            value, low, high = found[values, column].estimate
            bold = len(rivals) > 1 and value in able and (value == best or low <= best <= high)
            cells.append(_cell(found[values, column], bold, latex))
        lines.append(cells)
    heads = [key if "." not in key else key.rpartition(".")[2] for key in keys] + [
        axis_label(column).partition(" (flits")[0] for column in columns
    ]
    if latex:
        return latex_table(heads, lines, left=heads[: len(keys)])
    return markdown_table(heads, lines, left=heads[: len(keys)])


def _cell(point: Point, bold: bool, latex: bool) -> str:
    """A mean and half the width of its interval, with one digit of the half width, or two if the first is 1."""
    value, half = point.estimate.value, (point.estimate.high - point.estimate.low) / 2
    if np.isnan(value):
        return MISSING
    if np.isfinite(half) and half > 0:
        places = max(0, -int(np.floor(np.log10(half))) + (f"{half:e}"[0] == "1"))
        text = f"{value:,.{places}f}" + (rf" $\pm$ {half:,.{places}f}" if latex else f" ± {half:,.{places}f}")
    else:
        text = f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"
    if bold:
        text = rf"\textbf{{{text}}}" if latex else f"**{text}**"
    return text + ("$^*$" if latex else r"\*") * point.saturated


def command(words: Sequence[str]) -> str:
    """Execute the command with its arguments, and return the line to print."""
    folders, given, _ = parse(words, KEYS, ())
    folders += [Path("results", given["study"])] if "study" in given else []
    if len(folders) != 1:
        raise CommandError(f"the command takes one folder, not {len(folders)}; for example {NAME} results/first")
    return "{}: {} runs".format(*export(folders[0], given))


main = main_of(NAME, _USAGE, command)
