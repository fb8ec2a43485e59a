"""`flitgym reproduce figure=<name> preset=<preset>`: runs the sweep of a published figure, draws it, compares numbers.

A study (`study=<name>`) is one sweep for several figures. Otherwise studies and figures are the same.
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
from ..simcore.plugins import Plugin, entries, load
from .evaluation.plan import Policy, policies_of
from .evaluation.study import as_list
from .metrics import relative_difference
from .plotting.players import player, player_of
from .results.files import require_writable
from .results.rows import ROWS_FILE, read_rows, row, write_rows
from .running.launcher import HERE, Launcher, launcher_of
from .running.one_run import prepare
from .running.sweep import PlannedRun, run_all
from .saturation.search import SATURATIONS, expand_with_searches
from .terminal.commandline import CommandError, run_command
from .workload.rows import workload_row

FIGURES = Path(__file__).parent / "figures"
STUDIES = Path(__file__).parent / "studies"


@dataclass(frozen=True)
class Place:
    """The place of a figure or a study.

    Args:
        folder: The folder of its `config.yaml`.
        package: The package of its script.
        plugin: The plugin that has it; None: flitgym itself.
    """

    folder: Path
    package: str
    plugin: Plugin | None = None

    def script(self, name: str) -> Any:
        """Import one of its scripts."""
        module = f"{self.package}.{name}"
        return importlib.import_module(module) if self.plugin is None else load(self.plugin, module)

    def load(self, file: str = "config.yaml") -> DictConfig:
        """Read one of its files."""
        return _load(self.folder / file)


def places(folder: Path = FIGURES) -> dict[str, Place]:
    """Every figure (or study) by name; those of plugins come last. A figure is a folder with a `config.yaml`."""
    own = {path.parent.name: path.parent for path in sorted(folder.glob("*/config.yaml"))}
    found = {name: Place(path, f"{__package__}.{folder.name}.{name}") for name, path in own.items()}
    for name, (plugin, path) in entries(folder.name, "*/config.yaml", own).items():
        found[name] = Place(path, f"{plugin.package}.{folder.name}.{name}", plugin)
    return found


def _figure_file(word: str) -> str:
    figure, _, file = word.partition("/")
    return str(places()[figure].folder / file)


# Resolves the path of a file in the folders of the figures: ${figure_file:effective_bisection/moench.csv}.
OmegaConf.register_new_resolver("figure_file", _figure_file, replace=True)


@dataclass
class Options:
    """The keys of the command."""

    figure: str = ""
    study: str = ""  # instead of a figure
    preset: str = "quick"
    # Further routings and learned policies, as in flitgym evaluate, for figures that accept them.
    routing: list[Any] = field(default_factory=list)
    results: str = "results"  # runs and figures go to <results>/<name>_<preset>/
    workers: int | None = None  # number of parallel runs; None: one per core, or as many as the cluster takes
    redraw: bool = False  # run nothing, and draw the figures from the existing rows

    @property
    def name(self) -> str:
        """The name of the figure or study."""
        return self.figure or self.study

    @property
    def home(self) -> Path:
        """The folder of all figures, or of all studies."""
        return STUDIES if self.study else FIGURES

    @property
    def word(self) -> str:
        """The word of the command line that names it."""
        return f"study={self.study}" if self.study else f"figure={self.figure}"


def available(folder: Path = FIGURES) -> dict[str, list[str]]:
    """Every figure (or study) with its presets."""
    return {name: list(map(str, place.load().presets)) for name, place in places(folder).items()}


def plan(name: str, preset: str, directory: Path, folder: Path = FIGURES) -> list[PlannedRun]:
    """The runs of a figure or study, from its `config.yaml`."""
    common, blocks = _sweep(places(folder)[name], preset)
    return expand_with_searches(common, blocks, directory)


def plan_of(policy: Policy, name: str, preset: str, directory: Path, folder: Path = STUDIES) -> list[PlannedRun]:
    """The runs of a figure or study with a policy instead of its routings."""
    common, blocks = _sweep(places(folder)[name], preset)
    played = [
        {
            **block,
            "sweep": {**block["sweep"], "routing": [policy.routing]},
            "together": [*block.get("together", ()), [dict(policy.settings)]],
        }
        for block in blocks
        if "routing" in block["sweep"]
    ]
    return expand_with_searches(common, played, directory)


def _sweep(place: Place, preset: str) -> tuple[list[str], list[dict[str, Any]]]:
    config = place.load()
    config.preset = config.presets[preset]
    sweep: Any = OmegaConf.to_container(config, resolve=True)
    return [*sweep["common"], *sweep["preset"].get("overrides", ())], sweep["runs"]


def reproduce(options: Options, launcher: Launcher = HERE) -> None:
    """Run what is missing, then write the figures (PNG and SVG), the rows, the differences, and a page of all runs.

    Raises:
        CommandError: the figure, study or preset does not exist, or runs failed. The other runs are finished first.
        ConfigError: the launcher does not find its cluster.
        DamagedError: the rows to redraw cannot be read.
        OSError: a file cannot be written, and keeps its previous content.
    """
    _check(options)
    if options.redraw and launcher.kind:
        raise CommandError("redraw=true runs nothing and needs no launcher; leave hydra/launcher out")
    directory = Path(options.results) / f"{options.name}_{options.preset}"
    if options.redraw:
        for path in _draw_rows(options, directory):
            print(path)
        return
    require_writable(directory)
    runs = plan(options.name, options.preset, directory, options.home)
    players: list[str | None] = [None] * len(runs)
    for policy, played in _further(options, list(runs), directory):
        runs += played
        players += [policy.name] * len(played)
    results = run_all(runs, options.name, options.workers, keep_going=True, launcher=launcher, silent=["saturated"])
    to_row = workload_row if _of_jobs(options) else row
    rows = [dict(to_row(result, run.directory)) for run, result in zip(runs, results, strict=True)]
    for one, name_given in zip(rows, players, strict=True):
        one["policy"] = name_given or player_of(one)
    write_rows(directory / ROWS_FILE, rows, "labelled")
    written = _draw_rows(options, directory)
    done = [(one, run.directory) for run, one in zip(runs, results, strict=True) if run.kind is not SATURATIONS]
    for path in [*written, _write_page(options, directory, done, written)]:
        print(path)


def _write_page(
    options: Options, directory: Path, done: Sequence[tuple[dict[str, Any], Path]], written: Sequence[Path]
) -> Path:
    from .report import write_report

    made_by = f"flitgym reproduce {options.word} preset={options.preset}"
    if options.routing:
        made_by += f" 'routing={json.dumps(_plain(options.routing))}'"
    figures = [path for path in written if path.suffix == ".png"]
    return write_report(directory, f"{options.name}, preset {options.preset}", done, figures, command=made_by)


def _draw_rows(options: Options, directory: Path) -> list[Path]:
    """Draw from the rows in the folder, which this call or an earlier one has written."""
    path = directory / ROWS_FILE
    if not path.exists():
        raise CommandError(f"redraw: {path} does not exist yet; run the command without redraw=true first")
    rows = read_rows(path)
    if options.redraw:
        _check_rows(options, rows, path)
    return draw(options.name, rows, directory, options.preset, options.home)


def _check_rows(options: Options, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Check before drawing that a table has all rows and columns that the figures need."""
    wanted = len(plan(options.name, options.preset, path.parent, options.home))
    again = "run the command without redraw=true, which runs only what is missing"
    if len(rows) < wanted:
        raise CommandError(f"redraw: {path} holds {len(rows)} of {wanted} runs; {again}")
    if _of_jobs(options) and any("policy" not in one for one in rows):
        raise CommandError(f"redraw: {path} was gathered and lacks columns that these figures need; {again}")


