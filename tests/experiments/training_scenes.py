"""Trainings of a second, used by several test files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flitgym.agents import trainable
from flitgym.configs.composition import compose_root
from flitgym.configs.training import register_training
from flitgym.experiments.train import train
from omegaconf import DictConfig

SMALL = [
    "topology=dragonfly",
    "topology.terminals_per_router=1",
    "topology.routers_per_group=2",
    "topology.global_ports=1",
    "topology.groups=3",
    "agent.run_ns=1000",
    "agent.episode_ns=4000",
    "agent.networks=2",
    "agent.capacity=2048",
    "agent.record_part=1.0",
    "evaluation.every=0",
    "track.to=none",
    "vary={traffic.load: [0.2, 0.4]}",
]
COMPARED = ["evaluation.every=2", "evaluation.seeds=[1]", "evaluation.warmup_ns=500",
            "evaluation.baseline_warmup_ns=500", "evaluation.measure_ns=1000"]  # fmt: skip
OWN = {"dqn": ["agent=dqn", "agent.updates=3", "agent.batch=64"], "ppo": ["agent=ppo", "agent.epochs=2"]}
_SEARCH = ["agent=policy_search", "agent.population=3", "agent.elite=1", "agent.episode_ns=2000"]


def composed(*words: str, agent: str = "dqn") -> DictConfig:
    """The configuration of a small training."""
    register_training(trainable())
    own = [*SMALL[:5], *SMALL[-3:], *_SEARCH] if agent == "policy_search" else [*SMALL, *OWN[agent]]
    return compose_root("train", [*own, *words])


def quick(
    directory: Path,
    *overrides: str,
    agent: str = "dqn",
    after_round: Callable[[int], None] = lambda done: None,
    words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Train in this process."""
    return train(composed(*overrides, agent=agent), directory, after_round, words=words)
