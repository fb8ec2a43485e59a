"""`flitgym reproduce`: runs the sweep of a published figure or of a study, draws it, and compares its numbers.

    flitgym reproduce figure=hpdc21_load_latency preset=quick

`configs/reproduce.yaml` explains every key.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ..configs import CONFIG_DIR, explain, refuse_added, unknown
from ..configs.composition import WRONG
from ..simcore import ConfigError
from ..simcore._files import atomic_path
from .evaluation.plan import policies_of
from .evaluation.study import as_list, relative
from .metrics import relative_difference
from .places import FIGURES, STUDIES, Place, available, places, plan
from .plotting.players import player, player_of
from .results.files import remove_if_unused, require_writable
from .results.rows import ROWS_FILE, read_rows, row, write_rows
from .running.launcher import HERE, Launcher, launcher_of_app
from .running.one_run import prepare
from .running.sweep import PlannedRun, run_all
from .saturation.search import SATURATIONS
from .terminal.commandline import CommandError, by_hydra, past_hydra, run_command
from .workload.rows import workload_row

COMMAND = "flitgym reproduce"
LISTS = {"routing": "routings"}  # the list that replaces a key of a single run


@hydra.main(config_path=str(CONFIG_DIR), config_name="reproduce", version_base="1.3")
def app(config: DictConfig) -> None:
    """Reproduce in Hydra's run directory."""
    running = HydraConfig.get()
    directory = Path(running.runtime.output_dir)
    with remove_if_unused(directory), past_hydra():
        refuse_added(config)
        command = f"{COMMAND} {shlex.join(running.overrides.task)}"
        for path in reproduce(config, directory, command, launcher_of_app()):
            print(relative(path))


def reproduce(config: DictConfig, directory: Path, command: str, launcher: Launcher = HERE) -> list[Path]:
    """Run what is missing, then write the figures (PNG and SVG), the rows, the differences, and a page of all runs.

    Args:
        config: Composed from `reproduce.yaml`.
        directory: The folder of all files.
        command: The command line, for the page.
        launcher: Runs the simulations.

    Returns:
        The written files.

    Raises:
        CommandError: the figure, study or preset does not exist, or runs failed. The other runs are finished first.
        ConfigError: the launcher does not find its cluster.
        DamagedError: the rows to redraw cannot be read.
        OSError: a file cannot be written, and keeps its previous content.
    """
    name, place = chosen(config, launcher)
    runs, table = plan(place, config.preset, directory), directory / ROWS_FILE
    of_jobs = bool(place.load().get("rows_of_jobs", False))
    if config.redraw:
        rows = read_rows(table) if table.exists() else []
        gathered = of_jobs and any("policy" not in one for one in rows)
        if len(rows) < len(runs) or gathered:
            what = "was gathered and lacks columns" if gathered else f"holds {len(rows)} of {len(runs)} runs"
            raise CommandError(f"redraw: {relative(table)} {what}; run the command without redraw=true first")
        return draw(name, place, rows, directory, config.preset)
    require_writable(directory)
    played = [(run, "") for run in runs] + _further(config, place, runs, directory)
    runs = [run for run, _ in played]
    results = run_all(runs, name, config.workers, keep_going=True, launcher=launcher, silent=["saturated"])
    to_row = workload_row if of_jobs else row
    rows = [dict(to_row(result, run.directory)) for run, result in zip(runs, results, strict=True)]
    for one, (_, policy) in zip(rows, played, strict=True):
        one["policy"] = policy or player_of(one)
    write_rows(table, rows, "labelled")
    written = draw(name, place, rows, directory, config.preset)

    from .report import write_report  # takes long to import, as Matplotlib

    done = [(one, run.directory) for run, one in zip(runs, results, strict=True) if run.kind is not SATURATIONS]
    pictures = [path for path in written if path.suffix == ".png"]
    page = write_report(directory, f"{name}, preset {config.preset}", done, pictures, command=command)
    return [*written, page]


def chosen(config: DictConfig, launcher: Launcher = HERE) -> tuple[str, Place]:
    """The figure or study that the keys name, and its place.

    Raises:
        CommandError: there is no such figure, study or preset, or keys exclude each other.
    """
    figures, studies = places(FIGURES), places(STUDIES)
    if bool(config.figure) == bool(config.study):
        raise CommandError(f"name one figure or study: figure={'|'.join(figures)}, study={'|'.join(studies)}")
    kind, name, known = ("figure", config.figure, figures) if config.figure else ("study", config.study, studies)
    if name not in known:
        raise CommandError(unknown(kind, name, known))
    place = known[name]
    presets = list(map(str, place.load().presets))
    if config.preset not in presets:
        raise CommandError(unknown("preset", config.preset, presets))
    if config.routings and not place.load().get("routing", False):
        every = {
            f"{kind}={name}": at for kind, own in (("figure", figures), ("study", studies)) for name, at in own.items()
        }
        takers = [word for word, at in every.items() if at.load().get("routing")]
        raise CommandError(f"routing: {kind}={name} takes no further routings; these do: {', '.join(takers)}")
    if config.redraw and (config.routings or launcher.kind):
        key = "routing" if config.routings else "hydra/launcher"
        raise CommandError(f"{key}: redraw=true runs nothing and draws the existing rows; leave {key} or redraw out")
    if config.workers is not None and config.workers < 1:
        raise CommandError(f"workers: {config.workers} is less than 1")
    return name, place


