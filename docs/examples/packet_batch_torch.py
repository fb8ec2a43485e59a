"""A transformer or a graph network in torch as a routing policy, on `PacketBatch` with a block of features in NumPy.

    python docs/examples/packet_batch_torch.py [--policy transformer|graph] [--decisions 300000] [--seed 1]

Both policies see the core's features and, by a block of this file, the queues at the next router of every candidate.
The block has two features per link of that router: the time of the queued flits, and whether the link leads nearer to
the destination. Real routers would need messages for this; the block reads the state. Both policies learn by proximal
policy optimisation, as in packet_batch_ppo.py. The script prints the CPU time of each part of the loop, and the mean
packet latency of the learned policy and of UGAL-L.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from flitgym.env import Asked, Feature, PacketBatch, Tables, blocks
from flitgym.simcore import Simulation
from numpy.typing import NDArray
from torch import Tensor, nn

UGAL_L = {"name": "ugal_group", "threshold": 1.0, "hop_weighted": True, "bias_flits": 0}  # the preset `ugal_l`
WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
LINKS = 5  # Three in the router's group, two to other groups.
SEEN = {"observation": "progress+router+queues+path+beyond", "slots": LINKS}  # At most a candidate per link.
NETWORKS, EPISODE_NS = 4, 30_000  # Parallel networks; simulated time of an episode.
ROUND, EPOCHS, MINIBATCH = 16_384, 2, 512  # Transitions, passes over them, rows per gradient step.
LEARNING_RATE, CLIP, ENTROPY, CRITIC = 1e-3, 0.2, 0.01, 0.5


# ---- The queues at the next routers ----


def around(tables: Tables) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Called once per network: the links of each router, the routers at their ends, and all distances in hops."""
    assert tables.links.shape[1] == LINKS
    return tables.links, tables.next_router[tables.links], tables.hops


@blocks.observation(
    "beyond",
    per_slot=[
        feature
        for k in range(LINKS)
        for feature in (
            Feature(f"queued_{k}", 0, 100, "time in us of the flits that are queued for link k of the next router"),
            Feature(f"nearer_{k}", 0, 1, "1 if link k leads nearer to the destination"),
        )
    ],
    setup=around,
)
def beyond(asked: Asked, general: NDArray[np.float32], per_slot: NDArray[np.float32]) -> None:
    """Write two numbers for each of [n, slots, links], for all decisions of a network at once."""
    links, leads_to, hops = asked.own
    router, destination = asked.next_router, asked.destination_router
    ports = links[router]
    queued = asked.arrays["ports"]["load"][ports] * asked.tables.flit_us[ports]
    to_go = hops[:, destination].T  # [n, routers]
    rows = np.arange(len(asked))[:, None]
    nearer = to_go[rows[:, None], leads_to[router]] < to_go[rows, router][:, :, None]
    per_slot[:, :, 0::2] = queued
    per_slot[:, :, 1::2] = nearer


# ---- Two policies ----


