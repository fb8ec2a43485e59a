"""`flitgym draw`: draws a network from its actual links, and the load of the links in a run.

    flitgym draw topology=dragonfly_72
    flitgym draw topology=hyperx_64 failures.links=0.05 out=broken.svg
    flitgym draw result=results/see/<run> color=stalls time=5us

`docs/networks.md` shows a picture of every topology.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from omegaconf import OmegaConf

from ..configs import PLOT_FORMATS, compose, core_failures, refuse_unknown
from ..configs.machine import expanded
from ..configs.quantities import in_number
from ..simcore.pictures.loads import QUANTITIES, draw_loads
from ..simcore.pictures.topology import draw_topology
from .plotting.drawing import save_figure
from .plotting.loads import run_loads
from .plotting.schedule import COLOURS, schedule_figure
from .report.runs import runs_of
from .results.files import RESULT_FILE, read_result
from .terminal.commandline import CommandError, main_of, parse, picture_file

NAME = "flitgym draw"
FOLDER = Path("results/drawings")
_USAGE = f"""usage: {NAME} topology=NAME [topology.KEY=VALUE ...] [failures.KEY=VALUE ...] [seed=N] [out=FILE]
       {NAME} machine=FILE [topology.KEY=VALUE ...] [failures.KEY=VALUE ...] [seed=N] [out=FILE]
       {NAME} result=RUN [color=NAME] [time=TIME] [out=FILE]

Draw the routers, links and terminals of a network. Failed links are red and dashed.
With result=RUN, the folder of a run that recorded its links (run.channels=true, or jobs), draw their load:

  color  {", ".join(QUANTITIES)}, or a job or 'class NAME' for its part of the utilisation; default: utilisation
         with workload=queue, {", ".join(COLOURS)}: the terminals of the jobs over time, with this colour
  time   the frame at this time, such as 5us, 1.2ms or 800 (ns); default: the mean over time

Without out=FILE, the pictures are {FOLDER}/NAME.png and NAME.svg. FILE ends with .{", .".join(PLOT_FORMATS)}.
`flitgym simulate --help` lists the topologies; docs/networks.md shows a picture of each.
"""


def draw(words: Sequence[str]) -> list[Path]:
    """Draw the network of a command line. Returns the files that were written."""
    if any(word.startswith("result=") for word in words):
        return _draw_result(words)
    own = [picture_file(word.removeprefix("out=")) for word in words if word.startswith("out=")]
    rest = [word for word in words if not word.startswith("out=")]
    rest = expanded(rest, "route")  # which has a topology and no router
    for word in rest:
        if word.partition("=")[0].partition(".")[0] not in ("topology", "failures", "seed"):
            raise CommandError(
                f"'{word}': valid words are topology=, topology.<key>=, machine=, failures.<key>=, seed= and out="
            )
    if not any(word.startswith("topology=") for word in rest):
        raise CommandError("topology=NAME or machine=FILE is missing; flitgym simulate --help lists the names")
    config = compose(rest)
    failures = core_failures(config)
    if failures.pop("events", None) is not None:
        raise CommandError("failures.events: links that fail during a run are not drawn; name them in failures.links")
    title = rest[0].removeprefix("topology=") if len(rest) == 1 else " ".join(rest).removeprefix("topology=")
    topology = next(word.removeprefix("topology=") for word in rest if word.startswith("topology="))
    files = own or [FOLDER / f"{topology}{suffix}" for suffix in (".png", ".svg")]
    section: Any = OmegaConf.to_container(config.topology, resolve=True, throw_on_missing=True)
    return _saved(files, draw_topology(section, failures or None, title, config.seed))


def _draw_result(words: Sequence[str]) -> list[Path]:
    paths, given, _ = parse(words, ("result", "color", "time", "out"), ())
    folder, color = Path(given["result"]), given.get("color", "utilisation")
    result = read_result(folder) if not paths else None
    if result is None:
        raise CommandError(f"result={folder}: write the folder of a run, which holds {RESULT_FILE}, and no other word")
    (run,) = runs_of([(result, folder)])
    files = [picture_file(given["out"])] if "out" in given else [FOLDER / f"{folder.name}_{color}.png"]
    title = " · ".join([run.row["topology"], run.what, run.routing])
    if color in COLOURS:
        if "time" in given:
            raise CommandError(f"time: color={color} shows the jobs over time; leave it out")
        return _saved(files, schedule_figure(result, folder, color, title))
    loads = run_loads(result, folder)
    if loads is None:
        raise CommandError(f"result={folder}: the run did not record its links; repeat it with run.channels=true")
    refuse_unknown("color", [color], [*loads.values, *COLOURS], "quantity")
    try:
        time_ns = float(in_number("time_ns", given["time"])) if "time" in given else None
    except ValueError:
        raise CommandError(f"time={given['time']}: write a time such as 5us, 1.2ms or 800ns") from None
    return _saved(files, draw_loads(loads, color, time_ns, title))


def _saved(files: Sequence[Path], figure: Figure) -> list[Path]:
    return [save_figure(figure, file.with_suffix(""), "flitgym", [file.suffix[1:]])[0] for file in files]


main = main_of(NAME, _USAGE, lambda words: "\n".join(map(str, draw(words))))
