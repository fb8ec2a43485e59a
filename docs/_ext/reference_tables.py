"""Makes the pages of docs/reference: tables of all registered components, from the core and the code.

`make reference` writes the pages, and a test compares them. They are in the repository, so that they can be read
without a build.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import flitgym
import flitgym.agents as agent_package
import yaml
from command_keys import PAGES as PAGES_OF_GROUPS
from command_keys import ROOTS, Key, keys_of, options_of
from flitgym.agents import trainable
from flitgym.configs import CONFIG_DIR
from flitgym.configs.composition import WRONG, compose_root
from flitgym.configs.training import register_training
from flitgym.simcore import Simulation, registered
from result_fields import COLUMNS, FIELDS, JOB_FIELDS, ROW_NOTE, ROWS_NOTE
from routing_notes import LIMITS, SOURCES

PAGES = Path(__file__).resolve().parent.parent / "reference"
_MADE = "<!-- Made by docs/_ext/reference_tables.py: `make reference`. Edits here are lost. -->\n"
_COLUMNS = 120
_SHARED = 3  # a key with this many components is in one table
_SMALL = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table with escaped cells."""
    lines = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in (heads, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def parameters(params: Mapping[str, Mapping[str, Any]]) -> str:
    """A table of parameters as the core declares them."""
    if not params:
        return "No parameters.\n"
    rows = [(f"`{key}`", _value(p["default"]), _valid(p), p["unit"], _plain(p["doc"])) for key, p in params.items()]
    return table(("key", "default", "valid", "unit", "meaning"), rows)


def _value(value: object) -> str:
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f"`{value:g}`"
    return "`''`" if value == "" else f"`{value}`"


def _valid(param: Mapping[str, Any]) -> str:
    if param["type"] == "bool":
        return "true, false"
    if param["type"] == "str":
        return ", ".join(f"`{choice}`" for choice in param["choices"]) or "any text"
    bounds = f"{_number(param['min'])} to {_number(param['max'])}"
    return f"list of {bounds}" if param["type"].startswith("list") else bounds


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:g}"


def _plain(text: str) -> str:
    """Text of the core as Markdown, with escaped markup."""
    return re.sub(r"([*_<>\[\]$])", r"\\\1", text)


def _where(facts: Mapping[str, Any]) -> str:
    """The topologies on which a component runs."""
    every = set(registered("topology"))
    return "every topology" if set(facts["topologies"]) == every else ", ".join(f"`{t}`" for t in facts["topologies"])


def _components(
    kind: str,
    heads: tuple[str, ...],
    row: Callable[[str, Any], tuple[str, ...]],
    note: Callable[[str], str] = lambda name: "",
    left_out: Callable[[str, str], bool] = lambda name, key: False,
) -> str:
    """All components of a kind: a table, the keys of several components, and a section for each one with own keys."""
    things = registered(kind)
    text = table(("name", "summary", *heads), [(f"`{n}`", _plain(t["summary"]), *row(n, t)) for n, t in things.items()])
    users: dict[tuple[str, str], list[str]] = {}  # components by declaration
    for name, thing in things.items():
        for key, param in thing["params"].items():
            if not left_out(name, key):
                users.setdefault(_declaration(key, param), []).append(name)
    shared = {form: names for form, names in users.items() if len(names) >= _SHARED}
    if shared:
        text += f"\n## Shared keys\n\nSeveral components have these keys.\n\n{_shared_keys(things, shared)}"
    for name, thing in things.items():
        params = {key: param for key, param in thing["params"].items() if not left_out(name, key)}
        own = {key: param for key, param in params.items() if _declaration(key, param) not in shared}
        some = [
            f"`{key}` ({_value(param['default'])})"
            for key, param in params.items()
            if len(shared.get(_declaration(key, param), things)) < len(things)
        ]
        words = f" {note(name)}" if note(name) else ""
        keys = f"Shared keys with their defaults: {', '.join(some)}.\n" if some else ""
        if own or words or keys:
            text += f"\n## `{name}`\n\n{_plain(_sentence(thing['summary']))}{words}\n"
            text += "".join(f"\n{part}" for part in (parameters(own) if own else "", keys) if part)
    return text


