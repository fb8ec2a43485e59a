"""The typed schema of the configuration. A misspelt key or a value of a wrong type is refused before a run begins.

A key is declared once. The core declares the parameters of a component next to its code, and every registered name is
an option of a group. The YAML files declare the keys of the commands: the type of a key is the type of its value.
"""

import copy
from collections.abc import Mapping
from dataclasses import field, make_dataclass
from functools import cache, partial
from typing import Any

import yaml
from omegaconf import MISSING, DictConfig, OmegaConf

from ..simcore import registered
from .identity import run_id, study_folder
from .policies import shipped_policy
from .quantities import units_of
from .source import CONFIG_DIR, offer
from .warmup import warmup_ns

KINDS = ("topology", "router", "routing", "traffic", "congestion_control")
GROUPS = (*KINDS, "workload")
WORKLOADS = tuple(sorted(path.stem for path in CONFIG_DIR.glob("workload/*.yaml")))

_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "list_int": list[int],
    "list_float": list[float],
}
# The types of keys whose value is null in the YAML files. A null key that is not in this mapping takes any value.
_OR_NULL: dict[str, Any] = {
    **{"workers": int, "seed": int},
    **dict.fromkeys(("reference", "file", "demand", "flows", "load_q_table", "suite", "record"), str),
}

Field = tuple[str, Any, Any]


def component_node(kind: str, name: str) -> DictConfig:
    """The node of a registered component: `name`, and a typed field per parameter with its default."""
    classes: list[Field] = [("classes", dict[str, Any], field(default_factory=dict))] if kind == "router" else []
    fields = [("name", str, field(default=name)), *_declared(kind, name), *classes]
    return node_of(make_dataclass(f"{kind}_{name}", fields))


def workload_node(name: str) -> DictConfig:
    """Return the node of an option of `workload`: the keys of its file, of all jobs, and of the core."""
    fields = [("name", str, field(default=name)), *_fields(_content(f"workload/{name}.yaml"))]
    if name != "none":
        fields += _fields(_content("jobs.yaml"))
        fields += _declared("motif", "stencil27") if name == "stencil27" else []
        fields += _declared("workload", "workload")
    return node_of(make_dataclass(f"workload_{name}", list({own[0]: own for own in fields}.values())))


@cache
def root_schema(root: str) -> type:
    """The structured config of a command: its groups, the keys of its file, and the section `failures`."""
    content = _content(f"{root}.yaml")
    groups = [
        key for entry in content["defaults"] if isinstance(entry, dict) for key, option in entry.items() if option
    ]
    sections = {"failures": _content("config.yaml")["failures"], "run": _content("run/standard.yaml")}
    own = {key: value for key, value in content.items() if key not in ("defaults", "hydra")}
    networks = {"topology", "router"} & set(groups)  # the groups whose networks may have failures
    own |= {key: value for key, value in sections.items() if key in groups or (key == "failures" and networks)}
    options = [(key, Any, MISSING) for key in groups if key in (*GROUPS, "agent", "engine")]
    sections = {key: value for key, value in own.items() if isinstance(value, dict)}
    keys = {key: value for key, value in own.items() if key not in sections}
    return make_dataclass(root, [*_fields(keys), *options, *_fields(sections)])


@cache
def _content(file: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CONFIG_DIR / file).read_text(encoding="utf-8"))
    return content


def _fields(values: Mapping[str, Any]) -> list[Field]:
    """Fields with the types of the values of a YAML file."""
    return [(key, *_typed(key, value)) for key, value in values.items() if key != "defaults"]


def _typed(key: str, value: Any) -> tuple[Any, Any]:
    if value is None:
        kind = _OR_NULL.get(key)
        return kind | None if kind else Any, field(default=None)
    if isinstance(value, dict) and value:
        section = make_dataclass(key, _fields(value))
        return section, field(default_factory=section)
    if isinstance(value, dict):
        return dict[str, Any], field(default_factory=dict)
    if key == "format":  # a single word has the same meaning as a list of this word
        return Any, field(default_factory=partial(copy.copy, value))
    if isinstance(value, list):
        items = {type(item) for item in value}
        kind = items.pop() if items in ({int}, {float}) else Any
        return list[kind], field(default_factory=partial(copy.copy, value))  # type: ignore[valid-type]
    # Keys with a unit take real numbers.
    return float if units_of(key) else type(value), field(default=value)


def _declared(kind: str, name: str) -> list[Field]:
    """Fields of the parameters that the core declares."""
    fields = []
    for key, spec in registered(kind)[name]["params"].items():
        default, own = spec["default"], _TYPES[spec["type"]]
        initial = field(default_factory=partial(list, default)) if isinstance(default, list) else field(default=default)
        fields.append((key, own | None if default is None else own, initial))
    return fields


def node_of(schema: type) -> DictConfig:
    """The node of a schema. A section that is empty in its file accepts any key; its reader checks the keys."""
    node: DictConfig = OmegaConf.structured(schema)
    for key in node:
        value = node._get_node(key)
        if isinstance(value, DictConfig) and not value:
            OmegaConf.set_struct(value, False)
    return node


def offer_root(name: str, root: str) -> None:
    """Offer the types of the primary configuration `root` to Hydra."""
    offer(name, lambda: node_of(root_schema(root)))


def register_schema() -> None:
    """Offer the commands and all registered components to Hydra, and register the resolvers; safe to repeat."""
    for resolver in (run_id, study_folder, warmup_ns, shipped_policy):
        OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)
    roots = {"experiment": "config", "evaluation": "evaluate", "saturation": "saturate", "scoring": "benchmark"}
    roots["reproduction"] = "reproduce"
    for name, root in roots.items():
        offer_root(name, root)
    for kind in KINDS:
        for name in registered(kind):
            offer(f"{kind}/{name}", partial(component_node, kind, name))
    # The options of this group are YAML files with these types.
    for name in WORKLOADS:
        offer(f"hydra/schema/workload/{name}", partial(workload_node, name))
