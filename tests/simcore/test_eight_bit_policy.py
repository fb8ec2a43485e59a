"""Policies with 8-bit weights against whole numbers in NumPy, and the bound of the rounding error."""

from typing import Any

import numpy as np
import pytest
from core_scenes import config, traffic
from flitgym.configs.policies import shipped_policy
from flitgym.simcore import Simulation
from flitgym.simcore._policy_file import load_policy
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Layer = tuple[NDArray[np.int8], Floats, Floats]  # whole weights [outputs, inputs], scales [outputs], biases [outputs]


def rounded(weight: Floats, bias: Floats) -> Layer:
    """The least power of two per unit with which all weights fit into -127 .. 127."""
    largest = np.abs(weight.astype(np.float64)).max(axis=1)
    exponents = [next(e for e in range(-100, 128) if most <= 127 * 2.0**e) if most > 0 else 0 for most in largest]
    scale = 2.0 ** np.array(exponents)
    whole = np.rint(weight / scale[:, None])
    assert np.abs(whole).max(initial=0) <= 127
    return whole.astype(np.int8), scale.astype(np.float32), bias.astype(np.float32)


def forward(layers: list[Layer], x: Floats) -> Floats:
    """The outputs for rows [n, inputs]: float32 sums over the whole weights in the order of the inputs, shifted."""
    for k, (whole, scale, bias) in enumerate(layers):
        total = np.tile(bias / scale, (len(x), 1)).astype(np.float32)
        for i in range(whole.shape[1]):
            total = total + x[:, i : i + 1] * whole[:, i].astype(np.float32)
        x = total * scale
        if k + 1 < len(layers):
            x = np.maximum(x, np.float32(0))
    return x


def scores(seam: dict[str, Any], layers: list[Layer], rows: Floats) -> Floats:
    """[n, slots]"""
    general, own = len(seam["general"]), len(seam["per_slot"])
    slots = [rows[:, general + k * own : general + (k + 1) * own] for k in range(seam["slots"])]
    return np.hstack([forward(layers, np.hstack([rows[:, :general], slot])) for slot in slots])


def random_layers(sizes: list[int], seed: int) -> list[tuple[Floats, Floats]]:
    random = np.random.default_rng(seed)
    shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
    return [
        (
            (random.standard_normal((n, m)) * 10.0 ** random.integers(-3, 3)).astype(np.float32),
            random.random(n, np.float32),
        )
        for n, m in shapes
    ]


@pytest.mark.parametrize("hidden", [[], [7], [33, 17]])
def test_scores_are_those_of_whole_weights_to_the_last_bit(hidden: list[int]) -> None:
    simulation = Simulation(config({"name": "policy", "hidden": hidden, "weights": "8bit"}))
    seam = simulation.seam()
    layers = random_layers([len(seam["general"]) + len(seam["per_slot"]), *hidden, 1], 3)
    layers[0][0][0] = 0  # a unit without weights
    if hidden:
        layers[0][0][1, 0] = np.float32(127 * 2.0**-4)  # the largest weight of its unit is exactly 127 steps ...
        layers[0][0][1, 1:] *= np.float32(1e-3)
        layers[0][0][2, 0] = np.nextafter(np.float32(127 * 2.0**-4), np.float32(100))  # ... or a bit more
        layers[0][0][2, 1:] *= np.float32(1e-3)
    simulation.set_policy(layers)
    rows = np.random.default_rng(4).standard_normal((50, seam["width"])).astype(np.float32)
    wanted = scores(seam, [rounded(*layer) for layer in layers], rows)
    np.testing.assert_array_equal(simulation.policy_scores(rows), wanted)


def test_the_error_is_at_most_half_a_step_per_input() -> None:
    """A layer with one unit: |error| <= sum |x| / 2 x scale, and a scale is at most 2 / 127 of the largest weight."""
    exact, eight = (Simulation(config({"name": "policy", "hidden": [], "weights": w})) for w in ("float32", "8bit"))
    seam = exact.seam()
    ((weight, bias),) = random_layers([len(seam["general"]) + len(seam["per_slot"]), 1], 5)
    for simulation in (exact, eight):
        simulation.set_policy([(weight, bias)])
    rows = np.random.default_rng(6).standard_normal((200, seam["width"])).astype(np.float32)
    general, own = len(seam["general"]), len(seam["per_slot"])
    size = np.abs(rows[:, :general]).sum(1)[:, None] + np.abs(rows[:, general:]).reshape(200, -1, own).sum(2)
    error = np.abs(exact.policy_scores(rows) - eight.policy_scores(rows))
    scale = rounded(weight, bias)[1][0]
    assert scale <= 2 / 127 * np.abs(weight).max()
    assert (error <= size * (scale / 2 + 1e-6)).all()
    assert error.max() > 0.05 * scale * size.max()  # the bound is not far from the error


def test_a_shipped_policy_decides_as_in_numpy() -> None:
    routing = {"name": "policy", "path": shipped_policy("dqn"), "weights": "8bit", "record": 1 << 13}
    simulation = Simulation(config(routing, traffic("adversarial", 0.4)))
    simulation.run(1500)
    count = simulation.transition_count
    assert count > 200
    rows = {key: column[:count] for key, column in simulation.transitions().items()}
    seam = simulation.seam()
    wanted = scores(seam, [rounded(*layer) for layer in load_policy(routing["path"])[0]], rows["observation"])
    best = np.where(rows["mask"], wanted, -np.inf)
    taken = np.take_along_axis(best, rows["action"][:, None], 1)
    # The core sums the general features first, so the last bits may differ.
    np.testing.assert_allclose(taken[:, 0], best.max(axis=1), rtol=1e-4, atol=1e-5)
    clear = np.sort(best, axis=1)
    decided = clear[:, -1] - clear[:, -2] > 1e-3
    assert decided.mean() > 0.5
    np.testing.assert_array_equal(best.argmax(axis=1)[decided], rows["action"][decided])
    exact = np.where(
        rows["mask"], Simulation(config({**routing, "weights": "float32"})).policy_scores(rows["observation"]), -np.inf
    )
    assert not np.array_equal(exact, best)