def _declaration(key: str, param: Mapping[str, Any]) -> tuple[str, str]:
    return key, repr({name: value for name, value in param.items() if name != "default"})


def _shared_keys(things: Mapping[str, Mapping[str, Any]], shared: Mapping[tuple[str, str], list[str]]) -> str:
    """A table of keys with several components. It has the default of a key that all of them have."""
    rows = []
    keys = [key for key, _ in shared]
    for (key, _), names in shared.items():
        param = things[names[0]]["params"][key]
        default = _value(param["default"]) if len(names) == len(things) else ""
        of = f" (of {', '.join(f'`{name}`' for name in names)})" if keys.count(key) > 1 else ""
        rows.append((f"`{key}`", default, _valid(param), param["unit"], _plain(param["doc"]) + of))
    return table(("key", "default", "valid", "unit", "meaning"), rows)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def presets(group: str) -> str:
    """A table of the YAML files of a group: their base, their description and their values."""
    rows = []
    for path in sorted((Path(CONFIG_DIR) / group).glob("*.yaml")):
        text = path.read_text()
        content = yaml.safe_load(text)
        bases = [f"`{base}`" for base in content.pop("defaults", []) if isinstance(base, str) and base != "_self_"]
        first = re.match(r"(?:# ?.*\n)+", text)
        words = " ".join(line.lstrip("# ").rstrip() for line in first.group(0).splitlines()) if first else ""
        values = (
            ", ".join(f"`{key}={value}`" for key, value in content.items()) if len(content) <= 8 else "see the file"
        )
        link = f"[{path.stem}](../../configs/{group}/{path.name})"
        rows.append((link, ", ".join(bases), _plain(_first(words)), values))
    return table(("preset", "base", "description", "values"), rows)


def _first(words: str) -> str:
    """The first sentence of a comment. The file has the rest."""
    return re.split(r"  |(?<=\.) (?=[A-Z])|: (?=`)", words)[0]


def topologies() -> str:
    """Page of topologies."""
    return (
        "# Topologies\n\nThis page lists all topologies with their keys. The keys start with `topology.`, as in "
        "`topology=dragonfly topology.groups=9`.\n\n"
        + _components("topology", (), lambda *_: ())
        + "\n## Presets\n\n"
        + presets("topology")
    )


def routers() -> str:
    """Page of the router model."""
    return (
        "# Routers\n\nThis page lists the keys of the router model `vc_router` and the presets with its values. The "
        "keys start with `router.`.\n\n"
        + presets("router")
        + "\n## `vc_router`\n\n"
        + parameters(registered("router")["vc_router"]["params"])
        + "\n## Traffic classes\n\n`router.classes` maps the name of each [traffic class](../traffic_classes.md) to "
        "these keys.\n\n" + parameters(registered("traffic_class")["traffic_class"]["params"])
    )


def routings() -> str:
    """Page of routings and relations."""

    def row(_: str, thing: Mapping[str, Any]) -> tuple[str, str]:
        facts = thing["facts"]
        return _where(facts), "in Python" if facts["external"] else "yes" if facts["learns"] else "no"

    def note(name: str) -> str:
        source = f"Source: {SOURCES[name]}." if name in SOURCES else ""
        return " ".join(filter(None, (source, _vc_classes(name), LIMITS.get(name))))

    engine_keys = {key for engine in registered("engine").values() for key in engine["params"]}
    relations = registered("relation")
    return (
        "# Routings\n\nThis page lists all routings and relations with their keys. The keys start with `routing.`. A "
        "routing may have a file per topology; the table joins their summaries with a semicolon.\n\n"
        + _components(
            "routing", ("runs on", "learns"), row, note, lambda name, key: name == "table" and key in engine_keys
        )
        + "\n## Presets\n\n"
        + presets("routing")
        + "\n## Relations\n\nA [relation](../glossary.md#relation) lists the candidates of a packet. Every routing "
        "that lists its candidates is a relation of the same name. These relations belong to no routing:\n\n"
        + table(
            ("name", "candidates", "runs on"),
            [(f"`{n}`", _plain(r["summary"]), _where(r["facts"])) for n, r in relations.items()],
        )
    )


