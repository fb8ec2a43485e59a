"""Entry points of the commands. They import nothing at first, so that Ctrl-C ends a command quietly at any time."""

import importlib
import signal
import sys


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


def saturate() -> None:
    """`flitgym-saturate`."""
    _begin("saturate")


def record() -> None:
    """`flitgym-record`."""
    _begin("record")


def cost() -> None:
    """`flitgym-cost`."""
    _begin("cost")


def route() -> None:
    """`flitgym-route`."""
    _begin("route")


def report() -> None:
    """`flitgym-report`."""
    _begin("report.__main__")


def draw() -> None:
    """`flitgym-draw`."""
    _begin("draw")


def plot() -> None:
    """`flitgym-plot`."""
    _begin("plot")


def compare() -> None:
    """`flitgym-compare`."""
    _begin("compare")


def trace() -> None:
    """`flitgym-trace`."""
    _begin("trace")


def _begin(module: str) -> None:
    # During imports there is nothing to clean up, so Ctrl-C may end the process directly. A shell without job control
    # starts background jobs with SIG_IGN.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if _listed(sys.argv[1:]):
            return
        command = importlib.import_module(f".{module}", __package__).main
    except ValueError as error:
        # The core loads plugins when it is imported, and describes a faulty plugin in one sentence.
        core = sys.modules.get("flitgym.simcore._core")
        if core is None or not isinstance(error, core.ConfigError):
            raise
        print(f"flitgym-{module.partition('.')[0]}: {error}", file=sys.stderr)
        sys.exit(2)
    command()


def _listed(words: list[str]) -> bool:
    """Answer `--version` and `list [group]` without importing Hydra; returns whether the command line has them."""
    if "--version" not in words and words[:1] != ["list"]:
        return False
    listing = importlib.import_module(".listing", __package__)
    if "--version" in words:
        print(listing.version_text())
    elif status := listing.main(words[1:]):
        sys.exit(status)
    return True
