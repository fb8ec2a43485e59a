"""Where the commands begin: before anything is imported, so that Ctrl-C ends them quietly from the first moment on."""

import importlib
import signal


def simulate() -> None:
    """`flitgym-simulate`."""
    _begin("simulate")


def reproduce() -> None:
    """`flitgym-reproduce`."""
    _begin("reproduce")


def gather() -> None:
    """`flitgym-gather`."""
    _begin("gather")


def train() -> None:
    """`flitgym-train`."""
    _begin("train")


def evaluate() -> None:
    """`flitgym-evaluate`."""
    _begin("evaluate")


def benchmark() -> None:
    """`flitgym-benchmark`."""
    _begin("benchmark")


def regret() -> None:
    """`flitgym-regret`."""
    _begin("regret")


def route() -> None:
    """`flitgym-route`."""
    _begin("route")


def report() -> None:
    """`flitgym-report`."""
    _begin("report.__main__")


def _begin(module: str) -> None:
    # While modules are imported there is nothing to clean up: Ctrl-C may end the process as it ends any other.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a background job of a shell without job control
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    importlib.import_module(f".{module}", __package__).main()
