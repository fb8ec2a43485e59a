"""A suite: named, versioned tasks, read from one YAML file (`suites/quick.yaml` explains every key)."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from ...configs import unknown
from ...simcore import ConfigError
from ...simcore.plugins import entries
from ..evaluation.plan import Policy, Scenario, check_axis, policies_of, refuse_twice

SUITES = Path(__file__).parent / "suites"

Kind = Literal["below", "above", "jobs", "cold_start", "recovery", "changing"]
Set = Literal["train", "held_out"]
SETS: tuple[Set, ...] = get_args(Set)

# The keys that hold loads are the kinds of the tasks with these loads.
_LOADS: tuple[Kind, ...] = ("below", "above", "cold_start", "recovery", "changing")
_OWN_WINDOWS = {"cold_start", "recovery", "changing"}
_SUITE_KEYS = ("version", "seeds", "networks", "tasks", "about", "overrides", "drawn")
_NETWORK_KEYS = ("overrides", "reference", "baselines")
_TASK_KEYS = (
    *("network", "set", "pattern", "workload", "name", "params", "version", "overrides", "reference", "baselines"),
    *_LOADS,
)


@dataclass(frozen=True)
class Task:
    """A network with its traffic or jobs, and the kind of measurement."""

    name: str  # <network>/<traffic>/<load>, <network>/<jobs>, with /cold_start, /recovery or /changing
    version: int
    kind: Kind
    set: Set
    network: str
    load: float | None  # offered load; None for jobs

    @property
    def id(self) -> str:
        """The name with the version, as in the recorded results."""
        return f"{self.name}-v{self.version}"


@dataclass(frozen=True)
class Place:
    """An entry of the suite's `tasks`: tasks that differ only in the load, and their baselines.

    Args:
        scenario: The pattern or the workload.
        overrides: Hydra overrides of all its runs.
        tasks: Tasks by load. A task of jobs has the key None.
        baselines: The policies whose results are recorded, the reference first.
    """

    scenario: Scenario
    overrides: tuple[str, ...]
    tasks: Mapping[float | None, Task]
    baselines: tuple[Policy, ...]

    @property
    def reference(self) -> str:
        """The name of the policy whose score is 0."""
        return self.baselines[0].name

    @property
    def loads(self) -> list[float]:
        """The loads of its tasks; empty for jobs."""
        return [load for load in self.tasks if load is not None]

    def task_of(self, plain: Mapping[str, Any]) -> Task:
        """The task of a run with this resolved configuration."""
        return self.tasks[None if self.scenario.kind == "workload" else plain["traffic"]["load"]]


@dataclass(frozen=True)
class Suite:
    """The content of a suite's file."""

    name: str
    version: int
    about: str
    seeds: tuple[int, ...]
    places: tuple[Place, ...]
    path: Path

    @property
    def id(self) -> str:
        """The name with the version."""
        return f"{self.name}-v{self.version}"

    @property
    def tasks(self) -> list[Task]:
        """All tasks, in the order of the file."""
        return [task for place in self.places for task in place.tasks.values()]

    @property
    def results(self) -> Path:
        """The file of the recorded results, which need not exist."""
        return self.path.with_suffix(".csv")


def available() -> dict[str, Path]:
    """The suites that come with flitgym and with plugins, by name."""
    own = {path.stem: path for path in sorted(SUITES.glob("*.yaml"))}
    return own | {name: path for name, (_, path) in entries("suites", "*.yaml", own).items()}


def load_suite(word: str) -> Suite:
    """The suite with a name (`quick`, `quick-v1`), or the suite in a `*.yaml` file.

    Raises:
        ConfigError: the suite or its version does not exist, or the file is not a suite. The message names the file,
            the entry of the list and the key.
        OSError, yaml.YAMLError: the file cannot be read.
    """
    if word.endswith(".yaml"):
        path = Path(word)
        if not path.is_file():
            raise ConfigError(f"suite: {word}: no such file")
        return _read(path)
    name, known = name_of(word), available()
    if name not in known:
        raise ConfigError(unknown("suite", name, known, "suite"))
    suite = _read(known[name])
    if word not in (name, suite.id):
        raise ConfigError(f"suite: unknown version '{word}'; this flitgym has {suite.id}")
    return suite


def name_of(word: str) -> str:
    """The name in `<name>-v<version>` or in the path of a file."""
    return re.sub(r"-v\d+$", "", Path(word).stem)


def chosen(suite: Suite, words: Sequence[str] | None) -> Suite:
    """A suite with some of its tasks.

    Args:
        suite: The whole suite.
        words: Names of tasks, with or without a version; `*` and `?` match any characters. None: all tasks.

    Raises:
        ConfigError: no task matches a word.
    """
    if words is None:
        return suite
    if not words:
        raise ConfigError("tasks: give at least one, or null for all")
    kept: set[str] = set()
    for word in map(str, words):
        fitting = {task.id for task in suite.tasks if fnmatchcase(task.name, word) or fnmatchcase(task.id, word)}
        if not fitting:
            valid = [task.id if "-v" in word else task.name for task in suite.tasks]
            raise ConfigError(unknown("tasks", word, valid, "task"))
        kept |= fitting
    places = (
        replace(place, tasks={load: task for load, task in place.tasks.items() if task.id in kept})
        for place in suite.places
    )
    return replace(suite, places=tuple(place for place in places if place.tasks))


