"""A transformer or a graph network in torch as a routing policy, on `PacketBatch` with a block of features in NumPy.

    python docs/examples/packet_batch_torch.py [--policy transformer|graph] [--decisions 300000] [--seed 1]

Both policies see the core's features and, by a block of this file, the queues at the next router of every candidate.
The block has two features per link of that router: the time of the queued flits, and whether the link leads nearer to
the destination. Real routers would need messages for this; the block reads the state. Both policies learn as in
packet_batch_ppo.py. The script prints the mean packet latency of the learned policy and of UGAL-L.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from flitgym.env import Asked, Feature, PacketBatch, Tables, blocks
from numpy.typing import NDArray
from packet_batch_ppo import NETWORKS, WORLD, compare, show, train
from torch import Tensor, nn

LINKS = 5  # Three in the router's group, two to other groups.
SEEN = {"observation": "progress+router+queues+path+beyond", "slots": LINKS}  # At most a candidate per link.


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


def main() -> None:
    """Train and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=POLICIES, default="transformer")
    parser.add_argument("--decisions", type=int, default=300_000, help="decisions to learn from")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="parallel networks; more make larger batches")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    batch = PacketBatch(options.networks, overrides=WORLD, **SEEN)
    batch.reset(options.seed)
    policy = ActorCritic(options.policy, batch.seam)
    train(policy, batch, options.decisions)
    show(compare(policy, batch, **SEEN))


if __name__ == "__main__":
    main()
