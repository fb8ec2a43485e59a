"""Late and noisy features of queues."""

import numpy as np
import pytest
from flitgym.env import PacketBatch, PacketRoutingEnv, Tables

WORLD = {"overrides": ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.3"]}
SEEN = {"observation": "progress+queues+path", "slots": 4}
CYCLES = 300


def batch_of(**more: object) -> PacketBatch:
    batch = PacketBatch(1, **WORLD, **SEEN, **more)
    batch.reset(seed=1)
    return batch


def queues(batch: PacketBatch, rows: np.ndarray) -> np.ndarray:
    general = len(batch.seam["general"])
    return rows[:, general:].reshape(len(rows), 4, -1)[:, :, :2].copy()


def test_a_decision_sees_the_latest_sample_that_is_old_enough() -> None:
    fresh, late = batch_of(), batch_of(delay_ns=200)
    first = Tables(fresh.simulations[0]).first_port
    age, samples, seen = fresh.simulations[0].cycles(200), {}, 0
    for _ in range(CYCLES):
        n, now = fresh.collect(), fresh.simulations[0].now
        assert (late.collect(), late.simulations[0].now) == (n, now)
        ports = first[fresh.router[:n]][:, None] + fresh.simulations[0].decisions()["port"]
        values, shown = queues(fresh, fresh.observation[:n]), queues(late, late.observation[:n])
        for row, slot in np.argwhere(fresh.mask[:n]):
            samples.setdefault(ports[row, slot], []).append((now, values[row, slot]))
        for row, slot in np.argwhere(fresh.mask[:n]):
            old = [value for cycle, value in samples[ports[row, slot]] if cycle + age <= now]
            np.testing.assert_array_equal(shown[row, slot], old[-1] if old else [0, 0])
            seen += bool(old) and (old[-1] != values[row, slot]).any()
        for one in (fresh, late):
            one.apply(np.zeros(n, int))
    assert seen > 100
    rows, others = fresh.take(), late.take()
    np.testing.assert_array_equal(rows["observation"][:, :5], others["observation"][:, :5])  # not of queues
    assert (rows["observation"] != others["observation"]).any()


def test_noise_has_the_mean_1_and_the_given_deviation() -> None:
    fresh, noisy = batch_of(), batch_of(noise=0.2)
    ratios = []
    for _ in range(CYCLES):
        n = fresh.collect()
        noisy.collect()
        value, shown = (queues(one, one.observation[:n]) for one in (fresh, noisy))
        inside = (value > 0) & (value < 0.3)  # far from the bounds
        ratios.append(shown[inside] / value[inside])
        assert (shown[value == 0] == 0).all()
        for one in (fresh, noisy):
            one.apply(np.zeros(n, int))
    found = np.concatenate(ratios)
    assert len(found) > 300
    assert found.mean() == pytest.approx(1, abs=0.04)
    assert found.std() == pytest.approx(0.2, rel=0.2)


def test_an_environment_shows_what_a_batch_shows() -> None:
    late = {"delay_ns": 200, "noise": 0.1}
    batch, env = batch_of(**late), PacketRoutingEnv(control="all", **late, **WORLD, **SEEN)
    shown = env.reset(seed=1)[0]
    for _ in range(50):
        for row in batch.observation[: batch.collect()]:
            np.testing.assert_array_equal(shown, row)
            shown = env.step(0)[0]
        batch.apply(np.zeros(batch._count, int))
