"""A study: every policy in every scenario with the same seeds, as rows, tables and a figure.

A measure plans the runs and draws the cells of the tables from them; all other steps are the same for every measure.
"""

import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
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
from ..terminal.commandline import CommandError, past_hydra
from ..terminal.tables import console, write_csv
from .cells import Cell, tidy
from .plan import Policy, Scenario, Trial, check_axis, policies_of, scenarios_of
from .play import play
from .tables import About, markdown, print_tables

if TYPE_CHECKING:  # Matplotlib takes long to import
    from .figure import Panel

_OPTIONS = ("topology", "router", "run")  # sections of every run that are Hydra groups
_COMMON = (*_OPTIONS, "failures")  # sections that every run takes from the study
_WIDTH_OF_FILES = 120  # columns of tables that do not go to a terminal


@dataclass(frozen=True)
class Study:
    """One call of a command that runs policies over scenarios.

    Args:
        directory: The folder of its files and runs.
        common: Hydra overrides of every run: topology, router, failures and windows.
        command: The command line, for the Markdown file.
    """

    directory: Path
    common: Sequence[str]
    command: str


@dataclass(frozen=True)
class Plan:
    """The plan of a study.

    Args:
        given: The keys of the command.
        policies: All policies.
        scenarios: All patterns and workloads.
        reference: The name of the policy that ratios refer to.
        trials: Every run.
    """

    given: Mapping[str, Any]
    policies: Sequence[Policy]
    scenarios: Sequence[Scenario]
    reference: str
    trials: Sequence[Trial]


class Measure(ABC):
    """The measured quantities of a study: its runs, its numbers, and the words about them."""

    name: ClassVar[str]  # of the files
    title: ClassVar[str]  # of the page
    picture: ClassVar[str]  # a description of the figure

    @abstractmethod
    def check(self, given: Mapping[str, Any]) -> None:
        """Check the keys of this measure.

        Raises:
            ConfigError, CommandError: names the key.
        """

    @abstractmethod
    def trials(
        self, given: Mapping[str, Any], study: Study, policies: Sequence[Policy], scenarios: Sequence[Scenario]
    ) -> list[Trial]:
        """Every run."""

    @abstractmethod
    def cells(
        self, plan: Plan, rows: Sequence[Mapping[str, Any]], results: Mapping[Path, Mapping[str, Any]]
    ) -> list[Cell]:
        """The numbers of the tables.

        Args:
            plan: The plan of the study.
            rows: The rows of the finished runs with their labels.
            results: Their results by folder.
        """

    @abstractmethod
    def network(self, plan: Plan, results: Mapping[Path, Mapping[str, Any]]) -> str:
        """The networks of the runs, in words."""

    @abstractmethod
    def meaning(self, plan: Plan, cells: Sequence[Cell]) -> str:
        """The meaning of the numbers, in sentences."""

    @property
    @abstractmethod
    def panels(self) -> "Mapping[str, Sequence[Panel]]":
        """The panels of a table, by the first key of its points."""


def conduct_app(measure: Callable[[DictConfig], Measure], command: str, config: DictConfig) -> None:
    """`conduct` as the work of a Hydra application, in Hydra's run directory.

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


def conduct(measure: Measure, config: DictConfig, study: Study, launcher: Launcher = HERE) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure.

    Args:
        measure: The measure.
        config: Composed from `evaluate.yaml` or `saturate.yaml`.
        study: The folder, the overrides of every run and the command line.
        launcher: Runs the simulations.

    Raises:
        ConfigError, CommandError: the configuration names something that does not exist, and nothing ran; or every
            run was refused or failed.
        CoreError: some runs failed. The files hold the others.
        OSError: a file cannot be read or written.
    """
    plan = _planned(measure, config, study)
    require_writable(study.directory)
    rows_file = study.directory / ROWS_FILE
    if is_labelled(rows_file) and not list(study.directory.glob(f"{measure.name}.*")):
        raise CommandError(
            f"{relative(rows_file)} has the rows of another measure or command; give this study another name, such as "
            f"study={measure.name}"
        )
    command = " ".join(study.command.split()[:2])
    try:
        results, failures = play(plan.trials, command, measure.name, plan.given["workers"], launcher)
    except KeyboardInterrupt:
        results = collect({trial.run.directory: trial.run for trial in plan.trials}.values())
        if not results:
            raise
        runs = len({trial.run.directory for trial in plan.trials})
        interrupted = f"the study was interrupted after {len(results)} of {runs} runs"
        folder = relative(_write(measure, plan, study, results, [interrupted])[0].parent)
        raise KeyboardInterrupt(
            f"{folder} has the tables of the {len(results)} finished runs of {runs}, start again to continue"
        ) from None
    require_results(results, failures)
    conclude(_write(measure, plan, study, results, failures), failures)


