"""Packages that extend flitgym: the entry points of the group `flitgym.plugins`.

    [project.entry-points."flitgym.plugins"]
    example = "flitgym_example"

The value names a package. It has some of the folders that flitgym itself has:

    agents/<name>.py          agents of flitgym train: Config and Agent
    blocks/<any>.py           observations and rewards in NumPy, registered when the module is imported
    configs/<group>/<name>.yaml   presets, of any group
    figures/<name>/, studies/<name>/, suites/<name>.yaml
    lib/<any>.so              components in C++ (docs/extending/plugins.md)

A folder is searched, and a library loaded, when it is first needed. The environment variable FLITGYM_PLUGINS is a list
like PATH: `none` ignores installed plugins, and a library or the folder of a package adds a plugin that is not
installed.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType

from ._core import ConfigError, load_plugin

GROUP = "flitgym.plugins"
VARIABLE = "FLITGYM_PLUGINS"
WITHOUT = f"{VARIABLE}=none ignores installed plugins"
_LIBRARIES = (".so", ".dylib")
# The folders of a plugin's package, each with the pattern of a file that adds something.
FOLDERS = {
    "agents": "[a-z]*.py",
    "blocks": "[a-z]*.py",
    "configs": "*/*.yaml",
    "figures": "*/config.yaml",
    "studies": "*/config.yaml",
    "suites": "*.yaml",
    "lib": "*",
}
_DRAWN = ("figures", "studies")  # their scripts only draw results


@dataclass(frozen=True)
class Plugin:
    """One plugin.

    Args:
        name: Name of the entry point, of the library or of the folder.
        package: Import name; empty for a single library.
        release: Release of the distribution; empty if the plugin is not installed.
        distribution: Name of the distribution, or the entry in FLITGYM_PLUGINS.
        library: Path of a single library.
    """

    name: str
    package: str
    release: str
    distribution: str
    library: Path | None = None

    def __str__(self) -> str:
        return f"plugin '{self.name}' ({' '.join(filter(None, (self.distribution, self.release)))})"

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Folders of the package; an editable installation has several.

        Raises:
            ConfigError: there is no such package.
        """
        if not self.package:
            return ()
        spec = importlib.util.find_spec(self.package)
        if spec is None or spec.submodule_search_locations is None:
            raise ConfigError(f"{self}: there is no package '{self.package}', which is a folder; {WITHOUT}")
        return tuple(map(Path, spec.submodule_search_locations))

    @cached_property
    def libraries(self) -> tuple[Path, ...]:
        """Libraries of C++ components."""
        if self.library is not None:
            return (self.library,)
        found = {path.name: path for path in self.paths("lib", "*") if path.suffix in _LIBRARIES}
        return tuple(found[name] for name in sorted(found))

    @cached_property
    def version(self) -> str:
        """The release and a hash of the libraries, since another library may give other results."""
        return self._marked([path.read_bytes() for path in self.libraries])

    @cached_property
    def version_of_agents(self) -> str:
        """As `version`, with the Python files that agents depend on in the hash; drawing scripts do not count."""
        parts = [path.read_bytes() for path in self.libraries]
        for folder in self.folders:
            for path in sorted(folder.rglob("*.py")):
                name = path.relative_to(folder)
                if name.parts[0] not in _DRAWN:
                    parts += [name.as_posix().encode(), path.read_bytes()]
        return self._marked(parts)

    def _marked(self, parts: Sequence[bytes]) -> str:
        if not parts:
            return self.release
        held = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
        return f"{self.release or '0'}+{held.hexdigest()[:8]}"

    def paths(self, folder: str, pattern: str) -> Iterator[Path]:
        """The files of a folder of the package."""
        for where in self.folders:
            yield from sorted((where / folder).glob(pattern))


def installed() -> tuple[Plugin, ...]:
    """Every plugin, by name.

    Raises:
        ConfigError: two plugins have the same name, or an entry of FLITGYM_PLUGINS does not exist.
    """
    return _installed(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=8)
def _installed(words: str) -> tuple[Plugin, ...]:
    from importlib.metadata import entry_points

    given = [word for word in words.split(os.pathsep) if word]
    found = [_given(Path(word)) for word in given if word != "none"]
    if "none" not in given:
        for entry in entry_points(group=GROUP):
            about = entry.dist
            release, name = (about.version, about.name) if about is not None else ("", entry.value)
            found.append(Plugin(entry.name, entry.value.partition(":")[0], release, name))
    known: dict[str, Plugin] = {}
    for plugin in found:
        if plugin.name in known and known[plugin.name] != plugin:
            raise ConfigError(f"{plugin}: the name is taken by {known[plugin.name]}; uninstall one, or {WITHOUT}")
        known[plugin.name] = plugin
    return tuple(known[name] for name in sorted(known))


