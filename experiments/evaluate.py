"""`flitgym evaluate`: policies and baselines over patterns, loads, workloads and seeds, as tables and a figure.

    flitgym evaluate routing=ugal_l,q_adaptive,results/mine/policy.safetensors traffic=uniform,adversarial

`configs/evaluate.yaml` explains every key.
"""

import sys

import hydra
from omegaconf import DictConfig

from ..configs import CONFIG_DIR, unknown
from .evaluation.performance import Performance
from .evaluation.study import Measure, as_list, conduct_app
from .hindsight.study import Regret
from .terminal.commandline import CommandError, by_hydra, run_command

COMMAND = "flitgym evaluate"
# Keys of a single run, and the lists that replace them here.
LISTS = {
    "routing": "routings",
    "traffic": "patterns",
    "traffic.load": "loads",
    "workload": "workloads",
    "seed": "seeds",
}
_MEASURES: dict[str, type[Measure]] = {"performance": Performance, "regret": Regret}


@hydra.main(config_path=str(CONFIG_DIR), config_name="evaluate", version_base="1.3")
def app(config: DictConfig) -> None:
    """Evaluate in Hydra's run directory."""
    conduct_app(measure_of, COMMAND, config)


def measure_of(config: DictConfig) -> Measure:
    """The measure that a configuration names.

    Raises:
        CommandError: there is no such measure.
    """
    if config.measure not in _MEASURES:
        raise CommandError(unknown("measure", config.measure, _MEASURES, "measure"))
    return _MEASURES[config.measure]()


def main() -> None:
    """Entry point of the command."""
    sys.argv[1:] = [as_list(word, LISTS) for word in sys.argv[1:]]
    sys.exit(run_command(COMMAND, lambda: by_hydra(app, COMMAND, "evaluate", "an evaluation")))
