"""`flitgym evaluate`: policies and baselines over patterns, loads, workloads and seeds, as tables and a figure.

    flitgym evaluate routing=ugal_l,q_adaptive,results/mine/policy.safetensors traffic=uniform,adversarial

`configs/evaluate.yaml` explains every key.
"""

from collections.abc import Sequence

from omegaconf import DictConfig

from ..configs import refuse_unknown
from ..configs.errors import TYPED
from ..simcore import ConfigError
from .evaluation.performance import Performance
from .evaluation.regret import Regret
from .evaluation.study import Comparison, study_verb

# Keys of a single run, and the lists that replace them here.
LISTS = {key: name for name, key in TYPED.items() if name != "networks"}
_MEASURES: dict[str, type[Comparison]] = {"performance": Performance, "regret": Regret}


def measure_of(config: DictConfig) -> type[Comparison]:
    """The measure that a configuration names."""
    refuse_unknown("measure", [config.measure], _MEASURES, "measure")
    return _MEASURES[config.measure]


def refuse(words: Sequence[str]) -> None:
    """Refuse a list of networks, of routers, of congestion controls or of windows."""
    for word in words:
        key, _, value = word.partition("=")
        if key in ("topology", "router", "congestion_control", "run") and "," in value:
            noun = "network" if key == "topology" else f"option of {key}"
            raise ConfigError(f"{word}: a study has one {noun}; start the command for each, with another study=<name>")


app, main = study_verb("evaluate", measure_of, LISTS, "an evaluation", refuse)
