"""`flitgym compare <folder> <folder>`: lists the differences of two studies or runs, and which of them exceed noise."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from ..simcore import CoreError
from ..simcore._files import atomic_path
from .comparison.pairs import Comparison
from .comparison.pairs import compare as pair_up
from .comparison.text import markdown, show
from .plotting.swept import Row
from .results.rows import rows_in
from .terminal.commandline import CommandError, require_folder, run_command, say_damaged
from .terminal.words import parse

NAME = "flitgym compare"
_WIDTH = 160  # columns of tables that do not go to a terminal
_USAGE = f"""\
usage: {NAME} <folder> <folder> [out=<file.md>] [--markdown]

Pair the runs of two studies, or two single runs, by the keys that they have in common. List the keys of the
configuration that differ, and the differences of the results with 95 % intervals over seeds. Mark the differences
that exceed noise.

  out         write the comparison into a file, as Markdown
  --markdown  print Markdown
"""


def compare(directories: Sequence[Path]) -> Comparison:
    """The comparison of two folders.

    Raises:
        ConfigError: the runs cannot be paired.
        CommandError: a folder has no run, or no run of the first folder has a partner in the second.
        CoreError: every run of a folder is damaged.
    """
    sides: list[Sequence[Row]] = []
    for directory in directories:
        require_folder(NAME, directory)
        rows, damaged = rows_in(directory)
        say_damaged(NAME, damaged)
        kept = [row for row in rows if "routing.name" in row]
        if damaged and not kept:
            raise CoreError(f"every run below {directory} is damaged")
        if not kept:
            raise CommandError(
                f"no simulated run below {directory}; make some with `flitgym simulate -m study=<name> ...`"
            )
        sides.append(kept)
    found = pair_up(*sides)
    if not found.pairs:
        raise CommandError(
            f"no run of {directories[0]} has the same values of the swept parameters as a run of {directories[1]}"
        )
    return found


def command(words: Sequence[str]) -> None:
    """Execute the command with its arguments.

    Raises:
        ConfigError, CommandError, CoreError: as `compare`.
        OSError: the file cannot be written.
    """
    folders, given, options = parse(words, ("out",), ("markdown", "help", "h"))
    if options & {"help", "h"}:
        print(_USAGE, end="")
        return
    if len(folders) != 2:
        example = f"{NAME} results/first results/second"
        raise CommandError(f"the command takes two folders, not {len(folders)}; for example {example}")
    found = compare(folders)
    names = _names(folders)
    if "markdown" in options:
        print(markdown(found, names), end="")
    else:
        console = Console(soft_wrap=False)
        show(found, names, console if console.is_terminal else Console(width=_WIDTH))
    _write(found, names, given)


def _write(found: Comparison, names: Sequence[str], given: Mapping[str, str]) -> None:
    if "out" in given:
        with atomic_path(given["out"]) as temporary:
            temporary.write_text(markdown(found, names), encoding="utf-8")
        print(given["out"], file=sys.stderr)


def _names(folders: Sequence[Path]) -> list[str]:
    names = [folder.resolve().name for folder in folders]
    return names if names[0] != names[1] else [str(folder) for folder in folders]


def main() -> None:
    """Entry point of the command."""
    sys.exit(run_command(NAME, lambda: command(sys.argv[1:])))
