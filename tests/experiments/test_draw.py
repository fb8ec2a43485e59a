"""`flitgym draw`: each link is drawn once, and failed links are red."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import executed
from flitgym.configs import compose, core_failures
from flitgym.experiments import draw
from flitgym.experiments.plotting.loads import run_loads
from flitgym.experiments.results.files import read_result
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import ChannelGraph, ConfigError, Simulation, registered
from flitgym.simcore.pictures import groups as topology_groups
from flitgym.simcore.pictures.layout import layout_of
from flitgym.simcore.pictures.loads import draw_loads
from flitgym.simcore.pictures.topology import cables_of, draw_topology
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from omegaconf import OmegaConf

PETERSEN = ["topology=graph", "topology.file=docs/examples/petersen.csv"]
# At least one of each registered topology.
SCENES = [
    ["topology=dragonfly_72"],
    ["topology=hyperx_64"],
    ["topology=hyperx", "topology.widths=[2,3,2]", "topology.links=[1,3,1]"],
    ["topology=full_mesh"],
    ["topology=torus", "topology.sizes=[8,8]"],
    ["topology=angara_32"],
    ["topology=mesh_64"],
    ["topology=fat_tree_64"],
    ["topology=leaf_spine_256"],
    ["topology=rail_optimised"],
    ["topology=multi_plane_fat_tree"],
    ["topology=slim_fly"],
    ["topology=dragonfly_plus_90"],
    ["topology=polarfly_q7"],
    ["topology=polarfly", "topology.q=4"],
    ["topology=polarstar_104"],
    ["topology=hammingmesh", "topology.board_height=3", "topology.boards_x=8", "topology.switch_ports=8"],
    ["topology=random_regular"],
    PETERSEN,
]


def _section(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    config = compose(words)
    topology: Any = OmegaConf.to_container(config.topology, resolve=True)
    return topology, core_failures(config)


def _segments(figure: Figure) -> list[tuple[LineCollection, Any]]:
    return [
        (lines, segment)
        for lines in figure.axes[0].collections
        if isinstance(lines, LineCollection) and lines.get_gid() != "terminals"
        for segment in lines.get_segments()
    ]


def test_every_registered_topology_has_a_scene() -> None:
    assert {_section(words)[0]["name"] for words in SCENES} == set(registered("topology"))


@pytest.mark.parametrize("words", SCENES, ids=" ".join)
def test_every_link_is_drawn_once_between_its_routers(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    topology, _ = _section(words)
    graph = ChannelGraph(topology)
    arrays = graph.arrays()
    cables = cables_of(graph, graph)
    layout = layout_of(topology, graph.switches, cables.ends, arrays["terminal_switch"].astype(np.int64))
    assert len(np.unique(layout.at.round(6), axis=0)) == graph.switches, "two routers share a place"

    segments = _segments(draw_topology(topology))
    assert 2 * len(segments) == graph.channels
    place = {tuple(at): router for router, at in enumerate(layout.at.round(6).tolist())}
    drawn = Counter(
        tuple(sorted(place[tuple(np.asarray(segment)[end].round(6).tolist())] for end in (0, -1)))
        for _, segment in segments
    )
    pairs = zip(arrays["from"].tolist(), arrays["to"].tolist(), strict=True)
    assert drawn == Counter((a, b) for a, b in pairs if a < b)


def test_failed_links_are_red_and_dashed() -> None:
    words = ["topology=dragonfly_72", "failures.links=0.1"]
    topology, failures = _section(words)
    names = Simulation(
        {"topology": topology, "routing": "minimal", "traffic": "uniform", "failures": failures}
    ).facts()["failed_links"]
    assert len(names) == 9
    figure = draw_topology(topology, failures)
    assert len(_segments(figure)) == 90
    red = [lines for lines, _ in _segments(figure) if lines.get_linestyle() != [(0, None)]]  # type: ignore[comparison-overlap]
    assert len(red) == 9
    assert {tuple(np.round(lines.get_color()[0][:3], 2)) for lines in red} == {(0.84, 0.15, 0.16)}
    whole, used = ChannelGraph(topology), ChannelGraph(topology, failures)
    cables = cables_of(whole, used)
    assert {f"{a}-{b}" for a, b in cables.ends[cables.failed]} == set(names)


def test_a_failed_router_loses_all_its_links() -> None:
    topology, failures = _section(["topology=mesh_64", "failures.routers=[9]"])
    cables = cables_of(ChannelGraph(topology), ChannelGraph(topology, failures))
    assert np.flatnonzero(cables.lost).tolist() == [9]
    assert sorted(cables.ends[cables.failed].ravel().tolist()) == [1, 8, 9, 9, 9, 9, 10, 17]


def test_command_writes_pictures_that_do_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = draw.draw(["topology=hyperx_64"])
    assert [file.as_posix() for file in files] == [f"results/drawings/hyperx_64.{kind}" for kind in ("png", "svg")]
    assert files[0].read_bytes()[:4] == b"\x89PNG"
    (again,) = draw.draw(["topology=hyperx_64", "out=deep/again.svg"])
    assert again.read_bytes() == files[1].read_bytes()


# Rails of two pods, each with an own group of spines; the cores join both groups.
RAILS = ["topology=rail_optimised", "topology.leaves_per_spine=4", "topology.cores=2"]


@pytest.mark.parametrize(
    ("words", "groups", "bundles", "text"),
    [
        (["topology=dragonfly_72"], 9, 36, "; drawn as 9 groups of 4 routers"),
        (RAILS, 2 + 4, 2 * 4, "; drawn as 2 pods and 4 groups of spines"),
        (["topology=multi_plane_fat_tree"], 4 + 4, 4 * 4, "; drawn as 4 groups of hosts and 4 planes"),
    ],
)
def test_a_large_network_is_drawn_by_groups(
    words: list[str], groups: int, bundles: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology_groups, "MOST_ROUTERS", 0)
    figure = draw_topology(_section(words)[0])
    assert len(_segments(figure)) == bundles
    circles = [
        dots for dots in figure.axes[0].collections if isinstance(dots, PathCollection) and len(dots.get_offsets())
    ]
    assert [len(dots.get_offsets()) for dots in circles] == [groups]
    assert any(written.get_text().endswith(text) for written in figure.texts)


def test_the_load_of_a_run_is_drawn_by_colour_and_width(tmp_path: Path) -> None:
    words = ["topology=mesh_64", "routing=minimal", "traffic=tornado", "traffic.load=0.3", "run.channels=true"]
    executed(tmp_path, *words, "run.warmup_ns=1000", "run.measure_ns=3000")
    result = read_result(tmp_path)
    assert result is not None
    loads = run_loads(result, tmp_path)
    assert loads is not None
    for time_ns, frame in ((2000.0, loads.end_ns.searchsorted(2000.0)), (1e9, -1)):
        figure = draw_loads(loads, "utilisation", time_ns)
        (lines,) = [found for found in figure.axes[0].collections if isinstance(found, LineCollection)]
        between = loads.values["utilisation"][frame][loads.ends[:, 1] >= 0]
        assert len(lines.get_segments()) == len(between) == 224  # both directions of 112 links
        # Lines are drawn in the order of their values, and wide lines have high values.
        assert np.diff(lines.get_linewidths()).min() >= 0
        ends = {tuple(loads.layout.at[pair].ravel().round(6)) for pair in loads.ends[loads.ends[:, 1] >= 0]}
        drawn = {tuple(np.concatenate([path[0], path[-1]]).round(6)) for path in lines.get_segments()}
        assert drawn == ends
        hot = loads.layout.at[loads.ends[loads.ends[:, 1] >= 0][between == between.max()]]
        last = lines.get_segments()[-1]
        assert any(np.allclose([last[0], last[-1]], places) for places in hot)
    for suffix, head in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        (file,) = draw.draw([f"result={tmp_path}", "color=stalls", "time=2us", f"out={tmp_path / 'x'}{suffix}"])
        assert file.read_bytes()[: len(head)] == head
    for words, message in (
        ([f"result={tmp_path}", "color=stall"], "did you mean 'stalls'"),
        ([f"result={tmp_path}", "time=soon"], "time=soon: write a time"),
        ([f"result={tmp_path.parent}"], "write the folder of a run"),
    ):
        with pytest.raises((CommandError, ConfigError), match=message):
            draw.draw(words)
