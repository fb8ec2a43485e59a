"""The identity of a run: a hash of the resolved configuration and of the contents of its input files."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from ..simcore import ConfigError, registered
from ..simcore._policy_file import without_provenance
from .jobs import core_workload, file_word, has_workload, workload_identity, workload_label
from .source import CONFIG_DIR
from .traces import file_hash

# Keys that do not change the numbers of a run.
_NOT_IDENTITY = {"overwrite", "max_memory_gb", "threads", "partitions"}
# Keys of `run` that affect a run of a workload.
_RUN_OF_WORKLOAD = ("load_q_table", "freeze_q_table", "save_q_table")
_LONGEST_NAME = 255  # bytes, the limit of file systems
# Keys of files. The files of a routing are a policy, a forwarding table and its traffic matrix.
_FILES = {
    "topology": ("file",),
    "routing": ("path", "file", "demand"),
    "traffic": ("file",),
    "congestion_control": ("path",),
}
_COMPONENTS = ("topology", "router", "routing")


def core_sections(config: Mapping[Any, Any]) -> dict[str, Any]:
    """The sections of the resolved configuration that the core takes: components, failures and the seed.

    With a workload there are jobs instead of a traffic pattern. The section `failures` is left out if it is empty; a
    seed without failures is kept, because a world may draw failures with it. `congestion_control=none` is left out.
    """
    sections = {key: without_empty(config[key]) for key in (*_COMPONENTS, "seed")}
    failures = core_failures(config, seed_alone=True)
    if failures:
        sections["failures"] = failures
    if controls(config):
        sections["congestion_control"] = without_empty(config["congestion_control"])
    if has_workload(config):
        jobs = core_workload(plain_of(config["workload"]), sections, failures)
        return {**sections, "workload": jobs}
    return {**sections, "traffic": plain_of(config["traffic"])}


def controls(config: Mapping[Any, Any]) -> bool:
    """Whether the NICs have a congestion control. Results of older versions have no such section."""
    return bool((config.get("congestion_control") or {"name": "none"})["name"] != "none")


def core_failures(config: Mapping[Any, Any], seed_alone: bool = False) -> dict[str, Any]:
    """The core's section `failures`; empty without failures.

    With `seed_alone`, a seed without failures is kept, for a world that draws failures.
    """
    given: dict[str, Any] = plain_of(config.get("failures") or {})
    kept = {key: value for key, value in given.items() if value is not None and value != []}
    if kept.get("seed", 0) < 0:
        raise ConfigError(f"failures.seed: {kept['seed']} is invalid; use a whole number >= 0")
    return kept if seed_alone or set(kept) - {"seed"} else {}


def draws_failures(failures: Mapping[str, Any]) -> bool:
    """Whether some failures are drawn, because they are a number or a fraction, as in 0.05@20000."""
    events = failures.get("events") or []
    words = events.split(",") if isinstance(events, str) else events
    numbers = any(isinstance(failures.get(key), int | float) for key in ("links", "routers", "terminals"))
    return numbers or any(re.match(r"\s*\d*\.\d*@", str(word)) for word in words)


def config_hash(config: Mapping[Any, Any]) -> str:
    """Hash of everything that determines a run's numbers, 12 hexadecimal digits.

    The contents of files are hashed instead of their paths. The same path with another Q-table, policy or GOAL schedule
    is another run. The provenance in a policy file is not hashed.
    """
    run = {key: value for key, value in plain_of(config["run"]).items() if key not in _NOT_IDENTITY}
    identity = {key: without_empty(config[key]) for key in (*_COMPONENTS, "seed")}
    failures = core_failures(config)
    if failures:
        identity["failures"] = {"seed": config["seed"], **failures} if draws_failures(failures) else failures
    if controls(config):
        identity["congestion_control"] = without_empty(config["congestion_control"])
    if has_workload(config):
        identity["workload"] = workload_identity(plain_of(config["workload"]))
        run = {key: run[key] for key in _RUN_OF_WORKLOAD}
    else:
        identity["traffic"] = plain_of(config["traffic"])
    for section in identity.keys() & {"topology", "routing", "traffic", "workload"}:
        identity[section] = _with_seeds(section, identity[section], config["seed"])
    if run["load_q_table"] is not None:
        run["load_q_table"] = file_hash("run.load_q_table", run["load_q_table"])
    for section, keys in _FILES.items():
        if section in identity:
            identity[section] = with_hashed_files(section, identity[section], keys)
    return digest({**identity, "run": run})


def digest(identity: Any) -> str:
    """A hash of plain values, 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(_classes_in_order(identity), sort_keys=True).encode()).hexdigest()[:12]


def _classes_in_order(node: Any) -> Any:
    """Plain values with `classes` as lists, because the order of traffic classes and of their rules counts."""
    if isinstance(node, list):
        return [_classes_in_order(part) for part in node]
    if not isinstance(node, dict):
        return node
    ordered = {k: _classes_in_order(v) for k, v in node.items()}
    if isinstance(node.get("classes"), dict):  # a routing may have a number of that name
        ordered["classes"] = list(node["classes"].items())
    return ordered


