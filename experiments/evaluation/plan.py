"""The runs that `evaluate.yaml` describes: every policy in every scenario, with the same loads and seeds."""

import itertools
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...configs import WINDOWS, explain, file_label, refuse_unknown
from ...configs.composition import WRONG
from ...configs.policies import POLICY_SUFFIX, routing_of
from ...simcore import ConfigError
from ..running.launcher import HERE, Launcher
from ..running.plan import PlannedRun, expand
from ..running.sweep import RunFailedError, collect, run_all

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
    """One run of a study."""

    policy: Policy
    scenario: Scenario
    run: PlannedRun
    marks: Mapping[str, str] = field(default_factory=dict)  # further labels of its row, such as a network or a task

    @property
    def pair(self) -> str:
        """The policy and the scenario, and the network if a study has several, for messages."""
        words = [self.policy.name, f"{self.scenario.kind} {self.scenario.name}"]
        return ", ".join([self.marks["network"], *words] if "network" in self.marks else words)

    @property
    def labels(self) -> dict[str, str]:
        """The columns that identify the trial and are missing from its configuration."""
        return {**self.marks, "policy": self.policy.name, "scenario": self.scenario.name}


def policies_of(entries: Sequence[Any]) -> list[Policy]:
    """The policies that the entries of `routing` describe."""
    policies = []
    for word, name, params in (_read("routing", "routing", entry) for entry in entries):
        routing, settings = routing_of("routing", word)
        settings |= {f"{'run' if key in _RUN_PARAMETERS else 'routing'}.{key}": params[key] for key in params}
        policies.append(Policy(name or _policy_name(word, params), routing, settings))
    refuse_twice("routing", [policy.name for policy in policies])
    return policies


def scenarios_of(kind: Kind, entries: Sequence[Any], common: Mapping[str, Any]) -> list[Scenario]:
    """The scenarios that the entries of `patterns` or `workloads` describe. An entry overrides common parameters."""
    group, scenarios = _GROUP[kind], []
    _refuse_axes(group, common)
    for option, name, params in (_read(f"{kind}s", group, entry) for entry in entries):
        settings = {f"{group}.{key}": value for key, value in {**common, **params}.items()}
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
    """Every run: policies x scenarios x loads (for patterns) x seeds, in folders below `directory`.

    Runs of a workload get none of the `common` overrides that set a window.
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
        block = {"sweep": sweep, "together": [[{**policy.settings, **scenario.settings}]]}
        try:
            runs = expand(words, [block], directory)
        except (*WRONG, OSError) as error:  # an OSError is one of an input file
            text = explain(error) if isinstance(error, WRONG) else f"{error.strerror}: {error.filename}"
            raise ConfigError(f"{policy.name}, {scenario.kind} {scenario.name}: {text}") from None
        trials += [Trial(policy, scenario, run) for run in runs]
    return trials


def refused(trials: Sequence[Trial]) -> dict[str, str]:
    """The policies that the core refuses in a scenario: its message by `Trial.pair`, from the first run of each pair.

    Only networks are built; no cycle is simulated.
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


def play(
    trials: Sequence[Trial],
    command: str,
    description: str,
    workers: int | None,
    launcher: Launcher = HERE,
    silent: Collection[str] = (),
) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """Run the trials that have no result yet. A trial that is refused or fails does not stop the others.

    The arguments are those of `run_all`, and the command's name, with which messages begin.

    Returns:
        The results by directory, and the failures: one line for all runs of a policy with the same message.
    """
    failures = refused(trials)
    for pair, message in failures.items():
        # Printed before the other runs, which may take long.
        print(f"{command}: left out: {pair}: {message}", file=sys.stderr, flush=True)
    # Two names may stand for the same policy, whose runs are the same.
    runs: dict[Path, PlannedRun] = {t.run.directory: t.run for t in trials if t.pair not in failures}
    failed: dict[Path, str] = {}
    try:
        run_all(list(runs.values()), description, workers, keep_going=True, launcher=launcher, silent=silent)
    except RunFailedError as error:
        failed = error.failures
    results = {path: result for path, result in collect(runs.values()).items() if path not in failed}
    return results, [f"{pair}: {message}" for pair, message in failures.items()] + _alike(trials, failed)


def _alike(trials: Sequence[Trial], failed: Mapping[Path, str]) -> list[str]:
    """The messages of failed runs: one line for the same message of a policy in a scenario, with loads and seeds."""
    points: dict[tuple[str, str], list[str]] = {}
    for trial in trials:
        if trial.run.directory in failed:
            plain = trial.run.plain
            load = f"load {plain['traffic']['load']:g} " if trial.scenario.kind == "pattern" else ""
            points.setdefault((trial.pair, failed[trial.run.directory]), []).append(f"{load}seed {plain['seed']}")
    return [f"{pair} ({', '.join(where)}): {message}" for (pair, message), where in points.items()]


def check_axis(name: str, values: Sequence[Any]) -> None:
    """Refuse an empty axis, and an axis that holds a value twice, which would count one run as two."""
    if not values:
        raise ConfigError(f"{name}: give at least one")
    refuse_twice(name, list(map(str, values)), "")


def _read(where: str, kind: str, entry: Any) -> tuple[str, str | None, dict[str, Any]]:
    """The word, the name if there is one, and the parameters of an entry. An entry is a word or a mapping."""
    if not isinstance(entry, Mapping):
        if entry in (None, ""):
            raise ConfigError(f"{where}: {entry!r} is not a {kind}; write {where}=[<{kind}>]")
        return str(entry), None, {}
    refuse_unknown(where, entry, ("name", kind, "params"), "key")
    if not entry.get(kind):
        raise ConfigError(f"{where}: {dict(entry)} lacks '{kind}'; write {{name: label, {kind}: ..., params: {{}}}}")
    params = entry.get("params") or {}
    if not isinstance(params, Mapping):
        raise ConfigError(f"{where}: the params of {entry[kind]} are not a mapping; write params: {{key: value}}")
    _refuse_axes(where, params)
    name = entry.get("name")
    return str(entry[kind]), None if name is None else str(name), dict(params)


def _refuse_axes(where: str, params: Mapping[str, Any]) -> None:
    for key in _AXES.keys() & params:
        raise ConfigError(f"{where}: '{key}' is an axis of the evaluation; write {_AXES[key]}")


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
