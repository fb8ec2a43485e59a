"""What a checkpoint holds, checked piece by piece before it is used: a file may be damaged, or a stranger's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...simcore import ConfigError


def entries(stored: Any, where: str, keys: Sequence[str]) -> Mapping[str, Any]:
    """A mapping with these keys and no others.

    Raises:
        ConfigError: it is none, as all of these functions do; `where` says of what, e.g. `agent.rollouts`.
    """
    if not isinstance(stored, Mapping) or set(stored) != set(keys):
        found = ", ".join(map(str, list(stored)[:8])) if isinstance(stored, Mapping) else type(stored).__name__
        raise ConfigError(f"{where} holds {found or 'nothing'} instead of {', '.join(keys)}")
    return stored


def items(stored: Any, where: str, count: int | None = None) -> Sequence[Any]:
    """A list, of `count` entries if given."""
    if not isinstance(stored, list | tuple):
        raise ConfigError(f"{where} is {_kind(stored)} instead of a list")
    if count is not None and len(stored) != count:
        raise ConfigError(f"{where} has {len(stored)} entries instead of {count}")
    return stored


def whole(stored: Any, where: str, low: int = 0, high: int = 2**63 - 1) -> int:
    """An integer between `low` and `high`."""
    if isinstance(stored, bool) or not isinstance(stored, int):
        raise ConfigError(f"{where} is {_kind(stored)} instead of a whole number")
    if not low <= stored <= high:
        raise ConfigError(f"{where} is {stored:.6g}, outside {low:.6g} .. {high:.6g}")
    return stored


def number(stored: Any, where: str, low: float = 0.0, high: float = 1e300) -> float:
    """A finite number between `low` and `high`."""
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        raise ConfigError(f"{where} is {_kind(stored)} instead of a number")
    if not (math.isfinite(stored) and low <= stored <= high):
        raise ConfigError(f"{where} is {stored}, outside {low:g} .. {high:g}")
    return float(stored)


def tensor(stored: Any, where: str, dtype: torch.dtype, shape: Sequence[int | None]) -> Tensor:
    """A plain tensor whose numbers are finite; None in `shape` stands for any length."""
    if not isinstance(stored, Tensor):
        raise ConfigError(f"{where} is {_kind(stored)} instead of a tensor")
    fits = stored.dim() == len(shape) and all(n in (m, None) for m, n in zip(stored.shape, shape, strict=True))
    # What is not contiguous could claim more elements than the file has bytes.
    if stored.dtype != dtype or not fits or stored.layout != torch.strided or not stored.is_contiguous():
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ConfigError(f"{where} is {stored.dtype} {list(stored.shape)} instead of {dtype} [{wanted}]")
    if dtype.is_floating_point and not bool(torch.isfinite(stored).all()):
        raise ConfigError(f"{where} holds a number that is not finite: the training that wrote it had diverged")
    return stored


def like(stored: Any, where: str, example: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Tensors by name, of the types and shapes of the example's."""
    found = entries(stored, where, list(example))
    return {name: tensor(found[name], f"{where}.{name}", own.dtype, list(own.shape)) for name, own in example.items()}


def generator(stored: Any, where: str) -> Tensor:
    """The state of a random generator of torch on the CPU."""
    own = torch.Generator()
    state = tensor(stored, where, torch.uint8, list(own.get_state().shape))
    try:
        own.set_state(state)
    except RuntimeError as error:
        raise ConfigError(f"{where}: {str(error).strip().splitlines()[0]}") from error
    return state


def adam(stored: Any, where: str, optimiser: torch.optim.Adam) -> dict[str, Any]:
    """The state of an Adam optimiser of the same parameters: nothing yet, or its two moments of each."""
    own = optimiser.state_dict()
    found = entries(stored, where, ["state", "param_groups"])
    stored_groups = items(found["param_groups"], f"{where}.param_groups", len(own["param_groups"]))
    groups = []
    for k, mine in enumerate(own["param_groups"]):
        name = f"{where}.param_groups.{k}"
        given = entries(stored_groups[k], name, list(mine))
        if list(items(given["params"], f"{name}.params")) != list(mine["params"]):
            raise ConfigError(f"{name}.params are other parameters")
        # Of its settings the rate alone moves; the others are those of the configuration.
        groups.append({**mine, "lr": number(given["lr"], f"{name}.lr")})
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state = found["state"]
    if not isinstance(state, Mapping) or (state and set(state) != set(range(len(parameters)))):
        raise ConfigError(f"{where}.state is not of {len(parameters)} parameters")
    moments = {}
    for k in state:
        name, shape = f"{where}.state.{k}", list(parameters[k].shape)
        given = entries(state[k], name, ["step", "exp_avg", "exp_avg_sq"])
        moments[k] = {
            "step": tensor(given["step"], f"{name}.step", torch.float32, []),
            "exp_avg": tensor(given["exp_avg"], f"{name}.exp_avg", torch.float32, shape),
            "exp_avg_sq": tensor(given["exp_avg_sq"], f"{name}.exp_avg_sq", torch.float32, shape),
        }
    return {"state": moments, "param_groups": groups}


def _kind(stored: Any) -> str:
    return "nothing" if stored is None else f"a {type(stored).__name__}"
