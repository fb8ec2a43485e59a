"""An address without a Ray cluster is refused in seconds, with advice; Ray itself tries for minutes."""

import socket
import time

import pytest

pytest.importorskip("ray")

from flitgym.agents.rllib import ray_cluster
from flitgym.simcore import ConfigError


def refused(address: str) -> str:
    began = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        ray_cluster.join(address, "agent.address")
    assert time.monotonic() - began < 30
    return str(caught.value)


def test_nobody_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    said = refused(f"127.0.0.1:{port}")
    assert f"agent.address: no cluster answers at '127.0.0.1:{port}'" in said


@pytest.mark.parametrize("address", ["head", "head:port", ":6379"])
def test_no_address(address: str) -> None:
    said = refused(address)
    assert f"agent.address: no cluster answers at '{address}'" in said
    assert "valid: host:port" in said
