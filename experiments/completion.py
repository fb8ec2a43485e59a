"""`flitgym completion bash|zsh`: a script that completes verbs, groups and their options.

    eval "$(flitgym completion bash)"

The script asks `flitgym completion words <word> ...` for the choices of the last word.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

_BASH = """\
_flitgym() {
    local line="${COMP_LINE:0:COMP_POINT}" current
    current="${line##* }"
    mapfile -t COMPREPLY < <(set -f; flitgym completion words ${line% *} "$current" 2>/dev/null)
    # Bash breaks words at =, so the part before it is on the line already.
    [[ "$current" == *=* ]] && COMPREPLY=("${COMPREPLY[@]#*=}")
    [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace
}
complete -o default -F _flitgym flitgym
"""
_ZSH = """\
_flitgym() {
    local -a found
    found=("${(@f)$(flitgym completion words ${words[1,CURRENT-1]} "${words[CURRENT]}" 2>/dev/null)}")
    [[ -n "$found" ]] && compadd -Q -S '' -- $found || _files
}
compdef _flitgym flitgym
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH}
_NETWORK = ("topology", "router", "routing", "traffic", "workload", "run")
_SIMULATED = (*_NETWORK, "congestion_control")
# The groups of each verb. Other verbs take folders and files.
_GROUPS = {
    **dict.fromkeys(("simulate", "record", "evaluate"), _SIMULATED),
    "saturate": ("topology", "router", "congestion_control", "routing", "traffic", "run"),
    "route": ("topology", "engine"),
    "train": ("topology", "router", "traffic", "workload", "agent", "worlds"),
    "draw": ("topology",),
    "benchmark": ("routing",),
    "reproduce": ("routing",),
    "list cost": _NETWORK,
}
_HERE = Path(__file__).parent
# Keys of a verb that are no groups, and their choices.
_KEYS = {
    "evaluate": {"measure": ["performance", "regret"]},
    "benchmark": {"suite": sorted(path.stem for path in _HERE.glob("benchmarks/suites/*.yaml"))},
    "reproduce": {
        kind: sorted(path.parent.name for path in _HERE.glob(f"{folder}/*/config.yaml"))
        for kind, folder in (("figure", "figures"), ("study", "studies"))
    },
    "compare": {"by": ["topology", "router", "routing", "traffic", "workload", "load"]},
}


def completions(words: Sequence[str], verbs: Sequence[str]) -> list[str]:
    """The choices of the last word, which may be empty, of the words after `flitgym`."""
    from .listing import GROUPS, names

    *before, current = words
    if not before:
        return [verb for verb in verbs if verb.startswith(current)]
    verb = "list cost" if before[:2] == ["list", "cost"] else before[0]
    if verb == "list":
        return [name for name in [*GROUPS, "cost"] if name.startswith(current)]
    groups, keys = _GROUPS.get(verb, ()), _KEYS.get(verb, {})
    group, equals, value = current.partition("=")
    if not equals:
        return [f"{name}=" for name in [*groups, *keys] if name.startswith(current)]
    if group not in groups and group not in keys:
        return []
    # Only the last entry of a list is completed.
    known, comma, last = value.rpartition(",")
    return [f"{group}={known}{comma}{name}" for name in keys.get(group) or names(group) if name.startswith(last)]


def main(words: Sequence[str], verbs: Sequence[str]) -> int:
    """Print a script, or the choices for a command line. Returns the exit status."""
    if words[:1] == ["words"]:
        print("\n".join(completions(words[2:] or [""], verbs)))
        return 0
    if len(words) != 1 or words[0] not in _SCRIPTS:
        print('usage: flitgym completion bash|zsh\n\n  eval "$(flitgym completion bash)"', file=sys.stderr)
        return 2
    print(_SCRIPTS[words[0]], end="")
    return 0
