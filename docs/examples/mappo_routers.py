"""MAPPO on `RouterParallelEnv`, in one file: every router of a Dragonfly sets its biases, a critic sees them all.

    python docs/examples/mappo_routers.py [--rounds 60] [--seed 1]

Half of the networks carry uniform traffic, half adversarial, and no router is told which: what helps one harms the
other (positive biases keep to minimal ways, negative ones leave them). One actor for all routers (Yu et al., NeurIPS
2022), which sees what its router knows and which router it is; the critic, needed in training only, sees the state of
the whole network. Ends with the delay that accrues under what was learned beside that of constant biases, 0 of which is
UGAL.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from flitgym.env import RouterParallelEnv
from torch import Tensor, nn

NETWORK = ["topology=dragonfly_72"]
TRAFFIC: dict[str, dict[str, Any]] = {
    "uniform 0.6": {"traffic": {"name": "uniform", "load": 0.6}},
    "ADV+1 0.4": {"traffic": {"name": "adversarial", "load": 0.4}},
}
INTERVALS, INTERVAL_NS = 40, 1_000.0  # steps of an episode, simulated time of each
FLITS = 16.0  # of an action of 1
EPISODES, EPOCHS, MINIBATCH = 8, 10, 1_024  # per round; passes over it; rows per step of gradient descent
LEARNING_RATE, CLIP, ENTROPY, DISCOUNT, GAE = 3e-3, 0.2, 0.0, 0.8, 0.9


class Team(nn.Module):
    """The routers' actor, and the critic above them."""

    def __init__(self, routers: int, seen: int, regions: int) -> None:
        super().__init__()
        self.register_buffer("who", torch.eye(routers))
        self.actor = nn.Sequential(
            nn.Linear(seen + routers, 128), nn.Tanh(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, regions)
        )
        self.actor[-1].weight.data.mul_(0.01)  # begins near UGAL
        self.spread = nn.Parameter(torch.full((regions,), -0.5))
        self.critic = nn.Sequential(
            nn.Linear(routers * seen, 128), nn.Tanh(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, routers)
        )

    def actions(self, seen: Tensor) -> torch.distributions.Normal:
        """Of the observations [n, routers, seen]: biases / FLITS, [n, routers, regions]."""
        who = self.who.expand(len(seen), -1, -1)
        return torch.distributions.Normal(self.actor(torch.cat([squash(seen), who], 2)), self.spread.exp())

    def value(self, state: Tensor) -> Tensor:
        """Of the states [n, routers, seen]: the discounted reward still to come of each router, [n, routers]."""
        return self.critic(squash(state).flatten(1))


def squash(seen: Tensor) -> Tensor:
    """Loads, parts and delays of very different size, between 0 and some 5."""
    return torch.log1p(seen)


def make(traffic: str | None = None) -> RouterParallelEnv:
    """A network with one kind of traffic, or with any of them."""
    kinds = [TRAFFIC[traffic]] if traffic else list(TRAFFIC.values())
    world: dict[str, Any] = {"intervals": INTERVALS, "interval_ns": INTERVAL_NS, "reward": "local"}
    return RouterParallelEnv(overrides=NETWORK, vary={"traffic": [kind["traffic"] for kind in kinds]}, **world)


def episode(env: RouterParallelEnv, act: Callable[[Tensor], Tensor], seed: int | None = None) -> dict[str, Tensor]:
    """One episode: `seen` [steps + 1, routers, ...], `action` [steps, routers, regions], `reward` [steps, routers]."""
    env.reset(seed)
    seen, actions, rewards = [torch.from_numpy(env.state())], [], []
    while env.agents:
        actions.append(act(seen[-1]))
        flits = (actions[-1] * FLITS).numpy()
        _, reward, *_ = env.step(dict(zip(env.agents, flits, strict=True)))
        seen.append(torch.from_numpy(env.state()))
        rewards.append(list(reward.values()))
    return {"seen": torch.stack(seen), "action": torch.stack(actions), "reward": torch.tensor(rewards)}


