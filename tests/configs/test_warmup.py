"""A routing that learns has a longer default warm-up, and a shorter one triggers a warning."""

import pytest
from flitgym.configs import compose, config_hash
from flitgym.configs.warmup import cold_table
from flitgym.simcore import registered

LEARNED = {
    name for name, entry in registered("routing").items() if entry["facts"]["learns"] and not entry["facts"]["external"]
}


@pytest.mark.parametrize("routing", sorted(registered("routing")))
def test_the_default_warm_up_follows_the_routing(routing: str) -> None:
    config = compose([f"routing={routing}"])
    assert config.run.warmup_ns == (500_000 if routing in LEARNED else 20_000)
    assert config.run.measure_ns == 20_000
    assert cold_table(config) is None


def test_what_is_asked_for_is_done_and_told() -> None:
    for words in (["run=standard"], ["run.warmup_ns=499999"], ["run.warmup_ns=0"]):
        config = compose(["routing=q_adaptive", *words])
        assert config.run.warmup_ns < 500_000
        text = cold_table(config)
        assert text is not None
        assert f"{config.run.warmup_ns:,.0f} ns" in text
        assert "run=settled" in text
        assert cold_table(compose(["routing=minimal", *words])) is None
    for words in (["run=settled"], ["run=convergence"], ["run.load_q_table=table.npz"], ["run.freeze_q_table=true"]):
        assert cold_table(compose(["routing=q_adaptive", *words])) is None


def test_the_same_windows_are_the_same_run() -> None:
    default = config_hash(compose(["routing=q_adaptive"]))
    assert default == config_hash(compose(["routing=q_adaptive", "run=settled", "run.measure_ns=20000"]))
    assert default == config_hash(compose(["routing=q_adaptive", "run=standard", "run.warmup_ns=500000"]))
    assert default != config_hash(compose(["routing=q_adaptive", "run=standard"]))
    assert config_hash(compose(["routing=par"])) == config_hash(compose(["routing=par", "run=standard"]))