def check_seed(seed: int) -> None:
    """Refuse a seed that the core does not take."""
    if not 0 <= seed < 2**63:
        raise ConfigError(f"seed: {str(seed)[:40]} is not an integer from 0 to 2^63 - 1")


def _with_seeds(group: str, values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The values of a section with the run's seed for random choices without a seed of their own."""
    own = dict(values)
    for key, needs in _seeds(group, "workload" if group == "workload" else values["name"]).items():
        other, _, value = needs.partition("=")
        if own.get(key, 0) is None and (not needs or own[other] == value):
            own[key] = seed
    return own


@cache
def _seeds(group: str, name: str) -> dict[str, str]:
    """The seeds of a component with the setting that each needs, such as `arrangement=random`."""
    params = registered(group)[name]["params"] if name in registered(group) else {}
    return {key: spec["needs"] for key, spec in params.items() if spec["draws"]}


def with_hashed_files(section: str, values: Mapping[str, Any], keys: Iterable[str] = ("file",)) -> dict[str, Any]:
    """The values of a section with hashes of files instead of their paths. `motif:halo3d` is not a file."""
    paths = {key: values[key] for key in keys if values.get(key) and not values[key].startswith("motif:")}
    content = {"path": without_provenance}
    named = f"{section}." if section else ""
    return {**values, **{key: file_hash(named + key, path, content.get(key)) for key, path in paths.items()}}


def study_folder(*, _root_: Mapping[Any, Any]) -> str:
    """The name of a study; a ConfigError if it is empty, a path, or longer than file systems allow."""
    name = str(_root_["study"])
    fits = name.strip(". ") and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME and name.isprintable()
    if fits and not set(name) & set("/\\"):
        return name
    near = file_word(name.strip("./\\ "), 100).strip("_") or "mine"
    what = "is a path; give" if set(name) & set("/\\") else "is not"
    raise ConfigError(f"study: '{name[:200]}' {what} the name of a folder in results/; write for example study={near}")


def run_id(*, _root_: Mapping[Any, Any]) -> str:
    """The name of a run's directory: readable, stable, and different for different configurations."""
    check_seed(_root_["seed"])
    what = workload_label(_root_["workload"]) if has_workload(_root_) else _traffic_label(_root_["traffic"])
    # File systems allow 255 bytes in total.
    labels = [(_root_["topology"]["name"], 40), (_routing_label(_root_["routing"]), 40), (what, 120)]
    words = [file_word(label, longest) for label, longest in labels]
    return f"{'_'.join(words)}_seed{_root_['seed']}_{config_hash(_root_)}"


def file_label(path: str) -> str:
    """The name of a policy's or table's file; for the default names `policy` and `table`, the name of its folder."""
    whole = Path(path).resolve()
    return whole.parent.name if whole.stem in ("policy", "table") else whole.stem


def _routing_label(routing: Mapping[Any, Any]) -> str:
    if routing["name"] == "policy" and routing["path"]:
        return f"policy-{file_label(str(routing['path']))}"
    if routing["name"] == "table":
        return f"table-{Path(routing['file']).stem if routing['file'] else routing['engine']}"
    # An option that sets values of another routing, such as `ugal_l`, gives its own name.
    fitting = [option for option, values in _routing_options() if all(routing.get(k) == v for k, v in values.items())]
    return fitting[0] if fitting else str(routing["name"])


@cache
def _routing_options() -> list[tuple[str, dict[str, Any]]]:
    """The values of the options of `routing` that are no policies."""
    made = [(path.stem, yaml.safe_load(path.read_text())) for path in sorted(CONFIG_DIR.glob("routing/*.yaml"))]
    return [(name, {"name": own.pop("defaults")[0], **own}) for name, own in made if "path" not in own]


def _traffic_label(traffic: Mapping[Any, Any]) -> str:
    file = f"-{Path(traffic['file']).stem}" if traffic.get("file") else ""
    sizes = f"-{traffic['sizes']}" if traffic.get("sizes", "packets") != "packets" else ""
    load = "" if file and traffic["name"] == "flows" else f"_load{traffic['load']:g}"
    return f"{traffic['name']}{file or sizes}{load}"


def without_empty(node: Any) -> Any:
    """Plain values of a section, without keys that are off and that older results lack."""
    plain = plain_of(node)
    off = ("classes", "ack_bytes", "flow_rate")
    return {k: v for k, v in plain.items() if k not in off or v} if isinstance(plain, dict) else plain


def plain_of(node: Any) -> Any:
    """Resolved plain values of a node of OmegaConf; other values stay as they are."""
    return OmegaConf.to_container(node, resolve=True, throw_on_missing=True) if OmegaConf.is_config(node) else node
