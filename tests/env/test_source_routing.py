"""Decisions at the source: the id, the keywords, the batch, and the block `returned`."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from flitgym.env import NO_DECISION, PacketBatch, export, play
from flitgym.env.packet_options import SOURCE_OBSERVATION
from flitgym.simcore import ConfigError, Simulation
from flitgym.simcore._policy_file import load_policy
from numpy.typing import NDArray

WORLD = ["topology=dragonfly_72", "router=input_queued", "traffic=adversarial", "traffic.load=0.2"]
LINE = ["topology=graph", "topology.links=[0,1,1,2]", "topology.terminals_per_router=2", "traffic=uniform"]


def names(seam: dict[str, Any], slots: int) -> list[str]:
    """The name of each feature of a row."""
    slot = [feature["name"] for feature in seam["per_slot"]]
    return [feature["name"] for feature in seam["general"]] + slot * slots


def taken(decisions: str, cycles: int = 800, **keywords: Any) -> tuple[dict[str, Any], PacketBatch]:
    """The transitions of random paths."""
    batch = PacketBatch(
        2, overrides=WORLD, decisions=decisions, observation=SOURCE_OBSERVATION, record=1 << 16, **keywords
    )
    batch.reset(seed=1)
    random = np.random.default_rng(1)
    while batch.time_ns.min() < cycles:
        n = batch.collect()
        if n == 0:  # every flow has its path
            break
        batch.apply(np.array([random.choice(np.flatnonzero(row)) for row in batch.mask[:n]], int))
    return batch.take(), batch


def test_the_id_decides_at_the_source() -> None:
    env = gymnasium.make("flitgym/SourceRouting-v0", overrides=WORLD, control="all")
    observation, info = env.reset(seed=1)
    hops = names(env.unwrapped.seam, 8).index("progress.hops")
    for _ in range(200):
        assert observation[hops] == 0
        observation, _, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        assert not terminated
        assert not truncated
    vector = gymnasium.make_vec("flitgym/SourceRouting-v0", num_envs=2, overrides=WORLD)
    assert vector.observation_space.shape == (2, observation.size)


@pytest.mark.parametrize("decisions", ["source", "both"])
def test_a_batch_has_one_decision_per_packet_only_at_the_source(decisions: str) -> None:
    rows, _ = taken(decisions)
    assert len(rows["reward"]) > 300
    assert (rows["next_decision"] == NO_DECISION).all() == (decisions == "source")
    if decisions == "source":
        assert rows["done"].all()


def test_returned_delays_reach_the_observation() -> None:
    rows, batch = taken("source", 2000)
    at = np.array([name == "returned.heard" for name in names(batch.seam, batch.options.slots)])
    heard = rows["observation"][:, at]
    early, late = heard[:100].mean(), heard[-100:].mean()
    assert early < late
    delays = rows["observation"][:, np.array([n == "returned.delay" for n in names(batch.seam, batch.options.slots)])]
    # A delay that has returned is at least that of the idle path.
    idle = rows["observation"][:, np.array([n == "returned.idle_time" for n in names(batch.seam, batch.options.slots)])]
    assert (delays[heard > 0] >= idle[heard > 0] - 2e-3).all()


def test_the_core_decides_from_returned_delays() -> None:
    """Under adversarial traffic, sources that learn carry more than minimal paths."""
    accepted = {}
    for routing in ("minimal", "source_paths"):
        traffic = {"name": "adversarial", "load": 0.4}
        sections = {"topology": "dragonfly_72", "router": {"name": "vc_router"}, "traffic": traffic}
        simulation = Simulation({**sections, "routing": routing, "seed": 1})
        simulation.run(4_000)
        simulation.begin_window()
        simulation.run(4_000)
        accepted[routing] = simulation.statistics()["accepted_load"]
    assert accepted["source_paths"] > 1.5 * accepted["minimal"]


def longest(path: Path, **keywords: Any) -> dict[str, str]:
    """Write a policy of a batch that takes the path with the most hops. Returns its metadata."""
    batch = PacketBatch(1, overrides=WORLD, observation=SOURCE_OBSERVATION, **keywords)
    batch.reset(seed=1)
    features = [feature["name"] for feature in (*batch.seam["general"], *batch.seam["per_slot"])]
    weight = np.array([[name == "returned.path_hops" for name in features]], np.float32)
    export([(weight, np.zeros(1, np.float32))], batch, path)
    return load_policy(path)[1]


@pytest.mark.parametrize(("decisions", "gap_ns"), [("source", 0.0), ("both", 0.0), ("source", 500.0)])
def test_a_policy_file_decides_where_it_was_trained(tmp_path: Path, decisions: str, gap_ns: float) -> None:
    file, made = tmp_path / "longest.safetensors", {"decisions": decisions, "flowlet_gap_ns": gap_ns}
    metadata = longest(file, **made)
    assert metadata["decisions"] == decisions
    assert float(metadata["flowlet_gap_ns"]) == gap_ns
    batch = PacketBatch(1, overrides=WORLD, observation=SOURCE_OBSERVATION, **made)
    batch.reset(seed=1)
    hops = [k for k, name in enumerate(names(batch.seam, 8)) if name == "returned.path_hops"]

    def rule(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.where(mask, observation[:, hops], -1).argmax(axis=1)

    window = {"overrides": WORLD, "seeds": (5,), "warmup_ns": 500, "measure_ns": 1_000}
    assert play(file, **window) == play(rule, **window, observation=SOURCE_OBSERVATION, **made)


def test_a_policy_at_the_source_plays_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "longest.safetensors"
    longest(file, decisions="source")
    world = {"topology": "dragonfly", "traffic": "uniform"}

    def refused(words: str, **routing: Any) -> None:
        with pytest.raises(ConfigError, match=words):
            Simulation({**world, "routing": {"name": "policy", "path": str(file), **routing}})

    refused(r"routing\.policy\.decisions: both, but the policy file .* says source; leave it out", decisions="both")
    with pytest.raises(ConfigError, match=r"and decisions=source, does not run on this network: .* one path between"):
        play(file, overrides=LINE)