def _of_jobs(options: Options) -> bool:
    """Whether its rows come from `workload_row`."""
    return bool(places(options.home)[options.name].load().get("rows_of_jobs", False))


def _takes_routings(place: Place) -> bool:
    return bool(place.load().get("routing", False))


def _further(options: Options, runs: Sequence[PlannedRun], directory: Path) -> list[tuple[Policy, list[PlannedRun]]]:
    """The runs of `routing`. As a check before any run starts, the network of each policy's first run is built."""
    found = []
    own = {player(run.plain["routing"]) for run in runs if "routing" in run.plain}  # a forwarding table has none
    try:
        for policy in policies_of(_plain(options.routing)):
            if policy.name in own:
                raise ConfigError(
                    f"routing: {options.word} already has a routing '{policy.name}'; give the policy another name: "
                    "{name: ..., ...}"
                )
            played = plan_of(policy, options.name, options.preset, directory, options.home)
            prepare(played[0].config)
            found.append((policy, played))
    except (HydraException, OmegaConfBaseException, ConfigError) as error:
        raise CommandError(explain(error)) from None
    return found


def _plain(policies: Sequence[Any]) -> list[Any]:
    words: Any = OmegaConf.to_container(OmegaConf.create(list(policies)))
    return list(words)


def draw(
    name: str, rows: Sequence[Mapping[str, Any]], directory: Path, preset: str = "quick", folder: Path = FIGURES
) -> list[Path]:
    """Draw a figure, or the figures of a study, from rows alone.

    Returns:
        The files: PNG and SVG of each figure, and the table of differences. If a figure cannot be drawn, no file is
        written.
    """
    # Imported here, because Matplotlib takes long to import.
    from .plotting.drawing import save_figure
    from .plotting.seeds import state_seeds

    place = places(folder)[name]
    script = place.script("plot")
    expected: Any = OmegaConf.to_container(place.load("expected.yaml"))
    drawn = script.draw(rows, expected)
    figures = drawn if isinstance(drawn, Mapping) else {name: drawn}
    for stem, one in figures.items():
        state_seeds(one, rows, *(_words(script, key, stem) for key in ("OVER_SEEDS", "INTERVALS", "OF_ONE_SEED")))
    written = [path for stem, one in figures.items() for path in save_figure(one, directory / stem, salt=name)]
    # A preset with `bands` names another preset, whose bands of expected numbers apply to it, too.
    bands = place.load().presets[preset].get("bands", preset)
    table = directory / "differences.md"
    with atomic_path(table) as temporary:
        compared = differences(name, script.measured(rows), expected["numbers"], bands)
        temporary.write_text(compared + "\n" + script.summary(rows))
    return [*written, table]


