"""Blocks in NumPy that repeat the core's blocks, and helpers for their tests."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from flitgym.env import NO_DECISION, Asked, Feature, PacketBatch, blocks
from flitgym.simcore import Simulation

# 256 flits in each input buffer, and no output buffers.
CLASSIC = ["topology=dragonfly_72", "router=input_queued", "traffic=adversarial", "traffic.load=0.1"]
DEPTH = np.float32(1) / np.float32(256)
HPDC21 = ["topology=dragonfly_72", "router=hpdc21", "traffic=adversarial", "traffic.load=0.4"]


# ---- The core's blocks, written in NumPy ----


@blocks.observation(
    "numpy_router",
    general=[Feature("load_mean", 0, 32, "see router"), Feature("load_max", 0, 32, ""), Feature("queue", 0, 1, "")],
    setup=lambda tables: tables.links,
)
def numpy_router(asked: Asked, general: np.ndarray, per_slot: np.ndarray) -> None:
    links = asked.own[asked.router]
    load = np.where(links < 0, np.uint32(0), asked.arrays["ports"]["load"][links])
    total = load.sum(axis=1).astype(np.float32) * DEPTH
    general[:, 0] = np.minimum(total / (links >= 0).sum(axis=1).astype(np.float32), 32)
    general[:, 1] = np.minimum(load.max(axis=1).astype(np.float32) * DEPTH, 32)
    vcs = len(asked.arrays["input_vcs"]) // len(asked.tables.next_router)
    buffer = (asked.tables.first_port[asked.router] + asked.in_port) * vcs + asked.in_vc
    general[:, 2] = asked.arrays["input_vcs"]["count"][buffer].astype(np.float32) / np.float32(256)
    assert per_slot.shape == (len(asked), 8, 0)


@blocks.observation("numpy_link", per_slot=[Feature("link", 0, 32, "see queues")])
def numpy_link(asked: Asked, general: np.ndarray, per_slot: np.ndarray) -> None:
    load = asked.arrays["ports"]["load"][asked.link].astype(np.float32)
    per_slot[:, :, 0] = np.minimum(load * DEPTH, 32)


@blocks.observation(
    "numpy_path",
    general=[Feature("hops", 0, 4, "see progress"), Feature("hops_left", 0, 32, "see path")],
    per_slot=[Feature("hop_time", 0, 100, "see path"), Feature("more_hops", -1, 16, "see path")],
)
def numpy_path(asked: Asked, general: np.ndarray, per_slot: np.ndarray) -> None:
    left = asked.tables.hops[asked.router, asked.destination_router].astype(np.float32)
    general[:, 0] = asked.hops.astype(np.float32) * np.float32(0.125)
    general[:, 1] = left * np.float32(0.125)
    per_slot[:, :, 0] = (asked.tables.hop_us[asked.link] * 1000).astype(np.float32) * np.float32(0.001)
    there = asked.tables.hops[asked.next_router, asked.destination_router[:, None]]
    per_slot[:, :, 1] = (1 + there.astype(np.float32) - left[:, None]) / 2


@blocks.observation(
    "counted", general=[Feature("seen", 0, np.inf, "decisions of this network so far")], setup=lambda _: [0]
)
def counted(asked: Asked, general: np.ndarray, per_slot: np.ndarray) -> None:
    general[:, 0] = asked.own[0] + np.arange(len(asked))
    asked.own[0] += len(asked)


@blocks.reward("numpy_hop_delay", base="end_to_end_delay")
def numpy_hop_delay(rows: dict[str, np.ndarray], simulation: Simulation) -> np.ndarray:
    until_next = -(rows["next_decided"] - rows["decided"].astype(np.int64)) * simulation.cycle_ns * 0.001
    return np.where(rows["next_decision"] == NO_DECISION, rows["reward"], until_next)


def columns_of(batch: PacketBatch, rows: np.ndarray, feature: str) -> np.ndarray:
    """One feature of the rows [n, width]: [n] if general, [n, slots] if per slot."""
    seam = batch.seam
    general, per_slot = ([one["name"] for one in seam[kind]] for kind in ("general", "per_slot"))
    if feature in general:
        return rows[:, general.index(feature)]
    return rows[:, len(general) :].reshape(len(rows), seam["slots"], -1)[:, :, per_slot.index(feature)]


TWINS = {
    "numpy_router.load_mean": "router.load_mean",
    "numpy_router.load_max": "router.load_max",
    "numpy_router.queue": "router.queue",
    "numpy_link.link": "queues.link",
    "numpy_path.hops": "progress.hops",
    "numpy_path.hops_left": "path.hops_left",
    "numpy_path.hop_time": "path.hop_time",
    "numpy_path.more_hops": "path.more_hops",
}
EVERY = "numpy_path+progress+router+numpy_router+queues+path+numpy_link"


def choose(mask: np.ndarray, step: int) -> np.ndarray:
    return np.where(mask.sum(axis=-1) > step % 3, step % 3, 0)


def play(batch: PacketBatch, steps: int, see: Callable[[PacketBatch, int], None] = lambda batch, n: None) -> None:
    for step in range(steps):
        n = batch.collect()
        see(batch, n)
        batch.apply(choose(batch.mask[:n], step))


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))
