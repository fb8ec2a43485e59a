"""Random configurations are accepted, or refused with a message that names the mistake."""

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.configs import CONFIG_DIR, compose, explain, run_id
from flitgym.experiments.running.one_run import prepare
from flitgym.simcore import ConfigError, Simulation
from flitgym.simcore._core import terminals
from hydra import initialize_config_dir
from hydra.errors import HydraException
from mutations import fuzz
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

pytestmark = pytest.mark.deep

REFUSALS = (ConfigError, HydraException, OmegaConfBaseException, OSError)
LARGEST = 600  # terminals; larger networks are composed but not built

OVERRIDES = [
    b"topology=dragonfly_72\nrouting=q_adaptive\ntraffic=adversarial\ntraffic.load=0.4\nrouting.alpha=0.1\nseed=3",
    b"topology=hyperx\ntopology.widths=[4,4]\ntopology.links=[1]\nrouting=dim_war\nrouter=sc19\ntraffic=urb_x",
    b"topology=dragonfly_72\nworkload=pair\nworkload.target=ur\nworkload.target_params={iterations: 2,ranks: 4}",
    b"topology=dragonfly_72\nworkload=jobs\n"
    b"workload.jobs=[{motif: halo3d,ranks: 8,terminals: [0,1,2,3,4,5,6,7]},{name: a,motif: ur,ranks: 8,start_ns: 5}]",
    b"topology=dragonfly_72\nrun=settled\nrun.warmup_ns=100\nrun.series_interval_ns=10\n+run.drain=true\nstudy=x",
]
OVERRIDE_WORDS = [
    *(
        b"null",
        b"~",
        b"+",
        b"++",
        b"=",
        b"\n",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"'",
        b'"',
        b"${seed}",
        b"${run_id:}",
        b"@",
    ),
    *(b"nan", b"inf", b"1e300", b"-1", b"9" * 400, b"true", b"\xff", b"\t", b"name", b"/", b"..", b"_self_", b"hydra."),
    *(b"a" * 300, b"topology", b"workload=none", b"${run_id:}", b"goal_file: ", b"program: 1", b"terminals: 5"),
]
PRESETS = [(CONFIG_DIR / "topology" / name).read_bytes() for name in ("dragonfly_72.yaml", "hyperx_64.yaml")]
YAML_WORDS = [
    *(b"\t", b"groups: 9\n", b"null", b"- ", b"? ", b": ", b"&a ", b"*a", b"!!python/object:os.system ", b"!!binary "),
    *(
        b"defaults:",
        b"_self_",
        b"{",
        b"[",
        b"${seed}",
        b"name: x\n",
        b"|\n",
        b">\n",
        b"\xff\xfe",
        b"\0",
        b"---\n",
        b"%",
    ),
]


def build(config: Any) -> None:
    run_id(_root_=config)
    if terminals(OmegaConf.to_container(config.topology, resolve=True)) <= LARGEST:
        prepare(config)


def named(error: BaseException) -> None:
    # A terminal can show the message: it is not empty, and every character can be encoded.
    text = explain(error)
    assert text
    text.encode()


def test_overrides() -> None:
    def read(data: bytes) -> None:
        try:
            build(compose([word for word in os.fsdecode(data).split("\n") if word]))
        except REFUSALS as error:
            named(error)

    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        fuzz(OVERRIDES, OVERRIDE_WORDS, 40, read, ())


def test_presets(tmp_path: Path) -> None:
    preset = tmp_path / "topology" / "mine.yaml"
    preset.parent.mkdir()

    def read(data: bytes) -> None:
        preset.write_bytes(data)
        try:
            build(compose([f"hydra.searchpath=[file://{tmp_path}]", "topology=mine", "routing=random"]))
        except REFUSALS as error:
            named(error)

    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        fuzz(PRESETS, YAML_WORDS, 25, read, ())


# --- From Python ---------------------------------------------------------------------------------------------------

TOPOLOGY = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
TRAFFIC = {
    "topology": TOPOLOGY,
    "router": {"name": "vc_router", "vcs": 6},
    "routing": {"name": "par", "threshold": 2.0},
    "traffic": {"name": "uniform", "load": 0.3, "load_step_times_ns": [100], "load_step_loads": [0.4]},
    "seed": 1,
}
JOBS = {
    "topology": TOPOLOGY,
    "routing": "minimal",
    "workload": {
        "placement": "linear",
        "jobs": [
            {"name": "a", "motif": "ur", "ranks": 4, "iterations": 2, "terminals": [3, 1, 2, 0]},
            {"name": "b", "motif": "halo3d", "ranks": 8},
        ],
    },
}
ODD: list[Any] = [
    *(None, True, -1, 0, 2**70, 10**4000, -(2**63), 0.5, 1e300, float("nan"), float("inf"), "", "x", "\ud800", b"x"),
    *([], [[1]], [None], [10**400], ["\ud800"], {}, {1: 2}, {"\ud800": 1}, object(), 1j, np.int64(3), np.float32(0.5)),
    *(np.arange(3), np.array("x"), np.datetime64(1, "s"), range(3), {3}, "01", [0.5, 1], 7, Path("x"), int),
]


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else []
    return [path] * bool(path) + [place for key, child in children for place in places(child, (*path, key))]


def parent(config: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        config = config[key]
    return config


def refusal(config: Any) -> str | None:
    """The core's refusal of a configuration, or None if the core accepts it. Every character can be encoded."""
    try:
        Simulation(config)
    except ConfigError as error:
        return str(error).encode().decode()
    return None


@pytest.mark.parametrize("original", [TRAFFIC, JOBS])
def test_odd_values_at_every_key(original: dict[str, Any]) -> None:
    for path in places(original):
        for value in ODD:
            config = copy.deepcopy(original)
            parent(config, path)[path[-1]] = value
            message = refusal(config)
            if message is not None and path != ("workload",):
                assert any(isinstance(key, str) and key in message for key in path), (path, value, message)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"terminals": 5}, ["terminals", "5", "not a list of terminals"]),
        ({"terminals": "01"}, ["terminals", "'01'", "not a list of terminals"]),
        ({"terminals": [0.5, 1, 2, 3]}, ["terminals", "0.5", "not a terminal"]),
        ({"terminals": [2**70, 1, 2, 3]}, ["terminals", str(2**70), "too large"]),
        ({"program": 7}, ["program", "7", "not Program"]),
        ({"program": None}, ["program", "None", "not Program"]),
        ({"motif": 3}, ["motif", "'3'", "halo3d"]),
        ({"name": "\ud800"}, ["name", "\\ud800", "UTF-8"]),
    ],
)
def test_a_bad_job_is_refused_by_key_and_value(change: dict[str, Any], parts: list[str]) -> None:
    config: dict[str, Any] = copy.deepcopy(JOBS)
    config["workload"]["jobs"][0] |= change
    with pytest.raises(ConfigError) as refused:
        Simulation(config)
    for part in parts:
        assert part in str(refused.value)


def test_numpy_scalars_are_accepted_as_numbers() -> None:
    plain = Simulation(TRAFFIC)
    config: dict[str, Any] = copy.deepcopy(TRAFFIC)
    config["seed"] = np.int64(1)
    config["topology"]["groups"] = np.uint8(9)
    config["traffic"] |= {
        "load": np.float64(0.3),
        "load_step_times_ns": np.array([100]),
        "load_step_loads": np.array([0.4]),
    }
    numpy = Simulation(config)
    for simulation in (plain, numpy):
        simulation.run(500)
    assert numpy.state_hash() == plain.state_hash()