def _vc_classes(routing: str) -> str:
    """The VC classes of a routing on some presets, as the core reports them."""
    runs_on = registered("routing")[routing]["facts"]["topologies"]
    networks = {"dragonfly": "dragonfly_72", "hyperx": "hyperx_64", "fat_tree": "fat_tree_64"}
    networks |= {"dragonfly_plus": "dragonfly_plus_90"} if "fat_tree" not in runs_on else {}
    found = []
    for preset in (preset for topology, preset in networks.items() if topology in runs_on):
        simulation = flitgym.Simulation({"topology": preset, "routing": routing, "traffic": "uniform"})
        found.append(f"{simulation.facts()['vc_classes']} on `{preset}`")
    return f"VC classes: {', '.join(found)}."


def traffic() -> str:
    """Page of traffic patterns."""
    return (
        "# Traffic patterns\n\n"
        "This page lists all traffic patterns with their keys. The keys start with `traffic.`.\n\n"
        + _components("traffic", (), lambda *_: ())
        + "\n## Presets\n\n"
        + presets("traffic")
    )


def congestion() -> str:
    """Page of congestion controls."""
    return (
        "# Congestion controls\n\nThis page lists all congestion controls with their keys. The keys start with "
        "`congestion_control.`. [Congestion control](../congestion.md) explains and compares them.\n\n"
        + _components("congestion_control", (), lambda *_: ())
    )


def workloads() -> str:
    """Page of workloads and motifs."""
    return (
        "# Workloads and motifs\n\nThis page lists the keys of workloads, failures and motifs.\n\n"
        "## Common keys\n\nThe keys start with `workload.`.\n\n"
        + parameters(registered("workload")["workload"]["params"])
        + "\n## Kinds of workload\n\nAll but `none` also have the keys of [jobs.yaml](../../configs/jobs.yaml).\n\n"
        + presets("workload")
        + "\n## Failures\n\nAny network can have failures, with or without jobs. The keys start with `failures.`.\n\n"
        + parameters(registered("failures")["failures"]["params"])
        + "\n## Motifs\n\nThe keys of a motif are part of its job: "
        "`workload.jobs=[{motif: halo3d, ranks: 64, bytes: 4096}]`.\n\n"
        + _components("motif", (), lambda *_: ()).replace("\n## ", "\n### ")
    )


def learning() -> str:
    """Page of observations, features and rewards."""
    bounds: dict[str, Mapping[str, Any]] = {}
    for name in registered("observation"):
        routing = {"name": "agent", "observation": name}
        seam = Simulation({"topology": _SMALL, "routing": routing, "traffic": "uniform", "seed": 1}).seam()
        bounds |= {feature["name"]: feature for part in ("general", "per_slot") for feature in seam[part]}
    text = (
        "# Observations and rewards\n\nThis page lists the features of all observations, and all rewards. An "
        "observation joins [blocks](../glossary.md#block) by `+`, such as `progress+router+queues+path+q_values`. Its "
        "row starts with the features of the packet and the router. The features of each [slot](../glossary.md#slot) "
        "follow.\n\n"
    )
    text += table(
        ("block", "summary"), [(f"`{n}`", _plain(b["summary"])) for n, b in registered("observation").items()]
    )
    for name, block in registered("observation").items():
        rows = [
            (f"`{name}.{key}`", where, _bounds(bounds.get(f"{name}.{key}")), _plain(doc))
            for part, where in (("general", "packet and router"), ("per_slot", "each slot"))
            for key, doc in block["facts"][part].items()
        ]
        text += f"\n## `{name}`\n\n{table(('feature', 'of', 'bounds', 'meaning'), rows)}"
    rewards = [
        (f"`{n}`", _plain(r["summary"]), "next decision or delivery" if r["facts"]["at_next_decision"] else "delivery")
        for n, r in registered("reward").items()
    ]
    return text + f"\n## Rewards\n\n{table(('name', 'reward', 'known at'), rewards)}"


