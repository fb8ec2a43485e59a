"""An address without a Ray cluster is refused in seconds, with advice; Ray itself tries for minutes."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("ray")

from flitgym.agents.rllib import ray_cluster
from flitgym.simcore import ConfigError


def listening(answer: bytes | None) -> Iterator[str]:
    """A server that does not answer as Ray does, or does not answer at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            connection, _ = server.accept()
            held.append(connection)
            if answer is not None:
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        for connection in held:
            connection.close()


def refused(address: str) -> str:
    began = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        ray_cluster.join(address, "agent.address")
    assert time.monotonic() - began < 30
    return str(caught.value)


def test_a_port_without_a_server_is_refused() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    said = refused(f"127.0.0.1:{port}")
    assert f"agent.address: no cluster answers at '127.0.0.1:{port}'" in said
    assert f"ray start --head --port={port}" in said


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "web"])
def test_another_server_is_refused(answer: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "_ANSWER_SECONDS", 0.5)
    for address in listening(answer):
        said = refused(address)
        assert f"at '{address}'" in said
        assert "no cluster answers" in said if answer is None else "is not a Ray cluster" in said


@pytest.mark.parametrize("address", ["head", "head:", "head:port", "http://", ":6379"])
def test_a_malformed_address_is_refused(address: str) -> None:
    said = refused(address)
    assert f"'{address}'" in said
    assert "host:port" in said
