"""`flitgym saturate`: the highest load that a network carries, by routing and pattern, as a table and a figure.

    flitgym saturate topology=hyperx_64 routing=dim_war,omni_war,ugal traffic=uniform,urb_y

`configs/saturate.yaml` explains every key.
"""

from collections.abc import Sequence

from ..simcore import ConfigError
from .evaluation.study import study_verb
from .saturation.study import Saturation

# Keys of a single run, and the lists that replace them here.
LISTS = {"topology": "networks", "routing": "routings", "traffic": "patterns", "seed": "seeds"}


def refuse(words: Sequence[str]) -> None:
    """Refuse the load, which is the result, and keys of `run` that have another name here."""
    for word in words:
        key = word.partition("=")[0]
        if word == "run=steady" or key in ("run.precision", "run.confidence", "run.max_ns"):
            raise ConfigError(f"{word}: has no effect here; use precision, confidence and max_ns, without 'run.'")
        if key == "traffic.load":
            raise ConfigError(f"{word}: the command searches for the load; leave it out")


app, main = study_verb("saturate", lambda _: Saturation, LISTS, "this study", refuse)
