"""A study: a plan of runs, their rows, and the conclusions from them as tables, a page and a figure.

A measure plans the runs and draws the conclusions; all other steps are the same for every measure.
"""

import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from ...configs import core_failures, refuse_added, unknown
from ...simcore import CoreError
from ...simcore._files import atomic_path
from ..results.copies import copies_text
from ..results.files import remove_if_unused, require_writable
from ..results.rows import ROWS_FILE, is_labelled, row, write_rows
from ..running.launcher import HERE, Launcher, launcher_of_app
from ..running.sweep import collect
from ..terminal.commandline import CommandError, by_hydra, past_hydra, relative, run_command
from ..terminal.tables import console, study_page, write_csv
from .cells import Cell, Measured, Row, cells_of, tidy
from .plan import Trial, check_axis, policies_of, scenarios_of
from .play import play
from .tables import Panel, Table, footnote, in_markdown, print_tables, tables_of

if TYPE_CHECKING:  # Matplotlib takes long to import
    from matplotlib.figure import Figure

_OPTIONS = ("topology", "router", "run")  # sections of every run that are Hydra groups
_COMMON = (*_OPTIONS, "failures")  # sections that every run takes from the study
_WIDTH_OF_FILES = 150  # columns of tables that do not go to a terminal

Results = Mapping[Path, Mapping[str, Any]]


@dataclass(frozen=True)
class Study:
    """One call of a command that plays policies.

    Args:
        directory: The folder of its files and runs.
        common: Hydra overrides of every run: topology, router, failures and windows.
        command: The command line, for the Markdown file.
    """

    directory: Path
    common: Sequence[str]
    command: str


@dataclass(frozen=True)
class Conclusions:
    """The content of the files of a study.

    Args:
        title: The title of the page.
        notes: Paragraphs of the page, before its tables.
        tables: The tables of the page.
        footnote: Below the tables.
        printed: The tables on the terminal.
        sentences: About the printed tables.
        numbers: The rows of the CSV file.
        figure: The figure.
        picture: Its description.
        written: Files that are written already.
    """

    title: str
    notes: Sequence[str]
    tables: Sequence[Table]
    footnote: str
    printed: Sequence[Table]
    sentences: Sequence[str]
    numbers: Sequence[Mapping[str, Any]]
    figure: "Figure"
    picture: str
    written: Sequence[Path] = ()


class Measure(ABC):
    """What a study measures: it checks the keys of the command, plans the runs, and draws conclusions from them.

    Args:
        given: The keys of the command.
        study: The folder, the overrides of every run and the command line.

    Raises:
        ConfigError, CommandError: a key names something that does not exist.
    """

    name: ClassVar[str]  # of the files
    silent: ClassVar[Sequence[str]] = ()  # kinds of warnings that are expected
    trials: Sequence[Trial]  # every run
    notes: Sequence[str] = ()  # warnings about the plan
    label: str = ""  # of the progress bar; empty: the name

    @abstractmethod
    def __init__(self, given: Mapping[str, Any], study: Study) -> None: ...

    @abstractmethod
    def conclude(self, rows: Sequence[Row], results: Results) -> Conclusions:
        """The conclusions.

        Args:
            rows: The rows of the finished runs with their labels.
            results: Their results by folder.
        """


