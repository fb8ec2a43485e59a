"""The text of `--help`: the groups of a command with their options, its lists, and its configuration.

Hydra's text takes seconds, since Hydra copies its whole store to list the options of each group.
"""

from collections.abc import Sequence
from textwrap import fill

from omegaconf import OmegaConf

from .composition import compose_root
from .errors import TYPED
from .source import options_of

# Keys that hold a list, and the group whose options are valid entries.
_LISTS = {key: group for key, group in TYPED.items() if options_of(group)} | {"evaluation.baselines": "routing"}
_WIDTH = 118  # columns


def help_text(command: str, root: str, words: Sequence[str], sweeps: bool = True) -> str:
    """The text for a command that Hydra configures, with the overrides `words`; `sweeps`: it takes `-m`."""
    config = compose_root(root, words, hydra=True)
    groups = sorted(group for group in config.hydra.runtime.choices if "/" not in group)
    values = {key: OmegaConf.select(config, key, default="") for key in _LISTS}
    lists = [key for key, value in values.items() if value is None or OmegaConf.is_list(value)]
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    lines = [f"usage: {command} [<group>=<option> ...] [<key>=<value> ...]", ""]
    if groups:
        lines += ["Choose an option of each group (`flitgym list <group>` has them):"]
        lines += [_options(group, group) for group in groups]
    if lists:
        lines += ["", "Lists, with commas between the entries:"]
        lines += [_options(TYPED.get(key, key), _LISTS[key]) for key in lists]
    lines += [
        "",
        "Override any key of the configuration (key.other=value):",
        "",
        OmegaConf.to_yaml(own),
        f"`{command} --hydra-help` lists the flags of Hydra: {'-m for a sweep, ' if sweeps else ''}--cfg job for the "
        "composed configuration.",
    ]
    return "\n".join(lines)


def _options(key: str, group: str) -> str:
    names = ", ".join(sorted(set(options_of(group))))
    return fill(f"{key}: {names}", _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
