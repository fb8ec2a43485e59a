"""`flitgym-reproduce figure=<name> preset=<preset>`: run a published figure's sweep, draw it, compare the numbers.

A study (`study=<name>`) is one sweep that several figures share.
"""

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..configs import explain, unknown
from ..simcore import ConfigError
from ..simcore._files import atomic_path
from .commandline import CommandError, run_command
from .evaluation.plan import Policy, policies_of
from .launcher import HERE, Launcher, launcher_of
from .metrics import relative_difference
from .one_run import prepare
from .players import player, player_of
from .results import ROWS_FILE, read_rows, require_writable, row, write_rows
from .sweep import PlannedRun, RunFailedError, expand, run_all
from .workload_rows import workload_row

FIGURES = Path(__file__).parent / "figures"
STUDIES = Path(__file__).parent / "studies"


# The path of a file in the folders of the figures, for a sweep: ${figure_file:effective_bisection/moench.csv}.
OmegaConf.register_new_resolver("figure_file", lambda name: str(FIGURES / name), replace=True)


@dataclass
class Options:
    """What the command takes, as `key=value`."""

    figure: str = ""
    study: str = ""  # in the place of a figure
    preset: str = "quick"
    # Of a study: further routings and learned policies, as of flitgym-evaluate.
    policies: list[Any] = field(default_factory=list)
    results: str = "results"  # runs and figures go to <results>/<name>_<preset>/
    workers: int | None = None  # runs at the same time; None: one per core, or what a cluster has room for
    redraw: bool = False  # run nothing: the figures once more, from the rows that are there


def available(folder: Path = FIGURES) -> dict[str, list[str]]:
    """Every figure (or study) with its presets. A folder with a `config.yaml` is one."""
    return {path.parent.name: list(map(str, _load(path).presets)) for path in sorted(folder.glob("*/config.yaml"))}


def plan(name: str, preset: str, directory: Path, folder: Path = FIGURES) -> list[PlannedRun]:
    """The runs of a figure or study, from its `config.yaml` alone."""
    common, blocks = _sweep(folder / name, preset)
    return expand(common, blocks, directory)


def plan_of(policy: Policy, name: str, preset: str, directory: Path) -> list[PlannedRun]:
    """The runs of a study once more, with a policy in the place of its routings."""
    common, blocks = _sweep(STUDIES / name, preset)
    played = [
        {
            **block,
            "sweep": {**block["sweep"], "routing": [policy.routing]},
            "together": [*block.get("together", ()), [dict(policy.settings)]],
        }
        for block in blocks
        if "routing" in block["sweep"]
    ]
    return expand(common, played, directory)


def _sweep(folder: Path, preset: str) -> tuple[list[str], list[dict[str, Any]]]:
    config = _load(folder / "config.yaml")
    config.preset = config.presets[preset]
    sweep: Any = OmegaConf.to_container(config, resolve=True)
    return [*sweep["common"], *sweep["preset"].get("overrides", ())], sweep["runs"]


def reproduce(options: Options, launcher: Launcher = HERE) -> None:
    """Run what is missing, then write the figures (PNG and SVG), the rows, the differences, and a study's report page.

    Raises:
        CommandError: no such figure, study or preset, or a run failed. Those of a study still run to the end.
        ConfigError: there is no cluster where the launcher looks for one.
        DamagedError: the rows to redraw cannot be read.
        OSError: a file cannot be written; what was there before stays.
    """
    _check(options)
    if options.redraw and launcher.kind:
        raise CommandError("redraw=true runs nothing, which needs no launcher; leave hydra/launcher out")
    name = options.figure or options.study
    directory = Path(options.results) / f"{name}_{options.preset}"
    if options.redraw:
        for path in _draw_rows(options, directory):
            print(path)
        return
    require_writable(directory)
    runs = plan(name, options.preset, directory, STUDIES if options.study else FIGURES)
    players: list[str | None] = [None] * len(runs)
    for policy, played in _further(options, list(runs), directory):
        runs += played
        players += [policy.name] * len(played)
    try:
        results = run_all(runs, name, options.workers, keep_going=bool(options.study), launcher=launcher)
    except RunFailedError as error:
        raise CommandError(str(error)) from None
    to_row = workload_row if options.study else row
    rows = [dict(to_row(result, run.directory)) for run, result in zip(runs, results, strict=True)]
    for one, name_given in zip(rows, players, strict=True):
        one["policy"] = name_given or player_of(one)
    write_rows(directory / ROWS_FILE, rows)
    written = _draw_rows(options, directory)
    if options.study:
        from .report import write_report

        made_by = f"flitgym-reproduce study={name} preset={options.preset}"
        if options.policies:
            made_by += f" 'policies={json.dumps(_plain(options.policies))}'"
        done = [(result, run.directory) for run, result in zip(runs, results, strict=True)]
        figures = [path for path in written if path.suffix == ".png"]
        title = f"{name}, preset {options.preset}"
        written.append(write_report(directory, title, done, figures, command=made_by))
    for path in written:
        print(path)