class Comparison(Measure):
    """A measure that compares policies with a reference policy in several scenarios, with intervals over seeds."""

    title: ClassVar[str]  # of the page
    picture: ClassVar[str]  # a description of the figure
    # the panels of a table, selected by the first key of the table's points
    panels: ClassVar[Mapping[str, Sequence[Panel]]]

    def __init__(self, given: Mapping[str, Any], study: Study) -> None:
        self.given, self.study = given, study
        self.policies = policies_of(given["routings"])
        workloads = scenarios_of("workload", given.get("workloads") or [], given.get("workload") or {})
        entries = given["patterns"]
        if entries is None:
            entries = [] if workloads else ("uniform", "adversarial")
        self.scenarios = [*scenarios_of("pattern", entries, given["traffic"]), *workloads]
        if not self.policies:
            raise CommandError("routing: give at least one, routing=minimal")
        if not self.scenarios:
            raise CommandError("give at least one pattern, traffic=uniform, or workload, workload=pair")
        for axis in ("seeds", "networks", *(["loads"] if entries else [])):
            if axis in given:
                check_axis(axis, given[axis])
        names = [policy.name for policy in self.policies]
        self.reference = names[0] if given["reference"] is None else given["reference"]
        if self.reference not in names:
            raise CommandError(unknown("reference", self.reference, names, "policy"))
        self.trials = self.planned()

    @abstractmethod
    def planned(self) -> list[Trial]:
        """Check the keys of this measure, and plan every run."""

    @abstractmethod
    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        """The numbers of the tables; arguments as for `conclude`."""

    def compared(self, rows: Sequence[Row], points: Callable[[Row], Iterable[Measured]]) -> list[Cell]:
        """The cells of all points; arguments as for `cells_of`."""
        given, names = self.given, [policy.name for policy in self.policies]
        order = [*given.get("networks", ()), *(one.name for one in self.scenarios), *given.get("loads", ())]
        return cells_of(rows, points, names, given["seeds"], self.reference, given["confidence"], order)

    @abstractmethod
    def meaning(self, cells: Sequence[Cell]) -> str:
        """The meaning of the numbers, in sentences."""

    def network(self, results: Results) -> str:
        """The networks of the runs, in words."""
        found = {t.marks.get("network", ""): results[at] for t in self.trials if (at := t.run.directory) in results}
        texts = [f"{name}: {network_text(one)}" if name else network_text(one) for name, one in found.items()]
        return f"{'; '.join(texts)}; code {next(iter(results.values()))['version']}."

    def conclude(self, rows: Sequence[Row], results: Results) -> Conclusions:
        """See `Measure`."""
        from ..plotting.drawing import distinct_styles
        from .figure import draw

        cells = self.cells(rows, results)
        meaning, marks, copies = self.meaning(cells), footnote(cells), copies_text(list(results.values()))
        notes = [self.network(results), *([f"{copies}."] if copies else [])]
        styles = distinct_styles({policy.name: policy.routing for policy in self.policies})
        # The cells of single hops are written to the files, but not printed.
        shown = [cell for cell in cells if cell.point.get("hop") is None]
        return Conclusions(
            title=self.title,
            notes=[*notes, f"{meaning} Bold: the interval of the ratio excludes 1."],
            tables=tables_of(cells, self.reference),
            footnote=marks,
            printed=tables_of(shown, self.reference, ends=False),
            sentences=[marks, f"{meaning} ± is half the width of an interval."],
            numbers=tidy(cells),
            figure=draw(cells, self.panels, styles, self.given["confidence"]),
            picture=self.picture,
        )


def run_verb(
    verb: str,
    app: Callable[..., object],
    lists: Mapping[str, str],
    noun: str,
    refuse: Callable[[Sequence[str]], None] = lambda words: None,
) -> None:
    """The entry point of a command that conducts a study.

    Args:
        verb: The verb, and the name of its primary configuration.
        app: Its Hydra application.
        lists: The list that replaces each key of a single run.
        noun: The result of the command, with an article.
        refuse: Raises an error for wrong words of the command line.
    """
    sys.argv[1:] = [as_list(word, lists) for word in sys.argv[1:]]

    def command() -> None:
        refuse(sys.argv[1:])
        by_hydra(app, f"flitgym {verb}", verb, noun)

    sys.exit(run_command(f"flitgym {verb}", command))


def conduct_app(measure: Callable[[DictConfig], type[Measure]], command: str, config: DictConfig) -> None:
    """Call `conduct` inside a Hydra application, in Hydra's run directory.

    Args:
        measure: The measure of a configuration.
        command: The name of the command.
        config: The configuration of the application.
    """
    hydra = HydraConfig.get()
    directory, words = Path(hydra.runtime.output_dir), list(hydra.overrides.task)
    choices = hydra.runtime.choices
    common = [f"{group}={choices[group]}" for group in _OPTIONS if group in choices]
    common += [word for word in words if section_of(word) in _COMMON]
    # Hydra has made the folder already.
    with remove_if_unused(directory), past_hydra():
        refuse_added(config)
        study = Study(directory, common, f"{command} {shlex.join(words)}")
        conduct(measure(config), config, study, launcher_of_app())


