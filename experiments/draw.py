"""`flitgym draw`: draws a network from its actual links.

    flitgym draw topology=dragonfly_72
    flitgym draw topology=hyperx_64 failures.links=0.05 out=broken.svg

`docs/networks.md` shows a picture of every topology.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ..configs import compose, core_failures
from .plotting.drawing import save_figure
from ..simcore.pictures.topology import draw_topology
from .terminal.commandline import CommandError, main_of

NAME = "flitgym draw"
FOLDER = Path("results/drawings")
_SUFFIXES = (".png", ".svg", ".pdf")
_USAGE = f"""usage: {NAME} topology=NAME [topology.KEY=VALUE ...] [failures.KEY=VALUE ...] [seed=N] [out=FILE]

Draw the routers, links and terminals of a network. Failed links are red and dashed.
Without out=FILE, the pictures are {FOLDER}/NAME.png and NAME.svg. FILE ends with {", ".join(_SUFFIXES)}.
`flitgym simulate --help` lists the topologies; docs/networks.md shows a picture of each.
"""


def draw(words: Sequence[str]) -> list[Path]:
    """Draw the network of a command line. Returns the files that were written.

    Raises:
        CommandError: a key or the format of a file is not supported.
        ConfigError: the network cannot be built.
        hydra.errors.HydraException: the topology or a key does not exist.
    """
    own = [word.removeprefix("out=") for word in words if word.startswith("out=")]
    rest = [word for word in words if not word.startswith("out=")]
    for word in rest:
        if word.partition("=")[0].partition(".")[0] not in ("topology", "failures", "seed"):
            raise CommandError(f"'{word}': valid words are topology=, topology.<key>=, failures.<key>=, seed= and out=")
    if not any(word.startswith("topology=") for word in rest):
        raise CommandError("topology=NAME is missing; flitgym simulate --help lists the names")
    config = compose(rest)
    failures = core_failures(config)
    if failures.pop("events", None) is not None:
        raise CommandError("failures.events: links that fail during a run are not drawn; name them in failures.links")
    title = rest[0].removeprefix("topology=") if len(rest) == 1 else " ".join(rest).removeprefix("topology=")
    topology = next(word.removeprefix("topology=") for word in rest if word.startswith("topology="))
    files = [Path(file) for file in own] or [FOLDER / f"{topology}{suffix}" for suffix in (".png", ".svg")]
    for file in files:
        if file.suffix not in _SUFFIXES:
            raise CommandError(f"out={file}: the name of a picture ends with {', '.join(_SUFFIXES)}")
    section: Any = OmegaConf.to_container(config.topology, resolve=True, throw_on_missing=True)
    figure = draw_topology(section, failures or None, title, config.seed)
    return [save_figure(figure, file.with_suffix(""), "flitgym", [file.suffix[1:]])[0] for file in files]


def main() -> None:
    """Entry point of the command."""
    main_of(NAME, _USAGE, lambda words: "\n".join(map(str, draw(words))))
