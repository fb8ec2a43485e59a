"""A suite: named, versioned tasks, read from one YAML file (`suites/quick.yaml` explains every key)."""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from ...configs import refuse_unknown, unknown
from ...simcore import ConfigError
from ...simcore.plugins import entries
from ..evaluation.plan import Policy, Scenario, check_axis, policies_of, refuse_twice

SUITES = Path(__file__).parent / "suites"
# The policies that only suites name, and the recorded tuning of some of them.
POLICIES: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("policies.yaml").read_text(encoding="utf-8"))
TUNING = Path(__file__).with_name("tuning.csv")

Kind = Literal["below", "above", "jobs", "cold_start", "recovery", "changing"]
Set = Literal["train", "held_out"]
SETS: tuple[Set, ...] = get_args(Set)
# What is new in a held-out task, compared with all trainings of the shipped policies: see `transfer.transfer`.
Transfer = Literal["train", "shape", "pattern", "family"]
TRANSFERS: tuple[Transfer, ...] = get_args(Transfer)

# The keys that hold loads are the kinds of the tasks with these loads.
_LOADS: tuple[Kind, ...] = ("below", "above", "cold_start", "recovery", "changing")
_OWN_WINDOWS = {"cold_start", "recovery", "changing"}
_SUITE_KEYS = ("version", "seeds", "networks", "tasks", "about", "overrides", "baselines", "drawn")
_NETWORK_KEYS = ("overrides", "reference", "baselines", "set")
_TASK_KEYS = (
    *("network", "set", "pattern", "workload", "name", "params", "version", "overrides", "reference", "baselines"),
    *_LOADS,
)


@dataclass(frozen=True)
class Task:
    """A network with its traffic or jobs, and the kind of measurement."""

    name: str  # <network>/<traffic>/<load> or <network>/<jobs>, with /cold_start, /recovery or /changing
    version: int
    kind: Kind
    transfer: str  # one of TRANSFERS, or held_out in a suite that does not say what is new
    network: str
    load: float | None  # None for jobs
    scenario: Scenario = field(compare=False)
    overrides: tuple[str, ...] = field(compare=False)  # of all its runs
    baselines: tuple[Policy, ...] = field(compare=False)  # whose results are recorded, the reference first

    @property
    def set(self) -> Set:
        """Whether agents may train on it."""
        return "train" if self.transfer == "train" else "held_out"

    @property
    def id(self) -> str:
        """The name with the version, as in the recorded results."""
        return f"{self.name}-v{self.version}"

    @property
    def reference(self) -> str:
        """The name of the policy whose score is 0."""
        return self.baselines[0].name

    @property
    def loads(self) -> list[float]:
        """The offered load as a list; empty for jobs."""
        return [] if self.load is None else [self.load]


@dataclass(frozen=True)
class Suite:
    """The content of a suite's file."""

    name: str
    version: int
    about: str
    seeds: tuple[int, ...]
    tasks: tuple[Task, ...]
    path: Path

    @property
    def id(self) -> str:
        """The name with the version."""
        return f"{self.name}-v{self.version}"

    @property
    def results(self) -> Path:
        """The file of the recorded results, which need not exist."""
        return self.path.with_suffix(".csv")


def policies_by_name(entries: Sequence[Any]) -> list[Policy]:
    """`policies_of` entries that may be names of `policies.yaml`, or one policy with the files of several trainings.

    The trainings of the policy x are x#1, x#2 and so on.
    """
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, Mapping) and isinstance(entry.get("routing"), list):
            found += [{**entry, "name": f"{entry.get('name')}#{k}", "routing": word}
                      for k, word in enumerate(entry["routing"], 1)]  # fmt: skip
        else:
            found.append(_named().get(str(entry), entry))
    return policies_of(found)


@cache
def _named() -> dict[str, dict[str, Any]]:
    fastest: dict[str, dict[str, Any]] = {}
    with TUNING.open(newline="", encoding="utf-8") as file:
        for line in sorted(csv.DictReader(file), key=lambda line: float(line["mean_ns"])):
            fastest.setdefault(line["policy"], json.loads(line["params"]))
    return {
        name: {"name": name, "routing": entry["routing"], "params": fastest.get(name, entry.get("params"))}
        for name, entry in POLICIES.items()
    }


def available() -> dict[str, Path]:
    """The suites that come with flitgym and with plugins, by name."""
    own = {path.stem: path for path in sorted(SUITES.glob("*.yaml"))}
    return own | {name: path for name, (_, path) in entries("suites", "*.yaml", own).items()}


def load_suite(word: str) -> Suite:
    """The suite with a name (`quick`, `quick-v2`), or the suite in a `*.yaml` file."""
    if word.endswith(".yaml"):
        path = Path(word)
        if not path.is_file():
            raise ConfigError(f"suite: {word}: no such file")
        return _read(path)
    name, known = name_of(word), available()
    refuse_unknown("suite", [name], known, "suite")
    suite = _read(known[name])
    if word not in (name, suite.id):
        raise ConfigError(f"suite: unknown version '{word}'; this flitgym has {suite.id}")
    return suite


def name_of(word: str) -> str:
    """The name in `<name>-v<version>` or in the path of a file."""
    return re.sub(r"-v\d+$", "", Path(word).stem)


