"""Typed options that flitgym offers to Hydra besides its YAML files. An option is built when Hydra loads it.

Both classes use Hydra's public plugin interfaces. Hydra's `ConfigStore` builds every option when it is stored. That
takes time in each command, although a run uses only one option per group.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from ..simcore import ConfigError
from ..simcore.plugins import files, refuse_taken

CONFIG_DIR = Path(__file__).parent.resolve()
_SCHEME = "flitgym"
_makers: dict[str, Callable[[], Any]] = {}  # by group and name, e.g. `topology/torus`


def offer(path: str, make: Callable[[], Any]) -> None:
    """Offer a configuration under a path such as `topology/torus`, in place of an earlier offer.

    Each composition that loads it calls `make`, which returns a dataclass, a mapping or a `DictConfig`.
    """
    _makers[path] = make


def offered(group: str) -> dict[str, Callable[[], Any]]:
    """The offers in a group, by name."""
    return {path.rpartition("/")[2]: make for path, make in _makers.items() if path.rpartition("/")[0] == group}


class FlitgymSource(ConfigSource):
    """Hydra's view of the offers."""

    @staticmethod
    def scheme() -> str:
        """The scheme of its search path."""
        return _SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """The typed configuration of an offer."""
        path = config_path.removesuffix(".yaml")
        if path not in _makers:
            raise ConfigLoadError(f"Config not found: {path}")
        made = _makers[path]()
        config = made if isinstance(made, DictConfig) else OmegaConf.structured(made)
        return ConfigResult(provider=self.provider, path=f"{_SCHEME}://", config=config, header={"package": None})

    def available(self) -> bool:
        """True: the offers are part of the program."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Whether there is an offer below this path."""
        return any(path.startswith(f"{config_path.rstrip('/')}/") for path in _makers)

    def is_config(self, config_path: str) -> bool:
        """Whether there is an offer under this path."""
        return config_path.removesuffix(".yaml") in _makers

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """The names directly below a path."""
        prefix = f"{config_path.strip('/')}/" if config_path.strip("/") else ""
        found: list[str] = []
        for name in {path.removeprefix(prefix).partition("/")[0] for path in _makers if path.startswith(prefix)}:
            self._list_add_result(found, prefix + name, name, results_filter)
        return sorted(set(found))


class FlitgymSearchPath(SearchPathPlugin):
    """Adds the offers to Hydra's search path, followed by the folders `configs/` of plugins."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add both; Hydra calls this for every search path."""
        search_path.append(_SCHEME, f"{_SCHEME}://")
        for plugin, folder in files("", "configs"):
            search_path.append(f"plugin {plugin.name}", f"file://{folder}")


def register_source() -> None:
    """Register both classes with Hydra, and check the presets of plugins; safe to repeat."""
    plugins = Plugins.instance()
    if FlitgymSearchPath not in plugins.discover(SearchPathPlugin):
        plugins.register(FlitgymSource)
        plugins.register(FlitgymSearchPath)
    by: dict[str, object] = {}
    for plugin, path in files("configs", "**/*.yaml"):
        folder = next(where for where in plugin.folders if path.is_relative_to(where)) / "configs"
        option = path.relative_to(folder)
        name, group = option.as_posix(), option.parent.as_posix()
        if group == ".":
            raise ConfigError(f"{plugin}: configs/{name}: move it into the folder of a group, such as configs/routing/")
        if (CONFIG_DIR / option).exists() or option.stem in offered(group) or by.get(name, plugin) != plugin:
            refuse_taken(plugin, f"configs/{name}", by.get(name))
        by[name] = plugin


def options_of(group: str) -> Iterable[str]:
    """The options of a group: offers, flitgym's presets and those of plugins; empty if there is no such group."""
    if not group.isidentifier():
        return []
    presets = [*CONFIG_DIR.glob(f"{group}/*.yaml"), *(path for _, path in files(f"configs/{group}", "*.yaml"))]
    return [*offered(group), *(path.stem for path in presets)]
