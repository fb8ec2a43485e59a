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
    from flitgym.experiments.api.calls import configuration as configuration
    from flitgym.experiments.api.calls import simulate as simulate
    from flitgym.experiments.api.calls import sweep as sweep
    from flitgym.experiments.api.result import Result as Result
    from flitgym.experiments.api.runs import Runs as Runs
    from flitgym.experiments.api.studies import evaluate as evaluate
    from flitgym.experiments.api.studies import reproduce as reproduce
    from flitgym.experiments.api.studies import saturate as saturate
    from flitgym.experiments.api.studies import train as train
    from flitgym.experiments.running.steady import SteadyResult as SteadyResult
    from flitgym.experiments.running.steady import measure_steady as measure_steady
    from flitgym.experiments.running.sweep import RunFailedError as RunFailedError
    from flitgym.experiments.terminal.commandline import CommandError as CommandError
    from flitgym.simcore import ConfigError as ConfigError
    from flitgym.simcore import CoreError as CoreError
    from flitgym.simcore import Simulation as Simulation

    __version__: str

_HOMES = {
    "CommandError": "flitgym.experiments.terminal.commandline",
    "ConfigError": "flitgym.simcore",
    "CoreError": "flitgym.simcore",
    "Result": "flitgym.experiments.api.result",
    "RunFailedError": "flitgym.experiments.running.sweep",
    "Runs": "flitgym.experiments.api.runs",
    "Simulation": "flitgym.simcore",
    "SteadyResult": "flitgym.experiments.running.steady",
    "configuration": "flitgym.experiments.api.calls",
    "evaluate": "flitgym.experiments.api.studies",
    "measure_steady": "flitgym.experiments.running.steady",
    "reproduce": "flitgym.experiments.api.studies",
    "saturate": "flitgym.experiments.api.studies",
    "simulate": "flitgym.experiments.api.calls",
    "sweep": "flitgym.experiments.api.calls",
    "train": "flitgym.experiments.api.studies",
}
__all__ = [*_HOMES, "__version__"]
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
            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'flitgym' has no attribute '{name}'; it has {', '.join((*__all__, *_PARTS))}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS, "__all__", "__doc__", "__file__", "__path__"})
