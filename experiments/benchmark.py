"""`flitgym benchmark`: policies on a suite of versioned tasks, scored against recorded results of its baselines.

    flitgym benchmark suite=quick routing=ugal,results/mine/policy.safetensors

`configs/benchmark.yaml` explains every key. Runs are executed, reported and resumed as in `flitgym evaluate`.
"""

import sys

import hydra
from omegaconf import DictConfig, OmegaConf

from ..configs import CONFIG_DIR
from .benchmarks.study import Benchmark
from .benchmarks.suite import available, load_suite, name_of
from .evaluation.study import conduct_app, run_verb

COMMAND = "flitgym benchmark"
# Keys of a single run, and the lists that replace them here.
LISTS = {"routing": "routings", "tasks": "tasks"}


OmegaConf.register_new_resolver("benchmark_folder", lambda suite: f"benchmark_{name_of(str(suite))}", replace=True)


@hydra.main(config_path=str(CONFIG_DIR), config_name="benchmark", version_base="1.3")
def app(config: DictConfig) -> None:
    """Play the suite in Hydra's run directory."""
    conduct_app(lambda _: Benchmark, COMMAND, config)


def main() -> None:
    """Entry point of the command. Without keys it lists the suites."""
    sys.argv[1:] = sys.argv[1:] or ["--help"]
    if {"-h", "--help"} & set(sys.argv[1:]):
        print("suites, or a file of your own, *.yaml:")
        for suite in map(load_suite, available()):
            print(f"  {suite.id}: {len(suite.tasks)} tasks, {len(suite.seeds)} seeds. {suite.about}")
        print()
    run_verb("benchmark", app, LISTS, "a benchmark")