def _words(script: Any, key: str, figure: str) -> str:
    """A description that a script has for all its figures, or by figure."""
    words = getattr(script, key, "")
    return str(words.get(figure, "") if isinstance(words, Mapping) else words)


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
        raise CommandError(f"name one figure or study: figure={'|'.join(figures)}, study={'|'.join(studies)}")
    for kind, name, valid in (("figure", options.figure, figures), ("study", options.study, studies)):
        if name and name not in valid:
            raise CommandError(unknown(kind, name, valid))
    presets = (studies if options.study else figures)[options.name]
    if options.preset not in presets:
        raise CommandError(unknown("preset", options.preset, presets))
    if options.routing and not _takes_routings(places(options.home)[options.name]):
        homes = (("figure", FIGURES), ("study", STUDIES))
        open_ones = [
            f"{kind}={name}" for kind, home in homes for name, place in places(home).items() if _takes_routings(place)
        ]
        raise CommandError(f"routing: {options.word} takes no further routings; these do: {', '.join(open_ones)}")
    if options.routing and options.redraw:
        raise CommandError("routing: redraw=true draws only the existing rows; leave routing or redraw out")
    if options.workers is not None and options.workers < 1:
        raise CommandError(f"workers: {options.workers} is less than 1")


def _usage() -> str:
    lines = [
        "usage: flitgym reproduce figure=<name> [preset=<preset>] [routing=<list>] [results=<folder>] [workers=<n>]",
        "       flitgym reproduce study=<name> ...",
        "",
        "Runs what is missing of a sweep, draws its figures and compares its numbers with published or known ones.",
        "On a cluster: hydra/launcher=ray hydra.launcher.address=host:port, or hydra/launcher=submitit_slurm.",
        "redraw=true runs nothing and draws the existing rows, for example after an edit of a plot.",
        "routing=<list> adds routings and policies, if the config.yaml of the folder has `routing: true`.",
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
        launcher, words = launcher_of([as_list(word, {"routing": "routing"}) for word in sys.argv[1:]])
        options: Any = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Options), OmegaConf.from_cli(words)))
        reproduce(options, launcher)

    sys.exit(run_command("flitgym reproduce", command))
