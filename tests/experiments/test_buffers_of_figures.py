"""Every figure that compares routings states their input buffers per port."""

import re
from pathlib import Path
from typing import Any

import pytest
from flitgym.configs import compose
from flitgym.experiments import plot
from flitgym.experiments.plotting.buffers import buffers_text
from flitgym.experiments.plotting.seeds import state_seeds
from flitgym.experiments.plotting.sweeps import sweep_figure
from flitgym.experiments.results.rows import PORT_BUFFER, row, rows_below
from flitgym.experiments.running.one_run import execute, prepare
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore import ConfigError
from matplotlib.figure import Figure
from sweep_rows import traffic_row

TINY = ("topology=dragonfly_72", "router=hpdc21", "run.warmup_ns=0", "run.measure_ns=200")
DEPTH = 20  # flits of a VC: 2,560 bytes in the authors' code, in packets of 128 bytes
CLASSES = {"minimal": 2, "par": 5}  # minimal: source and destination group; PAR: up to five local hops


def runs(folder: Path, *overrides: str, routings: tuple[str, ...] = tuple(CLASSES)) -> list[dict[str, Any]]:
    for name in routings:
        for load in (0.1, 0.2):
            words = (*TINY, f"routing={name}", f"traffic.load={load}", *overrides)
            execute(compose(words), folder / f"{name}_{load}", no_report)
    return rows_below(folder)[0]


def made(routing: str, flits: int | None, **more: Any) -> dict[str, Any]:
    return traffic_row(routing, 0.1, **{PORT_BUFFER: flits, **more})


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
        prepare(compose((*words, "traffic.packet_flits=1000", "router.nic_buffer_flits=1000")))
    message = re.search(r"leaves (\d+) flits for the input_buffer_flits of each of the (\d+) VCs", str(caught.value))
    assert message
    result = {"facts": simulation.facts(), "config": {"router": simulation.configuration()["router"]}}
    assert row(result, Path())[PORT_BUFFER] == int(message[1]) * int(message[2])


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([made("minimal", 60), made("par", 60)], "equal input buffers: 60 flits per port"),
        ([made("minimal", 60), made("dqn", 1600)], "input buffers: 60 to 1,600 flits per port"),
        # A total that three VCs cannot share leaves a flit.
        (
            [made("minimal", 100, **{"router.buffer_total": 200}), made("par", 99, **{"router.buffer_total": 200})],
            "input buffers: 99 to 100 flits per port, from an equal total",
        ),
        # Both networks have equal buffers for both routings.
        (
            [made(name, flits, **{"topology.groups": flits}) for name in ("minimal", "par") for flits in (40, 60)],
            "equal input buffers on each network: 40 to 60 flits per port",
        ),
        # PAR has other buffers on the larger network.
        (
            [made("minimal", 40, **{"topology.groups": n}) for n in (5, 9)]
            + [made("par", 10 * n, **{"topology.groups": n}) for n in (5, 9)],
            "input buffers: 40 to 90 flits per port",
        ),
        # Engines of tables are compared like routings.
        (
            [made("minimal", flits, **{"routing.engine": name}) for name, flits in (("nue", 20), ("dfsssp", 40))],
            "input buffers: 20 to 40 flits per port",
        ),
        ([made("par", 60), made("par", 60)], ""),  # nothing is compared
        ([made("minimal", 40, **{"topology.groups": 5}), made("par", 60)], ""),  # different networks
        ([made("minimal", None), made("par", 60)], ""),  # rows of an older version lack the column
        ([{"engine.name": "dfsssp"}, {"engine.name": "nue"}], ""),  # tables without simulations
    ],
)
def test_texts(rows: list[dict[str, Any]], text: str) -> None:
    assert buffers_text(rows) == text
