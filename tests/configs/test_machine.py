"""A machine in one file: its keys agree with the presets, its checks with simulations, and errors name the key."""

import warnings
from pathlib import Path
from typing import Any

import flitgym
import numpy as np
import pytest
from conftest import Command
from flitgym.configs import compose
from flitgym.configs.machine import read_machine
from flitgym.simcore import ConfigError

TEXT = """
topology: dragonfly
shape: {routers_per_group: 4, global_ports: 2, groups: 9}
nodes_per_switch: 1
nics_per_node: 2
bandwidth: 100Gb/s
cables: {host: 2m, local: 2m, global: 20m}
switch: {ports: 36, latency: 90ns, vcs: 8, buffer: 16KiB}
router: {cycle_ns: 2.56, injection_vcs: 0}
congestion_control: dctcp
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "my.yaml"
    path.write_text(TEXT)
    return path


def test_the_data_sheet_of_an_edr_switch_gives_the_preset(machine: Path) -> None:
    config = compose(["traffic.load=0.2", f"machine={machine}", "topology.groups=5"])
    assert dict(config.topology) == {**compose(["topology=dragonfly_72"]).topology, "groups": 5}
    assert (config.traffic.packet_bytes, config.congestion_control.name) == (4096, "dctcp")
    router, preset = config.router, compose(["router=edr"]).router
    for key in preset:
        if "latency_ns" in key:  # the preset has rounded lengths of cables
            assert router[key] == pytest.approx(preset[key], abs=2.6), key  # a cycle
        else:
            assert router[key] == preset[key], key


@pytest.mark.parametrize(
    ("rate", "cable", "size"),
    [
        ("400Gb/s", "30m", "16KiB"),
        ("400Gb/s", "100m", "32KiB"),
        ("200Gb/s", "100m", "24KiB"),
        ("100Gb/s", "20m", "4KiB"),
    ],
)
def test_one_vc_reaches_the_part_of_the_bandwidth_that_the_check_gives(
    machine: Path, rate: str, cable: str, size: str
) -> None:
    machine.write_text(
        f"topology: hyperx\nshape: {{widths: [2]}}\nnodes_per_switch: 1\nbandwidth: {rate}\nnic_buffer: 1MiB\n"
        f"cables: {{host: 2m, local: {cable}}}\nswitch: {{latency: 350ns, vcs: 1, buffer: {size}}}\npacket: 4KiB\n"
    )
    values: dict[str, Any] = {"traffic.file": np.array([[0.0, 1.0], [0.0, 0.0]]), "traffic.load": 1.0}
    words = (f"machine={machine}", "routing=minimal", "traffic=matrix", "run.warmup_ns=50us", "run.measure_ns=50us")
    with warnings.catch_warnings(action="ignore"):  # the network is saturated
        result = flitgym.simulate(*words, **values)
    known = read_machine(machine)
    assert result["accepted_load"] * 2 == pytest.approx(known.buffer / known.needed("local"), rel=0.02)
    assert any(text.startswith("local links") for text in known.shortfalls())


def test_the_default_buffer_fills_every_link(machine: Path) -> None:
    machine.write_text(TEXT.replace(", buffer: 16KiB", "").replace("20m", "100m"))
    assert not read_machine(machine).shortfalls()


def test_a_command_warns_and_convert_shows_the_check(machine: Path, command: Command) -> None:
    machine.write_text(TEXT.replace("20m", "60m").replace("16KiB", "8KiB"))
    done = command("simulate", "machine=my.yaml", "routing=minimal", "run.warmup_ns=100", "run.measure_ns=100")
    assert done.returncode == 0
    text = "global links: a VC has 8 KiB, but bandwidth x round trip is 8.423 KiB; one VC fills about 95% of the link"
    assert f"warning: {text}" in done.stderr
    shown = command("convert", "my.yaml")
    assert "36 switches with up to 7 ports, 72 terminals" in shown.stdout
    assert {f"low: {text}", "router.input_buffer_flits=32"} <= set(shown.stdout.splitlines())
    assert command("draw", "machine=my.yaml", "out=my.png").returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("100Gb/s", "100", "bandwidth.host: '100' is no number with a unit; write for example 400Gb/s"),
        ("latency: 90ns", "latenzy: 90ns", "switch: unknown key 'latenzy'; did you mean 'latency'?"),
        ("16KiB", "2KiB", "the buffer of a VC, 2048 bytes, has no room for a packet of 4096 bytes"),
        ("nodes_per_switch: 1", "nodes_per_switch: 1.5", "nodes_per_switch: '1.5' is no whole number above 0"),
        ("ports: 36", "ports: 6", "switch.ports: a switch has 6, but the network needs 7"),
        ("ports: 36", "ports: 5, links_per_port: {host: 2}", "switch.ports: a switch has 5, but the network needs 6"),
        ("ports: 36", "ports: 6, links_per_port: {host: 0}", "links_per_port.host: '0' is no whole number above 0"),
        (
            "topology: dragonfly\nshape: {routers_per_group: 4, global_ports: 2, groups: 9}",
            "topology: hyperx\nshape: {widths: [4]}",
            "global: all links between switches of this network are local",
        ),
        ("nodes_per_switch: 1\n", "", "nics_per_node needs nodes_per_switch"),
        ("groups: 9", "grups: 9", "topology: unknown key 'grups'; did you mean 'groups'?"),
        ("topology: dragonfly", "topology: fat_tree", "nodes_per_switch: fat_tree has no such number"),
        (
            "router: {cycle_ns: 2.56, injection_vcs: 0}",
            "flit: 1MiB\npacket: 1B",
            "no cycle fits links of 100, 100, 100 Gb/s",
        ),
        (TEXT, "- 1", "my.yaml: expected keys: topology, shape"),
        ("topology:", "topology", "my.yaml, line 3"),
    ],
)
def test_errors_name_the_key(machine: Path, command: Command, old: str, new: str, message: str) -> None:
    machine.write_text(TEXT.replace(old, new))
    done = command("convert", "my.yaml")
    assert done.returncode == 2, done.stdout
    assert message in done.stderr


def test_one_message_has_all_values_without_a_unit(machine: Path) -> None:
    machine.write_text(TEXT.replace("20m", "20 ft").replace("90ns", "90").replace("vcs: 8", "vcs: 0"))
    with pytest.raises(ConfigError) as found:
        read_machine(machine)
    keys = ("switch.vcs", "cables.global", "switch.latency")
    assert [line.split(": ")[1] for line in str(found.value).splitlines()] == list(keys)


def test_a_nic_lengthens_both_ends_of_a_path(machine: Path) -> None:
    plain = read_machine(machine).router
    machine.write_text(TEXT + "nic_latency: 128ns\n")
    router = read_machine(machine).router
    assert router["link_latency_ns_host"] == pytest.approx(plain["link_latency_ns_host"] + 128, abs=2.56)
    assert {key for key in plain if plain[key] != router[key]} == {"link_latency_ns_host"}


def test_a_machine_has_one_topology(machine: Path) -> None:
    with pytest.raises(ConfigError, match="a machine has its own topology"):
        compose([f"machine={machine}", "topology=torus"])
