"""`flitgym-reproduce figure=<name> preset=<preset>`: run a published figure's sweep, draw it, compare the numbers."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf

from ..configs import unknown
from .commandline import CommandError, run_command
from .metrics import relative_difference
from .results import ROWS_FILE, atomic_path, row, write_rows
from .sweep import WORKERS, PlannedRun, RunFailedError, expand, run_all

FIGURES = Path(__file__).parent / "figures"


@dataclass
class Options:
    """What the command takes, as `key=value`."""

    figure: str = MISSING
    preset: str = "quick"
    results: str = "results"  # runs and figure go to <results>/<figure>_<preset>/
    workers: int = WORKERS  # runs at the same time


def available() -> dict[str, list[str]]:
    """Every figure with its presets. A folder with a `config.yaml` is a figure."""
    return {path.parent.name: list(map(str, _load(path).presets)) for path in sorted(FIGURES.glob("*/config.yaml"))}


def plan(figure: str, preset: str, directory: Path) -> list[PlannedRun]:
    """The runs of a figure, from its `config.yaml` alone."""
    config = _load(FIGURES / figure / "config.yaml")
    config.preset = config.presets[preset]
    sweep: Any = OmegaConf.to_container(config, resolve=True)
    return expand([*sweep["common"], *sweep["preset"].get("overrides", ())], sweep["runs"], directory)


def reproduce(options: Options) -> None:
    """Run what is missing, then write the figure (PNG and SVG), the rows and the table of differences.

    Raises:
        CommandError: no such figure or preset, or a run failed.
        OSError: a file cannot be written; what was there before stays.
    """
    _check(options)
    name = options.figure
    directory = Path(options.results) / f"{name}_{options.preset}"
    runs = plan(name, options.preset, directory)
    try:
        results = run_all(runs, name, options.workers)
    except RunFailedError as error:
        raise CommandError(str(error)) from None
    rows = [row(result, run.directory) for run, result in zip(runs, results, strict=True)]
    write_rows(directory / ROWS_FILE, rows)
    for path in draw(name, rows, directory):
        print(path)


def draw(figure: str, rows: Sequence[Mapping[str, Any]], directory: Path) -> list[Path]:
    """Draw a figure from its rows and nothing else.

    Returns:
        The files written: PNG, SVG and the table of differences.
    """
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = figure  # else the marks in an SVG get random names
    script = importlib.import_module(f".figures.{figure}.plot", __package__)
    expected: Any = OmegaConf.to_container(_load(FIGURES / figure / "expected.yaml"))

    image = script.draw(rows, expected)
    written = []
    for suffix in ("png", "svg"):
        path = directory / f"{figure}.{suffix}"
        with atomic_path(path) as temporary:
            # No date in the files: the same rows give the same bytes.
            image.savefig(temporary, dpi=160, metadata={"Date": None} if suffix == "svg" else None)
        written.append(path)
    table = directory / "differences.md"
    with atomic_path(table) as temporary:
        temporary.write_text(
            differences(figure, script.measured(rows), expected["numbers"]) + "\n" + script.summary(rows)
        )
    return [*written, table]


def differences(figure: str, measured: Mapping[str, float | None], expected: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown table of measured against published numbers.

    Args:
        figure: For the title.
        measured: A number per `id` of `expected`; None where the runs did not give it.
        expected: Entries with `id`, `what`, `value`, `source`, and `band` = [low, high] where a range counts as met.
    """
    lines = [
        f"# {figure}: measured and published\n",
        "| quantity | published | measured | difference | within | source |",
        "|---|---|---|---|---|---|",
    ]
    for entry in expected:
        value, published = measured[entry["id"]], entry["value"]
        low, high = entry["band"]
        band = f"{_text(low)} to {_text(high)}"
        if value is None:
            shown, difference, verdict = "-", "-", f"not measured ({band})"
        else:
            shown, difference = _text(value), f"{relative_difference(value, published):+.1%}"
            verdict = (
                f"{'yes' if (low is None or value >= low) and (high is None or value <= high) else '**no**'} ({band})"
            )
        lines.append(
            f"| {entry['what']} | {_text(published)} | {shown} | {difference} | {verdict} | {entry['source']} |"
        )
    return "\n".join(lines) + "\n"


def _text(number: float | None) -> str:
    return "any" if number is None else f"{number:.4g}"


def _load(path: Path) -> DictConfig:
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig), f"{path} is not a mapping"
    return config


def _check(options: Options) -> None:
    figures = available()
    if OmegaConf.is_missing(options, "figure"):
        raise CommandError(f"name a figure: figure={'|'.join(figures)}")
    if options.figure not in figures:
        raise CommandError(unknown("figure", options.figure, figures))
    presets = figures[options.figure]
    if options.preset not in presets:
        raise CommandError(unknown("preset", options.preset, presets))
    if options.workers < 1:
        raise CommandError(f"workers: {options.workers} is less than 1")


def _usage() -> str:
    lines = [
        "usage: flitgym-reproduce figure=<name> [preset=<preset>] [results=<folder>] [workers=<n>]",
        "",
        "Runs what is missing of the figure's sweep, draws it and compares the numbers with the published ones.",
        "",
    ]
    lines += [f"  {name}: preset={'|'.join(presets)}" for name, presets in available().items()]
    return "\n".join(lines)


def main() -> None:
    """Entry point of the command."""
    if not sys.argv[1:] or {"-h", "--help"} & set(sys.argv[1:]):
        print(_usage())
        return

    def command() -> None:
        wrong = [word for word in sys.argv[1:] if "=" not in word]
        if wrong:
            raise CommandError(f"'{wrong[0]}' is not of the form key=value")
        options: Any = OmegaConf.merge(OmegaConf.structured(Options), OmegaConf.from_cli(sys.argv[1:]))
        reproduce(options)

    sys.exit(run_command("flitgym-reproduce", command))


if __name__ == "__main__":
    main()
