"""The runs that `evaluate.yaml` describes: every policy in every scenario, with the same loads and seeds."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ...configs import WINDOWS, explain, file_label, unknown
from ...configs.policies import POLICY_SUFFIX, routing_of
from ...simcore import ConfigError
from ..running.plan import PlannedRun, expand

Kind = Literal["pattern", "workload"]

# The Hydra group whose options the entries of each kind name.
_GROUP: dict[Kind, str] = {"pattern": "traffic", "workload": "workload"}
# Keys of `run` among the parameters of a policy: the content of a learned table is part of the policy.
_RUN_PARAMETERS = ("load_q_table", "freeze_q_table")
# Parameters that are axes of a study, and the keys that set them.
_AXES = {"load": "traffic.load=0.1,0.3", "seed": "seed=1,2"}


@dataclass(frozen=True)
class Policy:
    """A routing with its parameters, and the name under which tables and figures show it."""

    name: str
    routing: str  # option of the group `routing`
    settings: Mapping[str, Any]  # full keys and their values


@dataclass(frozen=True)
class Scenario:
    """A traffic pattern, which runs at every load, or a workload."""

    name: str
    kind: Kind
    option: str  # of the group `traffic` or `workload`
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """One run of a study.

    Args:
        policy: The policy.
        scenario: The pattern or workload.
        run: The run.
        marks: Further labels of its row, such as the network of a search or the task of a benchmark.
    """

    policy: Policy
    scenario: Scenario
    run: PlannedRun
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def pair(self) -> str:
        """The policy and the scenario, and the network if a study has several, for messages."""
        words = [self.policy.name, f"{self.scenario.kind} {self.scenario.name}"]
        return ", ".join([self.marks["network"], *words] if "network" in self.marks else words)

    @property
    def labels(self) -> dict[str, str]:
        """The columns that identify the trial and are missing from its configuration."""
        return {**self.marks, "policy": self.policy.name, "scenario": self.scenario.name}


def entries_of(key: str, text: str) -> list[Any]:
    """The entries of a list on the command line: `par,ugal_l`, `[par,{name: eager, routing: par, params: {}}]`.

    Raises:
        ConfigError: the text is no list.
    """
    try:
        entries = yaml.safe_load(text if text.startswith("[") else f"[{text}]")
    except yaml.YAMLError as error:
        raise ConfigError(
            f"{key}={text}: not a list; write {key}=a,b, with quotes around a list with brackets"
        ) from error
    return list(entries)


def policies_of(entries: Sequence[Any]) -> list[Policy]:
    """The policies that the entries of `routing` describe.

    Raises:
        ConfigError: an entry is neither a word nor a mapping with the right keys, or two entries have the same name.
    """
    policies = []
    for entry in entries:
        word, name, params = _read("routing", "routing", entry)
        routing, settings = routing_of("routing", word)
        settings |= {f"{'run' if key in _RUN_PARAMETERS else 'routing'}.{key}": params[key] for key in params}
        policies.append(Policy(name or _policy_name(word, params), routing, settings))
    refuse_twice("routing", [policy.name for policy in policies])
    return policies


def scenarios_of(kind: Kind, entries: Sequence[Any], common: Mapping[str, Any]) -> list[Scenario]:
    """The scenarios that the entries of `patterns` or `workloads` describe.

    Args:
        kind: `pattern` or `workload`.
        entries: Words and mappings.
        common: Parameters of all scenarios. The parameters of an entry override them.

    Raises:
        ConfigError: as `policies_of`, or a parameter is an axis of the evaluation.
    """
    group = _GROUP[kind]
    scenarios = []
    for entry in entries:
        option, name, params = _read(f"{kind}s", group, entry)
        together = {**common, **params}
        if kind == "pattern" and "load" in together:
            raise ConfigError(f"traffic.load: the loads are an axis of the evaluation; write {_AXES['load']}")
        settings = {f"{group}.{key}": value for key, value in together.items()}
        scenarios.append(Scenario(name or _with_params(option, params), kind, option, settings))
    refuse_twice(f"{kind}s", [scenario.name for scenario in scenarios])
    return scenarios


def plan(
    policies: Sequence[Policy],
    scenarios: Sequence[Scenario],
    common: Sequence[str],
    loads: Sequence[float],
    seeds: Sequence[int],
    directory: Path,
) -> list[Trial]:
    """Every run: policies x scenarios x loads (for patterns) x seeds.

    Args:
        policies: All policies.
        scenarios: All scenarios.
        common: Hydra overrides of every run. Runs of a workload get none of those that set a window.
        loads: Offered loads of the patterns.
        seeds: Seeds of every policy and scenario.
        directory: The parent of the folders of the runs.

    Raises:
        ConfigError: an option or a key does not exist, or a value has the wrong type. The message names the policy and
            the scenario. A file that a policy, a pattern or a workload names cannot be read.
    """
    trials = []
    for policy, scenario in itertools.product(policies, scenarios):
        sweep: dict[str, Sequence[Any]] = {"routing": [policy.routing], _GROUP[scenario.kind]: [scenario.option]}
        words = common
        if scenario.kind == "pattern":
            sweep["traffic.load"] = loads
        else:
            words = [word for word in common if word.partition("=")[0] not in {f"run.{key}" for key in WINDOWS}]
        sweep["seed"] = seeds
        block = {"overrides": [], "sweep": sweep, "together": [[{**policy.settings, **scenario.settings}]]}
        try:
            runs = expand(words, [block], directory)
        except (HydraException, OmegaConfBaseException, ConfigError) as error:
            raise ConfigError(f"{policy.name}, {scenario.kind} {scenario.name}: {explain(error)}") from None
        except OSError as error:  # of an input file
            where = f"{error.strerror}: {error.filename}"
            raise ConfigError(f"{policy.name}, {scenario.kind} {scenario.name}: {where}") from None
        trials += [Trial(policy, scenario, run) for run in runs]
    return trials


def refused(trials: Sequence[Trial]) -> dict[str, str]:
    """The policies that the core refuses in a scenario. Only networks are built; no cycle is simulated.

    Returns:
        The core's message by `Trial.pair`, from the first run of each pair.
    """
    firsts: dict[str, PlannedRun] = {}
    for trial in trials:
        firsts.setdefault(trial.pair, trial.run)
    messages = {}
    for pair, run in firsts.items():
        try:
            run.kind.survey(run.plain)
        except ConfigError as error:
            messages[pair] = explain(error)
    return messages


def check_axis(name: str, values: Sequence[Any]) -> None:
    """Refuse an empty axis, and an axis that holds a value twice, which would count one run as two.

    Raises:
        ConfigError: names the axis.
    """
    if not values:
        raise ConfigError(f"{name}: give at least one")
    refuse_twice(name, list(map(str, values)), "")


def _read(where: str, kind: str, entry: Any) -> tuple[str, str | None, dict[str, Any]]:
    """The word, the name if there is one, and the parameters of an entry. An entry is a word or a mapping."""
    if not isinstance(entry, Mapping):
        if entry in (None, ""):
            raise ConfigError(f"{where}: {entry!r} is not a {kind}; write {where}=[<{kind}>]")
        return str(entry), None, {}
    valid = ("name", kind, "params")
    for key in entry:
        if key not in valid:
            raise ConfigError(unknown(where, str(key), valid, "key"))
    if not entry.get(kind):
        raise ConfigError(f"{where}: {dict(entry)} lacks '{kind}'; write {{name: label, {kind}: ..., params: {{}}}}")
    params = entry.get("params") or {}
    if not isinstance(params, Mapping):
        raise ConfigError(f"{where}: the params of {entry[kind]} are not a mapping; write params: {{key: value}}")
    for key in params:
        if key in _AXES:
            raise ConfigError(f"{where}: '{key}' is an axis of the evaluation; write {_AXES[key]}")
    name = entry.get("name")
    return str(entry[kind]), None if name is None else str(name), dict(params)


def _policy_name(word: str, params: Mapping[str, Any]) -> str:
    # A forwarding table is named after its engine or its file.
    rest = dict(params)
    label = rest.pop("file", None) or rest.pop("engine", None) if word == "table" else None
    if label is not None:
        return _with_params(f"table-{file_label(str(label))}", rest)
    return _with_params(file_label(word) if word.endswith(POLICY_SUFFIX) else word, params)


def _with_params(name: str, params: Mapping[str, Any]) -> str:
    return " ".join([name, *(f"{key}={value}" for key, value in params.items())])


def refuse_twice(
    where: str, names: Sequence[str], hint: str = "; give one of them another name: {name: ..., ...}"
) -> None:
    """Refuse a name that occurs twice."""
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{where}: '{twice}' occurs twice{hint}")
