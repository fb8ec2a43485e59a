"""`flitgym compare`: the differences of the values of a key in one study, or of two studies, and their significance."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markdown import Markdown

from ..simcore import ConfigError
from .comparison.pairs import Comparison, compare, within
from .comparison.text import markdown, remarks, results_of, sentences
from .metrics import Interval
from .plotting.swept import Row
from .results.files import write_text
from .terminal.commandline import CommandError, parse, rows_of, run_command
from .terminal.tables import LATEX, console, interval_columns, latex_table, write_csv

NAME = "flitgym compare"
_WIDTH = 160  # columns of tables that do not go to a terminal
_USAGE = f"""\
usage: {NAME} <folder> by=<column> [reference=<value>] [out=<file>] [--markdown]
       {NAME} <folder> <folder> [out=<file>] [--markdown]

With by=routing, compare the routings of one study: a sentence for each with the effect, its 95 % interval over pairs
of runs with the same seed and placement, and Student's paired t test. With two folders, pair the runs of two studies,
or two single runs, by the keys that they have in common, and list the keys of the configuration that differ.

  by          a key of the configuration, such as routing, topology or vcs, or the policy of an evaluation
  reference   the value with which the others are compared; default: that of the first run, by the names of the
              folders of a sweep, or by the order of an evaluation
  out         write the comparison into a file: .md, .csv or .tex
  --markdown  print Markdown
"""


def _rows(directory: Path) -> Sequence[Row]:
    """The rows of the simulated runs of a folder."""
    kept = [row for row in rows_of(NAME, directory)[0] if "routing.name" in row]
    if not kept:
        raise CommandError(f"no simulated run below {directory}; make some with `flitgym simulate -m study=<name> ...`")
    return kept


def command(words: Sequence[str]) -> None:
    """Execute the command with its arguments."""
    folders, given, options = parse(words, ("by", "reference", "out"), ("markdown", "help", "h"))
    if (out := given.get("out")) and Path(out).suffix not in (".md", ".csv", ".tex"):
        raise ConfigError(f"out={out}: write a name that ends in .md, .csv or .tex")
    if options & {"help", "h"}:
        print(_USAGE, end="")
        return
    lines: list[str] = []
    if len(folders) == 1 and "by" in given:
        comparisons, refused = within(_rows(folders[0]), given["by"], given.get("reference"))
        print(*(f"{NAME}: {reason}\n" for reason in refused), sep="", end="", file=sys.stderr)
        lines = [line for names, found in comparisons.items() for line in sentences(found, names)]
        if not lines:
            raise CommandError(f"by={given['by']}: no runs of {folders[0]} differ in this key alone")
        lines += dict.fromkeys(line for names, found in comparisons.items() for line in remarks(found, names))
    elif len(folders) == 2 and not {"by", "reference"} & set(given):
        first, second = (folder.resolve().name for folder in folders)
        names = (first, second) if first != second else (str(folders[0]), str(folders[1]))
        comparisons = {names: compare(*map(_rows, folders))}
        if not comparisons[names].pairs:
            raise CommandError(
                f"no run of {folders[0]} has the same values of the swept parameters as a run of {folders[1]}"
            )
    else:
        raise CommandError(
            f"the command takes two folders, or one folder with by=<column>; for example {NAME} results/first "
            f"results/second, {NAME} results/first by=routing"
        )
    page = "\n".join(markdown(found, names) for names, found in comparisons.items())
    if "markdown" in options:
        print(page, end="")
    elif lines:
        print(*lines, sep="\n")
    else:
        console(_WIDTH).print(Markdown(page))
    if "out" in given:
        _write(Path(given["out"]), page, comparisons)
        print(given["out"], file=sys.stderr)


def _write(out: Path, page: str, comparisons: Mapping[tuple[str, str], Comparison]) -> None:
    """Write the comparisons in the format that the name of the file gives."""
    if out.suffix == ".csv":
        rows = [
            {"first": names[0], "second": names[1], "runs": pair.name, "seeds": len(pair.seeds), "result": one.column}
            | interval_columns(Interval(one.first, one.second, one.test.p), "mean_of_first", "mean_of_second", "p")
            | interval_columns(one.change, "difference", "low", "high")
            | {"verdict": one.verdict}
            for names, found in comparisons.items()
            for pair in found.pairs
            for one in pair.differences
        ]
        if not rows:
            raise CommandError("no result has a value on both sides")
        write_csv(out, rows)
        return
    if out.suffix == ".tex":
        tables = [results_of(found, names) for names, found in comparisons.items()]
        cells = [(heads, [[cell.translate(LATEX) for cell in line] for line in lines]) for heads, lines in tables]
        page = "\n".join(latex_table(heads, lines, left=heads[:1]) for heads, lines in cells)
    write_text(out, page)


def main() -> None:
    """Entry point of the command."""
    sys.exit(run_command(NAME, lambda: command(sys.argv[1:])))
