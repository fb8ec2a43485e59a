"""`flitgym train`: an agent learns on a world, with checkpoints, metrics and baselines. `--help` lists the choices."""

import math
from collections.abc import Mapping
from typing import Any

import hydra
from omegaconf import DictConfig

from ..agents import trainable
from ..configs import CONFIG_DIR
from ..configs.training import register_training
from .running.hydra_plugin import Sweep
from .running.launcher import in_run_folder
from .terminal.commandline import by_hydra
from .training.result import summary
from .training.run import train
from .training.study import TRAININGS, gather_trainings

NAME = "flitgym train"


@hydra.main(config_path=str(CONFIG_DIR), config_name="train", version_base="1.3")
def app(config: DictConfig) -> None:
    """Train in Hydra's run directory."""
    with in_run_folder(config) as (directory, words):
        print(summary(train(config, directory, words=words), directory), flush=True)


def main() -> None:
    """Entry point of the command."""

    def compose() -> None:
        register_training(trainable())
        by_hydra(app, NAME, "train")

    def end() -> None:
        for folder in sweep.folders:
            for path in gather_trainings(folder):
                print(path)

    sweep = Sweep(NAME, TRAININGS, lambda result, directory, now: summary(result, directory), objective)
    sweep.main(compose, end)


def objective(result: Mapping[str, Any] | None) -> float:
    """The number that a sweeper minimises. JSON has no infinity, so null stands for it."""
    value = None if result is None else result["objective"]
    return math.inf if value is None else float(value)
