"""The agent's part of a checkpoint. It is checked against the agent before it is used.

`torch.load(weights_only=True)` makes sure that a file runs no code. Its content may still be damaged, or come from
another agent.
"""

from __future__ import annotations

import math
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
            requires its type and shape, and finite numbers; a tensor without rows allows any number of rows. A number
            requires a number of its type that is finite and not negative. A network, an optimiser or a generator
            requires its kind of state, and `...` allows anything.

    Raises:
        ConfigError: the structure differs; the message names the wrong part.
    """
    if own is ...:
        return found
    if isinstance(own, Adam):
        return _adam(found, where, own)
    if isinstance(own, torch.Generator):
        return _generator(found, where)
    if isinstance(own, nn.Module):
        own = own.state_dict()
    if isinstance(own, Mapping):
        if not isinstance(found, Mapping) or set(found) != set(own):
            raise _differs(found, where, ", ".join(map(str, own)))
        return {key: checked(found[key], f"{where}.{key}", value) for key, value in own.items()}
    if isinstance(own, list):
        if not isinstance(found, list | tuple) or len(found) != len(own):
            raise _differs(found, where, f"a list of {len(own)} entries")
        return [checked(value, f"{where}.{k}", own[k]) for k, value in enumerate(found)]
    if isinstance(own, Tensor):
        return _tensor(found, where, own)
    if type(own) is int:
        return whole(found, where)
    if isinstance(own, float):
        if type(found) not in (int, float) or not (math.isfinite(found) and found >= 0):
            raise _differs(found, where, "a number that is finite and not negative")
        return float(found)
    if not isinstance(found, type(own)):
        raise _differs(found, where, f"a {type(own).__name__}")
    return found


def whole(found: Any, where: str, low: int = 0, high: int = 2**63 - 1) -> int:
    """An integer between `low` and `high`.

    Raises:
        ConfigError: as `checked`.
    """
    if type(found) is not int or not low <= found <= high:
        raise _differs(found, where, f"a whole number from {low:.6g} to {high:.6g}")
    return found


def _tensor(found: Any, where: str, own: Tensor) -> Tensor:
    any_rows = own.dim() > 0 and not len(own)
    shape = f"{own.dtype} {['any' if any_rows and not k else n for k, n in enumerate(own.shape)]}"
    if not isinstance(found, Tensor):
        raise _differs(found, where, shape)
    fits = found.dim() == own.dim() and found.shape[any_rows:] == own.shape[any_rows:]
    # A tensor that is not contiguous could claim more elements than the file has bytes.
    if found.dtype != own.dtype or not fits or found.layout != torch.strided or not found.is_contiguous():
        raise ConfigError(f"{where} is {found.dtype} {list(found.shape)} instead of {shape}")
    if found.dtype.is_floating_point and not bool(torch.isfinite(found).all()):
        raise ConfigError(f"{where} holds a number that is not finite: the training that wrote it had diverged")
    return found


def _generator(found: Any, where: str) -> Tensor:
    own = torch.Generator()
    state = _tensor(found, where, own.get_state())
    try:
        own.set_state(state)
    except RuntimeError as error:
        raise ConfigError(f"{where}: {str(error).strip().splitlines()[0]}") from error
    return state


def _adam(found: Any, where: str, optimiser: Adam) -> dict[str, Any]:
    """Adam's two moments of each parameter; empty before the first step."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    moments = {k: {"step": torch.zeros(()), "exp_avg": p, "exp_avg_sq": p} for k, p in enumerate(parameters)}
    before = isinstance(found, Mapping) and found.get("state") == {}
    groups = [...] * len(optimiser.param_groups)
    state: dict[str, Any] = checked(found, where, {"state": {} if before else moments, "param_groups": groups})
    return state


def _differs(found: Any, where: str, wanted: str) -> ConfigError:
    holds = ", ".join(map(str, list(found)[:8])) if isinstance(found, Mapping) else repr(found)[:80]
    return ConfigError(f"{where} is {holds or 'empty'} instead of {wanted}")