class Transformer(nn.Module):
    """Candidates attend to each other. A candidate's token has its features and those of the decision."""

    def __init__(self, general: int, per_slot: int, size: int = 32) -> None:
        super().__init__()
        self.embed = nn.Linear(general + per_slot, size)
        layer = nn.TransformerEncoderLayer(size, 2, 2 * size, dropout=0.0, batch_first=True, norm_first=True)
        self.encode = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.score, self.value = nn.Linear(size, 1), nn.Linear(size, 1)

    def forward(self, general: Tensor, slots: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Scores [n, slots], and the expected future reward in us [n]."""
        tokens = torch.cat([general.unsqueeze(1).expand(-1, slots.shape[1], -1), slots], 2)
        tokens = self.encode(self.embed(tokens), src_key_padding_mask=~mask)
        return self.score(tokens).squeeze(2), self.value(mean(tokens, mask)).squeeze(1)


class GraphNetwork(nn.Module):
    """Messages pass from the neighbours' links to the neighbours, to the router, and back to the neighbours."""

    def __init__(self, general: int, per_slot: int, size: int = 32) -> None:
        super().__init__()
        own = per_slot - 2 * LINKS
        self.link = nn.Sequential(nn.Linear(2, size // 2), nn.ReLU())
        self.neighbour = nn.Sequential(nn.Linear(own + size, size), nn.ReLU())
        self.router = nn.Sequential(nn.Linear(general + 2 * size, size), nn.ReLU())
        self.back = nn.Sequential(nn.Linear(2 * size, size), nn.ReLU())
        self.score, self.value = nn.Linear(size, 1), nn.Linear(size, 1)

    def forward(self, general: Tensor, slots: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Scores [n, slots], and the expected future reward in us [n]."""
        own, behind = slots[:, :, : -2 * LINKS], slots[:, :, -2 * LINKS :]
        links = self.link(behind.unflatten(2, (LINKS, 2)))
        neighbours = self.neighbour(torch.cat([own, links.mean(2), links.amax(2)], 2))
        most = neighbours.masked_fill(~mask.unsqueeze(2), 0).amax(1)
        router = self.router(torch.cat([general, mean(neighbours, mask), most], 1))
        context = router.unsqueeze(1).expand(-1, slots.shape[1], -1)
        return self.score(self.back(torch.cat([neighbours, context], 2))).squeeze(2), self.value(router).squeeze(1)


def mean(tokens: Tensor, mask: Tensor) -> Tensor:
    """The mean over the candidates, from [n, slots, size] to [n, size]."""
    weight = mask.unsqueeze(2).to(tokens.dtype)
    return (tokens * weight).sum(1) / weight.sum(1)


POLICIES = {"transformer": Transformer, "graph": GraphNetwork}


class ActorCritic(nn.Module):
    """Applies one of the two networks to rows of `PacketBatch`."""

    def __init__(self, kind: str, seam: dict[str, Any]) -> None:
        super().__init__()
        self.general, self.slots = len(seam["general"]), seam["slots"]
        self.net = POLICIES[kind](self.general, len(seam["per_slot"]))

    def forward(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities [n, slots], and the expected future reward in us [n]."""
        slots = observation[:, self.general :].unflatten(1, (self.slots, -1))
        scores, value = self.net(observation[:, : self.general], slots, mask)
        return scores.masked_fill(~mask, -torch.inf).log_softmax(1), value


# ---- The loop ----

SPENT: Counter[str] = Counter()  # CPU seconds by part of the loop


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Add the CPU time of the `with` block to a part."""
    began = time.process_time()
    yield
    SPENT[part] += time.process_time() - began


def gather(batch: PacketBatch, policy: ActorCritic, wanted: int) -> dict[str, Tensor]:
    """Run the networks until there are `wanted` transitions."""
    pieces, count = [], 0
    while count < wanted:
        if batch.time_ns.max() >= EPISODE_NS:
            batch.reset()
        for _ in range(50):
            with timed("collect"):
                n = batch.collect()
            with timed("forward"), torch.no_grad():
                seen, mask = torch.from_numpy(batch.observation[:n]), torch.from_numpy(batch.mask[:n])
                log_all, value = policy(seen, mask)
                action = torch.multinomial(log_all.exp(), 1)
                log_probability = log_all.gather(1, action).squeeze(1)
            with timed("apply"):
                batch.apply(action.squeeze(1).numpy(), log_probability=log_probability.numpy(), value=value.numpy())
            SPENT["decisions"] += n
        with timed("take"):
            pieces.append(batch.take())
        count += len(pieces[-1]["action"])
    names = ("observation", "mask", "action", "log_probability", "reward", "value", "next_value")
    return {name: torch.from_numpy(np.concatenate([piece[name] for piece in pieces])) for name in names}


def learn(policy: ActorCritic, optimiser: torch.optim.Optimizer, rows: dict[str, Tensor]) -> None:
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


def evaluate(policy: ActorCritic, seed: int) -> tuple[float, float]:
    """Measure the policy's best slots in a network that it did not train on."""
    batch = PacketBatch(1, overrides=WORLD, **SEEN)
    batch.reset(seed)

    def run_until(until_ns: float) -> None:
        while batch.time_ns[0] < until_ns:
            n = batch.collect()
            with torch.no_grad():
                seen, mask = torch.from_numpy(batch.observation[:n]), torch.from_numpy(batch.mask[:n])
                batch.apply(policy(seen, mask)[0].argmax(1).numpy())

    return measure(batch.simulations[0], run_until)


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    """Train, print, and return the latencies of the learned policy and of UGAL-L."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=POLICIES, default="transformer")
    parser.add_argument("--decisions", type=int, default=300_000, help="decisions to learn from")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="parallel networks; more make larger batches")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    batch = PacketBatch(options.networks, overrides=WORLD, **SEEN)
    batch.reset(options.seed)
    policy = ActorCritic(options.policy, batch.seam)
    optimiser = torch.optim.Adam(policy.parameters(), LEARNING_RATE)
    SPENT.clear()
    learned, began = 0, time.perf_counter()
    while learned < options.decisions:
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * (1 - learned / options.decisions)
        rows = gather(batch, policy, ROUND)
        with timed("learn"):
            learn(policy, optimiser, rows)
        learned += len(rows["action"])
        print(f"{learned:8,} decisions, {time.perf_counter() - began:4.0f} s: reward {rows['reward'].mean():.3f} us")

    decided = SPENT.pop("decisions")
    playing = sum(SPENT.values()) - SPENT["learn"]
    parts = ", ".join(f"{part} {seconds / decided * 1e6:.1f}" for part, seconds in SPENT.items())
    print(f"playing: {decided / playing:,.0f} decisions per CPU second; CPU us per decision: {parts}")
    ugal = batch.options.world.simulation(UGAL_L, 1000)
    results = {
        "learned": evaluate(policy, 1000),
        "UGAL-L": measure(ugal, lambda until_ns: ugal.run_ns(until_ns - ugal.time_ns)),
    }
    for name, (latency, accepted) in results.items():
        print(f"{name:8s} {latency:7.0f} ns, accepted load {accepted:.3f}")
    return results["learned"][0], results["UGAL-L"][0]


if __name__ == "__main__":
    main()
