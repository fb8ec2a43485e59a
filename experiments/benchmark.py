"""`flitgym benchmark`: policies on a suite of versioned tasks, scored against recorded results of its baselines.

    flitgym benchmark suite=quick routing=ugal,results/mine/policy.safetensors

`configs/benchmark.yaml` explains every key. Runs are executed, reported and resumed as in `flitgym evaluate`.
"""

import sys

from omegaconf import OmegaConf

from .benchmarks.study import Benchmark
from .benchmarks.suite import available, load_suite, name_of
from .evaluation.study import study_verb

OmegaConf.register_new_resolver("benchmark_folder", lambda suite: f"benchmark_{name_of(str(suite))}", replace=True)
app, _main = study_verb("benchmark", lambda _: Benchmark, {"routing": "routings", "tasks": "tasks"}, "a benchmark")


def main() -> None:
    """Entry point of the command. Without keys it lists the suites."""
    sys.argv[1:] = sys.argv[1:] or ["--help"]
    if {"-h", "--help"} & set(sys.argv[1:]):
        print("suites, or a file of your own, *.yaml:")
        for suite in map(load_suite, available()):
            print(f"  {suite.id}: {len(suite.tasks)} tasks, {len(suite.seeds)} seeds. {suite.about}")
        print()
    _main()
