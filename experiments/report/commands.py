"""The shortest `flitgym simulate` command that runs a resolved configuration again."""

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml
from omegaconf import OmegaConf

from ...configs import CONFIG_DIR, FAILING, GROUPS, KINDS, compose
from ...configs.policies import shipped_policy
from ...configs.warmup import warmup_ns
from ...simcore import registered
from ..presets import preset_files, values_of

Section = Mapping[str, Any]

_RUN_OF_WORKLOAD = ("load_q_table", "freeze_q_table", "save_q_table")
_SHIPPED = re.compile(r"\$\{shipped_policy:(\w+)\}")
_PLAIN = re.compile(r"[A-Za-z_][\w./-]*")


def command(config: Section) -> str:
    """The command line that gives `config` again, from the nearest presets and every key that differs.

    Raises:
        hydra.errors.HydraException, KeyError: the configuration comes from a version with other components.
    """
    chosen = {group: nearest(group, config[group]) for group in GROUPS if _is_used(group, config)}
    base = [f"{group}={option}" for group, option in chosen.items()]
    known = _of_traffic(chosen, config["run"]) if "traffic" in chosen else _composed(tuple(base))
    words = [word for group, word in zip(chosen, base, strict=True) if chosen[group] != _default(group)]
    for group in chosen:
        words += differences(group, known[group], config[group])
    # The command refuses the keys of the windows if there is a workload.
    run = {key: value for key, value in config["run"].items() if "traffic" in chosen or key in _RUN_OF_WORKLOAD}
    words += differences("failures", known["failures"], config.get("failures", {}))
    words += differences("run", known["run"], run)
    words += differences("", {"seed": known["seed"]}, {"seed": config["seed"]})
    return " ".join(shlex.quote(word) for word in ["flitgym", "simulate", *words])


def _is_used(group: str, config: Section) -> bool:
    return group != "traffic" or config["workload"]["name"] == "none"


def _of_traffic(chosen: Mapping[str, str], run: Section) -> dict[str, Any]:
    """The configuration of the presets for a run of traffic. It avoids Hydra, because a sweep has many runs."""
    known: dict[str, Any] = {group: _section(group, option) for group, option in chosen.items() if group in KINDS}
    known |= {"workload": {"name": "none"}, "failures": dict.fromkeys((*FAILING, "seed")), "seed": _root()["seed"]}
    known["run"] = dict(values_of("run", str(_default("run"))))
    # The default warm-up of a routing that learns depends on these keys of the run.
    given = {**known, "run": {**known["run"], **{key: run[key] for key in ("load_q_table", "freeze_q_table")}}}
    known["run"]["warmup_ns"] = warmup_ns(_root_=given)
    return known


def _section(group: str, option: str) -> dict[str, Any]:
    """The keys of a preset or of a registered component, with the defaults of the core."""
    values = {key: _resolved(value) for key, value in values_of(group, option).items()}
    return {key: spec["default"] for key, spec in registered(group)[values["name"]]["params"].items()} | values


def nearest(group: str, section: Section) -> str:
    """The option of a group that differs from a section in the fewest keys."""
    name = str(section["name"])
    defaults = registered(group)[name]["params"] if group in KINDS and name in registered(group) else {}
    fitting = {name: len(defaults)} if defaults else {}
    for option in [*([name] if defaults else []), *preset_files(group)]:
        known = {**{key: spec["default"] for key, spec in defaults.items()}, **values_of(group, option)}
        if known["name"] == name:
            fitting[option] = sum(_resolved(known.get(key)) != value for key, value in section.items())
    return min(fitting, key=lambda option: fitting[option], default=name)


def _resolved(value: Any) -> Any:
    """The value of a preset. The resolver of a shipped policy becomes the path of its file."""
    found = _SHIPPED.fullmatch(str(value))
    return shipped_policy(found[1]) if found else value


@cache
def _composed(overrides: tuple[str, ...]) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(compose(overrides), resolve=True)
    return dict(plain)


@cache
def _root() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CONFIG_DIR / "config.yaml").read_text(encoding="utf-8"))
    return content


@cache
def _default(group: str) -> str | None:
    for entry in _root()["defaults"]:
        if not isinstance(entry, str) and group in entry:
            return str(entry[group])
    return None


def differences(prefix: str, known: Section, wanted: Section) -> list[str]:
    """The overrides that turn `known` into `wanted`, with keys below `prefix`."""
    words = []
    for key, value in wanted.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if key in known and known[key] == value:
            continue
        if isinstance(value, Mapping) and isinstance(known.get(key), Mapping):
            words += differences(path, known[key], value)
        else:
            words.append(f"{path}={_text(value)}")
    return words


def _text(value: Any) -> str:
    """A value in the grammar of Hydra's overrides."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, str) and not (_PLAIN.fullmatch(value) and value not in ("null", "true", "false")):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)