def advantages(team: Team, one: dict[str, Tensor], scale: float) -> dict[str, Tensor]:
    """An episode's rows with generalised advantages; it was cut off, so its last state still has a value."""
    with torch.no_grad():
        value = team.value(one["seen"])
        old = team.actions(one["seen"][:-1]).log_prob(one["action"]).sum(2)
    advantage = torch.zeros_like(one["reward"])
    later = torch.zeros(value.shape[1])
    for t in reversed(range(len(advantage))):
        later = one["reward"][t] / scale + DISCOUNT * value[t + 1] - value[t] + DISCOUNT * GAE * later
        advantage[t] = later
    return {"seen": one["seen"][:-1], "action": one["action"], "old": old, "advantage": advantage,
            "goal": advantage + value[:-1]}  # fmt: skip


def learn(team: Team, optimiser: torch.optim.Optimizer, rows: dict[str, Tensor]) -> None:
    """A few passes over a round. A router is paid for its own terminals' packets."""
    advantage = (rows["advantage"] - rows["advantage"].mean()) / (rows["advantage"].std() + 1e-8)
    steps = max(1, MINIBATCH // rows["seen"].shape[1])
    for _ in range(EPOCHS):
        for part in torch.randperm(len(advantage)).split(steps):
            chance = team.actions(rows["seen"][part])
            ratio = (chance.log_prob(rows["action"][part]).sum(2) - rows["old"][part]).exp()
            gain = advantage[part]
            better = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            wrong = nn.functional.mse_loss(team.value(rows["seen"][part]), rows["goal"][part])
            loss = -better - ENTROPY * chance.entropy().mean() + 0.5 * wrong
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(team.parameters(), 0.5)
            optimiser.step()


def delay(act: Callable[[Tensor], Tensor], traffic: str) -> float:
    """Packet-us per terminal that accrue in an interval: four networks not seen in training, behind 10 intervals."""
    env = make(traffic)
    return -float(np.mean([episode(env, act, seed)["reward"][10:].mean().item() for seed in range(10_001, 10_005)]))


def main(arguments: list[str] | None = None) -> dict[str, dict[str, float]]:
    """Train, print, and return the delays of what was learned and of constant biases, by traffic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help=f"of {EPISODES} episodes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    env = make()
    env.reset(seed=options.seed)
    routers, seen = env.state().shape
    team = Team(routers, seen, env.table.shape[1])
    optimiser = torch.optim.Adam(team.parameters(), LEARNING_RATE, eps=1e-5)

    def explore(state: Tensor) -> Tensor:
        with torch.no_grad():
            return team.actions(state[None]).sample()[0]

    began, scale = time.perf_counter(), 0.0
    for number in range(1, options.rounds + 1):
        episodes = [episode(env, explore) for _ in range(EPISODES)]
        rewards = torch.cat([one["reward"] for one in episodes])
        scale = scale or float(rewards.std() / (1 - DISCOUNT))  # once: values of about 1
        parts = [advantages(team, one, scale) for one in episodes]
        learn(team, optimiser, {name: torch.cat([part[name] for part in parts]) for name in parts[0]})
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * (1 - number / options.rounds)
        if number % 10 == 0 or number == options.rounds:
            seconds = time.perf_counter() - began
            print(f"round {number}: {-rewards.mean():.2f} packet-us per terminal and us, {seconds:.0f} s", flush=True)

    def best(state: Tensor) -> Tensor:
        with torch.no_grad():
            return team.actions(state[None]).mean[0]

    shape = env.table.shape
    rules = {"MAPPO": best} | {
        f"bias {flits:+g}": lambda _, flits=flits: torch.full(shape, flits / FLITS) for flits in (-8, 0, 8, 16)
    }
    found = {name: {traffic: delay(rule, traffic) for traffic in TRAFFIC} for name, rule in rules.items()}
    for name, of in found.items():
        shown = "  ".join(f"{traffic}: {value:6.2f}" for traffic, value in of.items())
        print(f"{name:9s} {shown}  sum: {sum(of.values()):6.2f}")
    return found


if __name__ == "__main__":
    main()
