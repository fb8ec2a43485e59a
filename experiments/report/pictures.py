"""Pictures in the page: those of the study's folder, the panels of a sweep, and schedules of jobs."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from ..plotting.lines import blocks_of
from ..plotting.schedule import schedule_figure
from ..plotting.sweeps import draw_panel, legend_entries
from ..plotting.words import axis_label
from ..results.cautions import shows_start
from .runs import Run

Picture = dict[str, str]  # its name, and its content as an address

_LARGEST_SVG = 2_000_000  # bytes; the page shows the PNG of a larger figure
_MOST_SCHEDULES = 12  # each takes a second
_SIZE = (4.8, 3.1)  # inches of a panel


def curves(runs: Sequence[Run]) -> Iterator[tuple[str, list[Picture]]]:
    """The legend of the sweep, and the title and the panels of each of its blocks.

    Each panel is a picture, so that a narrow window shows them below each other.
    """
    # A mean over a run that shows how a network settles belongs to no load.
    blocks = blocks_of(run.row for run in runs if not shows_start(run.result["config"]["run"]))
    if handles := legend_entries(blocks):
        legend = Figure()
        legend.legend(handles=handles, ncols=2, frameon=False)
        yield "", [_drawn("legend", legend)]
    for block in blocks:
        panels = []
        for x, y in block.panels:
            figure = Figure(figsize=_SIZE, layout="constrained")
            draw_panel(figure.subplots(), block, x, y)
            panels.append(_drawn(f"{axis_label(y)} against {axis_label(x)}", figure))
        yield block.title, panels


def schedules(runs: Iterable[tuple[str, Run]]) -> list[Picture]:
    """The schedules of the first runs with a queue of jobs, by the labels of the runs."""
    queues = [(label, run) for label, run in runs if "queue" in run.result["files"]][:_MOST_SCHEDULES]
    return [_drawn(label, schedule_figure(run.result, run.directory)) for label, run in queues]


def pictures(paths: Sequence[Path]) -> list[Picture]:
    """The PNG and SVG files by their stems. A small SVG takes precedence over the PNG of the same stem."""
    chosen: dict[str, Path] = {}
    for path in paths:
        if path.stem not in chosen or (path.suffix == ".svg" and path.stat().st_size <= _LARGEST_SVG):
            chosen[path.stem] = path
    # An SVG in an image element has its own ids, separate from other figures.
    kinds = {".svg": "svg+xml", ".png": "png"}
    return [_embedded(name, kinds[path.suffix], path.read_bytes()) for name, path in chosen.items()]


def _drawn(name: str, figure: Figure) -> Picture:
    content = BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "flitgym"}):
        figure.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
    return _embedded(name, "svg+xml", content.getvalue())


def _embedded(name: str, kind: str, content: bytes) -> Picture:
    return {"name": name, "uri": f"data:image/{kind};base64,{base64.b64encode(content).decode()}"}
