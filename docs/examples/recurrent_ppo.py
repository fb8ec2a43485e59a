"""PPO with a recurrent policy in plain PyTorch, on late features of queues.

    python docs/examples/recurrent_ppo.py [--delay-ns 1000] [--memory 32] [--decisions 200000] [--seed 1]

Each router has the state of a gated recurrent unit (GRU), which every decision of the router updates. `--memory 0` is
the same policy without a GRU. The script prints the mean packet latency of the learned policy.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from flitgym.env import PacketBatch
from torch import Tensor, nn

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
NETWORKS, ROUTERS, EPISODE_NS = 4, 36, 30_000
ROUND, LENGTH, EPOCHS, MINIBATCH = 16_384, 8, 4, 128  # transitions, decisions of a sequence, passes, sequences
LEARNING_RATE, CLIP, ENTROPY, CRITIC = 1e-3, 0.2, 0.01, 0.5
COLUMNS = ("observation", "mask", "action", "log_probability", "reward", "value", "next_value", "hidden")


class ActorCritic(nn.Module):
    """Scores of the slots and a value, from the observation and the memory of the router."""

    def __init__(self, width: int, slots: int, memory: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 64), nn.Tanh())
        self.memory = nn.GRUCell(64, memory) if memory else None
        self.actor, self.critic = nn.Linear(64 + memory, slots), nn.Linear(64 + memory, 1)

    def forward(self, observation: Tensor, mask: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities [n, slots], values in us [n], and the next memories [n, memory]."""
        seen = self.body(observation)
        hidden = self.memory(seen, hidden) if self.memory else hidden
        both = torch.cat([seen, hidden], 1)
        scores = self.actor(both).masked_fill(~mask, -torch.inf)
        return scores.log_softmax(1), self.critic(both).squeeze(1), hidden


@torch.no_grad()
def decide(policy: ActorCritic, batch: PacketBatch, memory: Tensor, best: bool = False) -> None:
    """Make the decisions of a cycle; `best`: take the best slots, and keep no columns."""
    n = batch.collect()
    place = batch.network[:n].astype(np.int64), batch.router[:n].astype(np.int64)
    hidden, mask = memory[place], torch.from_numpy(batch.mask[:n])
    log_all, value, memory[place] = policy(torch.from_numpy(batch.observation[:n]), mask, hidden)
    if best:
        batch.apply(log_all.argmax(1).numpy())
    else:
        action = torch.multinomial(log_all.exp(), 1)
        batch.apply(action.squeeze(1).numpy(), log_all.gather(1, action).squeeze(1), value=value, hidden=hidden)


def gather(policy: ActorCritic, batch: PacketBatch, memory: Tensor) -> dict[str, Tensor]:
    """Run the networks. Returns sequences of successive decisions of a router, [sequences, LENGTH, ...]."""
    if batch.time_ns.max() >= EPISODE_NS:
        batch.reset()
        memory.zero_()
    pieces, count = [], 0
    while count < ROUND:
        for _ in range(50):
            decide(policy, batch, memory)
        pieces.append(batch.take())
        count += len(pieces[-1]["action"])
    rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    place = rows["network"].astype(np.int64) * ROUTERS + rows["router"]
    order = np.lexsort((rows["decision"], place))
    routers = np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
    sequences = np.concatenate([one[: len(one) // LENGTH * LENGTH].reshape(-1, LENGTH) for one in routers])
    return {name: torch.from_numpy(rows[name][sequences]) for name in COLUMNS}


def loss_of(policy: ActorCritic, rows: dict[str, Tensor], advantage: Tensor) -> Tensor:
    """PPO's loss. The gradient flows back through each sequence to its first decision."""
    hidden, outputs = rows["hidden"][:, 0], []
    for seen, mask in zip(rows["observation"].unbind(1), rows["mask"].unbind(1), strict=True):
        log_all, value, hidden = policy(seen, mask, hidden)
        outputs.append((log_all, value))
    log_all, value = (torch.stack(part, 1) for part in zip(*outputs, strict=True))
    ratio = (log_all.gather(2, rows["action"].unsqueeze(2)).squeeze(2) - rows["log_probability"]).exp()
    better = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
    entropy = -(log_all.exp() * log_all.masked_fill(~rows["mask"], 0)).sum(2)
    wrong = nn.functional.huber_loss(value, rows["reward"] + rows["next_value"])
    return -better.mean() - ENTROPY * entropy.mean() + CRITIC * wrong


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=200_000, help="decisions to learn from")
    parser.add_argument("--delay-ns", type=float, default=1000, help="age of the features of queues")
    parser.add_argument("--memory", type=int, default=32, help="numbers in the memory of a router; 0 = no GRU")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    batch = PacketBatch(NETWORKS, overrides=WORLD, delay_ns=options.delay_ns)
    batch.reset(options.seed)
    policy = ActorCritic(batch.seam["width"], batch.seam["slots"], options.memory)
    memory, learned = torch.zeros(NETWORKS, ROUTERS, options.memory), 0
    optimiser = torch.optim.Adam(policy.parameters(), LEARNING_RATE)
    while learned < options.decisions:
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * (1 - learned / options.decisions)
        rows = gather(policy, batch, memory)
        advantage = rows["reward"] + rows["next_value"] - rows["value"]
        advantage = (advantage - advantage.mean()) / advantage.std()
        for _ in range(EPOCHS):
            for part in torch.randperm(len(advantage)).split(MINIBATCH):
                optimiser.zero_grad()
                loss_of(policy, {name: column[part] for name, column in rows.items()}, advantage[part]).backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimiser.step()
        learned += advantage.numel()
        print(f"{learned:8,} decisions: mean reward {rows['reward'].mean():.3f} us")

    batch = PacketBatch(1, overrides=WORLD, delay_ns=options.delay_ns)
    batch.reset(1000)
    memory = torch.zeros(1, ROUTERS, options.memory)
    for end_ns in (20_000, 40_000):
        batch.simulations[0].begin_window()
        while batch.time_ns[0] < end_ns:
            decide(policy, batch, memory, best=True)
    print(f"GRU {batch.simulations[0].statistics()['packet_latency_mean_ns']:7.0f} ns")


if __name__ == "__main__":
    main()
