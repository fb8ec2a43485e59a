"""`flitgym saturate`: the highest load that a network carries, by routing and pattern, as a table and a figure.

    flitgym saturate topology=hyperx_64 routing=dim_war,omni_war,ugal traffic=uniform,urb_y

`configs/saturate.yaml` explains every key.
"""

from collections.abc import Sequence

import hydra
from omegaconf import DictConfig

from ..configs import CONFIG_DIR
from ..simcore import ConfigError
from .evaluation.study import conduct_app, run_verb
from .saturation.study import Saturation

COMMAND = "flitgym saturate"
# Keys of a single run, and the lists that replace them here.
LISTS = {"topology": "networks", "routing": "routings", "traffic": "patterns", "seed": "seeds"}


@hydra.main(config_path=str(CONFIG_DIR), config_name="saturate", version_base="1.3")
def app(config: DictConfig) -> None:
    """Search in Hydra's run directory."""
    conduct_app(lambda _: Saturation, COMMAND, config)


def refuse(words: Sequence[str]) -> None:
    """Refuse the load, which is the result, and keys of `run` that have another name here."""
    for word in words:
        key = word.partition("=")[0]
        if word == "run=steady" or key in ("run.precision", "run.confidence", "run.max_ns"):
            raise ConfigError(f"{word}: has no effect here; use precision, confidence and max_ns, without 'run.'")
        if key == "traffic.load":
            raise ConfigError(f"{word}: the command searches for the load; leave it out")


def main() -> None:
    """Entry point of the command."""
    run_verb("saturate", app, LISTS, "this study", refuse)
