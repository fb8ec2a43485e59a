"""Proximal policy optimisation from random moments of two jobs, lqcd and halo3d, on a Dragonfly of 72 terminals.

    python docs/examples/jobs_ppo.py [--decisions 300000] [--seed 1] [--save jobs.safetensors]

An episode sees 30 us, and lqcd takes milliseconds. So Q-adaptive plays each network up to a random time, and then the
policy decides. The script prints the communication times of whole jobs, at placements that the training did not see.
"""

from __future__ import annotations

import argparse

import torch
from flitgym.env import PacketBatch, export, play
from packet_batch_ppo import NETWORKS, ActorCritic, train

WORLD = [
    *("topology=dragonfly_72", "router=sc22", "workload=pair", "workload.target=lqcd", "workload.background=halo3d"),
    *("workload.scale=0.05", "workload.size_scale=0.1"),
]


def main() -> None:
    """Train, export, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=300_000, help="decisions to learn from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--placements", type=int, default=5, help="placements of the comparison")
    parser.add_argument("--save", default="jobs.safetensors", help="file of the policy")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    batch = PacketBatch(
        NETWORKS,
        overrides=WORLD,
        observation="progress+router+queues+path",
        background="q_adaptive",
        warmup_ns=(0, 200_000),
    )
    batch.reset(options.seed)
    policy = ActorCritic(batch.seam)
    train(policy, batch, options.decisions)
    export(policy.actor, batch, options.save)
    for name, routing in (("PPO", options.save), ("Q-adaptive", "q_adaptive"), ("minimal", "minimal")):
        result = play(routing, overrides=WORLD, seeds=range(1001, 1001 + options.placements))
        lqcd, halo3d = result["comm_time_ns@lqcd"], result["comm_time_ns@halo3d"]
        print(f"{name:10s} {lqcd / 1e6:.3f} ms (lqcd), {halo3d / 1e3:.1f} us (halo3d)")


if __name__ == "__main__":
    main()