def _read(path: Path) -> Suite:
    with path.open(encoding="utf-8") as file:  # YAML's errors name the file
        data = yaml.safe_load(file)
    if isinstance(data, dict) and "drawn" in data:
        data |= _of_table(path, data["drawn"])
    _check(str(path), data, _SUITE_KEYS, needed=4)
    seeds, networks, common = data["seeds"], data["networks"], data.get("overrides", [])
    check_axis(f"{path}: seeds", seeds)
    for name, network in networks.items():
        _check(f"{path}: networks.{name}", network, _NETWORK_KEYS, needed=2)
    places = [_place(f"{path}: tasks[{k}]", entry, networks, common) for k, entry in enumerate(data["tasks"])]
    suite = Suite(path.stem, data["version"], data.get("about", "").strip(), tuple(seeds), tuple(places), path)
    refuse_twice(f"{path}: tasks", [task.name for task in suite.tasks])
    return suite


def _of_table(path: Path, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """The networks and tasks of a CSV file beside a suite: a network per line, with one task."""
    networks, tasks = {}, []
    with path.with_name(drawn["table"]).open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            own = {"overrides": line["overrides"].split()}
            networks[line["network"]] = own | {key: drawn[key] for key in ("reference", "baselines")}
            words = (word.partition("=") for word in line["params"].split())
            params = {key: yaml.safe_load(value) for key, _, value in words}
            of_line = {key: line[key] for key in ("network", "pattern")}
            tasks.append({**of_line, "set": drawn["set"], "params": params, "below": [float(line["load"])]})
    return {"networks": networks, "tasks": tasks}


def _place(where: str, entry: Any, networks: Mapping[str, Any], common: Sequence[str]) -> Place:
    _check(where, entry, _TASK_KEYS, needed=2)
    for key, valid in (("network", networks), ("set", SETS)):
        if entry[key] not in valid:
            raise ConfigError(unknown(f"{where}.{key}", str(entry[key]), valid, key))
    if ("pattern" in entry) == ("workload" in entry):
        raise ConfigError(f"{where}: give either pattern or workload")
    network = networks[entry["network"]]
    kind: Literal["pattern", "workload"] = "pattern" if "pattern" in entry else "workload"
    group = "traffic" if kind == "pattern" else "workload"
    name = entry.get("name", entry[kind])
    tasks = _tasks(where, entry, name)
    windows = next((f" ({task.kind})" for task in tasks.values() if task.kind in _OWN_WINDOWS), "")
    settings = {f"{group}.{key}": value for key, value in entry.get("params", {}).items()}
    # Messages show this name, so it contains the network.
    scenario = Scenario(f"{name}{windows} on {entry['network']}", kind, entry[kind], settings)
    own = {**network, **entry}
    try:
        baselines = tuple(policies_of([own["reference"], *own.get("baselines", [])]))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return Place(scenario, (*common, *network["overrides"], *entry.get("overrides", [])), tasks, baselines)


def _tasks(where: str, entry: Mapping[str, Any], name: str) -> dict[float | None, Task]:
    version, kinds = entry.get("version", 1), [kind for kind in _LOADS if kind in entry]
    stem, of_all = f"{entry['network']}/{name}", (entry["set"], entry["network"])
    if "workload" in entry:
        if kinds:
            raise ConfigError(f"{where}.{kinds[0]}: jobs have no load")
        return {None: Task(stem, version, "jobs", *of_all, None)}
    if not kinds:
        raise ConfigError(f"{where}: give loads in one of {', '.join(_LOADS)}")
    if len(kinds) > 1 and _OWN_WINDOWS & set(kinds):
        raise ConfigError(f"{where}: {' and '.join(kinds)} need different windows; write an entry for each")
    tasks: dict[float | None, Task] = {}
    for kind in kinds:
        if not isinstance(entry[kind], list):
            raise ConfigError(f"{where}.{kind}: {entry[kind]!r} is not a list of loads")
        for load in map(float, entry[kind]):
            if not 0 < load <= 1:
                raise ConfigError(f"{where}.{kind}: {load:g} is not a load between 0 and 1")
            if load in tasks:
                raise ConfigError(f"{where}.{kind}: {load:g} occurs twice")
            full = f"{stem}/{load:g}" + (f"/{kind}" if kind in _OWN_WINDOWS else "")
            tasks[load] = Task(full, version, kind, *of_all, load)
    return tasks


def _check(where: str, data: Any, valid: Sequence[str], needed: int) -> None:
    """Check the keys of a mapping, of which the first `needed` ones must be there."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where}: expected a mapping, found {type(data).__name__}")
    for key in data:
        if key not in valid:
            raise ConfigError(unknown(where, str(key), valid, "key"))
    for key in valid[:needed]:
        if key not in data:
            raise ConfigError(f"{where}: lacks '{key}'")
