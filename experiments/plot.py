"""`flitgym plot <folder> [x=...] [y=...] [by=...]`: draws any column of a study against any other."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..configs import PLOT_FORMATS, plot_formats, refuse_unknown
from ..simcore import ConfigError, CoreError
from .conclusion.conclude import conclude
from .plotting.swept import FILTER
from .results.rows import ROWS_FILE, is_labelled, is_number
from .terminal.commandline import CommandError, parse, rows_of, run_command

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "flitgym plot"
_NUMBERS = ("width", "height", "font")
KEYS = ("x", "y", "by", "format", "out", "filter", "title", "style", *_NUMBERS)
_Y = "packet_latency_mean_ns"
# Width and height in inches, and points of the text: on a screen, and in a page of IEEE or ACM.
_STYLES = {"screen": (8.0, 4.6, 10.0), "one_column": (3.4, 2.6, 7.0), "two_columns": (7.0, 3.0, 8.0)}
_SHOWN = 60  # characters of a column's values
_USAGE = f"""\
usage: {NAME} <folder> [x=<column>] [y=<column>] [by=<column>[,<column>]] [format=png,svg,pdf] [out=<file>]
       [filter=<conditions>] [title=<text>] [style=one_column|two_columns] [width=<in>] [height=<in>] [font=<pt>]

Draw a column of a study's runs against another: the mean over seeds with 95 % intervals, one line per value of `by`.

  x       default: the swept key
  y       default: {_Y}
  by      default: every other key that differs
  format  default: png,svg
  out     a file such as latency.pdf, or its name without a suffix; default: <y>_against_<x> in the folder
  filter  conditions on columns with commas between: {FILTER}
  style   sizes of a figure and its text in a paper, which width, height and font change

Columns are those of rows.parquet. Short names are routing, topology, traffic, router, workload, load, accepted,
latency, p99, hops, and any unique end of a name (`vcs` for `router.vcs`).
Without x, y and by, the command writes the files that a sweep writes at its end: sweep.png, sweep.svg and report.html.
`{NAME} <folder> --help` lists the columns of that folder.
"""


def plot(directory: Path, given: Mapping[str, str]) -> list[Path]:
    """Draw the picture of a folder of runs for given values of the keys in `KEYS`, and print the path of each file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from .plotting.drawing import save_figure
    from .plotting.lines import across_of
    from .plotting.seeds import buffers_text, write_note
    from .plotting.sweeps import curves, sweep_figure
    from .plotting.swept import column_of, filtered, named, swept

    formats = plot_formats(given.get("format", "png,svg"), "format")
    if not formats:
        raise ConfigError(f"format: a picture needs a format; valid formats: {', '.join(PLOT_FORMATS)}")
    chosen: Sequence[str] = formats
    rows, damaged = rows_of(NAME, directory)
    if not set(given) - {"format"} and not damaged:
        if is_labelled(directory / ROWS_FILE):
            raise CommandError(f"{directory} has the figures of its own command; name a column to draw, such as y=p99")
        written = conclude(directory, formats, NAME)
    else:
        known = filtered(rows, given["filter"]) if "filter" in given else named(rows)
        if not known:
            raise CommandError(f"filter={given['filter']}: no run of {directory} satisfies it")
        width, height, font = _sizes(given)
        with rc_context({"font.size": font, "axes.titlesize": font + 1, "legend.fontsize": font - 1}):
            if set(given) & {"x", "y", "by"}:
                x = column_of(known, given.get("x") or across_of(known, swept(known)), "x")
                y = column_of(known, given.get("y", _Y), "y")
                figure = Figure(figsize=(width, height), layout="constrained")
                curves(known, x, y, given["by"].split(",") if given.get("by") else None, figure.subplots())
                write_note(figure, buffers_text(known))
                stem = directory / f"{y}_against_{x}"
            else:
                try:
                    figure = sweep_figure(known)
                except ValueError as error:
                    raise CommandError(f"{directory}: {error}") from error
                stem = directory / "sweep"
                if "height" not in given:  # panels keep their proportions
                    height = width * figure.get_figheight() / figure.get_figwidth()
            if set(given) & {"style", *_NUMBERS}:
                _resize(figure, width, height, font)
            if "title" in given:
                # The layout does not keep the title of a figure clear of its legend.
                set_title = figure.legends[0].set_title if figure.legends else figure.suptitle
                set_title(given["title"])
            if "out" in given:
                stem, chosen = _output(Path(given["out"]), formats, "format" in given)
            written = save_figure(figure, stem, NAME, chosen)
    for path in written:
        print(path)
    if damaged:
        raise CoreError(f"{len(damaged)} damaged runs are not shown; repeat the commands that made them")
    return written


