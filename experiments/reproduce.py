"""`flitgym reproduce`: runs the sweep of a published figure or of a study, draws it, and compares its numbers.

    flitgym reproduce figure=hpdc21_load_latency preset=quick

`configs/reproduce.yaml` explains every key.
"""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from ..configs import CONFIG_DIR, explain, unknown
from ..configs.composition import WRONG
from ..simcore import ConfigError
from .comparison.places import FIGURES, STUDIES, Place, available, places, plan
from .comparison.published import draw
from .evaluation.plan import policies_of
from .evaluation.study import as_list
from .plotting.players import player, player_of
from .results.files import require_writable
from .results.rows import ROWS_FILE, read_rows, row, write_rows
from .running.launcher import HERE, Launcher, in_run_folder, launcher_of_app
from .running.one_run import prepare
from .running.plan import PlannedRun
from .running.sweep import run_all
from .saturation.search import SATURATIONS
from .terminal.commandline import CommandError, by_hydra, relative, run_command
from .workload.rows import workload_row

COMMAND = "flitgym reproduce"
LISTS = {"routing": "routings"}  # the list that replaces a key of a single run


@hydra.main(config_path=str(CONFIG_DIR), config_name="reproduce", version_base="1.3")
def app(config: DictConfig) -> None:
    """Reproduce in Hydra's run directory."""
    with in_run_folder(config, single=False) as (directory, words):
        command = f"{COMMAND} {shlex.join(words)}"
        for path in reproduce(config, directory, command, launcher_of_app()):
            print(relative(path))


def reproduce(config: DictConfig, directory: Path, command: str, launcher: Launcher = HERE) -> list[Path]:
    """Run what is missing, then write the figures (PNG and SVG), the rows, the differences, and a page of all runs.

    `config` is composed from `reproduce.yaml`. The page names `command`. Returns the written files.
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

    from .report.page import write_report  # takes long to import, as Matplotlib

    done = [(one, run.directory) for run, one in zip(runs, results, strict=True) if run.kind is not SATURATIONS]
    pictures = [path for path in written if path.suffix == ".png"]
    page = write_report(directory, f"{name}, preset {config.preset}", done, pictures, command=command)
    return [*written, page]


def chosen(config: DictConfig, launcher: Launcher = HERE) -> tuple[str, Place]:
    """The figure or study that the keys name, and its place."""
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
        raise CommandError(
            f"routing: {kind}={name} takes no further routings, because its config.yaml lacks routing: true"
        )
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
            prepare(played[0].plain)
            found += [(run, policy.name) for run in played]
    except WRONG as error:
        raise CommandError(explain(error)) from None
    return found


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
