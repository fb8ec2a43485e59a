"""Hydra's `-m`: the sweeper and the launchers that pass the runs of a sweep from Hydra to the engine.

Hydra reaches the engine only through these classes, which implement its public interfaces for plugins. Hydra's other
sweepers (`hydra/sweeper=basic`, `hydra/sweeper=optuna`) work with the same launchers.
"""

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher as HydraLauncher
from hydra.plugins.sweeper import Sweeper as HydraSweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from ...configs.composition import WRONG
from ...configs.identity import study_folder
from ...configs.launchers import PACKAGE
from ...simcore import ConfigError
from ..terminal.commandline import of_run, past_hydra, run_command
from .launcher import launcher_of_app
from .plan import Kind, PlannedRun
from .sweep import RunFailedError, prepare, run_all

_ID = re.compile(r"\$\{(run|route|train)_id:\}")

Line = Callable[[Mapping[str, Any], Path, bool], str]


@dataclass
class Sweep:
    """The sweep of a command, with the runs that Hydra has requested so far."""

    name: str  # of the command
    kind: Kind  # of its runs
    line: Line  # the text about a result for the terminal, from the result, its folder, and whether it is new
    objective: Callable[[Any], Any] = lambda result: None  # maps a result to the number that a sweeper minimises
    meanwhile: Callable[[], object] = lambda: None  # in a thread during the runs, for imports of `main`
    runs: list[PlannedRun] = field(default_factory=list)
    errors: dict[Path, Exception] = field(default_factory=dict)

    def run(self, config: DictConfig, lists: Sequence[Sequence[str]]) -> list[JobReturn]:
        """Execute a run for each list of overrides; `config` is that of the whole sweep, with Hydra's own section."""
        launcher = launcher_of_app(config)
        prepare(launcher, len(lists))
        planned = self._planned(config, lists)
        self.runs += planned
        if (different := len({run.directory for run in planned})) < len(planned):
            print(
                f"{self.name}: warning: some runs are equal, {different} of {len(planned)} are different. Keys that "
                "change no number, such as run.threads and run.partitions, make no run of their own",
                file=sys.stderr,
                flush=True,
            )
        threading.Thread(target=self.meanwhile).start()
        try:
            run_all(planned, self.name, keep_going=True, launcher=launcher, done=self._done, check=True)
        except RunFailedError as error:
            self.errors |= error.errors
        return [self._returned(*pair) for pair in zip(planned, lists, strict=True)]

    def _done(self, run: PlannedRun, result: Mapping[str, Any], now: bool) -> None:
        print(self.line(result, run.directory, now), flush=True)

    def _returned(self, run: PlannedRun, words: Sequence[str]) -> JobReturn:
        failure = self.errors.get(run.directory)
        value = failure or self.objective(run.kind.read(run.directory))
        return JobReturn(words, status=JobStatus.FAILED if failure else JobStatus.COMPLETED, _return_value=value)

    def main(self, compose: Callable[[], object], conclude: Callable[[], object]) -> None:
        """The body of a command.

        `compose` calls the Hydra application, which executes one run or this sweep. `conclude` follows if there is no
        error but those of runs.
        """

        def command() -> None:
            compose()
            conclude()
            if self.errors:
                raise RunFailedError(self.errors)

        register(self)
        sys.exit(run_command(self.name, command))

    @property
    def folders(self) -> list[Path]:
        """The folders of the studies of all runs."""
        return list(dict.fromkeys(run.directory.parent for run in self.runs))

    def _planned(self, config: DictConfig, lists: Sequence[Sequence[str]]) -> list[PlannedRun]:
        common = set(lists[0]).intersection(*lists)
        hydra: Any = {key: OmegaConf.to_container(config.hydra[key], resolve=False) for key in ("sweep", "job")}
        planned = []
        for words in lists:
            own = tuple(word for word in words if word not in common)
            try:
                plain = self.kind.root.resolved(words)
                folder = self._folder(plain, hydra)
            except WRONG as error:
                raise of_run(own, error) from error
            planned.append(PlannedRun(plain, folder, self.kind, tuple(words), own))
        return planned

    def _folder(self, plain: dict[str, Any], hydra: dict[str, Any]) -> Path:
        """The folder of a run, `hydra.sweep.dir` / `hydra.sweep.subdir`."""
        text = f"{hydra['sweep']['dir']}/{hydra['sweep']['subdir']}"
        text = _ID.sub(lambda _: self.kind.folder(plain), text.replace("${study_folder:}", study_folder(_root_=plain)))
        if "${" in text:  # OmegaConf takes 5 ms for this
            where = OmegaConf.create({**plain, "hydra": hydra, "folder": text})
            text = where.folder
        return Path(text)


_current: list[Sweep] = []


class EngineLauncher(HydraLauncher):
    """Passes the lists of overrides to the engine, which reads `settings` from the configuration of the sweep."""

    __module__ = PACKAGE

    def __init__(self, **settings: Any) -> None:
        del settings

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra calls this before a sweep."""
        self._config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Hydra, or a sweeper, calls this for the runs of a batch."""
        with past_hydra():
            return _current[0].run(self._config, job_overrides)


class GridSweeper(HydraSweeper):
    """Launches every combination of the swept values as one batch.

    Hydra's own sweeper composes every run before it launches the batch, which takes 60 ms per run.
    """

    __module__ = PACKAGE

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra calls this before a sweep."""
        self._parser = OverridesParser.create(config_loader=hydra_context.config_loader)
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Hydra calls this to run the sweep."""
        overrides = self._parser.parse_overrides(arguments)
        for override in overrides:
            if override.is_sweep_override() and not override.is_discrete_sweep():
                raise ConfigError(f"{override.input_line}: a grid needs a list of values; write key=a,b,c")
        (lists,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
        return [self._launcher.launch(lists, initial_job_idx=0)]


def register(sweep: Sweep) -> None:
    """Register the plugins with Hydra, and connect them to the sweep of this command."""
    _current[:] = [sweep]
    Plugins.instance()  # loads the installed plugins of Hydra
    # Hydra finds the classes of plugins by importing their module, and before it the package. Installed plugins share
    # this package, and without any it does not exist.
    package = PACKAGE.partition(".")[0]
    try:
        import_module(package)
    except ModuleNotFoundError:
        sys.modules[package] = ModuleType(package)
    sys.modules[PACKAGE] = sys.modules[__name__]
    for plugin in (GridSweeper, EngineLauncher):
        Plugins.instance().register(plugin)