def _bounds(feature: Mapping[str, Any] | None) -> str:
    return f"{feature['low']:g} to {feature['high']:g}" if feature else ""


def engines() -> str:
    """Page of engines of forwarding tables."""
    return (
        "# Engines of forwarding tables\n\nThis page lists all engines with their keys. The keys start with `engine.` "
        "for `flitgym route`, and with `routing.` for `routing=table routing.engine=<name>`.\n\n"
        + _components(
            "engine",
            ("networks", "balances for a demand"),
            lambda _, thing: (_where(thing["facts"]), "yes" if thing["facts"]["balances"] else "no"),
        )
    )


def agents() -> str:
    """Page of the hyperparameters of agents."""
    text = (
        "# Agents\n\nThis page lists the hyperparameters of all agents of `flitgym train agent=<name>`. The keys start "
        "with `agent.`.\n"
    )
    for name, (config, _) in sorted(trainable().items()):
        words = inspect.getdoc(config) or ""
        path = Path(inspect.getfile(config)).relative_to(Path(agent_package.__file__).parent).as_posix()
        comments = {key: note for base in reversed(config.__mro__[:-1]) for key, note in _comments(base).items()}
        rows = [(f"`{f.name}`", _default(f), _plain(comments.get(f.name, ""))) for f in dataclasses.fields(config)]
        text += f"\n## `{name}`\n\n{words} [agents/{path}](../../agents/{path})\n\n"
        text += table(("key", "default", "meaning"), [row for row in rows if row[0] != "`name`"])
    return text


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    return "required" if value is dataclasses.MISSING else "`null`" if value is None else _value(value)


def _comments(cls: type) -> dict[str, str]:
    """The comments of the fields of a dataclass: at the end of a line, or a sentence above it.

    A heading such as `# learning` does not start with a capital letter and is left out.
    """
    notes: dict[str, str] = {}
    above: list[str] = []
    source = inspect.cleandoc(inspect.getsource(cls))
    beside = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    for number, line in enumerate(source.splitlines(), 1):
        if line.strip().startswith("#"):
            above.append(beside[number])
            continue
        found = re.match(r"\s+(\w+): ", line)
        if found and line.startswith("    ") and not line.startswith("     "):
            sentence = " ".join(above)
            note = [sentence] if sentence and sentence[0].isupper() else []
            notes[found.group(1)] = ". ".join([*([beside[number]] if number in beside else []), *note])
        above = []
    return {key: note for key, note in notes.items() if note}


def results() -> str:
    """Page of the fields of a result and the columns of its tables."""
    text = (
        "# Fields of a result\n\nThis page lists the fields of `result.json` and the columns of the other tables of a "
        "run. `*` stands for `mean`, `p50`, `p95`, `p99` and `max`.\n\n"
    )
    text += table(("field", "meaning"), [(f"`{name}`", meaning) for name, meaning in FIELDS])
    text += "\n## Of each job\n\nThese fields are under `jobs.<name>`:\n\n"
    text += table(("field", "meaning"), [(f"`{name}`", meaning) for name, meaning in JOB_FIELDS])
    text += f"\n{ROW_NOTE}\n"
    for file, (what, columns) in COLUMNS.items():
        text += f"\n## `{file}`\n\n{what}\n\n"
        text += table(("column", "meaning"), [(f"`{name}`", meaning) for name, meaning in columns])
    return text + f"\n{ROWS_NOTE}\n"


