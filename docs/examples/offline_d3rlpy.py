"""Offline learning from a recording: d3rlpy's DiscreteCQL, with the dataset also in Minari's format.

    pip install flitgym d3rlpy minari  # 2.8.1, 0.5.4
    flitgym record routing=par topology=dragonfly_72 traffic=adversarial traffic.load=0.3 record.dir=par
    python docs/examples/offline_d3rlpy.py par/transitions.parquet [--steps 4000] [--minari flitgym/par-v0]

An episode of both formats is a packet. The script prints the mean packet latency of the learned policy and that of the
recorded routing on the same networks.
"""

from __future__ import annotations

import argparse

import d3rlpy
import gymnasium
import minari
import numpy as np
import torch
from flitgym.env import World, play
from flitgym.env.experience.bounds import bounds_of
from flitgym.env.experience.dataset import Dataset
from numpy.typing import NDArray


def episodes_of(data: Dataset) -> d3rlpy.dataset.MDPDataset:
    """The packets of a recording whose last decision is known, as episodes."""
    whole = [rows for rows in data.episodes() if data.rows["done"][rows[-1]]]
    order = np.concatenate(whole)
    ends = np.zeros(len(order), np.float32)
    ends[np.cumsum([len(rows) for rows in whole]) - 1] = 1
    return d3rlpy.dataset.MDPDataset(
        observations=data.rows["observation"][order],
        actions=data.rows["action"][order],
        rewards=data.rows["reward"][order],
        terminals=ends,
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=data.about["slots"],
    )


def to_minari(data: Dataset, name: str, most: int) -> minari.MinariDataset:
    """The first packets of a recording as a local Minari dataset, which keeps a group of arrays for each episode."""
    world = World({key: data.about["config"][key] for key in ("topology", "router", "traffic")})
    seam = world.simulation({"name": "agent", **{k: data.about[k] for k in ("observation", "slots")}}, 1).seam()
    low, high = bounds_of(seam)
    buffers = []
    for number, rows in zip(range(most), data.episodes(), strict=False):
        part = {name: column[rows] for name, column in data.rows.items()}
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                id=number,
                observations=[*part["observation"], part["next_observation"][-1]],
                actions=list(part["action"]),
                rewards=part["reward"].tolist(),
                terminations=part["done"].tolist(),
                truncations=[False] * (len(rows) - 1) + [not part["done"][-1]],
            )
        )
    return minari.create_dataset_from_buffers(
        name,
        buffer=buffers,
        observation_space=gymnasium.spaces.Box(low, high, dtype=np.float32),
        action_space=gymnasium.spaces.Discrete(data.about["slots"]),
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Learn, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", help="transitions.parquet of flitgym record")
    parser.add_argument("--steps", type=int, default=4_000, help="gradient steps")
    parser.add_argument("--minari", help="name of a local Minari dataset to write")
    parser.add_argument("--packets", type=int, default=1000, help="episodes of this dataset")
    parser.add_argument("--networks", type=int, default=3, help="networks of the measurement")
    options = parser.parse_args(arguments)

    data = Dataset.load(options.recording)
    if options.minari:
        dataset = to_minari(data, options.minari, options.packets)
        print(f"{options.minari}: {dataset.total_episodes} packets, {dataset.total_steps} decisions")
    torch.set_num_threads(1)
    d3rlpy.seed(1)
    layers = d3rlpy.models.VectorEncoderFactory([64, 64])
    learner = d3rlpy.algos.DiscreteCQLConfig(
        gamma=1.0, batch_size=256, learning_rate=3e-4, alpha=0.1, target_update_interval=500, encoder_factory=layers
    ).create()
    learner.fit(
        episodes_of(data),
        n_steps=options.steps,
        n_steps_per_epoch=max(options.steps // 5, 1),
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    )

    def policy(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.asarray(learner.predict(observation))

    sections = data.about["config"]
    world = World({key: sections[key] for key in ("topology", "router", "traffic")})
    seen = {key: data.about[key] for key in ("observation", "slots", "slots_by", "relation")}
    seeds, results = range(101, 101 + options.networks), {}
    for name, rule, keywords in (("CQL", policy, seen), (data.about["routing"], data.about["routing"], {})):
        results[name] = play(rule, world, seeds=seeds, **keywords)["packet_latency_mean_ns"]
        print(f"{name:8s} {results[name]:7.0f} ns")
    return results


if __name__ == "__main__":
    main()