def _sizes(given: Mapping[str, str]) -> list[float]:
    """Width and height in inches, and the size of the text in points."""
    style = given.get("style", "screen")
    refuse_unknown("style", [style], _STYLES, "style")
    sizes = dict(zip(_NUMBERS, _STYLES[style], strict=True))
    for key in set(_NUMBERS) & set(given):
        try:
            sizes[key] = float(given[key])
        except ValueError:
            sizes[key] = 0.0
        if not 1 <= sizes[key] <= 100:
            raise ConfigError(
                f"{key}={given[key]}: write a number from 1 to 100, in {'points' if key == 'font' else 'inches'}"
            )
    return list(sizes.values())


def _resize(figure: "Figure", width: float, height: float, font: float) -> None:
    """Fit a figure into a column: its size, its text, and the legend above the panels instead of beside them."""
    from matplotlib.text import Text

    figure.set_size_inches(width, height)
    legends = [*figure.legends, *(legend for ax in figure.axes if (legend := ax.get_legend()))]
    for legend in legends:
        legend.remove()
        columns = max(1, int(width * 72 / font / 16))  # an entry takes 16 letters
        figure.legend(handles=legend.legend_handles, loc="outside upper center", ncols=columns, frameon=False)
    for text in figure.findobj(Text):
        text.set_fontsize(font)


def _output(out: Path, formats: Sequence[str], asked: bool) -> tuple[Path, Sequence[str]]:
    """The path without its suffix, and the formats. Without explicit formats, the suffix gives the format."""
    suffix = out.suffix.removeprefix(".")
    if suffix not in PLOT_FORMATS and (asked or not suffix):
        return out, formats
    refuse_unknown("out", [suffix], PLOT_FORMATS, "format")
    return out.with_suffix(""), formats if asked else (suffix,)


def columns_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The columns of some rows with their values, a line per column. Columns with differing values come first."""
    from .plotting.swept import named, swept, value_of

    known = named(rows)
    keys = swept(known)
    lines = ["Keys that differ"] if keys else []
    for column in dict.fromkeys([*keys, *sorted({key for row in known for key in row})]):
        values = list(dict.fromkeys(value for row in known if (value := value_of(row, column)) is not None))
        if column not in keys and "Other columns" not in lines:
            lines.append("Other columns")
        if len(values) > 1 and all(map(is_number, values)):
            text = f"{min(values):.6g} to {max(values):.6g}"
        else:
            text = ", ".join(map(str, values)) or "no value"
        lines.append(f"  {column:36} {text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'}")
    return "\n".join(lines)


def command(words: Sequence[str]) -> None:
    """Execute the command with its arguments."""
    folders, given, options = parse(words, KEYS, ("help", "h"))
    if options:
        print(_USAGE)
        for folder in folders:
            print(f"{folder}:\n{columns_text(rows_of(NAME, folder)[0])}")
        return
    if len(folders) != 1:
        example = f"{NAME} results/<study> x=traffic.load y=p99"
        raise CommandError(f"the command takes one folder, not {len(folders)}; for example {example}")
    plot(folders[0], given)


def main() -> None:
    """Entry point of the command."""
    sys.exit(run_command(NAME, lambda: command(sys.argv[1:])))
