"""Proximal policy optimisation on `PacketBatch`, in one file: adversarial traffic on a Dragonfly of 72 terminals.

    python docs/examples/packet_batch_ppo.py [--decisions 300000] [--seed 1] [--save mine.safetensors]

The script prints the mean packet latency of the learned policy and of UGAL-L on the same traffic. With `--save` it
also writes the policy as a file, which the core plays (`play`, `routing=policy`), and prints the latency there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from flitgym.env import PacketBatch, export, play
from flitgym.simcore import Simulation
from torch import Tensor, nn

UGAL_L = {"name": "ugal_group", "threshold": 1.0, "hop_weighted": True, "bias_flits": 0}  # the preset `ugal_l`
WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
NETWORKS, EPISODE_NS = 4, 30_000  # parallel networks; simulated time of an episode
# Transitions per round, passes over them, rows per gradient step. A round should last longer than a packet is in flight
# (here about 5 us), because the effect of a policy on the network appears only later.
ROUND, EPOCHS, MINIBATCH = 16_384, 4, 1024
LEARNING_RATE, CLIP, ENTROPY, CRITIC = 1e-3, 0.2, 0.01, 0.5


class ActorCritic(nn.Module):
    """The actor scores each slot by its features. The critic values the decision by all features."""

    def __init__(self, seam: dict[str, Any]) -> None:
        super().__init__()
        self.general, self.slots = len(seam["general"]), seam["slots"]
        self.actor = nn.Sequential(nn.Linear(self.general + len(seam["per_slot"]), 64), nn.Tanh(), nn.Linear(64, 1))
        self.critic = nn.Sequential(nn.Linear(seam["width"], 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities [n, slots], and the expected future reward in us [n]."""
        slots = observation[:, self.general :].unflatten(1, (self.slots, -1))
        general = observation[:, : self.general].unsqueeze(1).expand(-1, self.slots, -1)
        scores = self.actor(torch.cat([general, slots], 2)).squeeze(2).masked_fill(~mask, -torch.inf)
        return scores.log_softmax(1), self.critic(observation).squeeze(1)


def gather(batch: PacketBatch, policy: nn.Module, wanted: int) -> dict[str, Tensor]:
    """Run the networks until there are `wanted` transitions."""
    pieces, count = [], 0
    while count < wanted:
        if (batch.time_ns - batch.begun_ns).max() >= EPISODE_NS:
            batch.reset()
        for _ in range(50):
            n = batch.collect()
            with torch.no_grad():
                seen, mask = torch.from_numpy(batch.observation[:n]), torch.from_numpy(batch.mask[:n])
                log_all, value = policy(seen, mask)
                action = torch.multinomial(log_all.exp(), 1)
                log_probability = log_all.gather(1, action).squeeze(1)
            # The value returns with its transition. It also returns as `next_value` of the packet's previous decision.
            batch.apply(action.squeeze(1).numpy(), log_probability=log_probability.numpy(), value=value.numpy())
        pieces.append(batch.take())
        count += len(pieces[-1]["action"])
    names = ("observation", "mask", "action", "log_probability", "reward", "value", "next_value")
    return {name: torch.from_numpy(np.concatenate([piece[name] for piece in pieces])) for name in names}


def learn(policy: nn.Module, optimiser: torch.optim.Optimizer, rows: dict[str, Tensor]) -> None:
    """Make a few passes over the transitions. A packet always arrives, so rewards are not discounted."""
    goal = rows["reward"] + rows["next_value"]  # next_value is 0 after a delivery
    advantage = goal - rows["value"]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(goal)).split(MINIBATCH):
            log_all, value = policy(rows["observation"][part], rows["mask"][part])
            log_probability = log_all.gather(1, rows["action"][part, None]).squeeze(1)
            ratio = (log_probability - rows["log_probability"][part]).exp()
            better = torch.minimum(ratio * advantage[part], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[part])
            entropy = -(log_all.exp() * log_all.masked_fill(~rows["mask"][part], 0)).sum(1)
            wrong = nn.functional.huber_loss(value, goal[part])
            loss = -better.mean() - ENTROPY * entropy.mean() + CRITIC * wrong
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimiser.step()


def measure(simulation: Simulation, run_until: Callable[[float], None]) -> tuple[float, float]:
    """Mean packet latency in ns and accepted load, over 20 us after a warm-up of 20 us."""
    run_until(20_000)
    simulation.begin_window()
    run_until(40_000)
    statistics = simulation.statistics()
    return statistics["packet_latency_mean_ns"], statistics["accepted_load"]


def evaluate(policy: nn.Module, seed: int, **seen: Any) -> tuple[float, float]:
    """Measure the policy's best slots in a network that it did not train on."""
    batch = PacketBatch(1, overrides=WORLD, **seen)
    batch.reset(seed)

    def run_until(until_ns: float) -> None:
        while batch.time_ns[0] < until_ns:
            n = batch.collect()
            with torch.no_grad():
                seen, mask = torch.from_numpy(batch.observation[:n]), torch.from_numpy(batch.mask[:n])
                batch.apply(policy(seen, mask)[0].argmax(1).numpy())

    return measure(batch.simulations[0], run_until)


def train(policy: nn.Module, batch: PacketBatch, decisions: int) -> None:
    """Learn from a number of decisions, and print the mean reward of each round."""
    optimiser = torch.optim.Adam(policy.parameters(), LEARNING_RATE)
    learned, began = 0, time.perf_counter()
    while learned < decisions:
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * (1 - learned / decisions)
        rows = gather(batch, policy, min(ROUND, decisions))
        learn(policy, optimiser, rows)
        learned += len(rows["action"])
        print(f"{learned:8,} decisions, {time.perf_counter() - began:4.0f} s: reward {rows['reward'].mean():.3f} us")


def compare(policy: nn.Module, batch: PacketBatch, **seen: Any) -> dict[str, tuple[float, float]]:
    """Latency and accepted load of the learned policy and of UGAL-L."""
    ugal = batch.options.world.simulation(UGAL_L, 1000)
    return {
        "learned": evaluate(policy, 1000, **seen),
        "UGAL-L": measure(ugal, lambda until_ns: ugal.run_ns(until_ns - ugal.time_ns)),
    }


def show(results: dict[str, tuple[float, float]]) -> None:
    """Print a line per policy."""
    for name, (latency, accepted) in results.items():
        print(f"{name:8s} {latency:7.0f} ns, accepted load {accepted:.3f}")


def main() -> None:
    """Train, compare, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=300_000, help="decisions to learn from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", help="file of the policy, *.safetensors")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    batch = PacketBatch(NETWORKS, overrides=WORLD)
    batch.reset(options.seed)
    policy = ActorCritic(batch.seam)
    train(policy, batch, options.decisions)
    results = compare(policy, batch)
    if options.save:
        export(policy.actor, batch, options.save)
        core = play(options.save, overrides=WORLD, seeds=(1000,))
        results["in core"] = core["packet_latency_mean_ns"], core["accepted_load"]
    show(results)


if __name__ == "__main__":
    main()
