"""Hydra's store of typed options, so that a command pays for those it uses.

Hydra copies the whole store for every composition and for every group that `--help` lists, although whatever is loaded
from it is copied once more; and an option is typed when it is stored, although a run uses one of each group.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from hydra.core.config_store import ConfigNode, ConfigStore
from omegaconf import OmegaConf

_PROVIDER = "flitgym"
_lock = threading.RLock()


class _Shared(dict[str, Any]):
    """Groups and options by name. A copy is the same: what is loaded from the store is copied by the store."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Shared":
        return self


class _Group(_Shared):
    """Options that are made when they are first asked for.

    Args:
        group: Its name.
        names: Of the options.
        make: The structured config of a name.
    """

    def __init__(self, group: str, names: Iterable[str], make: Callable[[str, str], Any]) -> None:
        self._group, self._names, self._make = group, list(names), make
        super().__init__(dict.fromkeys(f"{name}.yaml" for name in self._names))

    def __getitem__(self, file: str) -> Any:
        with _lock:
            if (known := super().__getitem__(file)) is None:
                node = OmegaConf.structured(self._make(self._group, file.removesuffix(".yaml")))
                known = self[file] = ConfigNode(file, node, self._group, None, _PROVIDER)
            return known

    def __reduce__(self) -> Any:
        # For other processes, which make their own.
        others = [(file, node) for file, node in self.items() if file.removesuffix(".yaml") not in self._names]
        return _Group, (self._group, self._names, self._make), None, None, iter(others)


def share_store() -> ConfigStore:
    """The store, which from now on is not copied; safe to repeat."""
    store = ConfigStore.instance()
    if not isinstance(store.repo, _Shared):
        store.repo = _Shared(store.repo)
    return store


def store_group(group: str, names: Iterable[str], make: Callable[[str, str], Any]) -> None:
    """Store the options of a group; what else is in the group stays.

    Args:
        group: Its name.
        names: Of its options.
        make: Called with the group and a name, when somebody asks for it; gives the dataclass.
    """
    repo = share_store().repo
    options = _Group(group, names, make)
    others = {name: node for name, node in dict.items(repo.get(group, {})) if name not in options}
    options.update(others)
    repo[group] = options