def chosen(suite: Suite, words: Sequence[str] | None) -> Suite:
    """A suite with the tasks of some names, with or without a version; `*` and `?` match any characters. None: all."""
    if words is None:
        return suite
    if not words:
        raise ConfigError("tasks: give at least one, or null for all")
    for word in map(str, words):
        if not any(_fits(task, [word]) for task in suite.tasks):
            valid = [task.id if "-v" in word else task.name for task in suite.tasks]
            raise ConfigError(unknown("tasks", word, valid, "task"))
    return replace(suite, tasks=tuple(task for task in suite.tasks if _fits(task, words)))


def _fits(task: Task, words: Iterable[str]) -> bool:
    return any(fnmatchcase(name, str(word)) for word in words for name in (task.name, task.id))


def _read(path: Path) -> Suite:
    with path.open(encoding="utf-8") as file:  # YAML's errors name the file
        data = yaml.safe_load(file)
    try:
        if "drawn" in data:
            data |= _of_table(path, data["drawn"])
        _check(str(path), data, _SUITE_KEYS, needed=4)
        check_axis(f"{path}: seeds", data["seeds"])
        networks, common, tasks = data["networks"], _words(data), list[Task]()
        for name, network in networks.items():
            _check(f"{path}: networks.{name}", network, _NETWORK_KEYS, needed=2)
        for k, entry in enumerate(data["tasks"]):
            where = f"{path}: tasks[{k}]"
            _check(where, entry, _TASK_KEYS, needed=2)
            names = entry["network"] if isinstance(entry["network"], list) else [entry["network"]]
            refuse_unknown(f"{where}.network", names, networks, "network")
            for name in names:
                shared = [one for one in data.get("baselines", ()) if one != networks[name]["reference"]]
                network = {**networks[name], "baselines": [*shared, *networks[name].get("baselines", ())]}
                tasks += _tasks(where, {**entry, "network": name}, network, common)
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"{path}: not a suite: {error}") from error
    tasks.sort(key=lambda task: list(networks).index(task.network))
    refuse_twice(f"{path}: tasks", [task.name for task in tasks])
    about = data.get("about", "").strip()
    return Suite(path.stem, data["version"], about, tuple(data["seeds"]), tuple(tasks), path)


def _of_table(path: Path, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """The networks and tasks of a CSV file beside a suite: a network per line, with one task."""
    networks, tasks = {}, []
    with path.with_name(drawn["table"]).open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            own = {key: drawn[key] for key in ("reference", "baselines")}
            networks[line["network"]] = {"overrides": line["overrides"], **own}
            words = (word.partition("=") for word in line["params"].split())
            params = {key: yaml.safe_load(value) for key, _, value in words}
            of_line = {key: line[key] for key in ("network", "pattern", "set")}
            tasks.append({**of_line, "params": params, "below": [float(line["load"])]})
    return {"networks": networks, "tasks": tasks}


def _words(section: Mapping[str, Any]) -> list[str]:
    """The overrides of a section, given as a text or as a list, which may hold other lists."""
    given = section.get("overrides", [])
    if isinstance(given, str):
        return given.split()
    return [word for part in given for word in ([part] if isinstance(part, str) else part)]


def _tasks(where: str, entry: Mapping[str, Any], network: Mapping[str, Any], common: Sequence[str]) -> list[Task]:
    """The tasks of an entry on a network, which differ only in the load."""
    chosen_set = network.get("set", entry["set"])
    refuse_unknown(f"{where}.set", [chosen_set], ("held_out", *TRANSFERS), "set")
    if ("pattern" in entry) == ("workload" in entry):
        raise ConfigError(f"{where}: give either pattern or workload")
    kinds: list[Kind] = [kind for kind in _LOADS if kind in entry]
    if "workload" in entry and kinds:
        raise ConfigError(f"{where}.{kinds[0]}: jobs have no load")
    if "pattern" in entry and not kinds:
        raise ConfigError(f"{where}: give loads in one of {', '.join(_LOADS)}")
    if len(kinds) > 1 and _OWN_WINDOWS & set(kinds):
        raise ConfigError(f"{where}: {' and '.join(kinds)} need different windows; write an entry for each")
    for kind in kinds:
        if not all(0 < load <= 1 for load in entry[kind]):
            raise ConfigError(f"{where}.{kind}: {entry[kind]!r} is not a list of loads between 0 and 1")

    carried: Literal["pattern", "workload"] = "pattern" if kinds else "workload"
    name, group = entry.get("name", entry[carried]), "traffic" if kinds else "workload"
    settings = {f"{group}.{key}": value for key, value in entry.get("params", {}).items()}
    both = {**network, **entry}
    try:
        baselines = tuple(policies_by_name([both["reference"], *both.get("baselines", [])]))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    overrides = (*common, *_words(network), *_words(entry))

    def task(kind: Kind, load: float | None = None) -> Task:
        own = [kind] if kind in _OWN_WINDOWS else []
        # Messages show the name of the scenario, so it contains the network.
        shown = f"{name}{''.join(f' ({word})' for word in own)} on {entry['network']}"
        scenario = Scenario(shown, carried, entry[carried], settings)
        full = "/".join([entry["network"], name, *([] if load is None else [f"{load:g}"]), *own])
        labels = (kind, chosen_set, entry["network"], load)
        return Task(full, entry.get("version", 1), *labels, scenario, overrides, baselines)

    return [task(kind, float(load)) for kind in kinds for load in entry[kind]] or [task("jobs")]


def _check(where: str, data: Mapping[str, Any], valid: Sequence[str], needed: int) -> None:
    """Check the keys of a mapping, of which the first `needed` ones must be there."""
    refuse_unknown(where, data, valid, "key")
    for key in valid[:needed]:
        if key not in data:
            raise ConfigError(f"{where}: lacks '{key}'")
