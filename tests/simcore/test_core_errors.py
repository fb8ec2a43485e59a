"""Invalid configurations are refused before cycle 0, with the key, the value and the valid choices."""

import pytest
from core_scenes import config, dragonfly, router, traffic
from flitgym.simcore import ConfigError, Simulation, registered

Q = {"name": "q_adaptive"}

CASES = {
    "unknown routing": (config("q_adptive"), ["routing", "q_adptive", "did you mean 'q_adaptive'", "minimal"]),
    "unknown traffic": (config(traffic="unifrom"), ["traffic", "did you mean 'uniform'", "hotspot"]),
    "unknown topology": (config(topology="dragonfli"), ["did you mean 'dragonfly'"]),
    "zero byte in a name": (config(topology="dragon\0fly"), ["topology", r"'dragon\x00fly'", "zero byte"]),
    "zero byte in a path": (
        config(topology={"name": "graph", "file": "\0"}),
        ["topology.file", r"'\x00'", "zero byte"],
    ),
    "zero byte in a key": (config({**Q, "al\0pha": 0.1}), ["routing", r"'al\x00pha'", "zero byte"]),
    "unknown router": (config(router={"name": "vcrouter"}), ["did you mean 'vc_router'"]),
    "unknown section": ({**config(), "trafic": "uniform"}, ["trafic", "did you mean 'traffic'"]),
    "unknown key": (config({**Q, "alhpa": 0.1}), ["routing.q_adaptive.alhpa", "did you mean 'alpha'", "q_thld1"]),
    "unknown router key": (config(router={"vc": 3}), ["router.vc", "did you mean 'vcs'"]),
    "unknown value": (config(router=router("hpdc21", arbiter="roundrobin")), ["arbiter", "did you mean 'round_robin'"]),
    "wrong type": (config({**Q, "alpha": "fast"}), ["routing.q_adaptive.alpha", "fast", "number"]),
    "fraction for an integer": (config(router=router("hpdc21", vcs=2.5)), ["router.vcs", "2.5", "integer"]),
    "bool for a number": (config({**Q, "alpha": True}), ["alpha", "true"]),
    "none": (config({**Q, "alpha": None}), ["alpha", "null"]),
    "too few VCs": (config("par", router=router("hpdc21", vcs=3)), ["router.vcs", "3", "par", "5"]),
    "too many groups": (config(topology=dragonfly(2, 4, 2, 10)), ["groups", "10", "9"]),
    "load above 1": (config(traffic=traffic("uniform", 1.01)), ["traffic.uniform.load", "1.01", "0", "1"]),
    "load below 0": (config(traffic=traffic("uniform", -0.1)), ["load", "-0.1"]),
    "load not a number": (config(traffic=traffic("uniform", float("nan"))), ["load", "nan"]),
    "infinite latency": (
        config(router=router("hpdc21", link_latency_ns_local=float("inf"))),
        ["link_latency_ns_local"],
    ),
    "flit time off by more than 1 %": (
        config(router=router("hpdc21", cycle_ns=3.0)),
        ["router.cycle_ns", "3 ns", "flit time", "1 %"],
    ),
    "latency shorter than a cycle": (config(router=router("hpdc21", pipeline_ns=0.4)), ["pipeline_ns", "0.4"]),
    "packet larger than a cut-through buffer": (
        config(traffic=traffic("uniform", 0.1, packet_flits=21)),
        ["packet_flits", "21", "input_buffer_flits", "20"],
    ),
    "packet larger than the NIC": (
        config(router=router("hpdc21", flow_control="wormhole"), traffic=traffic("uniform", 0.1, packet_flits=21)),
        ["packet_flits", "21", "nic_buffer_flits", "20"],
    ),
    "shift of whole rounds": (config(traffic=traffic("adversarial", 0.1, shift=9)), ["shift", "9"]),
    "grid that does not fit": (config(traffic=traffic("stencil_3d", 0.1, nx=5)), ["5 x 4 x 9", "180", "72"]),
    "hot terminals": (config(traffic=traffic("hotspot", 0.1, hot_terminals=73)), ["73", "72"]),
    "negative seed": (config(seed=-1), ["seed", "-1"]),
    "seed of another kind": (config(seed="one"), ["seed", "one"]),
    "steps that do not match": (
        config(traffic=traffic("uniform", 0.1, load_step_times_ns=[1.0, 2.0], load_step_loads=[0.5])),
        ["load_step_loads", "1", "2"],
    ),
    "list with a word": (config(traffic=traffic("uniform", 0.1, load_step_times_ns=["x"])), ["load_step_times_ns"]),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str) -> None:
    given, words = CASES[case]
    with pytest.raises(ConfigError) as caught:
        Simulation(given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["topology", "router", "routing", "traffic"])
def test_everything_registered_is_described(kind: str) -> None:
    for name, entry in registered(kind).items():
        assert entry["summary"], name
        for key, spec in entry["params"].items():
            assert spec["doc"], (name, key)
            assert spec["type"] in ("bool", "int", "float", "str", "list_float", "list_int")
            if spec["type"] in ("int", "float") and not spec["draws"]:
                assert spec["min"] <= spec["default"] <= spec["max"], (name, key)
            if spec["choices"]:
                assert spec["default"] in spec["choices"]
