"""Mutated checkpoints and progress files are read as they were written or refused by name, without a traceback."""

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from flitgym.agents import dqn
from flitgym.env import World
from flitgym.experiments.training.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from flitgym.experiments.training.tracking import parsed
from flitgym.simcore import ConfigError, CoreError
from mutations import fuzz

pytestmark = pytest.mark.deep

SMALL = {"name": "dragonfly", "terminals_per_router": 1, "routers_per_group": 2, "global_ports": 1, "groups": 3}
WORLD = World({"topology": SMALL, "traffic": {"name": "uniform", "load": 0.3}})


@pytest.fixture(scope="module")
def agent() -> dqn.Agent:
    settings = dqn.Config(
        networks=1, capacity=256, hidden=[4], run_ns=300, updates=1, batch=8, record_part=0.5, replay="transitions"
    )
    learner = dqn.Agent(settings, WORLD, rounds=4, seed=1)
    learner.train_round()
    return learner


def test_fuzz_checkpoint_file(agent: dqn.Agent, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, Checkpoint(agent.state(), 1, 1.0, '{"round": 1}'), "abc")

    def read(text: bytes) -> None:
        path.write_bytes(text)
        known = load_checkpoint(path, "abc", 4)
        agent.load_state(known.agent)

    fuzz(
        [path.read_bytes()],
        [b"PK\x03\x04", b"PK\x01\x02", b"data.pkl", b"\x80\x02"],
        150,
        read,
        (ConfigError, CoreError),
    )


def test_fuzz_checkpoint_with_valid_checksums(agent: dqn.Agent) -> None:
    """Replaces values in a checkpoint with correct checksums, as in a checkpoint from another program."""
    words: list[Any] = [None, True, -1, 10**9, 2**70, float("nan"), "x", [], {}, [[]], {"a": 1}, torch.zeros(3),
                        torch.zeros(1, dtype=torch.uint8).expand(2**40)]  # fmt: skip
    whole = io.BytesIO()
    torch.save(agent.state(), whole)

    def changed(state: Any, numbers: list[int]) -> Any:
        # Descend along the keys that the numbers choose, and replace the value at the end.
        where = state
        while True:
            keys = list(where) if isinstance(where, dict) else list(range(len(where)))
            key = keys[numbers.pop() % len(keys)]
            inner = where[key]
            if not isinstance(inner, dict | list) or not inner or numbers[-1] % 4 == 0:
                where[key] = words[numbers[-1] % len(words)]
                return state
            where = inner

    def read(text: bytes) -> None:
        if text == b"\0" * 64:
            return
        state = torch.load(io.BytesIO(whole.getvalue()), weights_only=True)
        agent.load_state(changed(state, list(text.ljust(64, b"\x05"))))

    fuzz([b"\0" * 64], [bytes(range(0, 250, 7))], 100, read, (ConfigError, CoreError))


def test_fuzz_progress() -> None:
    corpus = [
        b'{"round": 1, "loss": 0.5, "reward": null}\n{"round": 2, "loss": 1e-3, "reward": -2}\n',
        b'{"round": 1}\n',
    ]
    words = [b"[" * 3000, b"{", b'"round"', b"NaN", b"1e999", b"\n", b"null", b"\xff", b"\\ud800"]

    def read(text: bytes) -> None:
        for number, row in enumerate(parsed(text.split(b"\n")), 1):
            assert row["round"] == number
            assert all(value is None or isinstance(value, int | float) for value in row.values())

    fuzz(corpus, words, 4000, read, ())
