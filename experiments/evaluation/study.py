"""A study: a plan of runs, their rows, and the conclusions from them as tables, a page and a figure.

A measure plans the runs and draws the conclusions; all other steps are the same for every measure.
"""

import itertools
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from ...configs import CONFIG_DIR, core_failures, refuse_unknown
from ...simcore import CoreError
from ..results.copies import copies_text
from ..results.files import require_writable, write_text
from ..results.rows import ROWS_FILE, is_labelled, row, write_rows
from ..running.launcher import HERE, Launcher, in_run_folder, launcher_of_app
from ..running.sweep import collect
from ..terminal.commandline import CommandError, by_hydra, relative, run_command
from ..terminal.tables import console, study_page, write_csv
from .cells import Cell, Measured, Row, cells_of, tidy
from .oracle import judged
from .plan import Trial, check_axis, plan, play, policies_of, scenarios_of
from .tables import Panel, Table, footnote, in_markdown, print_tables, tables_of

if TYPE_CHECKING:  # Matplotlib takes long to import
    from matplotlib.figure import Figure

_OPTIONS = ("topology", "router", "congestion_control", "run")  # groups that every run takes from the study
_WIDTH_OF_FILES = 150  # columns of tables that do not go to a terminal

Results = Mapping[Path, Mapping[str, Any]]


class Study(NamedTuple):
    """One call of a command that plays policies."""

    directory: Path  # of its files and runs
    common: Sequence[str]  # Hydra overrides of every run: the groups of `_OPTIONS`, and failures
    command: str  # the command line, for the page


class Conclusions(NamedTuple):
    """The content of the files of a study."""

    title: str  # of the page
    notes: Sequence[str]  # paragraphs of the page, before its tables
    tables: Sequence[Table]  # of the page
    footnote: str  # below the tables
    printed: Sequence[Table]  # on the terminal
    sentences: Sequence[str]  # about the printed tables
    numbers: Sequence[Mapping[str, Any]]  # the rows of the CSV file
    figure: "Figure"
    picture: str  # a description of the figure
    written: Sequence[Path] = ()  # files that are written already


class Measure(ABC):
    """What a study measures: it checks the keys of the command, plans the runs, and draws conclusions from them.

    The constructor raises `ConfigError` or `CommandError` if a key names something that does not exist.
    """

    name: ClassVar[str]  # of the files
    silent: ClassVar[Sequence[str]] = ()  # kinds of warnings that are expected
    trials: Sequence[Trial]  # every run
    seeds: Sequence[int]
    notes: Sequence[str] = ()  # warnings about the plan
    label: str = ""  # of the progress bar; empty: the name
    searches: Sequence[Trial] = ()  # searches of oracles, whose runs join `trials` when the searches have ended

    @abstractmethod
    def __init__(self, given: Mapping[str, Any], study: Study) -> None: ...

    @abstractmethod
    def conclude(self, rows: Sequence[Row], results: Results) -> Conclusions:
        """The conclusions from the labelled rows of the finished runs, and their results by folder."""


class Comparison(Measure):
    """A measure that compares policies with a reference policy in several scenarios, with intervals over seeds."""

    title: ClassVar[str]  # of the page
    picture: ClassVar[str]  # a description of the figure
    # the panels of a table, selected by the first key of the table's points
    panels: ClassVar[Mapping[str, Sequence[Panel]]]

    def __init__(self, given: Mapping[str, Any], study: Study) -> None:
        self.given, self.study, self.seeds = given, study, given["seeds"]
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
        refuse_unknown("reference", [self.reference], names, "policy")
        self.trials = self.planned()

    def planned(self) -> list[Trial]:
        """Check the keys of this measure, and plan every run."""
        given, study = self.given, self.study
        return plan(self.policies, self.scenarios, study.common, given["loads"], given["seeds"], study.directory)

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
        """The networks of the runs, in words: topology, size and failures."""
        texts = {}
        for trial in (trial for trial in self.trials if trial.run.directory in results):
            result, name = results[trial.run.directory], trial.marks.get("network", "")
            topology, failures = result["config"]["topology"]["name"], core_failures(result["config"])
            failed = "".join(f", failures.{key}={value}" for key, value in failures.items())
            text = f"{topology} with {result['facts']['terminals']:,} terminals{failed}"
            texts[name] = f"{name}: {text}" if name else text
        return f"{'; '.join(texts.values())}; code {next(iter(results.values()))['version']}."

    def conclude(self, rows: Sequence[Row], results: Results) -> Conclusions:
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


