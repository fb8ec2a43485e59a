"""The kind of transfer that a task tests: the network and the traffic of a task against the worlds of a training.

    python -m flitgym.experiments.benchmarks.transfer my/policy.safetensors

The command checks the tasks of all suites against a policy file. The file names the command of its training, and so
the worlds, also those of a policy to which the training adds (`agent.base`). Without a file, it checks all shipped
policies. If a world has the network of a held-out task, the task is contaminated. The command then names it and fails.
"""

import itertools
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ...configs.composition import SIMULATION, compose_root
from ...configs.identity import plain_of
from ...configs.jobs import MIXED, has_workload
from ...configs.policies import policy_path, shipped_policies
from ...configs.training import mixture, register_training
from ...simcore import Simulation
from ...simcore._policy_file import load_policy
from ..terminal.commandline import CommandError, run_command
from .suite import Task, Transfer, available, load_suite

# The patterns of which another pattern consists.
_PARTS = {"mixed": {"uniform", "adversarial"}, "moving_adversary": {"adversarial"}, "on_off": {"uniform"}}


class World(NamedTuple):
    """A network with its traffic or jobs, as far as a transfer depends on them."""

    # Family, number of routers, and number of channels between them. So another number of terminals or another seed
    # of a random graph does not make another shape.
    shape: tuple[str, int, int]
    traffic: frozenset[str]  # patterns, or pairs of jobs such as fft3d+halo3d


@cache
def worlds_of(policy: str) -> frozenset[World]:
    """The worlds of the training of a policy, which is a shipped one's name or a file."""
    from ...agents import trainable

    words = load_policy(policy_path("policy", policy))[1].get("trained_by")
    if words is None:
        raise CommandError(f"{policy}: the file does not name the command of its training")
    register_training(trainable())
    config = compose_root("train", shlex.split(words)[2:])
    members, base = mixture(config), config.agent.get("base")
    drawn = [key for one in (members or {"": config}).values() for key in one.get("vary") or ()]
    if config.agent.get("dataset") or any(key.startswith(("topology", "workload", "traffic.name")) for key in drawn):
        raise CommandError(
            f"{policy}: the training has a dataset or draws networks or jobs, which this check cannot see"
        )
    if members is None:
        worlds = [_world(config, config.vary)]
    else:
        worlds = [_world(SIMULATION.resolved(one["overrides"]), one.get("vary")) for one in members.values()]
    return frozenset(worlds) | (worlds_of(base) if base else frozenset())


def world_of(task: Task) -> World:
    """The network and the traffic of a task."""
    group = "traffic" if task.scenario.kind == "pattern" else "workload"
    words = [word for word in task.overrides if not word.startswith("run.")]  # jobs have no windows
    return _world(SIMULATION.resolved([*words, f"{group}={task.scenario.option}"], task.scenario.settings))


def transfer(task: World, worlds: Iterable[World]) -> Transfer:
    """The transfer from the worlds of a training to a task.

    `train`: a world has the shape of the task's network, so the task is not held out. Otherwise `family`: no world has
    the family. `pattern`: no world has one of the task's patterns, or its pair of jobs, on the family. `shape`: only
    the shape is new, and with it the placement of jobs.
    """
    if any(world.shape == task.shape for world in worlds):
        return "train"
    same = [world for world in worlds if world.shape[0] == task.shape[0]]
    if not same:
        return "family"
    return "shape" if any(world.traffic & task.traffic for world in same) else "pattern"


def transfers_of(policy: str, suite: str) -> dict[str, Transfer]:
    """The transfer from the training of a policy to each held-out task of a suite, by the task's name."""
    return {task: transfer(world, worlds_of(policy)) for task, world in _held_out(suite).items()}


@cache
def _held_out(suite: str) -> dict[str, World]:
    return {task.name: world_of(task) for task in load_suite(suite).tasks if task.set == "held_out"}


def _world(config: Mapping[str, Any], vary: Mapping[str, Any] | None = None) -> World:
    topology = plain_of(config["topology"])
    router = {"name": "vc_router"}
    facts = Simulation({"topology": topology, "router": router, "routing": "minimal", "traffic": "uniform"}).facts()
    shape = (topology["name"], facts["routers"], facts["channels"] - facts["terminals"])
    if has_workload(config):
        return World(shape, frozenset(_pairs(config["workload"])))
    drawn = [*(vary or {}).get("traffic", [])] or [plain_of(config["traffic"])]
    names = {one["name"] for one in drawn}
    for one in drawn:
        if one["name"] == "phases":
            names |= {phase.split()[0] for phase in one["phases"].split(";")}
    return World(shape, frozenset(names.union(*(_PARTS.get(name, set()) for name in names))))


def _pairs(workload: Mapping[str, Any]) -> list[str]:
    if workload["name"] not in ("mixed", "pair"):
        raise CommandError(f"workload={workload['name']}: the rule compares pairs of motifs; use pair or mixed")
    motifs: Iterable[str] = MIXED if workload["name"] == "mixed" else (workload["target"], workload["background"])
    return ["+".join(sorted(pair)) for pair in itertools.combinations(motifs, 2)]


def _check() -> None:
    contaminated = []
    for policy, suite in itertools.product(sys.argv[1:] or shipped_policies(), available()):
        found = transfers_of(policy, suite)
        kinds = Counter("contaminated" if kind == "train" else kind for kind in found.values())
        print(f"{policy}: {suite}: {', '.join(f'{kind} {number}' for kind, number in sorted(kinds.items()))}")
        known = [task for task, kind in found.items() if kind == "train"]
        contaminated += [f"{policy}: {suite}: {task} is contaminated" for task in known]
    if contaminated:
        raise CommandError("\n".join(["a training has the networks of held-out tasks", *contaminated]))


if __name__ == "__main__":
    sys.exit(run_command("python -m flitgym.experiments.benchmarks.transfer", _check))
