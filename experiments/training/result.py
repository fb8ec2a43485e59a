"""The results of a training: the policy, `training.json`, the figure, and a number that a sweeper can minimise."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from ...configs.training import mixture, training_command
from ...env.experience.world import Mixture
from ...simcore import CoreError, __version__
from ..results.files import write_json
from .comparison import COMPARED, LATENCY
from .tracking import PROGRESS_FILE, read_progress

POLICY_FILE = "policy.safetensors"
TRAINING_FILE = "training.json"


def finish(
    config: DictConfig,
    plain: Mapping[str, Any],
    directory: Path,
    policy: Any,
    routing: Mapping[str, Any],
    baselines: Mapping[str, Mapping[str, float]],
    identity: str,
    seconds: float,
    words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Write the policy, the figure and the result of a finished training. Returns the result.

    Args:
        config: The configuration of the training.
        plain: The same configuration, resolved.
        directory: The folder of the training.
        policy: Layers for `save_policy`.
        routing: Parameters of `routing=policy`.
        baselines: The numbers of each baseline, by name.
        identity: Hash of the training.
        seconds: Duration of the training.
        words: Overrides of the command; None: the training was called from Python.

    Raises:
        CoreError: no decision received a reward.
        OSError: a file cannot be written.
    """
    import torch

    from ...agents.policy.file import save_policy

    rows = read_progress(directory / PROGRESS_FILE)
    if all(row.get("loss") is None for row in rows):
        raise CoreError(
            "nothing was learned, because no decision received a reward; check that the load is above 0, that packets "
            "have more than one candidate, and that agent.run_ns * agent.record_part is large enough"
        )
    trained_by = {} if words is None else {"trained_by": training_command(words)}
    save_policy(
        directory / POLICY_FILE,
        policy,
        network=routing["network"],
        slots=routing["slots"],
        observation=routing["observation"],
        topology=trained_on(config),
        relation=routing.get("relation", "widest"),
        slots_by=routing.get("slots_by", "random"),
        decisions=routing.get("decisions", "router"),
        provenance={**trained_by, "training_hash": identity, "version": __version__},
    )
    from .learning_curve import draw_learning_curve  # with Matplotlib, which takes long to import

    draw_learning_curve(rows, baselines, directory / "training", str(config.agent.name))
    result = {
        "agent": config.agent.name,
        "rounds": config.rounds,
        "decisions": rows[-1].get("decisions"),
        "wall_seconds": seconds,
        "objective": objective(rows, baselines),
        "policy": POLICY_FILE,
        "last": rows[-1],
        "baselines": baselines,
        "training_hash": identity,
        "version": __version__,
        "torch": torch.__version__,  # it and the instructions change the last bits of sums, and so the policy
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "config": plain,
    }
    write_json(directory / TRAINING_FILE, result)  # last, because it marks a complete training
    return result


def trained_on(config: DictConfig) -> str:
    """The kind of network that a policy was trained on; `any` if there were several kinds."""
    members = mixture(config)
    if members is None:
        return str(config.topology.name)
    kinds = {str(world.sections["topology"]["name"]) for world in Mixture.composed(members).worlds}
    return kinds.pop() if len(kinds) == 1 else "any"


def finished(directory: Path, plain: Mapping[str, Any], identity: str) -> dict[str, Any] | None:
    """The result in `directory` if this training is complete there, with all rounds, files and comparisons.

    Args:
        directory: The folder of the training.
        plain: The resolved configuration of the training.
        identity: Hash of the training.
    """
    result = read_training(directory)
    if result is None or result["training_hash"] != identity or result["version"] != __version__:
        return None
    if result["config"].get("evaluation") != plain["evaluation"] or not (directory / POLICY_FILE).is_file():
        return None
    rows = read_progress(directory / PROGRESS_FILE)
    return result if len(rows) == plain["rounds"] and rows[-1] == result["last"] else None


def read_training(directory: Path) -> dict[str, Any] | None:
    """The content of a folder's `training.json`; None if it cannot be read."""
    try:
        result = json.loads((directory / TRAINING_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    parts = {"agent": str, "rounds": int, "last": dict, "baselines": dict, "training_hash": str, "version": str}
    parts["config"] = dict
    whole = isinstance(result, dict) and all(isinstance(result.get(key), kind) for key, kind in parts.items())
    return result if whole else None


def objective(rows: Sequence[Mapping[str, Any]], baselines: Mapping[str, Mapping[str, float]]) -> float:
    """A measure of a training's success; less is better.

    With a comparison, it is the ratio of the policy's latency to that of the best baseline in the last comparison, as
    the geometric mean over loads. For a workload it uses communication times and jobs. It is infinite if the policy
    delivered nothing. Without a comparison, it is minus the mean reward of the last tenth of the rounds. With the
    reward `hop_delay` this is the mean delay of a decision in us.
    """
    compared = [row for row in rows if any(key.startswith(COMPARED) for key in row)]
    ratios = []
    for key, value in (compared[-1] if compared else {}).items():
        known = [numbers.get(key) for numbers in baselines.values()] if key.startswith(COMPARED) else []
        best = min((x for x in known if x is not None and math.isfinite(x)), default=None)
        if best:
            ratios.append(math.inf if value is None else value / best)
    if ratios:
        return float(np.exp(np.mean(np.log(ratios))))
    rewards = [row["reward"] for row in rows[-max(1, len(rows) // 10) :] if row.get("reward") is not None]
    return -float(np.mean(rewards)) if rewards else math.inf


def summary(result: Mapping[str, Any], directory: Path) -> str:
    """A summary of a training for the terminal."""
    shown = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    made = f"{result['rounds']} rounds, {result['decisions'] or 0:,.0f} decisions, {result['wall_seconds']:.0f} s"
    lines = [f"{shown / POLICY_FILE}: {made}"]
    baselines, last = result["baselines"], result["last"]
    for key in (key for key in last if key.startswith(COMPARED)):
        what, label = key.rsplit("@", 1)
        parts = [f"{name} {_ns(values.get(key))}" for name, values in {"policy": last, **baselines}.items()]
        title = f"load {label}: mean latency" if what == LATENCY else f"{label}: mean communication time"
        lines.append(f"  {title} in ns: " + ", ".join(parts))
    lines.append(f"use it: flitgym simulate topology=... routing={shown / POLICY_FILE}")
    return "\n".join(lines)


def _ns(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:,.0f}"
