"""MAPPO with a centralised critic, in TorchRL: every router of a Dragonfly of 72 terminals is an agent.

    pip install 'flitgym[learn]' torchrl  # 0.14.1
    python docs/examples/torchrl_mappo.py [--iterations 30] [--seed 1]

All routers share an actor, which sees the observation of its router. The critic sees the observations of all routers.
The script prints the mean return of each iteration, and that of routers that set no bias, which is UGAL.
"""

from __future__ import annotations

import argparse

import torch
from flitgym.env import RouterParallelEnv
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.modules import MultiAgentMLP, ProbabilisticActor, TanhNormal
from torchrl.objectives import ClipPPOLoss, ValueEstimators

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
INTERVALS, EPISODES = 20, 4  # steps of an episode, each of interval_ns=1000; episodes per update
EPOCHS, MINIBATCH, LEARNING_RATE, GAMMA = 10, 20, 3e-4, 0.9


def without_bias(seeds: range) -> float:
    """The mean return of an episode in which no router sets a bias."""
    total = 0.0
    for seed in seeds:
        env = RouterParallelEnv(overrides=WORLD, intervals=INTERVALS)
        env.reset(seed=seed)
        while env.agents:
            total += sum(env.step({})[1].values()) / len(env.possible_agents)
    return total / len(seeds)


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    """Train, print, and return the mean returns of a router in the last iteration and without a bias."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=30, help="updates, each from four episodes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    env = PettingZooWrapper(RouterParallelEnv(overrides=WORLD, intervals=INTERVALS), seed=options.seed)
    (group,) = env.group_map  # all routers are one group
    action = env.full_action_spec[group, "action"]
    (routers, actions), width = action.shape, env.observation_spec[group, "observation"].shape[-1]
    low, high = action.space.low[0, 0].item(), action.space.high[0, 0].item()

    def network(outputs: int, centralised: bool) -> MultiAgentMLP:
        return MultiAgentMLP(width, outputs, routers, centralized=centralised, share_params=True, num_cells=[64, 64])

    actor = ProbabilisticActor(
        TensorDictModule(
            torch.nn.Sequential(network(2 * actions, centralised=False), NormalParamExtractor()),
            in_keys=[(group, "observation")],
            out_keys=[(group, "loc"), (group, "scale")],
        ),
        in_keys=[(group, "loc"), (group, "scale")],
        out_keys=[(group, "action")],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": low, "high": high},
        return_log_prob=True,
        log_prob_key=(group, "log_probability"),
    )
    critic = TensorDictModule(network(1, centralised=True), [(group, "observation")], [(group, "value")])
    loss_of = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.0, normalize_advantage=False)
    loss_of.set_keys(
        reward=(group, "reward"),
        action=(group, "action"),
        done=(group, "done"),
        terminated=(group, "terminated"),
        value=(group, "value"),
        sample_log_prob=(group, "log_probability"),
    )
    loss_of.make_value_estimator(ValueEstimators.GAE, gamma=GAMMA, lmbda=0.9)
    optimiser = torch.optim.Adam(loss_of.parameters(), LEARNING_RATE)
    frames = EPISODES * INTERVALS
    learned = float("nan")
    for rows in Collector(env, actor, frames_per_batch=frames, total_frames=options.iterations * frames):
        learned = rows["next", group, "reward"].sum().item() / (EPISODES * routers)
        print(f"return {learned:.1f} packet-us per terminal")
        with torch.no_grad():
            loss_of.value_estimator(rows, params=loss_of.critic_network_params)
            rows["advantage"] = (rows["advantage"] - rows["advantage"].mean()) / rows["advantage"].std()
        for _ in range(EPOCHS):
            for part in torch.randperm(frames).split(MINIBATCH):
                losses = loss_of(rows.reshape(-1)[part])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(loss_of.parameters(), 1.0)
                optimiser.step()
    ugal = without_bias(range(101, 104))
    print(f"learned {learned:.1f}, without a bias {ugal:.1f}")
    return learned, ugal


if __name__ == "__main__":
    main()