def conduct(measure: type[Measure], config: DictConfig, study: Study, launcher: Launcher = HERE) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure.

    Args:
        measure: The measure.
        config: Composed from `evaluate.yaml`, `saturate.yaml` or `benchmark.yaml`.
        study: The folder, the overrides of every run and the command line.
        launcher: Runs the simulations.

    Raises:
        ConfigError, CommandError: the configuration names something that does not exist, and no run started. Or all
            runs were refused or failed.
        CoreError: some runs failed. The files hold the results of the other runs.
        DamagedError: a file of recorded results is damaged.
        OSError: a file cannot be read or written.
    """
    # The copy leaves out `run`, because the length of a warm-up depends on the routing of each run.
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key not in ("router", "run")])
    given: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    check_numbers(given["confidence"], workers=given["workers"])
    planned = measure(given, study)
    require_writable(study.directory)
    rows_file = study.directory / ROWS_FILE
    if is_labelled(rows_file) and not list(study.directory.glob(f"{measure.name}.*")):
        raise CommandError(
            f"{relative(rows_file)} has the rows of another measure or command; give this study another name, such as "
            f"study={measure.name}"
        )
    trials, command = planned.trials, " ".join(study.command.split()[:2])
    for note in planned.notes:
        print(f"{command}: {note}", file=sys.stderr, flush=True)
    results: dict[Path, dict[str, Any]] = {}
    failures: list[str] = []
    try:
        if trials:
            label = planned.label or planned.name
            results, failures = play(trials, command, label, given["workers"], launcher, planned.silent)
            if not results:
                raise CommandError("no run finished:\n" + "\n".join(failures))
    except KeyboardInterrupt:
        runs = {trial.run.directory: trial.run for trial in trials}
        results = collect(runs.values())
        if not results:
            raise
        _write(planned, study, results, [f"the study was interrupted after {len(results)} of {len(runs)} runs"])
        raise KeyboardInterrupt(
            f"{relative(study.directory)} has the tables of the {len(results)} finished runs of {len(runs)}, start "
            "again to continue"
        ) from None
    for path in _write(planned, study, results, failures):
        print(relative(path))
    if failures:
        raise CoreError("some runs failed; the tables have the others:\n" + "\n".join(failures))


def _write(planned: Measure, study: Study, results: Results, failures: Sequence[str]) -> list[Path]:
    """Print the tables, and write rows, tables and figure; returns the files."""
    rows = [row(results[at], at) | trial.labels for trial in planned.trials if (at := trial.run.directory) in results]
    found = planned.conclude(rows, results)
    print_tables(console(_WIDTH_OF_FILES), found.printed, found.sentences)

    from ..plotting.drawing import save_figure

    table, text = (study.directory / f"{planned.name}.{suffix}" for suffix in ("csv", "md"))
    rows_file = study.directory / ROWS_FILE
    if rows:
        write_rows(rows_file, rows, "labelled")
    else:
        rows_file.unlink(missing_ok=True)  # the rows of an earlier command
    write_csv(table, found.numbers)
    images = save_figure(found.figure, study.directory / planned.name, salt=planned.name)
    before = text.read_text().splitlines()[2:3] if text.is_file() else []
    if before and before[0].strip() != study.command:
        print(
            f"{relative(text)} and its tables were those of: {before[0].strip()}; another folder keeps both",
            file=sys.stderr,
        )
    image = f"![{found.picture}]({images[0].name})"
    tables = {table.title: in_markdown(table) for table in found.tables}
    with atomic_path(text) as temporary:
        temporary.write_text(
            study_page(found.title, study.command, found.notes, failures, image, tables, found.footnote)
        )
    return [*([rows_file] if rows else []), table, text, *images, *found.written]


def section_of(word: str) -> str:
    """The section of an override, such as `failures` for `failures.links=3` and `failures={links: 3}`."""
    return word.lstrip("+~").partition("=")[0].partition(".")[0]


def as_list(word: str, lists: Mapping[str, str]) -> str:
    """Turn `routing=par,ugal_l` into `routings=[par,ugal_l]`, and likewise the other keys of a run that are lists here.

    `seed=range(1,4)` has the values that it has in a sweep: 1, 2 and 3.

    Args:
        word: A word of the command line.
        lists: The list that replaces each key of a single run.
    """
    key, equals, value = word.partition("=")
    if not equals or key not in lists:
        return word
    if value == "null":
        return f"{lists[key]}=null"
    if value.startswith("range("):
        with suppress(HydraException):  # raised again, with a message, when Hydra composes the word
            value = ",".join(map(str, OverridesParser.create().parse_override(word).sweep_iterator()))
    return f"{lists[key]}={value if value.startswith('[') else f'[{value}]'}"


def check_numbers(confidence: float, **counts: int | None) -> None:
    """Check a confidence level, and counts that are named by their keys.

    Raises:
        CommandError: names the key.
    """
    if not 0 < confidence < 1:
        raise CommandError(f"confidence: {confidence:g} is not between 0 and 1")
    for key, count in counts.items():
        if count is not None and count < 1:
            raise CommandError(f"{key}: {count} is less than 1")


def network_text(result: Mapping[str, Any]) -> str:
    """The network of a run: topology, size and failures."""
    config = result["config"]
    failures = "".join(f", failures.{key}={value}" for key, value in core_failures(OmegaConf.create(config)).items())
    return f"{config['topology']['name']} with {result['facts']['terminals']:,} terminals{failures}"
