"""The agent's part of a checkpoint. It is checked against the agent before it is used.

`torch.load(weights_only=True)` makes sure that a file runs no code, and its checksums find damage. The state may still
come from another agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Adam

from ...simcore import ConfigError

Part: TypeAlias = "nn.Module | Adam | torch.Generator"


def state_of(parts: Mapping[str, Part]) -> dict[str, Any]:
    """The states of networks, optimisers and generators on the CPU, by name."""
    return {name: p.get_state() if isinstance(p, torch.Generator) else p.state_dict() for name, p in parts.items()}


def load(parts: Mapping[str, Part], states: Mapping[str, Any]) -> None:
    """Give each part its state from `states`, which `checked` has returned."""
    for name, part in parts.items():
        if isinstance(part, torch.Generator):
            part.set_state(states[name])
        elif isinstance(part, Adam):
            # Settings come from the configuration, not from the checkpoint. The agents set the learning rate in every
            # round.
            groups = part.state_dict()["param_groups"]
            part.load_state_dict({"state": states[name]["state"], "param_groups": groups})
        else:
            part.load_state_dict(states[name])


def checked(found: Any, where: str, own: Any) -> Any:
    """A value from a checkpoint, if it has the structure of the agent's own.

    Args:
        found: the value.
        where: its name in messages, e.g. `agent.rollouts`.
        own: a value with the wanted structure. A mapping requires the same keys, and a list the same length. A tensor
            requires its type and shape; a tensor without rows allows any number of rows. A network or a generator
            requires its kind of state. An optimiser, which checks its state itself, and `...` allow anything.
    """
    if own is ... or isinstance(own, Adam):
        return found
    if isinstance(own, torch.Generator | nn.Module):
        own = state_of({"own": own})["own"]
    if isinstance(own, Mapping):
        if not isinstance(found, Mapping) or set(found) != set(own):
            raise _differs(found, where, ", ".join(map(str, own)))
        return {key: checked(found[key], f"{where}.{key}", value) for key, value in own.items()}
    if isinstance(own, list):
        if not isinstance(found, list | tuple) or len(found) != len(own):
            raise _differs(found, where, f"a list of {len(own)} entries")
        return [checked(value, f"{where}.{k}", own[k]) for k, value in enumerate(found)]
    if isinstance(own, Tensor):
        rows = own.dim() > 0 and not len(own)  # any number of rows
        if not isinstance(found, Tensor) or found.dtype != own.dtype or found.shape[rows:] != own.shape[rows:]:
            raise _differs(found, where, f"{own.dtype} {list(own.shape)}")
        return found
    if type(own) is int:
        return whole(found, where)
    if not isinstance(found, int | float if isinstance(own, float) else type(own)):
        raise _differs(found, where, f"a {type(own).__name__}")
    return found


def whole(found: Any, where: str, low: int = 0, high: int = 2**63 - 1) -> int:
    """An integer between `low` and `high`."""
    if type(found) is not int or not low <= found <= high:
        raise _differs(found, where, f"a whole number from {low:.6g} to {high:.6g}")
    return found


def _differs(found: Any, where: str, wanted: str) -> ConfigError:
    holds = ", ".join(map(str, list(found)[:8])) if isinstance(found, Mapping) else repr(found)[:80]
    return ConfigError(f"{where} is {holds or 'empty'} instead of {wanted}")
