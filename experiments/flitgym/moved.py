"""Old import paths. Each leads to the module that has replaced it, with a DeprecationWarning."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

MOVED = {
    "flitgym.experience": "flitgym.env.experience",
    "flitgym.agents.abandonment": "flitgym.agents.learning.abandonment",
    "flitgym.agents.advantages": "flitgym.agents.learning.advantages",
    "flitgym.agents.bounds": "flitgym.agents.learning.bounds",
    "flitgym.agents.divergence": "flitgym.agents.learning.divergence",
    "flitgym.agents.policy_file": "flitgym.agents.policy.file",
    "flitgym.agents.replay": "flitgym.agents.learning.replay",
    "flitgym.agents.rllib_config": "flitgym.agents.rllib.config",
    "flitgym.agents.rllib_dqn": "flitgym.agents.rllib.dqn",
    "flitgym.agents.rllib_ppo": "flitgym.agents.rllib.ppo",
    "flitgym.agents.rollouts": "flitgym.agents.learning.rollouts",
    "flitgym.agents.stored": "flitgym.agents.learning.stored",
}


def new_path(name: str) -> str | None:
    """The present path of a module that has moved, or that lies in a package that has moved; None for any other."""
    for old, new in MOVED.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return None


class _Finder(MetaPathFinder, Loader):
    """Makes the old path another name of the same module, so that no class exists twice."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if new_path(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = new_path(spec.name)
        assert new is not None
        if spec.name in MOVED:
            warnings.warn(f"{spec.name} is now {new}", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import machinery has replaced the module's own spec by that of the old path.
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def register() -> None:
    """Answer for old paths from now on; safe to repeat."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # First, since the files of a package that has moved would be found, and imported a second time.
        sys.meta_path.insert(0, _Finder())
