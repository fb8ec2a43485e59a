"""flitgym's and RLlib's versions of an algorithm share hyperparameters, which are within the core's bounds."""

from dataclasses import asdict, fields
from typing import Any

import pytest
import torch
from flitgym.agents import dqn, ppo
from flitgym.agents.learning.advantages import generalised_advantages, successors
from flitgym.agents.rllib.config import DqnConfig, Machines, PpoConfig
from flitgym.simcore import ConfigError, registered

TWINS = [
    pytest.param(ppo.Hyperparameters, ppo.Config, PpoConfig, id="ppo"),
    pytest.param(dqn.Hyperparameters, dqn.Config, DqnConfig, id="dqn"),
]


@pytest.mark.parametrize(("shared", "own", "rllib"), TWINS)
def test_versions_agree_in_what_both_understand(shared: type[Any], own: type[Any], rllib: type[Any]) -> None:
    names = {field.name for field in fields(shared)}
    assert {"network", "hidden", "learning_rate", "discount", "gradient_norm"} <= names
    assert {name: asdict(own())[name] for name in names} == {name: asdict(rllib())[name] for name in names}
    # Keys of both versions are in the shared class.
    assert {field.name for field in fields(own)} & {field.name for field in fields(rllib)} == names | {"name"}
    assert {field.name for field in fields(Machines)} <= {field.name for field in fields(rllib)}


@pytest.mark.parametrize("kind", [ppo.Config, dqn.Config, PpoConfig, DqnConfig])
def test_the_core_s_bounds_hold(kind: type[Any]) -> None:
    core = registered("routing")["policy"]["params"]
    for key in ("slots", "toll"):
        beyond = core[key]["max"] + 1
        with pytest.raises(ConfigError, match=rf"agent\.{key}: {beyond:g}.* is outside {core[key]['min']:g} \.\. "):
            kind(**{key: type(core[key]["default"])(beyond)})
    with pytest.raises(ConfigError, match=r"agent\.hidden: \[32, 0\]: 0 is outside 1 \.\. 4096"):
        kind(hidden=[32, 0])
    with pytest.raises(ConfigError, match=r"agent\.network: .*did you mean 'flat'"):
        kind(network="flatt")


# ---- Advantages ----


def test_advantages_follow_chains_of_any_length() -> None:
    # A packet of 40 decisions with rows in random order, one of network 1 with the same numbers, and an open one.
    torch.manual_seed(1)
    count = 40
    order = torch.randperm(count)
    decision = torch.cat([order, torch.tensor([3, 50])])
    following = torch.where(decision[:count] + 1 < count, decision[:count] + 1, -1)
    rows = {
        "decision": decision,
        "next_decision": torch.cat([following, torch.tensor([4, 51])]),
        "network": torch.tensor([0] * count + [1, 0]),
    }
    successor = successors(rows)
    assert successor[count:].tolist() == [-1, -1]
    reward, value = torch.rand(count + 2), torch.rand(count + 2)
    next_value = torch.where(successor >= 0, value[successor], 0.0)
    found = generalised_advantages(reward, value, next_value, successor, 0.9, 0.8)
    expected = torch.zeros(count + 2)
    for row in [*order.argsort().flip(0).tolist(), count, count + 1]:  # from the last decision to the first
        after = int(successor[row])
        delta = reward[row] + 0.9 * next_value[row] - value[row]
        expected[row] = delta if after < 0 else delta + 0.9 * 0.8 * expected[after]
    torch.testing.assert_close(found, expected)
