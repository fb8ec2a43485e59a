"""flitgym from Python: the verbs of the command with the same keys, or a `Simulation` to step through.

    import flitgym

    flitgym.simulate("topology=dragonfly_72", "routing=par")
    runs = flitgym.sweep(["topology=dragonfly_72"], routing=["par", "ugal_l"], **{"traffic.load": [0.1, 0.3, 0.5]})
    runs.plot()

This folder is the package `flitgym` itself (`wheel.packages` in pyproject.toml). Its subpackages are the top folders of
the repository. A name is imported at its first use, so that `import flitgym` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flitgym.experiments.api.calls import configuration, simulate, sweep
    from flitgym.experiments.api.result import Result
    from flitgym.experiments.api.runs import Runs
    from flitgym.experiments.api.studies import evaluate, reproduce, saturate, train
    from flitgym.experiments.running.steady import SteadyResult, measure_steady
    from flitgym.experiments.running.sweep import RunFailedError
    from flitgym.experiments.terminal.commandline import CommandError
    from flitgym.simcore import ConfigError, CoreError, Simulation

    __version__: str

_HOMES = {
    **dict.fromkeys(("configuration", "simulate", "sweep"), "experiments.api.calls"),
    **dict.fromkeys(("evaluate", "reproduce", "saturate", "train"), "experiments.api.studies"),
    **dict.fromkeys(("SteadyResult", "measure_steady"), "experiments.running.steady"),
    **dict.fromkeys(("ConfigError", "CoreError", "Simulation"), "simcore"),
    "CommandError": "experiments.terminal.commandline",
    "Result": "experiments.api.result",
    "RunFailedError": "experiments.running.sweep",
    "Runs": "experiments.api.runs",
}
# fmt: off
__all__ = [
    "CommandError", "ConfigError", "CoreError", "Result", "RunFailedError", "Runs", "Simulation", "SteadyResult",
    "__version__", "configuration", "evaluate", "measure_steady", "reproduce", "saturate", "simulate", "sweep", "train",
]
# fmt: on
_PARTS = ("agents", "configs", "env", "experiments", "plugins", "simcore")

# A type checker uses the imports above, and so it reports unknown names.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("flitgym")
        elif name in _PARTS:
            return import_module(f"flitgym.{name}")
        elif name in _HOMES:
            value = getattr(import_module(f"flitgym.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module 'flitgym' has no attribute '{name}'; it has {', '.join((*__all__, *_PARTS))}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS, "__all__", "__doc__", "__file__", "__path__"})
