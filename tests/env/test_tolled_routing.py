"""The id that charges a packet for the delay it causes others, and the core's tolled delay."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from flitgym.env import TOLLED, PacketBatch, PacketRoutingEnv, Tables
from numpy.typing import NDArray

WORLD = ["topology=hyperx_64", "traffic=bit_complement", "traffic.load=0.4"]


def by_hand(batch: PacketBatch, n: int, toll: float, block: str) -> NDArray[np.float64]:
    """Flight, queue of the link and of the buffer behind it, and the mean of later queues and learned loss, in ns."""
    present = batch._batch.path_delay_us()  # time of flight and of all present queues
    simulation = batch.simulations[0]
    tables, arrays, channels = Tables(simulation), simulation.arrays(), simulation.channels()
    decisions, learned = simulation.decisions(), simulation.memory(block)
    vcs, routers = int(simulation.facts()["vcs"]), len(tables.links)
    # Rows of the lost time: destination router, index of the sender on its router (relative_use), and leg. The rows of
    # relative_use's prices follow.
    place = np.zeros(len(tables.terminal_router), int)
    places = 1
    if block == "relative_use":
        place = np.array([(tables.terminal_router[:k] == r).sum() for k, r in enumerate(tables.terminal_router)])
        places = int(place.max()) + 1
    assert learned.shape[1] == routers * places * 2 * (2 if block == "relative_use" else 1)
    peer = np.zeros(len(tables.next_router), int)
    far = np.maximum(channels["peer_router"], 0)
    peer[tables.first_port[channels["router"]] + channels["port"]] = tables.first_port[far] + channels["peer_port"]
    delays = np.zeros((n, batch.options.slots))
    for row in range(n):
        to = tables.terminal_router[decisions["destination"][row]]
        for slot in np.flatnonzero(batch.mask[row]):
            link = tables.first_port[batch.router[row]] + decisions["port"][row][slot]
            after = tables.next_router[link]
            buffered = arrays["input_vcs"]["count"][peer[link] * vcs : (peer[link] + 1) * vcs].sum()
            lost = (arrays["ports"]["queued"][link] + buffered) * tables.flit_us[link] * 1000
            # All links of a HyperX have the same length, so the flight is a number of hops.
            flight = (1 + tables.hops[after, to]) * tables.hop_us[link] * 1000
            closer = [k for k in tables.links[after] if tables.hops[tables.next_router[k], to] < tables.hops[after, to]]
            first = tables.links[after][0]
            if after != to:
                queued = present[row, slot] * 1000 - flight - lost
                row_of = (to * places + place[decisions["source"][row]]) * 2 + 1
                lost += (min(learned[after, row_of, k - first] for k in closer) + queued) / 2
            delays[row, slot] = flight + (1 + toll) * lost
    return delays


@pytest.mark.parametrize("block", ["relative_lost", "relative_use"])
def test_the_tolled_delay_is_the_one_by_hand(block: str) -> None:
    keywords: dict[str, Any] = {**TOLLED, "toll": 3.0, "observation": f"relative+{block}"}
    batch = PacketBatch(1, overrides=WORLD, **keywords)
    batch.reset(seed=1)
    compared = 0
    while batch.simulations[0].now < 8_000:
        n = batch.collect()
        delay = batch._batch.tolled_delay()[:n]
        assert (delay[~batch.mask[:n]] == 0).all()
        if batch.simulations[0].now > 6_000 and batch.simulations[0].now % 4 == 0:
            expected = by_hand(batch, n, 3.0, block)
            channels = batch.simulations[0].channels()
            links = channels["peer_router"] >= 0
            unit = (channels["hop_ns"] + channels["flit_time_ns"])[links].mean()  # ns, the mean hop
            np.testing.assert_allclose(delay, expected / unit, rtol=1e-4, atol=1e-4)
            compared += n
        batch.apply(np.where(batch.mask[:n], delay, np.inf).argmin(axis=1))
    assert compared > 50


def test_the_reward_compares_the_slot_with_the_mean_of_the_candidates() -> None:
    env = gymnasium.make("flitgym/TolledRouting-v0", overrides=WORLD).unwrapped
    assert isinstance(env, PacketRoutingEnv)
    _, info = env.reset(seed=1)
    random = np.random.default_rng(1)
    differ = 0
    for _ in range(500):
        mask, process = info["action_mask"], env._process
        delay = process.networks[0].batch.tolled_delay()[process.at[0]].copy()
        action = int(random.integers(8))
        _, reward, terminated, _, _ = env.step(action)
        assert terminated
        assert reward == pytest.approx((delay[mask].mean() - delay[action if mask[action] else 0]) / 10, abs=1e-6)
        differ += reward != 0
        _, info = env.reset()
    assert differ > 100
