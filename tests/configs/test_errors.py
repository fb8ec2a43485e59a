"""An error about a configuration names the key, the value, the valid choices and the nearest spelling."""

import pytest
from flitgym.configs import compose, core_sections, explain
from flitgym.simcore import ConfigError


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        ("routing=ugal_grup", ["routing", "'ugal_grup'", "did you mean 'ugal_group'?", "q_adaptive", "par"]),
        ("routing.epsilonn=1", ["routing", "'epsilonn'", "did you mean 'epsilon'?", "alpha"]),
        ("routin=minimal", ["'routin'", "did you mean 'routing'?", "topology"]),
        ("traffic.load=high", ["traffic.load", "'high'", "Float"]),
        ("seed=1.5", ["seed", "1.5", "Integer"]),
        ("traffic.load=[1", ["traffic.load=[1", "quotes"]),
        ("foo", ["'foo' is not of the form key=value"]),
        ("routing.path=~/p", ["routing.path=~/p", "need quotes"]),
        ("traffic.load=0.1,0.2", ["traffic.load=0.1,0.2", "--multirun"]),
        ("topology=null", ["topology: unknown option 'null'", "torus_512"]),
        ("run.warmup_ns=10m", ["run.warmup_ns", "'10m'", "valid units: ps, ns, us, ms, s"]),
        ("workload.scale=0.1", ["no workload is chosen", "workload=mixed, workload=pair and workload=stencil27 have"]),
        ("workload.jobs=[]", ["no workload is chosen", "; workload=jobs has it"]),
        ("groups=12", ["groups: a key of a section; write topology.groups"]),
        ("topology=hyperx topology.widths=[4,x]", ["topology.widths[1]", "'x'", "Integer"]),
        ("topology=hyperx topology.widths=4", ["topology.widths", "'4'", "not a list", "topology.widths=[4]"]),
        ("topology=hyperx topology.widths=4x4", ["topology.widths=[4,4]"]),
    ],
)
def test_message(overrides: str, parts: list[str]) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Hydra chooses the type of the exception
        compose(overrides.split())
    message = explain(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("traffic.uniform.load: 7 is outside", "traffic.load: 7 is outside"),
        ("routing.table.engine: unknown", "routing.engine: unknown"),
        ("engine.engine: parx does not support", "engine: parx does not support"),
        ("router.nothing.vcs and routing.par: as they are", "router.nothing.vcs and routing.par: as they are"),
    ],
)
def test_keys_of_the_core_are_shown_as_typed(said: str, typed: str) -> None:
    assert explain(ConfigError(said)) == typed


def test_parameters_of_a_motif_are_named_by_the_typed_key() -> None:
    with pytest.raises(ConfigError, match=r"workload.params.lu: unknown key 'iteration'.*valid keys: "):
        core_sections(compose(["topology=dragonfly_72", "workload=mixed", "workload.params={lu: {iteration: 3}}"]))
