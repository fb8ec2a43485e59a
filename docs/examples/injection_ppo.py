"""An agent learns the windows of all NICs, so that three congestors leave a latency-bound job alone (after GPCNeT).

    python docs/examples/injection_ppo.py [--rounds 20] [--seed 1] [--save windows.safetensors] [--rates]

All flows share a policy, and begin with whole windows, or rates. The script exports the policy. On placements that the
training did not see, it prints the slowdown of the job and the bytes that the congestors receive, also under other
controls.
"""

import argparse

import numpy as np
import torch
from flitgym.env import InjectionBatch, World, export
from torch import Tensor, nn

NETWORK = ["topology=dragonfly_72", "router=sc22", "workload=jobs", "workload.host=loggops", "workload.loggops_g_ns=0"]
HOSTS = ["workload.loggops_o_ns=50", "workload.loggops_S_bytes=1000000000"]
VICTIM = "{name: latency, motif: random_ring, ranks: 15, iterations: 20, start_ns: 40000}"
CONGESTORS = (
    "{name: incast, motif: one_sided, window: 16, ranks: 19, iterations: 1000000}",
    "{name: get, motif: one_sided, operation: get, window: 16, ranks: 19, iterations: 1000000}",
    "{name: alltoall, motif: collective, collective: alltoall, bytes: 4096, ranks: 19, iterations: 1000000}",
)
ROUTING, EPISODE_NS, NETWORKS, UNSEEN = "par", 150_000, 2, range(101, 106)
DISCOUNT, CLIP, ENTROPY, EPOCHS, MINIBATCH, RATE = 0.8, 0.2, 0.01, 4, 512, 4e-3


def world(control: str, *jobs: str) -> World:
    """The network with jobs on random terminals."""
    return World.composed(
        [*NETWORK, *HOSTS, f"workload.jobs=[{','.join(jobs)}]", *f"congestion_control={control}".split()]
    )


def gather(batch: InjectionBatch, actor: nn.Module) -> dict[str, Tensor]:
    """Transitions of an episode."""
    batch.reset()
    while batch.time_ns.min() < EPISODE_NS:
        batch.collect()
        with torch.no_grad():
            log_all = actor(torch.from_numpy(batch.observation)).log_softmax(1)
        action = torch.multinomial(log_all.exp(), 1)
        batch.apply(action[:, 0].numpy(), log_probability=log_all.gather(1, action)[:, 0].numpy())
    names = ("observation", "action", "log_probability", "reward", "next_observation")
    return {name: torch.from_numpy(column) for name, column in batch.take().items() if name in names}


def learn(actor: nn.Module, critic: nn.Module, optimiser: torch.optim.Optimizer, rows: dict[str, Tensor]) -> None:
    """Proximal policy optimisation with advantages of one step."""
    with torch.no_grad():
        goal = rows["reward"] + DISCOUNT * critic(rows["next_observation"])[:, 0]
        advantage = goal - critic(rows["observation"])[:, 0]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(goal)).split(MINIBATCH):
            seen = rows["observation"][part]
            log_all = actor(seen).log_softmax(1)
            ratio = (log_all.gather(1, rows["action"][part, None])[:, 0] - rows["log_probability"][part]).exp()
            better = torch.minimum(ratio * advantage[part], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[part])
            entropy = -(log_all.exp() * log_all).sum(1)
            loss = nn.functional.mse_loss(critic(seen)[:, 0], goal[part]) - (better + ENTROPY * entropy).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def measure(control: str, *jobs: str) -> tuple[float, float]:
    """Communication time of the job, and bytes per ns that the congestors receive."""
    times, rates, made = [], [], world(control, VICTIM, *jobs)
    for seed in UNSEEN:
        simulation = made.simulation(ROUTING, seed)
        while np.isnan(simulation.jobs()[0]["rank_comm_time_ns"]).any():
            simulation.run_workload(1024)  # the congestors never end
        times.append(np.mean(simulation.jobs()[0]["rank_comm_time_ns"]))
        rates.append(sum(job["bytes_received"] for job in simulation.jobs()[1:]) / simulation.time_ns)
    return float(np.mean(times)), float(np.mean(rates))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=20)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--save", default="windows.safetensors", help="file of the policy")
parser.add_argument("--rates", action="store_true", help="the agent sets rates instead of windows")
options = parser.parse_args()
agent = "agent congestion_control.flow_rate=1" if options.rates else "agent"
torch.set_num_threads(1)
torch.manual_seed(options.seed)
batch = InjectionBatch(NETWORKS, world=world(agent, VICTIM, *CONGESTORS), routing=ROUTING)
batch.reset(options.seed)
actor, critic = (nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, outputs)) for outputs in (7, 1))
optimiser = torch.optim.Adam([*actor.parameters(), *critic.parameters()], RATE)
for number in range(options.rounds):
    rows = gather(batch, actor)
    learn(actor, critic, optimiser, rows)
    print(f"round {number + 1}: {len(rows['reward'])} decisions, reward {rows['reward'].mean():.3f}", flush=True)
export(actor, batch, options.save)
alone = measure("none")[0]
window = "window congestion_control.window_bytes=4096"  # a tenth of the bandwidth-delay product
for control in ("none", window, "dctcp", "swift", "receiver", f"{agent} congestion_control.path={options.save}"):
    time_ns, rate = measure(control, *CONGESTORS)
    print(f"{control.split()[0]:8s} slowdown {time_ns / alone:5.2f}, congestors {rate:5.1f} bytes/ns")
