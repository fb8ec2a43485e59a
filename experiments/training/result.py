"""The results of a training: the policy and its card, `training.json`, the figure, and a number for a sweeper."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from ...agents import plugin_of, trainable
from ...configs.identity import plain_of
from ...configs.training import mixture, training_command, training_hash
from ...env.experience.world import Mixture
from ...simcore import CoreError, __version__
from ...simcore.plugins import mentioned, versions
from ..results.files import read_with_care, write_json
from ..results.rows import row as row_of
from .comparison import COMPARED, LATENCY
from .tracking import PROGRESS_FILE, read_progress

POLICY_FILE = "policy.safetensors"
TRAINING_FILE = "training.json"
CARD_FILE = "card.md"


@dataclass(frozen=True)
class Training:
    """A training and the folder of its files."""

    config: DictConfig  # resolved, with the keys of `configs/train.yaml`
    directory: Path  # of checkpoint, metrics, figure, policy and result
    words: Sequence[str] | None = None  # overrides of the command; None: the training was called from Python

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The configuration as it is after JSON, which has no tuples."""
        return dict(json.loads(json.dumps(plain_of(self.config))))

    @cached_property
    def identity(self) -> str:
        """The hash of the configuration, and the plugins that take part. A checkpoint fits if both are equal."""
        learned_on = {key: value for key, value in self.plain.items() if key not in ("evaluation", "track")}
        taking_part = versions(mentioned(learned_on), agent=plugin_of(trainable()[self.config.agent.name][1]))
        return " ".join((training_hash(self.config), *(f"{name}={version}" for name, version in taking_part.items())))

    def finished(self) -> dict[str, Any] | None:
        """The result in the folder if this training is complete there, with all rounds, files and comparisons."""
        result = read_training(self.directory)
        if result is None or result["training_hash"] != self.identity or result["version"] != __version__:
            return None
        if result["config"]["evaluation"] != self.plain["evaluation"]:
            return None
        rows = read_progress(self.directory / PROGRESS_FILE)
        whole = len(rows) == self.config.rounds and (self.directory / POLICY_FILE).is_file()
        return result if whole and rows[-1] == result["last"] else None

    def finish(
        self, policy: Any, routing: Mapping[str, Any], baselines: Mapping[str, Mapping[str, float]], seconds: float
    ) -> dict[str, Any]:
        """Write the policy, the figure and the result. Returns the result.

        The arguments are the layers, the parameters of `routing=policy`, the numbers by baseline, and the duration.
        """
        import torch

        from ...simcore._policy_file import save_policy

        rows = read_progress(self.directory / PROGRESS_FILE)
        if all(line.get("loss") is None for line in rows):
            raise CoreError(
                "nothing was learned, because no decision received a reward; check that the load is above 0, that "
                "packets have more than one candidate, and that agent.run_ns * agent.record_part is large enough"
            )
        trained_by = {} if self.words is None else {"trained_by": training_command(self.words)}
        save_policy(
            self.directory / POLICY_FILE,
            policy,
            network=routing["network"],
            slots=routing["slots"],
            observation=routing["observation"],
            topology=trained_on(self.config),
            relation=routing.get("relation", "widest"),
            slots_by=routing.get("slots_by", "random"),
            allocation=routing.get("allocation", "greedy"),
            decisions=routing.get("decisions", "router"),
            provenance={**trained_by, "training_hash": self.identity, "version": __version__},
        )
        result = {
            "agent": self.config.agent.name,
            "rounds": self.config.rounds,
            "decisions": rows[-1].get("decisions"),
            "wall_seconds": seconds,
            "objective": objective(rows, baselines),
            "policy": POLICY_FILE,
            "last": rows[-1],
            "baselines": baselines,
            "training_hash": self.identity,
            "version": __version__,
            "torch": torch.__version__,  # it and the instructions change the last bits of sums, and so the policy
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "config": self.plain,
        }
        from .learning_curve import draw  # with Matplotlib, which takes long to import

        row = training_row(result, self.directory)
        draw({str(self.config.agent.name): [row]}, self.directory / "training")
        (self.directory / CARD_FILE).write_text(card(self.config, routing, result, trained_by.get("trained_by", "")))
        write_json(self.directory / TRAINING_FILE, result)  # last, because it marks a complete training
        return result


