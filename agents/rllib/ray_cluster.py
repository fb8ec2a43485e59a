"""Joins a Ray cluster by its address and with its token. If no cluster answers, an error comes within seconds."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...simcore import ConfigError, CoreError

T = TypeVar("T")

_ANSWER_SECONDS = 5.0  # Ray itself would try for minutes
_CHECK_SECONDS = 0.2
_TOKEN = (
    "; if the cluster asks for a token, this process needs the same one, in ~/.ray/auth_token or RAY_AUTH_TOKEN, and "
    "RAY_AUTH_MODE=token must be set wherever `ray start` runs"
)


def join(address: str | None, key: str, **options: Any) -> None:
    """Connect to a Ray cluster, or start Ray on this machine. Does nothing if this process is already connected.

    Args:
        address: `host:port` or `ray://host:port` of a cluster, `auto` for a cluster on this machine; None: the address
            in RAY_ADDRESS, or else Ray starts here.
        key: the configuration key of the address, for messages.
        options: of `ray.init`.
    """
    try:
        import ray
    except ImportError as error:
        raise ConfigError(f"{key}: needs Ray ({error}): pip install 'flitgym[ray]'") from error
    if ray.is_initialized():
        return
    named = address or os.environ.get("RAY_ADDRESS")
    if not named:
        # By default Ray gives its workers the lowest priority, so they would hardly run on a busy machine.
        os.environ.setdefault("RAY_worker_niceness", "0")
    if named and named not in ("auto", "local"):
        _require_answer(named, key if address else "RAY_ADDRESS")
    try:
        with _own_signals():
            ray.init(address=address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        if not named:
            raise
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        token = "" if named == "auto" else _TOKEN
        raise ConfigError(f"{key}: cannot join the Ray cluster at '{named}' ({first}){token}") from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's handlers of SIGINT and SIGTERM; Ray would replace them with a crash report."""
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def require_cpus(count: float, key: str) -> None:
    """Refuse a training that needs more CPUs than the joined cluster has.

    Args:
        count: processes that run at the same time, with one CPU each.
        key: the configuration keys, for the message.
    """
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    there = resources.get("CPU", 0.0)
    if count > there:
        raise ConfigError(
            f"{key}: {count:g} processes need a CPU each, and the Ray cluster has {there:g} CPUs; ask for fewer, or "
            "start more nodes (`ray start --address=... --num-cpus=...`)"
        )


def on_cluster(
    function: Callable[..., T], shared: Any, calls: Sequence[tuple[Any, ...]], check: Callable[[], None]
) -> list[T]:
    """The results of `function(shared, *call)` for all calls, which processes of the joined cluster compute.

    Args:
        function: belongs to a module that all machines have.
        shared: is sent to each machine once.
        calls: each takes a CPU. Ray repeats a call if its process or its node dies.
        check: is called a few times per second. After its error, or that of a call, the remaining calls are cancelled.

    Raises:
        CoreError: Ray has given up on a call.
    """
    import ray
    from ray.exceptions import RayError, RayTaskError

    remote, there = ray.remote(num_cpus=1)(function), ray.put(shared)
    references = [remote.remote(there, *call) for call in calls]
    left = references
    try:
        while left:
            check()
            done, left = ray.wait(left, num_returns=len(left), timeout=_CHECK_SECONDS)
            ray.get(done)  # raises the error of a call
        results: list[T] = ray.get(references)
    except RayTaskError as error:
        raise error.cause from None  # without Ray's traceback
    except RayError as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CoreError(f"the Ray cluster lost a process ({first}); start again to continue") from error
    finally:
        for reference in left:
            ray.cancel(reference)
    return results


def _require_answer(address: str, key: str) -> None:
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        if parts.hostname is None or parts.port is None:
            raise ValueError("no port")
        socket.create_connection((parts.hostname, parts.port), timeout=_ANSWER_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{key}: no cluster answers at '{address}' ({error}); valid: host:port, ray://host:port, auto. Start a "
            f"cluster there with `ray start --head --port=...`, or leave {key} out to use this machine"
        ) from None