def commands() -> str:
    """Page of the keys of commands."""
    text = (
        "# Commands\n\nThis page lists the keys of the commands with their defaults. An override is a word "
        "`key=value`. Some keys choose an option of a group. The keys of the option start with the name of the group "
        "(`topology=dragonfly topology.groups=9`), and the page of the group lists them. `--help` lists the keys of "
        "`flitgym export`, `flitgym plot`, `flitgym compare` and `flitgym report`.\n"
    )
    for root, command in ROOTS.items():
        path = Path(CONFIG_DIR) / f"{root}.yaml"
        text += f"\n## `{command}`\n\n[configs/{path.name}](../../configs/{path.name})\n\n"
        options = [(f"`{key.name}`", f"`{key.default}`", _option(key)) for key in options_of(path)]
        text += table(("group", "option", ""), options) + "\n" if options else ""
        text += table(("key", "default", "meaning"), map(_key, keys_of(path)))
    path = Path(CONFIG_DIR) / "run" / "standard.yaml"
    text += "\n## Of a run\n\nThese keys of simulations start with `run.`. Times are simulated times.\n\n"
    text += table(("key", "default", "meaning"), map(_key, keys_of(path)))
    text += "\nPresets (`run=settled`):\n\n" + presets("run")
    return text + (
        "\n## Worlds of a training\n\n`flitgym train worlds=<name>` trains one policy on several "
        "[worlds](../glossary.md#world). Each episode draws a world by its share. These are the presets:\n\n" + worlds()
    )


def worlds() -> str:
    """The presets of `worlds`, with the agents that they fit."""
    register_training(trainable())
    rows = []
    for path in sorted(CONFIG_DIR.glob("worlds/*.yaml")):
        words = " ".join(line.lstrip("# ") for line in path.read_text().splitlines()[1:] if line.startswith("#"))
        fits = sorted(name for name in trainable() if _takes(name, path.stem)) if "\nagent:" in path.read_text() else []
        agents = ", ".join(f"`{name}`" for name in fits)
        rows.append((f"[{path.stem}](../../configs/worlds/{path.name})", _plain(_first(words)), agents))
    return table(("preset", "worlds", "agents"), rows)


def _takes(agent: str, worlds: str) -> bool:
    """Whether an agent has the hyperparameters that a preset of `worlds` sets."""
    try:
        compose_root("train", [f"agent={agent}", f"worlds={worlds}"])
    except WRONG:
        return False
    return True


def _option(key: Key) -> str:
    page = PAGES_OF_GROUPS.get(key.name)
    return "; ".join(filter(None, (_words(key.words), f"[{page}]({page}.md)" if page else "")))


def _key(key: Key) -> tuple[str, str, str]:
    return f"`{key.name}`", f"`{key.default}`" if key.default else "", _words(key.words)


def _words(text: str) -> str:
    """A comment of a configuration file as Markdown. Text in backticks is code, and all other markup is escaped."""
    return "".join(part if part.startswith("`") else _plain(part) for part in re.split(r"(`[^`]*`)", text))


MAKERS: dict[str, Callable[[], str]] = {
    "topologies": topologies,
    "routers": routers,
    "routings": routings,
    "traffic": traffic,
    "congestion": congestion,
    "workloads": workloads,
    "learning": learning,
    "engines": engines,
    "agents": agents,
    "commands": commands,
    "results": results,
}


def page(name: str) -> str:
    """The whole text of a page."""
    title, _, rest = MAKERS[name]().partition("\n")
    return "\n".join(map(_folded, f"{title}\n\n{_MADE}{rest}".split("\n")))


def _folded(line: str) -> str:
    if line.startswith("|") or len(line) <= _COLUMNS:
        return line
    return textwrap.fill(line, _COLUMNS, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for name in MAKERS:
        (PAGES / f"{name}.md").write_text(page(name))
        print(PAGES / f"{name}.md")