def _further(
    config: DictConfig, place: Place, runs: Sequence[PlannedRun], directory: Path
) -> list[tuple[PlannedRun, str]]:
    """The runs of `routing`, with the names of their policies. Each network of a first run is built as a check."""
    found = []
    own = {player(run.plain["routing"]) for run in runs if "routing" in run.plain}  # a forwarding table has none
    entries: Any = OmegaConf.to_container(config.routings)
    try:
        for policy in policies_of(entries):
            if policy.name in own:
                raise ConfigError(
                    f"routing: {config.figure or config.study} already has a routing '{policy.name}'; give the policy "
                    "another name: {name: ..., ...}"
                )
            played = plan(place, config.preset, directory, policy)
            prepare(played[0].config)
            found += [(run, policy.name) for run in played]
    except WRONG as error:
        raise CommandError(explain(error)) from None
    return found


def draw(name: str, place: Place, rows: Sequence[Mapping[str, Any]], directory: Path, preset: str) -> list[Path]:
    """Draw a figure, or the figures of a study, from rows alone.

    Returns:
        The files: PNG and SVG of each figure, and the table of differences. If a figure cannot be drawn, no file is
        written.
    """
    # Imported here, because Matplotlib takes long to import.
    from .plotting.drawing import save_figure
    from .plotting.seeds import state_seeds

    script, expected = place.script, place.expected()
    drawn = script.draw(rows, expected)
    figures = drawn if isinstance(drawn, Mapping) else {name: drawn}
    for stem, figure in figures.items():
        # A description is that of all figures, or one by figure.
        notes = (getattr(script, key, "") for key in ("OVER_SEEDS", "INTERVALS", "OF_ONE_SEED"))
        state_seeds(figure, rows, *(note.get(stem, "") if isinstance(note, Mapping) else note for note in notes))
    written = [path for stem, figure in figures.items() for path in save_figure(figure, directory / stem, salt=name)]
    # A preset with `bands` names another preset, whose bands of expected numbers apply to it, too.
    bands = place.load().presets[preset].get("bands", preset)
    table = directory / "differences.md"
    with atomic_path(table) as temporary:
        compared = differences(name, script.measured(rows), expected["numbers"], bands)
        temporary.write_text(f"{compared}\n{script.summary(rows)}")
    return [*written, table]


def differences(
    figure: str, measured: Mapping[str, float | None], expected: Sequence[Mapping[str, Any]], preset: str = "quick"
) -> str:
    """The Markdown table of measured and expected numbers, with the source of each expected number.

    Args:
        figure: The name for the title.
        measured: A number per `id` of `expected`; None if the runs did not give it.
        expected: Entries with `id`, `what`, `value`, `source`, and `band` = [low, high], the range that counts as met.
            `band` may be a mapping from presets to ranges, if the number does not apply to all presets.
        preset: The preset of the measured numbers.
    """
    lines = [
        f"# {figure}: measured and expected\n",
        "| quantity | expected | measured | difference | within | source of what is expected |",
        "|---|---|---|---|---|---|",
    ]
    for entry in expected:
        value, wanted, bands = measured[entry["id"]], entry["value"], entry["band"]
        known = not isinstance(bands, Mapping) or preset in bands
        low, high = (bands[preset] if isinstance(bands, Mapping) else bands) if known else (None, None)
        shown = "-" if value is None else _text(value)
        difference = "-" if value is None or not known else f"{relative_difference(value, wanted):+.1%}"
        if not known:
            verdict = f"only {', '.join(bands)}"
        elif value is None:
            verdict = "not measured"
        else:
            verdict = "yes" if (low is None or value >= low) and (high is None or value <= high) else "**no**"
        band = f" ({_text(low)} to {_text(high)})" if known else ""
        lines.append(
            f"| {entry['what']} | {_text(wanted)} | {shown} | {difference} | {verdict}{band} | {entry['source']} |"
        )
    return "\n".join(lines) + "\n"


def _text(number: float | None) -> str:
    return "any" if number is None else f"{number:.4g}"


def main() -> None:
    """Entry point of the command."""
    helped = {"-h", "--help"} & set(sys.argv[1:]) or not sys.argv[1:]
    sys.argv[1:] = [as_list(word, LISTS) for word in sys.argv[1:]] or ["--help"]
    status = run_command(COMMAND, lambda: by_hydra(app, COMMAND, "reproduce", "this command"))
    if helped and not status:
        for title, folder in (("Figures", FIGURES), ("Studies, several figures from one sweep", STUDIES)):
            print(f"\n{title}:")
            print(*(f"  {name}: preset={'|'.join(presets)}" for name, presets in available(folder).items()), sep="\n")
    sys.exit(status)