def _draw_rows(options: Options, directory: Path) -> list[Path]:
    """Draw from the rows that were written, whether just now or some time ago."""
    path = directory / ROWS_FILE
    if not path.exists():
        raise CommandError(f"redraw: there is no {path} yet; run it without redraw=true first")
    rows = read_rows(path)
    if options.redraw:
        _check_rows(options, rows, path)
    drawn = draw_study if options.study else draw
    return drawn(options.figure or options.study, rows, directory, options.preset)


def _check_rows(options: Options, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Refuse a table that has not all that the figures are drawn from, before the first of them is drawn."""
    name, folder = options.figure or options.study, STUDIES if options.study else FIGURES
    wanted = len(plan(name, options.preset, path.parent, folder))
    again = "run it without redraw=true, which runs only what is missing"
    if len(rows) < wanted:
        raise CommandError(f"redraw: {path} holds {len(rows)} of {wanted} runs; {again}")
    if options.study and any("policy" not in one for one in rows):
        raise CommandError(f"redraw: {path} was gathered and has not all that a study's figures need; {again}")


def _further(options: Options, runs: Sequence[PlannedRun], directory: Path) -> list[tuple[Policy, list[PlannedRun]]]:
    """The runs of `policies`; what cannot play in this study is refused before anything runs."""
    found = []
    own = {player(run.plain["routing"]) for run in runs}
    try:
        for policy in policies_of(_plain(options.policies)):
            if policy.name in own:
                raise ConfigError(
                    f"policies: the study has a routing '{policy.name}' of its own; write {{name: ..., ...}}"
                )
            played = plan_of(policy, options.study, options.preset, directory)
            prepare(played[0].config)
            found.append((policy, played))
    except (HydraException, OmegaConfBaseException, ConfigError) as error:
        raise CommandError(explain(error)) from None
    return found


def _plain(policies: Sequence[Any]) -> list[Any]:
    words: Any = OmegaConf.to_container(OmegaConf.create(list(policies)))
    return list(words)


def draw(figure: str, rows: Sequence[Mapping[str, Any]], directory: Path, preset: str = "quick") -> list[Path]:
    """Draw a figure from its rows and nothing else.

    Returns:
        The files written: PNG, SVG and the table of differences.
    """
    # Matplotlib takes as long to import as all the rest; whoever plans or asks for help needs none.
    from .drawing import save_figure

    script = importlib.import_module(f".figures.{figure}.plot", __package__)
    expected: Any = OmegaConf.to_container(_load(FIGURES / figure / "expected.yaml"))
    written = save_figure(script.draw(rows, expected), directory / figure, salt=figure)
    return [*written, _write_differences(figure, script, rows, expected["numbers"], directory, preset)]


def draw_study(study: str, rows: Sequence[Mapping[str, Any]], directory: Path, preset: str = "quick") -> list[Path]:
    """Draw every figure of a study from its rows and nothing else.

    Returns:
        The files written: PNG and SVG of each figure, and the table of differences.
    """
    from .drawing import save_figure

    script = importlib.import_module(f".studies.{study}.study", __package__)
    expected: Any = OmegaConf.to_container(_load(STUDIES / study / "expected.yaml"))
    written = [
        path
        for name, figure in script.FIGURES.items()
        for path in save_figure(figure(rows), directory / name, salt=study)
    ]
    # A preset that is part of another one is held against its numbers.
    bands = _load(STUDIES / study / "config.yaml").presets[preset].get("bands", preset)
    return [*written, _write_differences(study, script, rows, expected["numbers"], directory, bands)]


def _write_differences(
    name: str,
    script: Any,
    rows: Sequence[Mapping[str, Any]],
    expected: Sequence[Mapping[str, Any]],
    directory: Path,
    preset: str,
) -> Path:
    table = directory / "differences.md"
    with atomic_path(table) as temporary:
        temporary.write_text(differences(name, script.measured(rows), expected, preset) + "\n" + script.summary(rows))
    return table


def differences(
    figure: str, measured: Mapping[str, float | None], expected: Sequence[Mapping[str, Any]], preset: str = "quick"
) -> str:
    """The Markdown table of measured against expected numbers, each with its source: published, or another.

    Args:
        figure: For the title.
        measured: A number per `id` of `expected`; None where the runs did not give it.
        expected: Entries with `id`, `what`, `value`, `source`, and `band` = [low, high] where a range counts as met;
            or a mapping from presets to such bands, if not every preset can be held to the number.
        preset: Which one the numbers are of.
    """
    lines = [
        f"# {figure}: measured and expected\n",
        "| quantity | expected | measured | difference | within | source of what is expected |",
        "|---|---|---|---|---|---|",
    ]
    for entry in expected:
        value, wanted = measured[entry["id"]], entry["value"]
        bands = entry["band"]
        if isinstance(bands, Mapping) and preset not in bands:
            shown = "-" if value is None else _text(value)
            lines.append(
                f"| {entry['what']} | {_text(wanted)} | {shown} | - | only {', '.join(bands)} | {entry['source']} |"
            )
            continue
        low, high = bands[preset] if isinstance(bands, Mapping) else bands
        band = f"{_text(low)} to {_text(high)}"
        if value is None:
            shown, difference, verdict = "-", "-", f"not measured ({band})"
        else:
            shown, difference = _text(value), f"{relative_difference(value, wanted):+.1%}"
            verdict = (
                f"{'yes' if (low is None or value >= low) and (high is None or value <= high) else '**no**'} ({band})"
            )
        lines.append(f"| {entry['what']} | {_text(wanted)} | {shown} | {difference} | {verdict} | {entry['source']} |")
    return "\n".join(lines) + "\n"


def _text(number: float | None) -> str:
    return "any" if number is None else f"{number:.4g}"


def _load(path: Path) -> DictConfig:
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig), f"{path} is not a mapping"
    return config


def _check(options: Options) -> None:
    figures, studies = available(), available(STUDIES)
    if bool(options.figure) == bool(options.study):
        raise CommandError(f"name a figure or a study: figure={'|'.join(figures)}, study={'|'.join(studies)}")
    for kind, name, valid in (("figure", options.figure, figures), ("study", options.study, studies)):
        if name and name not in valid:
            raise CommandError(unknown(kind, name, valid))
    presets = studies[options.study] if options.study else figures[options.figure]
    if options.preset not in presets:
        raise CommandError(unknown("preset", options.preset, presets))
    if options.policies and not options.study:
        raise CommandError("policies: further ones play in a study (study=interference), not in a figure")
    if options.policies and options.redraw:
        raise CommandError("policies: redraw=true draws the rows that are there, with the policies they have")
    if options.workers is not None and options.workers < 1:
        raise CommandError(f"workers: {options.workers} is less than 1")


def _usage() -> str:
    lines = [
        "usage: flitgym-reproduce figure=<name> [preset=<preset>] [results=<folder>] [workers=<n>]",
        "       flitgym-reproduce study=<name> [preset=<preset>] [policies=[...]] [results=<folder>] [workers=<n>]",
        "",
        "Runs what is missing of the sweep, draws its figures and compares its numbers with published or known ones.",
        "On a cluster: hydra/launcher=ray hydra.launcher.address=host:port, or hydra/launcher=submitit_slurm.",
        "With redraw=true it runs nothing and draws the rows that are there: after an edit of a plot.",
    ]
    for title, folder in (("figures", FIGURES), ("studies, several figures from one sweep", STUDIES)):
        lines += ["", f"{title}:"]
        lines += [f"  {name}: preset={'|'.join(presets)}" for name, presets in available(folder).items()]
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
        launcher, words = launcher_of(sys.argv[1:])
        options: Any = OmegaConf.merge(OmegaConf.structured(Options), OmegaConf.from_cli(words))
        reproduce(options, launcher)

    sys.exit(run_command("flitgym-reproduce", command))


if __name__ == "__main__":
    main()