def study_verb(
    verb: str,
    measure: Callable[[DictConfig], type[Measure]],
    lists: Mapping[str, str],
    noun: str,
    refuse: Callable[[Sequence[str]], None] = lambda words: None,
) -> tuple[Callable[..., Any], Callable[[], None]]:
    """The Hydra application and the entry point of a command that conducts a study.

    Args:
        verb: The verb, and the name of its primary configuration.
        measure: Maps a configuration to its measure.
        lists: The list that replaces each key of a single run.
        noun: The result of the command, with an article.
        refuse: Raises an error for wrong words of the command line.
    """
    command = f"flitgym {verb}"

    @hydra.main(config_path=str(CONFIG_DIR), config_name=verb, version_base="1.3")
    def app(config: DictConfig) -> None:
        choices = HydraConfig.get().runtime.choices
        common = [f"{group}={choices[group]}" for group in _OPTIONS if group in choices]
        with in_run_folder(config, single=False) as (directory, words):
            # `failures` for failures.links=3 and failures={links: 3}
            sections = {word: word.lstrip("+~").partition("=")[0].partition(".")[0] for word in words}
            common += [word for word in words if sections[word] in (*_OPTIONS, "failures")]
            study = Study(directory, common, f"{command} {shlex.join(words)}")
            conduct(measure(config), config, study, launcher_of_app())

    def main() -> None:
        sys.argv[1:] = [as_list(word, lists) for word in sys.argv[1:]]

        def work() -> None:
            refuse(sys.argv[1:])
            by_hydra(app, command, verb, noun)

        sys.exit(run_command(command, work))

    return app, main


def conduct(measure: type[Measure], config: DictConfig, study: Study, launcher: Launcher = HERE) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure."""
    # The copy leaves out `router` and `run`: their values belong to each run, such as a warm-up that fits its routing.
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
        if planned.searches:
            searched, failures = play(planned.searches, command, "oracle", given["workers"], launcher, planned.silent)
            found = [judged(one, planned.seeds) for one in planned.searches if one.run.directory in searched]
            planned.trials = trials = [*trials, *itertools.chain(*found)]
        if trials:
            label = planned.label or planned.name
            results, failed = play(trials, command, label, given["workers"], launcher, planned.silent)
            failures = [*failures, *failed]
            if not results:
                raise CommandError("no run finished:\n" + "\n".join(failures))
    except KeyboardInterrupt:
        runs = {trial.run.directory: trial.run for trial in trials}
        results = collect(runs.values())
        if not results:
            raise
        number, every, where = len(results), len(runs), relative(study.directory)
        _write(planned, study, results, [f"the study was interrupted after {number} of {every} runs"])
        raise KeyboardInterrupt(
            f"{where} has the tables of the {number} finished runs of {every}, start again to continue"
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
    page = study_page(found.title, study.command, found.notes, failures, image, tables, found.footnote)
    write_text(text, page)
    return [*([rows_file] if rows else []), table, text, *images, *found.written]


def as_list(word: str, lists: Mapping[str, str]) -> str:
    """Turn `routing=par,ugal_l` into `routings=[par,ugal_l]`, and likewise the other keys of a run that are lists here.

    `seed=range(1,4)` has the values that it has in a sweep: 1, 2 and 3.
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
    """Refuse a wrong level of confidence, and counts below 1 by the names of their keys."""
    if not 0 < confidence < 1:
        raise CommandError(f"confidence: {confidence:g} is not between 0 and 1")
    for key, count in counts.items():
        if count is not None and count < 1:
            raise CommandError(f"{key}: {count} is less than 1")
