"""PPO in one file, in the style of CleanRL. It uses only flitgym's registered vector environment.

    python docs/examples/single_file_ppo.py [--decisions 60000] [--seed 1]

The script prints mean packet latency and accepted load of the learned policy and of UGAL-L in the same networks.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
import torch
from flitgym.env import play
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
# The usual values for continuous control. A rollout should not be much shorter than a packet's time in flight, because
# the effect of a policy on the network appears only later.
ENVS, STEPS, EPOCHS, MINIBATCHES = 4, 512, 10, 32
LEARNING_RATE, GAMMA, GAE_LAMBDA, CLIP, ENTROPY, CRITIC, MOST_NORM = 3e-4, 0.99, 0.95, 0.2, 0.0, 0.5, 0.5


def layer(inputs: int, outputs: int, std: float = 2**0.5) -> nn.Linear:
    """A linear layer with orthogonal weights."""
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, std)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    """An actor that scores the slots, and a critic that estimates the future reward."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.critic = nn.Sequential(layer(width, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
        self.actor = nn.Sequential(layer(width, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, 0.01))

    def choices(self, observation: Tensor, mask: Tensor) -> Categorical:
        """A distribution over the slots that hold a candidate."""
        return Categorical(logits=self.actor(observation).masked_fill(~mask, -1e8))


def main(arguments: list[str] | None = None) -> dict[str, dict[str, float]]:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=60_000, help="decisions to learn from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", type=int, default=3, help="networks of the measurement")
    options = parser.parse_args(arguments)

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    # An episode is one decision. With SameStep, each step decides; otherwise every second step only begins an episode.
    envs = gymnasium.make_vec(
        "flitgym.env:flitgym/PacketRouting-v1", num_envs=ENVS, overrides=WORLD, autoreset_mode="SameStep"
    )
    space, actions = envs.single_observation_space, envs.single_action_space
    assert isinstance(space, gymnasium.spaces.Box)
    assert isinstance(actions, gymnasium.spaces.Discrete)
    width, slots = space.shape[0], int(actions.n)
    agent = Agent(width, slots)
    optimiser = torch.optim.Adam(agent.parameters(), LEARNING_RATE, eps=1e-5)

    seen = torch.zeros(STEPS, ENVS, width)
    masks = torch.zeros(STEPS, ENVS, slots, dtype=torch.bool)
    taken = torch.zeros(STEPS, ENVS)
    log_probabilities, rewards, dones, values = (torch.zeros(STEPS, ENVS) for _ in range(4))
    observation, info = envs.reset(seed=options.seed)
    updates = max(options.decisions // (ENVS * STEPS), 1)
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * (1 - update / updates)
        for step in range(STEPS):
            seen[step], masks[step] = torch.as_tensor(observation), torch.as_tensor(info["action_mask"])
            with torch.no_grad():
                choices = agent.choices(seen[step], masks[step])
                action = choices.sample()
                values[step] = agent.critic(seen[step]).flatten()
            taken[step], log_probabilities[step] = action, choices.log_prob(action)
            observation, reward, terminated, truncated, info = envs.step(action.numpy())
            rewards[step] = torch.as_tensor(reward)
            dones[step] = torch.as_tensor(np.logical_or(terminated, truncated))

        # Generalised advantage estimation. The value after the end of an episode is 0.
        with torch.no_grad():
            following, later = agent.critic(torch.as_tensor(observation)).flatten(), torch.zeros(ENVS)
            advantages = torch.zeros(STEPS, ENVS)
            for step in reversed(range(STEPS)):
                alive = 1 - dones[step]
                later = rewards[step] + GAMMA * following * alive - values[step] + GAMMA * GAE_LAMBDA * alive * later
                advantages[step], following = later, values[step]
            returns = advantages + values

        flat = [x.flatten(0, 1) for x in (seen, masks, taken, log_probabilities, advantages, returns)]
        for _ in range(EPOCHS):
            for part in torch.randperm(ENVS * STEPS).chunk(MINIBATCHES):
                part_seen, part_mask, part_taken, part_log, part_advantage, part_return = (x[part] for x in flat)
                choices = agent.choices(part_seen, part_mask)
                ratio = (choices.log_prob(part_taken) - part_log).exp()
                better = (part_advantage - part_advantage.mean()) / (part_advantage.std() + 1e-8)
                gain = torch.min(better * ratio, better * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                wrong = ((agent.critic(part_seen).flatten() - part_return) ** 2).mean() / 2
                loss = -gain - ENTROPY * choices.entropy().mean() + CRITIC * wrong
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), MOST_NORM)
                optimiser.step()
        if update % 10 == 0 or update == updates - 1:
            print(f"{(update + 1) * ENVS * STEPS:8,} decisions: mean reward {rewards.mean():.3f} us")

    def policy(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        with torch.no_grad():
            best = agent.choices(torch.as_tensor(observation), torch.as_tensor(mask)).logits.argmax(dim=1)
        return np.asarray(best.numpy())

    seeds = range(101, 101 + options.networks)
    results = {
        "PPO": play(policy, overrides=WORLD, seeds=seeds),
        "UGAL-L": play("ugal_l", overrides=WORLD, seeds=seeds),
    }
    for name, row in results.items():
        print(f"{name:8s} {row['packet_latency_mean_ns']:7.0f} ns, accepted load {row['accepted_load']:.3f}")
    return results


if __name__ == "__main__":
    main()
