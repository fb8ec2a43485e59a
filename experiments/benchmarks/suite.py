"""A suite: named, versioned tasks, read from one YAML file (`suites/quick.yaml` explains every key)."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import yaml

from ...configs import unknown
from ...simcore import ConfigError
from ...simcore.plugins import entries
from ..evaluation.plan import Policy, Scenario, policies_of

SUITES = Path(__file__).parent / "suites"
RESULTS_SUFFIX = ".csv"  # of the recorded results, next to the suite

Kind = Literal["below", "above", "jobs", "cold_start", "recovery", "changing"]
Set = Literal["train", "held_out"]
SETS: tuple[Set, ...] = ("train", "held_out")

_SUITE_KEYS = ("version", "about", "seeds", "overrides", "networks", "tasks", "drawn")
_DRAWN_KEYS = ("table", "set", "reference", "baselines")
_NETWORK_KEYS = ("overrides", "reference", "baselines")
# The keys that hold loads, and the kind of the tasks with these loads.
_LOADS: dict[str, Kind] = {
    "below": "below", "above": "above", "cold_start": "cold_start", "recovery": "recovery", "changing": "changing"
}  # fmt: skip
_TASK_KEYS = (
    *("network", "pattern", "workload", "name", "params", "set", "version", "overrides", "reference", "baselines"),
    *_LOADS,
)
_VERSION = re.compile(r"(?P<name>.+)-v(?P<version>\d+)")


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
        return self.path.with_suffix(RESULTS_SUFFIX)


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
    found = _VERSION.fullmatch(word)
    name = found["name"] if found else word
    known = available()
    if name not in known:
        raise ConfigError(unknown("suite", name, known, "suite"))
    suite = _read(known[name])
    if found and int(found["version"]) != suite.version:
        raise ConfigError(f"suite: unknown version '{word}'; this flitgym has {suite.id}")
    return suite


def chosen(suite: Suite, words: Sequence[str] | None) -> Suite:
    """A suite with some of its tasks.

    Args:
        suite: The whole suite.
        words: Names of tasks, with or without a version; `*` and `?` match any characters. None: all tasks.

    Raises:
        ConfigError: no task matches a word, or the task has another version.
    """
    if words is None:
        return suite
    if not words:
        raise ConfigError("tasks: give at least one, or null for all")
    kept = {task.id for word in words for task in _fitting(suite, str(word))}
    places = []
    for place in suite.places:
        tasks = {load: task for load, task in place.tasks.items() if task.id in kept}
        if tasks:
            places.append(replace(place, tasks=tasks))
    return replace(suite, places=tuple(places))


def _fitting(suite: Suite, word: str) -> list[Task]:
    found = _VERSION.fullmatch(word)
    name = found["name"] if found else word
    fitting = [task for task in suite.tasks if fnmatchcase(task.name, name)]
    if not fitting:
        raise ConfigError(unknown("tasks", name, [task.name for task in suite.tasks], "task"))
    of_version = [task for task in fitting if not found or task.version == int(found["version"])]
    if not of_version:
        has = ", ".join(task.id for task in fitting)
        raise ConfigError(f"tasks: unknown version '{word}'; {suite.id} has {has}")
    return of_version


def _read(path: Path) -> Suite:
    try:
        with path.open(encoding="utf-8") as file:  # YAML's errors name the file
            data = yaml.safe_load(file)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    if isinstance(data, dict) and "drawn" in data:
        data |= _of_table(path, data["drawn"])
    _check_keys(str(path), data, _SUITE_KEYS, needed=("version", "seeds", "networks", "tasks"))
    version = _whole(f"{path}: version", data["version"])
    seeds = [_whole(f"{path}: seeds", seed) for seed in _list(f"{path}: seeds", data["seeds"])]
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"{path}: seeds: {seeds} has a value twice; write each seed once")
    networks = data["networks"]
    _check_keys(f"{path}: networks", networks, None)
    for name, network in networks.items():
        _check_keys(f"{path}: networks.{name}", network, _NETWORK_KEYS, needed=("overrides", "reference"))
    common = [str(word) for word in _list(f"{path}: overrides", data.get("overrides") or [])]
    places = [
        _place(f"{path}: tasks[{k}]", entry, networks, common)
        for k, entry in enumerate(_list(f"{path}: tasks", data["tasks"]))
    ]
    suite = Suite(path.stem, version, str(data.get("about", "")).strip(), tuple(seeds), tuple(places), path)
    names = [task.name for task in suite.tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{path}: tasks: '{twice}' occurs twice; give one of them another name: {{name: ..., ...}}")
    return suite


def _of_table(path: Path, drawn: Any) -> dict[str, Any]:
    """The networks and tasks of a CSV file beside a suite: a network per line, with one task."""
    _check_keys(f"{path}: drawn", drawn, _DRAWN_KEYS, needed=_DRAWN_KEYS)
    with path.with_name(str(drawn["table"])).open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    of_network = {"reference": drawn["reference"], "baselines": drawn["baselines"]}
    return {
        "networks": {line["network"]: {"overrides": line["overrides"].split(), **of_network} for line in lines},
        "tasks": [
            {
                **{"network": line["network"], "set": drawn["set"], "pattern": line["pattern"]},
                "params": {
                    key: yaml.safe_load(value)
                    for key, _, value in (word.partition("=") for word in line["params"].split())
                },
                "below": [float(line["load"])],
            }
            for line in lines
        ],
    }


def _place(where: str, entry: Any, networks: Mapping[str, Any], common: Sequence[str]) -> Place:
    _check_keys(where, entry, _TASK_KEYS, needed=("network", "set"))
    if entry["network"] not in networks:
        raise ConfigError(unknown(f"{where}.network", str(entry["network"]), networks, "network"))
    if entry["set"] not in SETS:
        raise ConfigError(unknown(f"{where}.set", str(entry["set"]), SETS, "set"))
    if ("pattern" in entry) == ("workload" in entry):
        raise ConfigError(f"{where}: give either pattern or workload")
    network = networks[entry["network"]]
    carried: Literal["pattern", "workload"] = "pattern" if "pattern" in entry else "workload"
    option = str(entry[carried])
    name = str(entry.get("name", option))
    group = "traffic" if carried == "pattern" else "workload"
    params = entry.get("params") or {}
    _check_keys(f"{where}.params", params, None)
    windows = next((f" ({key})" for key in ("cold_start", "recovery", "changing") if key in entry), "")
    # Messages show this name, so it contains the network.
    scenario = Scenario(
        f"{name}{windows} on {entry['network']}",
        carried,
        option,
        {f"{group}.{key}": value for key, value in params.items()},
    )
    overrides = [*common]
    for given, of in (
        (network["overrides"], f"network {entry['network']}"),
        (entry.get("overrides") or [], "overrides"),
    ):
        overrides += map(str, _list(f"{where}.{of}", given))
    reference = entry.get("reference", network["reference"])
    others = entry.get("baselines", network.get("baselines")) or []
    try:
        baselines = tuple(policies_of([reference, *_list(f"{where}.baselines", others)]))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return Place(scenario, tuple(overrides), _tasks(where, entry, name), baselines)


def _tasks(where: str, entry: Mapping[str, Any], name: str) -> dict[float | None, Task]:
    version = _whole(f"{where}.version", entry.get("version", 1))
    of_loads = [key for key in _LOADS if key in entry]
    stem = f"{entry['network']}/{name}"
    if "workload" in entry:
        if of_loads:
            raise ConfigError(f"{where}.{of_loads[0]}: jobs have no load")
        return {None: Task(stem, version, "jobs", entry["set"], entry["network"], None)}
    if not of_loads:
        raise ConfigError(f"{where}: give loads in one of {', '.join(_LOADS)}")
    # Other kinds need different windows, and an entry has only one set of overrides.
    if len(of_loads) > 1 and not set(of_loads) <= {"below", "above"}:
        raise ConfigError(f"{where}: {' and '.join(of_loads)} need different windows; write an entry for each")
    tasks: dict[float | None, Task] = {}
    for key in of_loads:
        suffix = "" if key in ("below", "above") else f"/{key}"
        for given in _list(f"{where}.{key}", entry[key]):
            if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= 1:
                raise ConfigError(f"{where}.{key}: {given!r} is not a load between 0 and 1")
            load = float(given)
            if load in tasks:
                raise ConfigError(f"{where}.{key}: {load:g} occurs twice")
            full = f"{stem}/{load:g}{suffix}"
            tasks[load] = Task(full, version, _LOADS[key], entry["set"], entry["network"], load)
    return tasks


def _check_keys(where: str, data: Any, valid: Sequence[str] | None, needed: Sequence[str] = ()) -> None:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where}: expected a mapping, found {type(data).__name__}")
    for key in data:
        if valid is not None and key not in valid:
            raise ConfigError(unknown(where, str(key), valid, "key"))
    for key in needed:
        if key not in data:
            raise ConfigError(f"{where}: lacks '{key}'")


def _list(where: str, data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise ConfigError(f"{where}: expected a list, found {type(data).__name__}")
    return data


def _whole(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"{where}: {value!r} is not a whole number of at least 0")
    return value
