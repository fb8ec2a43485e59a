"""Presets of plugins: their folder `configs/` on Hydra's search path, behind flitgym's own."""

from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from ..plugins import files, refusal, refuse_taken


class PluginPresets(SearchPathPlugin):
    """Hydra asks it for folders whenever it composes."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Hydra's hook."""
        for plugin, folder in files("", "configs"):
            search_path.append(f"plugin {plugin.name}", f"file://{folder}")


def register_presets(own: Path) -> None:
    """Make the presets of plugins known to Hydra, if there are any; safe to repeat.

    Args:
        own: Folder of flitgym's.

    Raises:
        ConfigError: a preset has a name that is taken, or is of no group.
    """
    presets = files("configs", "**/*.yaml")
    if not presets:
        return
    repo = ConfigStore.instance().repo
    by: dict[str, object] = {}
    for plugin, path in presets:
        folder = next(where for where in plugin.folders if path.is_relative_to(where)) / "configs"
        option = path.relative_to(folder).as_posix()
        group, _, file = option.rpartition("/")
        if not group:
            raise refusal(f"{plugin}: configs/{option}: it belongs into the folder of a group (configs/routing/, say)")
        if (own / option).exists() or file in repo.get(group, {}) or by.get(option, plugin) != plugin:
            refuse_taken(plugin, f"configs/{option}", by.get(option))
        by[option] = plugin
    if PluginPresets not in Plugins.instance().discover(SearchPathPlugin):
        Plugins.instance().register(PluginPresets)


def options(group: str) -> list[str]:
    """The presets of plugins in a group."""
    return [path.stem for _, path in files(f"configs/{group}", "*.yaml")]