def training_row(result: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """One training as one flat row.

    It has the numbers of the training and its configuration as `agent.learning_rate` and so on. Metrics of the last
    round are `last.<metric>`, and metrics of the baselines `baselines.<name>.<metric>`. The lists `progress.<metric>`
    have the metrics of all rounds.
    """
    flat = row_of({key: value for key, value in result.items() if key not in ("last", "baselines", "agent")}, directory)
    flat["directory"] = directory.name
    flat |= {f"last.{key}": value for key, value in result["last"].items()}
    for name, numbers in result["baselines"].items():
        flat |= {f"baselines.{name}.{key}": value for key, value in numbers.items()}
    progress = read_progress(directory / PROGRESS_FILE)
    for key in dict.fromkeys(key for line in progress for key in line):
        values = (line.get(key) for line in progress)
        flat[f"progress.{key}"] = [None if value is None else float(value) for value in values]
    return flat


def kinds_of(config: DictConfig) -> list[str]:
    """The kinds of networks of a training."""
    members = mixture(config)
    if members is None:
        return [str(config.topology.name)]
    return sorted({str(world.sections["topology"]["name"]) for world in Mixture.composed(members).worlds})


def trained_on(config: DictConfig) -> str:
    """The kind of network that a policy was trained on; `any` if there were several kinds."""
    kinds = kinds_of(config)
    return kinds[0] if len(kinds) == 1 else "any"


def card(config: DictConfig, routing: Mapping[str, Any], result: Mapping[str, Any], command: str) -> str:
    """Return the card of a policy, which users publish with its file: its training, inputs, numbers and limits."""
    lines = [
        f"trained by `{command}`" if command else "trained by a program in Python",
        f"{result['rounds']} rounds of `{result['agent']}` on {', '.join(kinds_of(config))}, {result['version']}",
        f"sees `{routing['observation']}` of {routing['slots']} slots, relation `{routing.get('relation', 'widest')}`",
        f"plays on: {trained_on(config)}",
        *comparisons(result),
        "limits: one training with one seed; `flitgym benchmark suite=quick` gives its scores on other networks",
    ]
    return f"# {POLICY_FILE}\n\n" + "".join(f"- {line}\n" for line in lines)


def read_training(directory: Path) -> dict[str, Any] | None:
    """The content of a folder's `training.json`; None if there is none."""
    path = directory / TRAINING_FILE
    if not path.is_file():
        return None
    with read_with_care(path):
        return dict(json.loads(path.read_bytes()))


def objective(rows: Sequence[Mapping[str, Any]], baselines: Mapping[str, Mapping[str, float]]) -> float:
    """A measure of a training's success; less is better.

    With a comparison, it is the ratio of the policy's latency to that of the best baseline in the last comparison, as
    the geometric mean over loads. For a workload it uses communication times and jobs. It is infinite if the policy
    delivered nothing. Without a comparison, it is minus the mean reward of the last tenth of the rounds. With the
    reward `hop_delay` this is the mean delay of a decision in us.
    """
    compared = [line for line in rows if any(key.startswith(COMPARED) for key in line)]
    ratios = []
    for key, value in (compared[-1] if compared else {}).items():
        known = [numbers.get(key) for numbers in baselines.values()] if key.startswith(COMPARED) else []
        best = min((x for x in known if x is not None and math.isfinite(x)), default=None)
        if best:
            ratios.append(math.inf if value is None else value / best)
    if ratios:
        return float(np.exp(np.mean(np.log(ratios))))
    rewards = [line["reward"] for line in rows[-max(1, len(rows) // 10) :] if line.get("reward") is not None]
    return -float(np.mean(rewards)) if rewards else math.inf


def summary(result: Mapping[str, Any], directory: Path) -> str:
    """A summary of a training for the terminal."""
    shown = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    made = f"{result['rounds']} rounds, {result['decisions'] or 0:,.0f} decisions, {result['wall_seconds']:.0f} s"
    lines = [f"{shown / POLICY_FILE}: {made}", *(f"  {line}" for line in comparisons(result))]
    lines.append(f"use it: flitgym simulate topology=... routing={shown / POLICY_FILE}")
    return "\n".join(lines)


def comparisons(result: Mapping[str, Any]) -> list[str]:
    """The last numbers of the policy and of the baselines, a line per load or job."""
    lines, last = [], result["last"]
    for key in (key for key in last if key.startswith(COMPARED)):
        what, label = key.rsplit("@", 1)
        parts = [f"{name} {_ns(values.get(key))}" for name, values in {"policy": last, **result["baselines"]}.items()]
        title = f"load {label}: mean latency" if what == LATENCY else f"{label}: mean communication time"
        lines.append(f"{title} in ns: " + ", ".join(parts))
    return lines


def _ns(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:,.0f}"
