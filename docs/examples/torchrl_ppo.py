"""TorchRL's PPO: adversarial traffic on a Dragonfly of 72 terminals.

    pip install 'flitgym[learn]' torchrl  # 0.14.1
    python docs/examples/torchrl_ppo.py [--decisions 50000] [--seed 1] [--save mine.safetensors]

The script writes the learned policy as a file, and prints its mean packet latency in the core and that of UGAL-L.
"""

from __future__ import annotations

import argparse

import gymnasium
import torch
from flitgym.env import export, play
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
ENVS, ROUND, EPOCHS, MINIBATCH, LEARNING_RATE = 4, 2048, 10, 64, 3e-4


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Train, export, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=50_000, help="decisions to learn from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", type=int, default=3, help="networks of the measurement")
    parser.add_argument("--save", default="torchrl_ppo.safetensors", help="file of the policy")
    options = parser.parse_args(arguments)

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    # With SameStep, each step decides; otherwise every second step only begins an episode.
    vector = gymnasium.make_vec(
        "flitgym.env:flitgym/PacketRouting-v1", num_envs=ENVS, overrides=WORLD, autoreset_mode="SameStep"
    )
    vector.reset(seed=options.seed)
    env = GymWrapper(vector, categorical_action_encoding=True)
    width, slots = vector.single_observation_space.shape[0], int(vector.single_action_space.n)

    def network(outputs: int) -> MLP:
        return MLP(width, outputs, num_cells=[64, 64], activation_class=torch.nn.Tanh)

    # The environment replaces a slot without a candidate by slot 0, so the actor needs no mask.
    actor = ProbabilisticActor(
        TensorDictModule(network(slots), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
    critic = ValueOperator(network(1), in_keys=["observation"])
    # An episode is one decision, so the advantage is the reward minus the value.
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    loss_of = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.0, normalize_advantage=True)
    optimiser = torch.optim.Adam(loss_of.parameters(), LEARNING_RATE)
    learned = 0
    for rows in Collector(env, actor, frames_per_batch=ROUND, total_frames=options.decisions):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * (1 - learned / options.decisions)
        with torch.no_grad():
            advantage(rows)
        flat = rows.reshape(-1)
        for _ in range(EPOCHS):
            for part in torch.randperm(len(flat)).split(MINIBATCH):
                losses = loss_of(flat[part])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(loss_of.parameters(), 0.5)
                optimiser.step()
        learned += len(flat)
        print(f"{learned:8,} decisions: mean reward {flat['next', 'reward'].mean():.3f} us")

    export(actor, env, options.save)
    seeds = range(101, 101 + options.networks)
    results = {}
    for name, policy in (("PPO", options.save), ("UGAL-L", "ugal_l")):
        results[name] = play(policy, overrides=WORLD, seeds=seeds)["packet_latency_mean_ns"]
        print(f"{name:8s} {results[name]:7.0f} ns")
    return results


if __name__ == "__main__":
    main()
