"""Networks with hand-made weights: the sum of two networks has the sum of their scores, at any depth."""

import itertools

import numpy as np
import pytest
from flitgym.agents.networks import Layers
from flitgym.agents.policy.score_layers import added, cost_layers, hidden_units
from layer_scores import score

INPUTS = ["hops", "queued", "more_hops"]


def network(draws: np.random.Generator, *hidden: int) -> Layers:
    sizes = [len(INPUTS), *hidden, 1]
    return [
        (draws.normal(size=(m, n)).astype(np.float32), draws.normal(size=m).astype(np.float32))
        for n, m in itertools.pairwise(sizes)
    ]


SHAPES = [(), (5,), (4, 3), (6, 2, 7)]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(SHAPES, SHAPES)))
def test_a_sum_of_networks_scores_the_sum(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    draws = np.random.default_rng(5)
    a, b = network(draws, *one), network(draws, *other)
    x = draws.normal(size=(100, len(INPUTS))).astype(np.float32)
    both = added(a, b)
    assert np.allclose(score(both, x), score(a, x) + score(b, x), rtol=1e-4, atol=1e-4)
    assert len(both) == max(len(a), len(b), 2)
    assert hidden_units(both) == [len(bias) for _, bias in both[:-1]]


def test_costs_and_tolls() -> None:
    layers = cost_layers(INPUTS, {"queued": 2.0}, {"hops": 3.0})
    # hops, queued, more_hops: -1/2 is a path with one hop less, 1/2 a path with one hop more
    x = np.array([[1, 1, 0], [1, 1, 0.5], [2, 0, 1.5], [2, 0, -0.5], [0, 4, 0.5]], np.float32)
    assert np.allclose(score(layers, x), [-2, -5, -6, 0, -8], atol=1e-3)
    assert np.allclose(score(cost_layers(INPUTS, {"queued": 2.0}, {}), x), [-2, -2, 0, 0, -8])
