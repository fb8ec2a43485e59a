"""Every figure that compares routings states their input buffers per port."""

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import executed
from flitgym.configs import compose
from flitgym.experiments import plot
from flitgym.experiments.plotting.seeds import buffers_text, state_seeds
from flitgym.experiments.plotting.sweeps import sweep_figure
from flitgym.experiments.results.rows import PORT_BUFFER, row, rows_below
from flitgym.experiments.running.one_run import prepare
from flitgym.simcore import ConfigError
from matplotlib.figure import Figure

TINY = ("topology=dragonfly_72", "router=hpdc21", "run.warmup_ns=0", "run.measure_ns=200")
DEPTH = 20  # flits of a VC: 2,560 bytes in the authors' code, in packets of 128 bytes
CLASSES = {"minimal": 2, "par": 5}  # minimal: source and destination group; PAR: up to five local hops


def runs(folder: Path, *overrides: str, routings: tuple[str, ...] = tuple(CLASSES)) -> list[dict[str, Any]]:
    for name in routings:
        for load in (0.1, 0.2):
            executed(folder / f"{name}_{load}", *TINY, f"routing={name}", f"traffic.load={load}", *overrides)
    return rows_below(folder)[0]


def test_pictures_state_the_buffers_of_a_router(tmp_path: Path) -> None:
    rows = runs(tmp_path)
    low, high = (DEPTH * CLASSES[name] for name in CLASSES)
    text = f"input buffers: {low} to {high} flits per port"
    assert sweep_figure(rows).get_supxlabel() == text
    figure = Figure()
    state_seeds(figure, rows)
    assert figure.get_supxlabel() == f"1 seed; no intervals; {text}"
    svg, _ = plot.plot(tmp_path, {"x": "load", "y": "hops", "by": "routing", "format": "svg,png"})
    assert text in svg.read_text()


def test_a_total_makes_buffers_equal(tmp_path: Path) -> None:
    rows = runs(tmp_path, "router.buffer_total=200")  # half of it for inputs, as in this router's buffers
    assert buffers_text(rows) == "equal input buffers: 100 flits per port"


@pytest.mark.parametrize("name", ["minimal", "valiant_group", "valiant_router", "par"])
@pytest.mark.parametrize("total", [200, 203])
def test_divided_buffers_are_those_of_the_core(name: str, total: int) -> None:
    """The core's message about a packet that is too long states the size of a VC's buffer and the number of VCs."""
    words = (*TINY, f"routing={name}", f"router.buffer_total={total}", "router.output_buffer_flits=30")
    simulation = prepare(compose(words))
    with pytest.raises(ConfigError) as caught:
        prepare(compose((*words, "traffic.packet_bytes=128000", "router.nic_buffer_flits=1000")))
    message = re.search(r"leaves (\d+) flits for the input_buffer_flits of each of the (\d+) VCs", str(caught.value))
    assert message
    result = {"facts": simulation.facts(), "config": {"router": simulation.configuration()["router"]}}
    assert row(result, Path())[PORT_BUFFER] == int(message[1]) * int(message[2])