def _planned(measure: Measure, config: DictConfig, study: Study) -> Plan:
    # Without `run`: the length of a warm-up depends on the routing of each run.
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key not in ("router", "run")])
    given: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    policies = policies_of(given["routings"])
    workloads = scenarios_of("workload", given.get("workloads") or [], given.get("workload") or {})
    entries = given["patterns"] if given["patterns"] is not None else [] if workloads else ("uniform", "adversarial")
    patterns = scenarios_of("pattern", entries, given["traffic"])
    if not policies:
        raise CommandError("routing: give at least one, routing=minimal")
    if not patterns and not workloads:
        raise CommandError("give at least one pattern, traffic=uniform, or workload, workload=pair")
    check_axis("seeds", given["seeds"])
    if patterns and "loads" in given:
        check_axis("loads", given["loads"])
    names = [policy.name for policy in policies]
    reference = names[0] if given["reference"] is None else given["reference"]
    if reference not in names:
        raise CommandError(unknown("reference", reference, names, "policy"))
    check_numbers(given["confidence"], workers=given["workers"])
    measure.check(given)
    scenarios = [*patterns, *workloads]
    return Plan(given, policies, scenarios, reference, measure.trials(given, study, policies, scenarios))


def _write(
    measure: Measure, plan: Plan, study: Study, results: Mapping[Path, Mapping[str, Any]], failures: Sequence[str]
) -> list[Path]:
    """Print the tables, and write rows, tables and figure; returns the files."""
    rows = [row(results[at], at) | trial.labels for trial in plan.trials if (at := trial.run.directory) in results]
    cells = measure.cells(plan, rows, results)
    copies = copies_text(list(results.values()))
    notes = [measure.network(plan, results), *([f"{copies}."] if copies else [])]
    about = About(measure.title, study.command, notes, plan.reference, measure.meaning(plan, cells), measure.picture)
    print_tables(console(_WIDTH_OF_FILES), cells, about)

    from ..plotting.drawing import distinct_styles, save_figure
    from .figure import draw

    table, text = (study.directory / f"{measure.name}.{suffix}" for suffix in ("csv", "md"))
    write_rows(study.directory / ROWS_FILE, rows, "labelled")
    write_csv(table, tidy(cells))
    styles = distinct_styles({policy.name: policy.routing for policy in plan.policies})
    figure = draw(cells, measure.panels, styles, plan.given["confidence"])
    images = save_figure(figure, study.directory / measure.name, salt=measure.name)
    before = text.read_text().splitlines()[2:3] if text.is_file() else []
    if before and before[0].strip() != study.command:
        print(
            f"{text} and its tables were those of: {before[0].strip()}; another study=... keeps both", file=sys.stderr
        )
    with atomic_path(text) as temporary:
        temporary.write_text(markdown(cells, about, images[0].name, failures))
    return [study.directory / ROWS_FILE, table, text, *images]


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
    if value.startswith("range("):
        with suppress(HydraException):  # raised again, with a message, when Hydra composes the word
            value = ",".join(map(str, OverridesParser.create().parse_override(word).sweep_iterator()))
    return f"{lists[key]}={value if value.startswith('[') else f'[{value}]'}"


def check_numbers(confidence: float, **counts: int | None) -> None:
    """Check a confidence, and counts by their keys.

    Raises:
        CommandError: names the key.
    """
    if not 0 < confidence < 1:
        raise CommandError(f"confidence: {confidence:g} is not between 0 and 1")
    for key, count in counts.items():
        if count is not None and count < 1:
            raise CommandError(f"{key}: {count} is less than 1")


def require_results(results: Mapping[Path, Any], failures: Sequence[str]) -> None:
    """Refuse to continue without any result.

    Raises:
        CommandError: lists the failures.
    """
    if not results:
        raise CommandError("no run finished:\n" + "\n".join(failures))


def network_text(result: Mapping[str, Any]) -> str:
    """The network of a run: topology, size and failures."""
    config = result["config"]
    failures = "".join(f", failures.{key}={value}" for key, value in core_failures(OmegaConf.create(config)).items())
    return f"{config['topology']['name']} with {result['facts']['terminals']:,} terminals{failures}"


def relative(path: Path) -> Path:
    """The path from the working directory if it lies below, for messages."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def conclude(written: Sequence[Path], failures: Sequence[str]) -> None:
    """Print the files that were written.

    Raises:
        CoreError: some runs failed.
    """
    for path in written:
        print(relative(path))
    if failures:
        raise CoreError("some runs failed; the tables have the others:\n" + "\n".join(failures))
