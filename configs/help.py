"""The text of `--help`: the groups of a command with their options, its lists, and its configuration.

Hydra's text takes seconds, since Hydra copies its whole store to list the options of each group.
"""

from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from .composition import compose_root
from .errors import options_of

# Keys that hold a list, and the group whose options are valid entries.
_LISTS = {
    **{"networks": "topology", "policies": "routing", "patterns": "traffic", "workloads": "workload"},
    "evaluation.baselines": "routing",
}


def help_text(command: str, root: str, words: Sequence[str]) -> str:
    """The text for a command that Hydra configures.

    Args:
        command: The name of the command.
        root: The name of its primary configuration.
        words: Overrides, applied to the configuration in the text.

    Raises:
        ConfigError, hydra.errors.HydraException: the configuration cannot be composed.
    """
    config = compose_root(root, words, hydra=True)
    groups = sorted(group for group in config.hydra.runtime.choices if "/" not in group)
    lists = {key: group for key, group in _LISTS.items() if _is_list(config, key)}
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    lines = [
        f"usage: {command} [<group>=<option> ...] [<key>=<value> ...]",
        "",
        "== Configuration groups ==",
        "Choose an option of each group (group=option). `flitgym list <group>` describes the options.",
        "",
        *(f"{group}: {_options(group)}" for group in groups),
    ]
    if lists:
        lines += ["", "Lists of options (key=[option,option])", ""]
        lines += [f"{key}: {_options(group)}" for key, group in lists.items()]
    lines += [
        "",
        "== Configuration ==",
        "Override anything in it (foo.bar=value)",
        "",
        OmegaConf.to_yaml(own),
        f"`{command} --hydra-help` lists the flags of Hydra: -m for a sweep, --cfg job for the composed configuration.",
    ]
    return "\n".join(lines)


def _is_list(config: DictConfig, key: str) -> bool:
    value = OmegaConf.select(config, key, default="")
    return value is None or OmegaConf.is_list(value)


def _options(group: str) -> str:
    return ", ".join(sorted(set(options_of(group))))
