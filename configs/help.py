"""What `--help` of a command lists: the groups that it takes an option of, and what its lists take."""

from omegaconf import DictConfig, OmegaConf

from .errors import options_of
from .source import offer

# Lists of a command, and the group whose options are their words.
_LISTS = {"policies": "routing", "patterns": "traffic", "workloads": "workload", "evaluation.baselines": "routing"}
_TEMPLATE = """\
${hydra.help.header}

== Configuration groups ==
Compose your configuration from those groups (group=option)

${help_groups:}
== Config ==
Override anything in the config (foo.bar=value)

$CONFIG
${hydra.help.footer}
"""


def register_help() -> None:
    """Put the text where Hydra finds it (`override hydra/help: groups`); safe to repeat."""
    OmegaConf.register_new_resolver("help_groups", help_groups, replace=True)
    node = {
        "app_name": "${hydra.job.name}",
        "header": "usage: ${hydra.job.name} [<group>=<option> ...] [<key>=<value> ...]",
        "footer": "Use --hydra-help to view Hydra specific help",
        "template": _TEMPLATE,
    }
    offer("hydra/help/groups", lambda: OmegaConf.create(node))


def help_groups(*, _root_: DictConfig) -> str:
    """The lines of the groups.

    Args:
        _root_: The composed configuration, with Hydra's own part, which says of which groups it took an option.
    """
    groups = sorted(group for group in _root_["hydra"]["runtime"]["choices"] if "/" not in group)
    lines = [f"{group}: {_options(group)}" for group in groups]
    lists = {key: group for key, group in _LISTS.items() if OmegaConf.is_list(OmegaConf.select(_root_, key))}
    if lists:
        lines += ["", "Lists of options (key=[option,option])", ""]
        lines += [f"{key}: {_options(group)}" for key, group in lists.items()]
    return "\n".join([*lines, ""])


def _options(group: str) -> str:
    return ", ".join(sorted(set(options_of(group))))
