"""Invalid configurations are refused before cycle 0, with the key, the value and the valid choices."""

import pytest
from core_scenes import config, dragonfly, router, traffic
from flitgym.simcore import ConfigError, Simulation, registered

Q = {"name": "q_adaptive"}

CASES = {
    "unknown routing": (config("q_adptive"), ["routing", "q_adptive", "did you mean 'q_adaptive'", "minimal"]),
    "unknown section": ({**config(), "trafic": "uniform"}, ["trafic", "did you mean 'traffic'"]),
    "unknown key": (config({**Q, "alhpa": 0.1}), ["routing.q_adaptive.alhpa", "did you mean 'alpha'", "q_thld1"]),
    "unknown value": (config(router=router("hpdc21", arbiter="roundrobin")), ["arbiter", "did you mean 'round_robin'"]),
    "wrong type": (config({**Q, "alpha": "fast"}), ["routing.q_adaptive.alpha", "fast", "number"]),
    "too few VCs": (config("par", router=router("hpdc21", vcs=3)), ["router.vcs", "3", "par", "5"]),
    "too many groups": (config(topology=dragonfly(2, 4, 2, 10)), ["groups", "10", "9"]),
    "load above 1": (config(traffic=traffic("uniform", 1.01)), ["traffic.uniform.load", "1.01", "0", "1"]),
    "load not a number": (config(traffic=traffic("uniform", float("nan"))), ["load", "nan"]),
    "flit time off by more than 1 %": (
        config(router=router("hpdc21", cycle_ns=3.0)),
        ["router.cycle_ns", "3 ns", "flit time", "1 %"],
    ),
    "packet larger than a cut-through buffer": (
        config(traffic=traffic("uniform", 0.1, packet_bytes=2561)),
        ["packet_bytes", "21", "input_buffer_flits", "20"],
    ),
    "negative seed": (config(seed=-1), ["seed", "-1"]),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str) -> None:
    given, words = CASES[case]
    with pytest.raises(ConfigError) as caught:
        Simulation(given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["topology", "router", "routing", "traffic", "congestion_control"])
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