def _given(path: Path) -> Plugin:
    if path.is_dir():
        whole = path.resolve()
        if not any((whole / folder).is_dir() for folder in FOLDERS):
            raise ConfigError(
                f"{VARIABLE}: '{path}' is not the package of a plugin, which has one of {', '.join(FOLDERS)}"
            )
        if str(whole.parent) not in sys.path:
            sys.path.append(str(whole.parent))
        return Plugin(whole.name, whole.name, "", f"{VARIABLE}={path}")
    if path.suffix in _LIBRARIES and path.is_file():
        return Plugin(path.stem, "", "", f"{VARIABLE}={path}", path.resolve())
    raise ConfigError(
        f"{VARIABLE}: '{path}' is neither a library (*.so) nor the folder of a package; write paths, or `none`, with "
        f"'{os.pathsep}' in between"
    )


def files(folder: str, pattern: str) -> list[tuple[Plugin, Path]]:
    """The files of all plugins in a folder, e.g. `files("suites", "*.yaml")`."""
    return [(plugin, path) for plugin in installed() for path in plugin.paths(folder, pattern)]


def modules(folder: str) -> list[tuple[Plugin, str]]:
    """The full names of the modules of all plugins in a folder; they are not imported."""
    found = dict.fromkeys((plugin, path.stem) for plugin, path in files(folder, "[a-z]*.py"))
    return [(plugin, f"{plugin.package}.{folder}.{stem}") for plugin, stem in found]


def load(plugin: Plugin, module: str) -> ModuleType:
    """Import a module of a plugin."""
    try:
        return importlib.import_module(module)
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[0]
        raise ConfigError(
            f"{plugin}: {module} cannot be imported: {type(error).__name__}: {said}; {WITHOUT}"
        ) from error


def load_all(folder: str) -> None:
    """Import every module of plugins in a folder, so that it registers its components."""
    for plugin, module in modules(folder):
        load(plugin, module)


def entries(folder: str, pattern: str, own: Mapping[str, Path]) -> dict[str, tuple[Plugin, Path]]:
    """The entries of plugins, by the name of their file or folder.

    Args:
        folder: Folder of a plugin's package.
        pattern: Pattern of an entry's file: `*.yaml`, or `*/config.yaml` in a folder.
        own: flitgym's entries, by name.
    """
    found: dict[str, tuple[Plugin, Path]] = {}
    for plugin, path in files(folder, pattern):
        thing = path.parent if "/" in pattern else path
        if thing.stem in own or (thing.stem in found and found[thing.stem][0] != plugin):
            refuse_taken(plugin, f"{folder}/{thing.name}", found.get(thing.stem, (None,))[0])
        found[thing.stem] = (plugin, thing)
    return found


def refuse_taken(plugin: Plugin, what: str, by: object) -> None:
    """Refuse a name that is taken."""
    raise ConfigError(f"{plugin}: {what}: the name is taken by {by or 'flitgym'}; choose another one, or {WITHOUT}")


def load_libraries() -> None:
    """Load the libraries of all plugins into the core, which checks them. Called when `flitgym.simcore` is imported."""
    for plugin in installed():
        for path in plugin.libraries:
            brought[plugin.name] = {**brought.get(plugin.name, {}), **load_plugin(plugin.name, str(path))}


brought: dict[str, Mapping[str, Sequence[str]]] = {}
"""By plugin: the names of its C++ components, by kind."""


def versions(names: Sequence[str], agent: str = "") -> dict[str, str]:
    """The versions of plugins that took part in a run or training, for its result.

    Args:
        names: Names of the plugins whose C++ components took part.
        agent: Name of the plugin whose agent learned, or empty.
    """
    return {
        plugin.name: plugin.version_of_agents if plugin.name == agent else plugin.version
        for plugin in installed()
        if plugin.name == agent or plugin.name in names
    }


def mentioned(value: object) -> list[str]:
    """The plugins whose C++ components a configuration names.

    Args:
        value: Mappings, lists and texts; every word of a text counts: `a+b`, `key=a+b`, `key=[{motif:a}]`.
    """
    if isinstance(value, str):
        words = set(re.findall(r"[\w.-]+", value))
        return [name for name, kinds in brought.items() if any(words & set(names) for names in kinds.values())]
    if isinstance(value, Mapping):
        value = list(value.values())
    parts = value if isinstance(value, list | tuple) else ()
    return sorted({name for part in parts for name in mentioned(part)})


def same(recorded: object) -> bool:
    """Whether a result with these plugins (`versions`) would be the same today: all of them are present and unchanged.

    Other plugins do not count, since a plugin only adds components.
    """
    return isinstance(recorded, Mapping) and (not recorded or versions(list(recorded)) == dict(recorded))


def described(plugin: Plugin) -> list[str]:
    """A plugin and its parts, a line for each kind of part."""
    lines = [f"{plugin.name} {plugin.version} ({plugin.distribution})"]
    for folder, pattern in FOLDERS.items():
        names = sorted({_part(folder, path) for path in plugin.paths(folder, pattern)}) if folder != "lib" else []
        if names:
            lines.append(f"  {folder}: {', '.join(names)}")
    return [*lines, *(f"  {kind}: {', '.join(names)}" for kind, names in brought.get(plugin.name, {}).items())]


def _part(folder: str, path: Path) -> str:
    if folder == "configs":
        return f"{path.parent.name}={path.stem}"
    return path.parent.name if path.name == "config.yaml" else path.stem
